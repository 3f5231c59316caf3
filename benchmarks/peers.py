"""API calls and pages per second, compared with Wagtail and django-comments-xtd (docs/internals/benchmarks.md)."""

import json
import shutil
import subprocess
import venv
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import peer_pages, report, side_by_side, site
from benchmarks.peer_pages import OURS, OURS_COLD, PEER, PEER_KEPT, Peer
from benchmarks.side_by_side import Series, Steal, get_body

ROUNDS, SECONDS = (1, 1) if site.QUICK else (5, 3)
NODES = 100 if site.QUICK else 1_000
REQUIREMENTS = Path(__file__).with_name("wagtail_site") / "requirements.txt"

WAGTAIL = "Wagtail v2"
WAGTAIL_NEW = "Wagtail v3"
WAGTAIL_KEPT = "Wagtail v2, cached 60 s"
_NEWEST = "?type=wagtail_site.Post&order=-first_published_at&limit=20"
_ONLY = "id,type,slug,title,url,published"
# Paths by call and by site. {id} stands for the id of the post, and {pk} for the key of its copy in Wagtail.
CALLS: Mapping[str, Mapping[str, str]] = {
    "a post with its text": {
        OURS: "/api/v1/nodes/{id}?include=body_html",
        WAGTAIL: "/api/v2/pages/{pk}/",
        WAGTAIL_NEW: "/api/v3/pages/{pk}/",
    },
    "newest 20: titles, dates, URLs": {
        OURS: f"/api/v1/nodes?limit=20&fields={_ONLY}",
        WAGTAIL: f"/api/v2/pages/{_NEWEST}",
        WAGTAIL_NEW: f"/api/v3/pages/{_NEWEST}",
    },
    "newest 20, with summaries, authors and tags": {
        OURS: "/api/v1/nodes?limit=20",
        WAGTAIL: f"/api/v2/pages/{_NEWEST}&fields=summary,author,tags",
    },
}
COLUMNS = ["Call", "Response", "Calls/s", "× Wagtail v2", *side_by_side.COLUMNS]
ABOUT = """One site uses Marginalia, and the other uses Wagtail {wagtail}. Both sites have the same {posts:,} posts.
`make bench ARGS=peers` creates both sites, copies the posts through our API, and deletes the sites afterwards. Wagtail
uses the settings that `wagtail start` generates, and its default database, SQLite. The benchmark runs `ANALYZE`, turns
on the write-ahead log, and keeps connections open. Both sites use the same version of Django and the same gunicorn
settings, with {workers} workers and the same number of threads. wrk uses {connections} connections. The figures are
medians of {rounds} rounds of {seconds} s, in which all variants are measured in turn. The ratios compare each variant
with version 2 of Wagtail's API and with the bare view in the same round. The measured post has a text of median length
among all posts. *Cached* responses come from our page cache, which checks them against the database on each request.
*Uncached* means that our page cache is off. *Cached 60 s* uses Django's in-memory cache, so responses can be up to a
minute old. Wagtail counts all items of the list on each request, but our API doesn't. In version 3 of Wagtail's API,
lists contain no summaries, authors or tags. *Web* includes the CPU time that SQLite uses. During these rounds, the CPU
steal time (taken by the virtual machine's host) was {steal}."""


def main() -> None:
    """Measure the calls, and publish the results."""
    with site.temporary_site() as folder, ExitStack() as servers:
        site.set_up(NODES)
        from benchmarks import web

        web.require_wrk()
        peer_pages.add_comments()
        bare = servers.enter_context(web.serve_bare(folder))
        cold = servers.enter_context(web.serve("cms.wsgi:application", folder, {"PAGE_CACHE_MB": "0"}))
        kept = servers.enter_context(web.serve("cms.wsgi:application", folder))
        posts = _posts(kept)
        peers = _install_peers(folder, posts)
        peer_servers = {
            # The hooks in the site's settings for gunicorn need MongoDB.
            way: servers.enter_context(
                web.serve(
                    "cms.wsgi:application", folder, peer.environment, peer.python, ("--config", str(web.BARE_SETTINGS))
                )
            )
            for way, peer in peers.items()
        }
        by_way = {OURS: kept, OURS_COLD: cold, **peer_servers}
        report.publish("peers", [_calls(by_way, bare, posts), *peer_pages.tables(by_way, bare, folder, posts, peers)])


def _calls(servers: Mapping[str, Any], bare: Any, posts: list[dict[str, Any]]) -> report.Table:
    from benchmarks import web

    by_way = {
        **servers,
        WAGTAIL: servers[PEER],
        WAGTAIL_NEW: servers[PEER],
        WAGTAIL_KEPT: servers[PEER_KEPT],
    }
    post = sorted(posts, key=lambda post: len(post["body_html"]))[len(posts) // 2]
    copy = _json(servers[PEER], f"/api/v2/pages/?type=wagtail_site.Post&slug={post['slug']}")["items"][0]
    if copy["title"] != post["title"]:
        raise RuntimeError(f"{copy['title']} is not {post['title']}")
    names = {"id": post["id"], "pk": copy["id"]}
    all_series = [
        Series(call, way, by_way[way], path.format(**names))
        for call, paths in CALLS.items()
        for way, path in all_ways(paths).items()
    ]
    steal = Steal()
    side_by_side.measure(all_series, WAGTAIL, bare, ROUNDS, SECONDS)
    about = ABOUT.format(
        posts=len(posts),
        wagtail=_pinned_versions()["wagtail"],
        workers=web.WORKERS,
        connections=web.CONNECTIONS,
        rounds=ROUNDS,
        seconds=SECONDS,
        steal=str(steal),
    )
    return report.Table("The API compared with Wagtail's", about, COLUMNS, [series.row() for series in all_series])


def all_ways(paths: Mapping[str, str]) -> dict[str, str]:
    """Return a call's paths by way. Our site without its cache, and Wagtail with a cache, are additional ways."""
    return {OURS: paths[OURS], OURS_COLD: paths[OURS], **paths, WAGTAIL_KEPT: paths[WAGTAIL]}


def _posts(ours: Any) -> list[dict[str, Any]]:
    """Return every post from our API, with its comments."""
    posts = []
    cursor = ""
    while cursor is not None:
        page = _json(ours, f"/api/v1/nodes?limit=100&include=body_html&cursor={cursor}")
        posts += [{**post, "comments": peer_pages.comments(post["id"])} for post in page["items"]]
        cursor = page["next"]
    return posts


def _install_peers(folder: Path, posts: list[dict[str, Any]]) -> dict[str, Peer]:
    """Install Wagtail and django-comments-xtd, fill a site with the posts, and return the peers by way.

    One peer has no cache. The other uses a copy of the database and caches responses.
    """
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
    database = folder / "wagtail.sqlite3"
    database_copy = folder / "wagtail-kept.sqlite3"
    environment = {
        "DJANGO_SETTINGS_MODULE": "benchmarks.wagtail_site.settings",
        "WAGTAIL_DATABASE": str(database),
        "REQUESTS_AT_ONCE": str(settings.REQUESTS_AT_ONCE),
    }
    peer = Peer(python, environment, _pinned_versions())
    file = folder / "posts.json"
    file.write_text(json.dumps(posts))
    if peer.run("fill", str(file)).wait():
        raise RuntimeError("The peer's site could not be filled. See the output above.")
    # Copy the database, so that writes to one site don't affect the other. Copying one file is enough, because the
    # write-ahead log was removed when the last connection was closed.
    shutil.copy(database, database_copy)
    return {
        PEER: peer,
        PEER_KEPT: replace(
            peer, environment={**environment, "WAGTAIL_DATABASE": str(database_copy), "KEEP_SECONDS": "60"}
        ),
    }


def _json(server: Any, path: str) -> Any:
    return json.loads(get_body(server, path))


def _pinned_versions() -> dict[str, str]:
    pins = (line.partition("==") for line in REQUIREMENTS.read_text().splitlines() if not line.startswith("#"))
    return {name: version for name, _, version in pins}
