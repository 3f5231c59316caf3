"""Calls of the API a second beside Wagtail's on the same posts, and beside the HTML page (docs/reference/benchmarks.md)."""

import json
import os
import statistics
import subprocess
import venv
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks import report, site

ROUNDS, SECONDS = (1, 1) if site.QUICK else (5, 3)
NODES = 100 if site.QUICK else 1_000
REQUIREMENTS = Path(__file__).with_name("wagtail_site") / "requirements.txt"

OURS, OURS_COLD, WAGTAIL, WAGTAIL_NEW, WAGTAIL_KEPT = (
    "kept",
    "cold",
    "Wagtail v2",
    "Wagtail v3",
    "Wagtail v2, kept 60 s",
)
_NEWEST = "?type=wagtail_site.Post&order=-first_published_at&limit=20"
_ONLY = "id,type,slug,title,url,published"
# What is asked for: who answers at which address. {id} is the post's, {pk} that of its copy in Wagtail.
CALLS: Mapping[str, Mapping[str, str]] = {
    "a post with its text": {
        OURS: "/api/v1/nodes/{id}?include=body_html",
        WAGTAIL: "/api/v2/pages/{pk}/",
        WAGTAIL_NEW: "/api/v3/pages/{pk}/",
    },
    "newest 20: titles, dates, addresses": {
        OURS: f"/api/v1/nodes?limit=20&fields={_ONLY}",
        WAGTAIL: f"/api/v2/pages/{_NEWEST}",
        WAGTAIL_NEW: f"/api/v3/pages/{_NEWEST}",
    },
    "newest 20: summaries, authors and tags, too": {
        OURS: "/api/v1/nodes?limit=20",
        WAGTAIL: f"/api/v2/pages/{_NEWEST}&fields=summary,author,tags",
    },
    "the same post as an HTML page": {OURS: "{path}"},
}
COLUMNS = [
    "Call",
    "Answered",
    "Calls/s",
    "× Wagtail v2",
    "Least–most",
    "× bare view",
    "Web, ms",
    "MongoDB, ms",
    "Bytes",
]
ABOUT = """The same {posts:,} posts, as our API tells of them, in this site and in one of Wagtail {wagtail}; `make bench
ARGS=peers` makes both and throws them away. All are asked without a token. Wagtail is set as `wagtail start` sets it, on
SQLite, the database that it begins with, whose connections stay open; Django, gunicorn's settings and the number of workers
({workers}) and threads are those of this site. wrk over {connections} connections, medians of {rounds} rounds of {seconds} s in
which all take their turns; each ratio is to Wagtail's v2 and to the bare view of the same round. The post is the one whose text
is of middle length. *Kept* and *cold*: with our page cache, which compares with the database at every call and is never stale,
and without it. Wagtail has no such cache: *kept 60 s* is Django's, in memory, which answers what was true up to a minute ago.
Wagtail counts the whole list at each call of one, ours does not; its v3 tells no summaries, authors or tags in lists. SQLite's
work is in *Web*. Of the processors' time in these rounds the machine's host took {steal:.0%}."""


@dataclass
class Series:
    """What was measured of one call, answered in one way: a load and its part of two others' rates a round."""

    call: str
    way: str
    bytes: int
    loads: list[Any] = field(default_factory=list)
    of_wagtail: list[float] = field(default_factory=list)
    of_bare: list[float] = field(default_factory=list)

    def row(self) -> list[object]:
        """Return the line of the table."""
        rate, web, mongod = (
            statistics.median(getattr(load, name) for load in self.loads) for name in ("rate", "web", "mongod")
        )
        ratio = f"{statistics.median(self.of_wagtail):.2f}" if self.of_wagtail else ""
        spread = f"{min(self.of_wagtail):.2f}–{max(self.of_wagtail):.2f}" if self.of_wagtail else ""
        bare = f"{statistics.median(self.of_bare):.3f}"
        return [
            self.call,
            self.way,
            f"{rate:,.0f}",
            ratio,
            spread,
            bare,
            f"{web:.2f}",
            f"{mongod:.2f}",
            f"{self.bytes:,}",
        ]


def main() -> None:
    """Measure, print, publish."""
    with site.served_by_mongod() as folder, ExitStack() as servers:
        site.set_up(NODES)
        from benchmarks import web

        web.require_wrk()
        bare = servers.enter_context(web.started("benchmarks.bare:application", folder))
        cold = servers.enter_context(web.started("cms.wsgi:application", folder, {"PAGE_CACHE_MB": "0"}))
        kept = servers.enter_context(web.started("cms.wsgi:application", folder))
        posts = _posts(kept)
        python, environment = _wagtail(folder, posts)
        peer = servers.enter_context(web.started("cms.wsgi:application", folder, environment, python))
        keeping = {**environment, "KEEP_SECONDS": "60"}
        keeper = servers.enter_context(web.started("cms.wsgi:application", folder, keeping, python))
        by = {OURS: kept, OURS_COLD: cold, WAGTAIL: peer, WAGTAIL_NEW: peer, WAGTAIL_KEPT: keeper}
        post = sorted(posts, key=lambda post: len(post["body_html"]))[len(posts) // 2]
        copy = _json(peer, f"/api/v2/pages/?type=wagtail_site.Post&slug={post['slug']}")["items"][0]
        if copy["title"] != post["title"]:
            raise RuntimeError(f"{copy['title']} is not {post['title']}")
        names = {"id": post["id"], "path": post["path"], "pk": copy["id"]}
        calls = {
            (call, way): path.format(**names) for call, paths in CALLS.items() for way, path in every_way(paths).items()
        }
        every = {key: Series(*key, len(_answer(by[key[1]], path))) for key, path in calls.items()}
        before = psutil.cpu_times()
        for _ in range(ROUNDS):
            for call in CALLS:
                usual = bare.loaded("/", SECONDS).rate
                turn = [one for one in every.values() if one.call == call]
                for one in turn:
                    one.loads.append(by[one.way].loaded(calls[one.call, one.way], SECONDS))
                    one.of_bare.append(one.loads[-1].rate / usual)
                    # Should the machine become too busy to go on, this is what was found.
                    print(f"{call}, {one.way}: {one.loads[-1].rate:,.1f}, {one.of_bare[-1]:.3f} of bare", flush=True)
                if (call, WAGTAIL) in every:
                    for one in turn:
                        one.of_wagtail.append(one.loads[-1].rate / every[call, WAGTAIL].loads[-1].rate)
        after = psutil.cpu_times()
        about = ABOUT.format(
            posts=len(posts),
            wagtail=_pinned("wagtail"),
            workers=web.WORKERS,
            connections=web.CONNECTIONS,
            rounds=ROUNDS,
            seconds=SECONDS,
            steal=(getattr(after, "steal", 0) - getattr(before, "steal", 0)) / (sum(after) - sum(before)),
        )
        rows = [one.row() for one in every.values()]
        report.publish("peers", [report.Table("Calls of the API beside Wagtail's", about, COLUMNS, rows)])


def every_way(paths: Mapping[str, str]) -> dict[str, str]:
    """Return a call's addresses by who answers, with those that are asked twice: ours without its cache, Wagtail's with one."""
    ways = {OURS: paths[OURS], OURS_COLD: paths[OURS], **paths}
    return {**ways, WAGTAIL_KEPT: paths[WAGTAIL]} if WAGTAIL in paths else ways


def _posts(ours: Any) -> list[dict[str, Any]]:
    """Return every post as our API tells of it."""
    posts, cursor = [], ""
    while cursor is not None:
        page = _json(ours, f"/api/v1/nodes?limit=100&include=body_html&cursor={cursor}")
        posts += page["items"]
        cursor = page["next"]
    return posts


def _wagtail(folder: Path, posts: list[dict[str, Any]]) -> tuple[str, dict[str, str]]:
    """Install Wagtail into the folder, with the posts; return its interpreter and what its site needs to know."""
    from django.conf import settings

    venv.create(folder / "wagtail", with_pip=True)
    python = str(folder / "wagtail" / "bin" / "python")
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-r",
        str(REQUIREMENTS),
    ]
    subprocess.run(install, check=True)
    environment = {
        "DJANGO_SETTINGS_MODULE": "benchmarks.wagtail_site.settings",
        "WAGTAIL_DATABASE": str(folder / "wagtail.sqlite3"),
        "SERVER": settings.SERVER,
        "REQUESTS_AT_ONCE": str(settings.REQUESTS_AT_ONCE),
    }
    file = folder / "posts.json"
    file.write_text(json.dumps(posts))
    fill = [python, "-m", "benchmarks.wagtail_site.fill", str(file)]
    subprocess.run(fill, check=True, env={**os.environ, **environment}, cwd=report.ROOT)
    return python, environment


def _answer(server: Any, path: str) -> bytes:
    """Return what is answered at an address. Raises RuntimeError unless it is found."""
    status, _headers, body = server.get(path)
    if status != 200:
        raise RuntimeError(f"{path}: status {status}: {body[:500]!r}")
    return bytes(body)


def _json(server: Any, path: str) -> Any:
    return json.loads(_answer(server, path))


def _pinned(name: str) -> str:
    return next(line for line in REQUIREMENTS.read_text().splitlines() if line.startswith(f"{name}==")).partition("==")[
        2
    ]
