"""A post right after a new comment, when only its discussion is rendered again (docs/internals/benchmarks.md)."""

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from benchmarks import content, report, site

TURNS, WARM_TURNS = (40, 10) if site.QUICK else (400, 50)
NODES, COMMENTS = 100, 250
RENEWED = "right after a comment"
# Maximum CPU milliseconds that the web server needs per page.
GOAL = 4.0


@dataclass
class Series:
    """Latencies and CPU seconds of repeated requests for a page, one request at a time."""

    way: str
    request: Callable[[], Any]
    server: Any
    latencies: list[float] = field(default_factory=list)
    web: float = 0.0
    mongod: float = 0.0

    def turn(self) -> None:
        """Send one request. CPU times are counted in hundredths of a second, so only sums over many turns are exact."""
        web, mongod = self.server.cpu_seconds()
        started = time.perf_counter()
        status, _headers, body = self.request()
        self.latencies.append(time.perf_counter() - started)
        after = self.server.cpu_seconds()
        self.web += after[0] - web
        self.mongod += after[1] - mongod
        if status != 200:
            raise RuntimeError(f"{self.way}: status {status}, {body[:200]!r}")

    def reset(self) -> None:
        """Discard all results."""
        self.latencies = []
        self.web = 0.0
        self.mongod = 0.0

    def row(self) -> list[object]:
        """Return the table's row."""
        web, mongod = (seconds * 1_000 / len(self.latencies) for seconds in (self.web, self.mongod))
        p50, p99 = (statistics.quantiles(self.latencies, n=100)[index] * 1_000 for index in (49, 98))
        goal = f"≤ {GOAL:g}: {'met' if web <= GOAL else 'missed'}" if self.way == RENEWED else ""
        return [self.way, f"{web:.2f}", f"{mongod:.2f}", f"{p50:.1f}", f"{p99:.1f}", goal]


def main() -> None:
    """Measure the page, and publish the results."""
    with site.temporary_site() as folder, ExitStack() as servers:
        site.set_up(NODES)
        from benchmarks import busy_site, web
        from marginalia.comments.types import Target
        from marginalia.mongo.clock import now
        from nodes.selectors import stored_nodes

        post = stored_nodes.whole_by_ids(busy_site.ranked_posts()[0][:1], now())[0]
        content.add_comments(post, COMMENTS)
        path = post.get_absolute_url()
        packed = {"Accept-Encoding": "gzip"}
        bare = servers.enter_context(web.serve_bare(folder))
        kept, counts = servers.enter_context(web.serve_watched(folder))
        cold = servers.enter_context(web.serve("cms.wsgi:application", folder, {"PAGE_CACHE_MB": "0"}))
        size = len(kept.get(path)[2])
        target = Target("nodes.node", str(post.pk))
        reads = f"/read-all/{size}?discussion={quote(target.id)}"
        all_series = [
            Series(RENEWED, lambda: kept.get(path, packed), kept),
            Series("again, from the cache", lambda: kept.get(path, packed), kept),
            Series("without the cache", lambda: cold.get(path, packed), cold),
            Series("bare view that reads the same", lambda: bare.get(reads), bare),
            Series("bare view", lambda: bare.get("/"), bare),
        ]
        for turn in range(-WARM_TURNS, TURNS):
            if turn == 0:
                before = counts()
                for series in all_series:
                    series.reset()
            reply(target)
            for series in all_series:
                series.turn()
        difference = counts() - before
        # A few pages may have been rendered completely, because cached pages expire after some minutes and at midnight.
        if abs(difference["renewed"] - TURNS) > TURNS // 20:
            raise RuntimeError(
                f"After {TURNS} comments, only the discussion was rendered again {difference['renewed']} times"
            )
        about = ABOUT.format(**globals(), size=size)
        report.publish(
            "renewed", [report.Table("A post after a comment", about, COLUMNS, [series.row() for series in all_series])]
        )


COLUMNS = ["Request", "Web, ms", "MongoDB, ms", "p50, ms", "p99, ms", "Goal"]
ABOUT = """The page is {size:,} bytes long and shows 100 threaded comments. The post has more than {COMMENTS} comments
in all. The benchmark posts a reply in the first thread {TURNS} times. After each reply, the benchmark sends each kind
of request once. The requests don't overlap. Where possible, the requests accept compressed responses. *Web* and
*MongoDB* show the CPU time that each of them uses per request. *p50* and *p99* are percentiles of the request's
duration."""


def reply(target: Any) -> None:
    """Post a reply to the first comment."""
    from marginalia.comments.posting import services
    from marginalia.comments.reading import selectors
    from marginalia.comments.types import CommentAuthor

    first = next(iter(selectors.iterate(target)))
    services.post(
        target,
        author=CommentAuthor("Reader"),
        source=content.SENTENCES[0],
        token=str(time.time_ns()),
        parent=first.slug,
    )
