"""A post right after a comment was posted under it, when its discussion alone is made anew (docs/reference/benchmarks.md)."""

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
# Milliseconds of the web server that are wanted at most.
GOAL = 4.0


@dataclass
class Series:
    """What it cost to ask for one page again and again, a single request at a time: seconds."""

    way: str
    ask: Callable[[], Any]
    server: Any
    waits: list[float] = field(default_factory=list)
    web: float = 0.0
    mongod: float = 0.0

    def turn(self) -> None:
        """Ask once. The processors' time is told in hundredths of a second; over many turns its differences are right."""
        web, mongod = self.server.spent()
        began = time.perf_counter()
        status, _headers, body = self.ask()
        self.waits.append(time.perf_counter() - began)
        after = self.server.spent()
        self.web += after[0] - web
        self.mongod += after[1] - mongod
        if status != 200:
            raise RuntimeError(f"{self.way}: status {status}, {body[:200]!r}")

    def forget(self) -> None:
        """Begin anew."""
        self.waits = []
        self.web = 0.0
        self.mongod = 0.0

    def row(self) -> list[object]:
        """Return the line of the table."""
        web, mongod = (seconds * 1_000 / len(self.waits) for seconds in (self.web, self.mongod))
        p50, p99 = (statistics.quantiles(self.waits, n=100)[part] * 1_000 for part in (49, 98))
        goal = f"≤ {GOAL:g}: {'kept' if web <= GOAL else 'missed'}" if self.way == RENEWED else ""
        return [self.way, f"{web:.2f}", f"{mongod:.2f}", f"{p50:.1f}", f"{p99:.1f}", goal]


def main() -> None:
    """Measure, print, publish."""
    with site.served_by_mongod() as folder, ExitStack() as servers:
        site.set_up(NODES)
        from benchmarks import busy_site, web
        from marginalia.comments.types import Target
        from marginalia.mongo.clock import now
        from nodes.selectors import stored_nodes

        post = stored_nodes.whole_by_ids(busy_site.ranked()[0][:1], now())[0]
        content.discuss(post, COMMENTS)
        path = post.get_absolute_url()
        packed = {"Accept-Encoding": "gzip"}
        bare = servers.enter_context(web.started("benchmarks.bare:application", folder))
        kept, counts = servers.enter_context(web.watched(folder))
        cold = servers.enter_context(web.started("cms.wsgi:application", folder, {"PAGE_CACHE_MB": "0"}))
        size = len(kept.get(path)[2])
        target = Target("nodes.node", str(post.pk))
        reads = f"/read-all/{size}?discussion={quote(target.id)}"
        every = [
            Series(RENEWED, lambda: kept.get(path, packed), kept),
            Series("again, from the cache", lambda: kept.get(path, packed), kept),
            Series("without the cache", lambda: cold.get(path, packed), cold),
            Series("bare view that reads the same", lambda: bare.get(reads), bare),
            Series("bare view", lambda: bare.get("/"), bare),
        ]
        for turn in range(-WARM_TURNS, TURNS):
            if turn == 0:
                before = counts()
                for one in every:
                    one.forget()
            reply(target)
            for one in every:
                one.turn()
        done = counts() - before
        # A page ends after some minutes, or with the day: such a one is made as a whole.
        if abs(done["renewed"] - TURNS) > TURNS // 20:
            raise RuntimeError(
                f"of {TURNS} pages after a comment {done['renewed']} had their discussion alone made anew"
            )
        about = ABOUT.format(**globals(), size=size)
        report.publish(
            "renewed", [report.Table("A post after a comment", about, COLUMNS, [one.row() for one in every])]
        )


COLUMNS = ["Asked", "Web, ms", "MongoDB, ms", "p50, ms", "p99, ms", "Goal"]
ABOUT = """A post of {size:,} bytes with more than {COMMENTS} comments, 100 of them shown, in threads. {TURNS} times a reply
is posted to the first thread, which every reader then must see, and the page is asked for, once in each way, one request at
a time, packed where it can be. *Web* and *MongoDB*: the processors' time of the request alone; *p50* and *p99*: how long it
took."""


def reply(target: Any) -> None:
    """Post a reply to the first comment."""
    from marginalia.comments.posting import services
    from marginalia.comments.reading import selectors
    from marginalia.comments.types import Author

    first = next(iter(selectors.iterate(target)))
    services.post(
        target, author=Author("Reader"), source=content.SENTENCES[0], token=str(time.time_ns()), parent=first.slug
    )
