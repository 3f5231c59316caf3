"""Pages per second by number of workers, number of threads, and server (docs/internals/benchmarks.md).

Another table shows the server's share of a page.
"""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks import pages, report, site
from benchmarks.slow_senders import GRANIAN, Server, granian, gunicorn, run_server

WARM_SECONDS = 1
ROUNDS, SECONDS = (1, 1) if site.QUICK else (5, 2)
NODES = 100
# Number of connections per core. There are more than threads in a worker, so that the number of threads matters.
CONNECTIONS = 16
BARE = "bare view"
KEPT = "cached page"
COLD = "uncached page"
APPLICATIONS = {
    BARE: ("benchmarks.bare:application", {}),
    KEPT: ("cms.wsgi:application", {}),
    COLD: ("cms.wsgi:application", {"PAGE_CACHE_MB": "0"}),
}


@dataclass
class Way:
    """A server with a given number of workers, and of threads per worker.

    It has an instance for each page, and stores the loads of all rounds.
    """

    name: str
    server: Server
    workers: int
    threads: int
    webs: dict[str, Any] = field(default_factory=dict)
    loads: dict[str, list[Any]] = field(default_factory=dict)

    def load(self, page: str, post: str, seconds: int, connections: int) -> None:
        """Load the bare view or the post, and add the result to `loads`."""
        path = "/" if page == BARE else post
        load = self.webs[page].load(path, seconds, connections=connections)
        self.loads.setdefault(page, []).append(load)

    def median(self, page: str, figure: str) -> float:
        """Return the median of a figure over the rounds."""
        return statistics.median(getattr(load, figure) for load in self.loads[page])

    def row(self, page: str, usual: "Way") -> list[object]:
        """Return the table's row, which compares this way with the way `usual` in the same rounds."""
        pairs = zip(self.loads[page], usual.loads[page], strict=True)
        ratios = [load.rate / other.rate for load, other in pairs]
        return [
            page,
            self.name,
            self.workers,
            self.threads,
            f"{self.median(page, 'rate'):,.0f}",
            f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f}–{max(ratios):.2f}",
            f"{self.median(page, 'p99'):.1f}",
        ]

    def share(self) -> list[object]:
        """Return the row for the table of shares."""
        pairs = zip(self.loads[BARE], self.loads[KEPT], strict=True)
        return [
            self.name,
            f"{self.median(BARE, 'web'):.2f}",
            f"{self.median(KEPT, 'web'):.2f}",
            f"{statistics.median(bare.web / kept.web for bare, kept in pairs):.0%}",
            f"{self.median(KEPT, 'mongod'):.2f}",
        ]


def ways(cores: int, at_once: int, spare: int) -> Iterator[Way]:
    """Yield the ways to compare: the default, other numbers of workers and threads, and other servers."""
    usual = at_once + spare
    numbers = [(cores, usual), (1, usual), (2 * cores, usual), (cores, usual // 2), (cores, 2 * usual)]
    for workers, threads in dict.fromkeys(numbers[:2] if site.QUICK else numbers):
        yield Way("gunicorn", _gunicorn(workers, threads - spare), workers, threads)
    if GRANIAN.exists():
        command = partial(granian, workers=cores, threads=usual)
        yield Way("Granian", Server("Granian", command, {}, ""), cores, usual)


def _gunicorn(workers: int, at_once: int) -> Server:
    environment = {"WEB_CONCURRENCY": str(workers), "REQUESTS_AT_ONCE": str(at_once)}
    return Server("gunicorn", gunicorn, environment, "")


def main() -> None:
    """Measure the ways, and publish the results."""
    with site.temporary_site() as folder, ExitStack() as servers:
        site.set_up(NODES)
        from django.conf import settings

        from benchmarks import web
        from cms.serving import gunicorn_conf
        from marginalia.local import cores

        web.require_wrk()
        _name, post = next(pages.measured_pages())
        usable = cores.usable_cores()
        all_ways = list(ways(usable, settings.REQUESTS_AT_ONCE, gunicorn_conf.SPARE_THREADS))
        for way in all_ways:
            _start(way, folder, servers)
            for page in APPLICATIONS:
                way.load(page, post, WARM_SECONDS, CONNECTIONS * usable)
        for way in all_ways:
            way.loads.clear()
        for number in range(ROUNDS):
            # The server may still be processing requests that wrk has given up on when the next load starts. Therefore,
            # the order rotates.
            turn = number % len(all_ways)
            for page in APPLICATIONS:
                for way in (*all_ways[turn:], *all_ways[:turn]):
                    way.load(page, post, SECONDS, CONNECTIONS * usable)
        report.publish("serving", _tables(all_ways))


def _start(way: Way, folder: Path, servers: ExitStack) -> None:
    from benchmarks.web import Web
    from marginalia.local.embedded import Embedded

    mongod = Embedded(folder).running()
    assert mongod is not None
    for page, (application, more) in APPLICATIONS.items():
        server = replace(way.server, environment=way.server.environment | more)
        port, process = servers.enter_context(run_server(server, application, folder))
        way.webs[page] = Web(port, process, psutil.Process(mongod.pid))


def _tables(all_ways: list[Way]) -> list[report.Table]:
    usual = all_ways[0]
    rows = [way.row(page, usual) for page in APPLICATIONS for way in all_ways]
    shares = [way.share() for way in all_ways if (way.workers, way.threads) == (usual.workers, usual.threads)]
    return [
        report.Table("Worker processes, threads and servers", ABOUT, COLUMNS, rows),
        report.Table("The server's share of a cached page", ABOUT_SHARES, SHARES, shares),
    ]


COLUMNS = ["Page", "Server", "Workers", "Threads", "Pages/s", "× default", "Range", "p99, ms"]
ABOUT = f"""The pages are a post with {pages.COMMENTS} comments (100 of them shown), served from the page cache and
rendered again, and the bare view of *Pages per second*. The first row of each page is the default: gunicorn with one
worker per core. The other rows change the number of workers (`WEB_CONCURRENCY`), the number of threads per worker
(`REQUESTS_AT_ONCE` plus four), or the server (Granian, if it is installed). wrk uses {CONNECTIONS} connections per
core, so requests wait for threads. The figures are medians of {ROUNDS} rounds of {SECONDS} s, in which all variants are
measured in turn. The ratios compare each variant with the default in the same round. wrk and MongoDB run on the same
cores as the web server."""
SHARES = ["Server", "Bare view, ms", "Cached page, ms", "Share", "MongoDB, ms"]
ABOUT_SHARES = """This table shows the CPU time of the web server in the same rounds, in milliseconds, with the default
number of workers and threads. The bare view is the cost of the server and of a minimal Django view. A cached page also
sends one database command. The CPU time of MongoDB is listed separately."""
