"""Pages compared with Wagtail and django-comments-xtd: a post with its discussion, and many readers during writes."""

import json
import os
import random
import re
import statistics
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import busy_site, mixed, report, side_by_side, site
from benchmarks.readers import Readings
from benchmarks.side_by_side import Series, Steal, get_body

ROUNDS, SECONDS = (1, 1) if site.QUICK else (5, 3)
# Readers during writes: number of turns, and the seconds of warm-up and of measurement in each turn.
TURNS, WARM_SECONDS, MIXED_SECONDS = (1, 2, 5) if site.QUICK else (3, 5, 15)
# Number of comments on the measured post, which is the least popular one, and of initial comments on the other posts.
# The other posts have fewer, so that none exceeds one of our pages during the measurement. django-comments-xtd shows
# all comments on a post on a single page.
COMMENTS, AT_FIRST = 100, 40
OURS = "cached"
OURS_COLD = "uncached"
PEER = "Wagtail"
PEER_KEPT = "Wagtail, cached 60 s"
PAGE = f"a post with {COMMENTS} comments"
# Minimum ratios to Wagtail's number of pages per second.
GOALS = {OURS_COLD: 7, OURS: 32}
MIXED_GOAL = 25

COLUMNS = ["Page", "Response", "Pages/s", "× Wagtail", *side_by_side.COLUMNS, "Goal"]
MIXED_COLUMNS = ["Response", "Pages/s", "× Wagtail", "Range", "p50, ms", "p99, ms", "Web, ms", "MongoDB, ms"]
MIXED_COLUMNS += ["Comments", "Saves", "Goal"]
ABOUT = """The two sites are the same as in the previous table, and the measured page is the same post on both. It shows
the title, summary, author, date, text, tags and breadcrumbs, links to the previous and next posts, and {COMMENTS}
threaded comments. Our page also has a menu and related posts. The Wagtail site uses Wagtail {wagtail} with
django-comments-xtd {xtd}, which renders the comments as plain text on each request (`render_xtdcomment_tree`). Our site
rendered the comments from Markdown when they were posted. The page on the Wagtail site has no comment form, because
Django's cache wouldn't store a page with a form. Our page has a link to the form. *Wagtail* runs without a page cache,
as it does by default. *Cached 60 s* uses Django's in-memory cache in each worker, so pages can be up to a minute old.
*Cached* pages come from our page cache, which listens for changes in the database. *Uncached* means that
our page cache is off. The servers, workers and connections are the same as in the previous table. The figures are
medians of {ROUNDS} rounds of {SECONDS} s, in which all variants are measured in turn. The ratios compare each variant
with *Wagtail* and with the bare view in the same round. The CPU steal time (taken by the virtual machine's host) was
{steal}."""
MIXED_ABOUT = """The two sites have the same {posts:,} posts, the same readers and the same writers. At first, the
least popular post has {COMMENTS} comments, and every other post has {AT_FIRST}. Readers send requests over
{connections} connections without pausing. The popularity of the posts follows Zipf's law. At the same time, another
process posts a comment every {busy.COMMENT_EVERY:g} s and saves a post every {busy.SAVE_EVERY:g} s. Popular posts
get more of these comments and saves. This process uses the code of each system: our services, the models of
django-comments-xtd, and published revisions in Wagtail. *Ours* uses MongoDB and our page cache, which shows every
comment and save immediately. *Wagtail* uses SQLite with a write-ahead log, without a page cache. *Cached 60 s* also uses
Django's cache, so readers see changes up to a minute late. The figures are medians of {TURNS} rounds of
{MIXED_SECONDS} s, each after a warm-up of {WARM_SECONDS} s. The ratios compare each variant with *Wagtail* in the
same round. Both sites use gunicorn with {workers} workers and the same number of threads. *Web* and *MongoDB* show
the CPU time that each of them uses per page. *Web* includes the CPU time that SQLite uses for readers, but not for
writers. *Comments* and *Saves* are the numbers of writes, including those during the warm-up. The CPU steal time
(taken by the virtual machine's host) was {steal}."""


@dataclass
class Peer:
    """An installed peer site, with its interpreter, environment variables, and versions by package."""

    python: str
    environment: Mapping[str, str]
    versions: Mapping[str, str]

    def run(self, module: str, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
        """Start a module of benchmarks.wagtail_site in the peer's environment."""
        command = [self.python, "-m", f"benchmarks.wagtail_site.{module}", *arguments]
        return subprocess.Popen(command, env={**os.environ, **self.environment}, cwd=report.ROOT, text=True, **options)


def add_comments() -> None:
    """Add the comments to our posts."""
    posts, _weights = busy_site.ranked_posts()
    busy_site.add_comments([AT_FIRST] * (len(posts) - 1) + [COMMENTS])


def comments(post: str) -> list[dict[str, str]]:
    """Return the comments on our post with this id, parents before replies, to fill the peer's site."""
    from marginalia.comments.reading import selectors
    from marginalia.comments.types import Target

    return [
        {
            "slug": comment.slug,
            "parent": comment.parent,
            "name": comment.author.name,
            "url": comment.author.url,
            "text": comment.source,
            "posted": comment.posted.isoformat(),
        }
        for comment in selectors.iterate(Target("nodes.node", post))
    ]


def tables(
    servers: Mapping[str, Any], bare: Any, folder: Path, posts: Sequence[Mapping[str, Any]], peers: Mapping[str, Peer]
) -> list[report.Table]:
    """Measure the pages, and return the tables.

    Args:
        servers: Our servers by way.
        bare: The server of the bare view.
        folder: The folder for temporary files.
        posts: The posts from our API.
        peers: The peers by way.
    """
    by_id = {post["id"]: post for post in posts}
    ranked = [by_id[str(id)] for id in busy_site.ranked_posts()[0]]
    return [
        _single_page(servers, bare, ranked[-1]["path"], peers[PEER].versions),
        _mixed(servers, folder, ranked, peers),
    ]


def _single_page(servers: Mapping[str, Any], bare: Any, path: str, versions: Mapping[str, str]) -> report.Table:
    paths = {OURS: path, OURS_COLD: path, PEER: f"{path}/", PEER_KEPT: f"{path}/"}
    for way, pattern in ((OURS, rb'<li class="comment '), (PEER, rb'<div id="c\d+" class="comment')):
        if (count := len(re.findall(pattern, get_body(servers[way], paths[way])))) != COMMENTS:
            raise RuntimeError(f"{way} shows {count} comments")
    all_series = [Series(PAGE, way, servers[way], path) for way, path in paths.items()]
    steal = Steal()
    side_by_side.measure(all_series, PEER, bare, ROUNDS, SECONDS)
    about = ABOUT.format(
        **globals(), wagtail=versions["wagtail"], xtd=versions["django-comments-xtd"], steal=str(steal)
    )
    rows = [[*series.row(), verdict(series.base_ratios, GOALS.get(series.way))] for series in all_series]
    return report.Table("Pages compared with Wagtail and django-comments-xtd", about, COLUMNS, rows)


def verdict(ratios: Sequence[float], goal: float | None) -> str:
    """Return the goal for a ratio and whether the median ratio meets it, or "" if there is no goal."""
    if goal is None:
        return ""
    return f"≥ {goal:g}: {'met' if statistics.median(ratios) >= goal else 'missed'}"


@dataclass
class Traffic:
    """Results for readers of a site during writes, turn by turn."""

    way: str
    server: Any
    paths: list[str]
    writers: Callable[[], AbstractContextManager[Counter[str]]]
    readings: list[Readings] = field(default_factory=list)
    costs: list[list[float]] = field(default_factory=list)
    base_ratios: list[float] = field(default_factory=list)
    written: Counter[str] = field(default_factory=Counter)

    def turn(self) -> float:
        """Read and write for some seconds, and return the number of pages per second."""
        with self.writers() as counts:
            mixed.run_readers(self.server, self.paths, WARM_SECONDS)
            before = self.server.cpu_seconds()
            self.readings.append(mixed.run_readers(self.server, self.paths, MIXED_SECONDS))
            pages = self.readings[-1].pages
            self.costs.append(
                [(after - b) * 1_000 / pages for after, b in zip(self.server.cpu_seconds(), before, strict=True)]
            )
        self.written += counts
        print(f"mixed, {self.way}: {self.readings[-1].rate:,.1f} pages per second, {dict(counts)}", flush=True)
        return self.readings[-1].rate

    def row(self) -> list[object]:
        """Return the table's row."""
        rate, p50, p99 = (
            statistics.median(getattr(reading, name) for reading in self.readings) for name in ("rate", "p50", "p99")
        )
        costs = [f"{statistics.median(turns):.2f}" for turns in zip(*self.costs, strict=True)]
        return [
            self.way,
            f"{rate:,.0f}",
            *side_by_side.ratio(self.base_ratios),
            f"{p50:.1f}",
            f"{p99:.1f}",
            *costs,
            self.written["comment"],
            self.written["save"],
            verdict(self.base_ratios, MIXED_GOAL if self.way == "ours" else None),
        ]


def _mixed(
    servers: Mapping[str, Any], folder: Path, posts: Sequence[Mapping[str, Any]], peers: Mapping[str, Peer]
) -> report.Table:
    from benchmarks import web

    paths = [post["path"] for post in posts]
    slugs = folder / "ranked.json"
    slugs.write_text(json.dumps([post["slug"] for post in posts]))
    ids = busy_site.ranked_posts()[0]
    intervals: dict[Callable[[random.Random, Any], None], float] = {
        busy_site.comment: busy_site.COMMENT_EVERY,
        busy_site.save: busy_site.SAVE_EVERY,
    }
    all_traffic = [Traffic("ours", servers[OURS], paths, lambda: busy_site.repeat_on_posts(ids, intervals))]
    for way, peer in peers.items():
        peer_paths = [f"{path}/" for path in paths]
        all_traffic.append(Traffic(way, servers[way], peer_paths, lambda peer=peer: _write_to_peer(peer, slugs)))  # type: ignore[misc]
    # Check some posts on all sites, because a redirect would also count as a page.
    for number in (0, 1, -2):
        for traffic in all_traffic:
            if posts[number]["title"].encode() not in get_body(traffic.server, traffic.paths[number]):
                raise RuntimeError(f"{traffic.way}: {traffic.paths[number]} is not {posts[number]['title']}")
    steal = Steal()
    for _ in range(TURNS):
        rates = {traffic.way: traffic.turn() for traffic in all_traffic}
        for traffic in all_traffic:
            traffic.base_ratios.append(rates[traffic.way] / rates[PEER])
    about = MIXED_ABOUT.format(
        **globals(),
        busy=busy_site,
        posts=len(posts),
        connections=web.CONNECTIONS,
        workers=web.WORKERS,
        steal=str(steal),
    )
    rows = [traffic.row() for traffic in all_traffic]
    return report.Table("Readers and writers compared with Wagtail and django-comments-xtd", about, MIXED_COLUMNS, rows)


@contextmanager
def _write_to_peer(peer: Peer, slugs: Path) -> Iterator[Counter[str]]:
    """Run the peer's writers during the block, and yield a counter that is filled at the end of the block."""
    process = peer.run("write", str(slugs), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    counts: Counter[str] = Counter()
    with process:
        process.stdout.readline()
        try:
            yield counts
        finally:
            process.stdin.close()
            output = process.stdout.read()
    if process.returncode:
        raise RuntimeError("The peer's writers failed. See the output above.")
    counts.update(json.loads(output))
