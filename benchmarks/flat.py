"""Pages of a large site, compared with the same pages of a small site (docs/internals/benchmarks.md)."""

import io
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import unquote

from benchmarks import report, site

SIZES = (100, 1_000 if site.QUICK else 100_000)
ROUNDS = 5 if site.QUICK else 60
# Total milliseconds after which a slow page isn't measured again.
ENOUGH = 6_000
GOAL = 1.3
# Pages without a goal, because they are longer on the large site.
LONGER = ("sitemap, a page", "folder of many pages", "archive")


def main() -> None:
    """Measure both sites, and publish the results."""
    with site.temporary_site():
        os.environ["PAGE_CACHE_MB"] = "0"
        context = multiprocessing.get_context("spawn")
        pipes = []
        processes = []
        lengths = []
        for size in SIZES:
            parent_end, child_end = context.Pipe()
            os.environ["MONGODB_DATABASE"] = f"bench_{size}"
            processes.append(context.Process(target=serve, args=(size, child_end), daemon=True))
            processes[-1].start()
            child_end.close()  # otherwise, reading from an ended process would not raise EOFError
            lengths.append(parent_end.recv())  # wait, so that the sites load the demo one after the other
            pipes.append(parent_end)
        results: dict[str, list[list[float]]] = {name: [[], []] for name in lengths[0]}
        for _ in range(ROUNDS):
            for name, both in results.items():
                if sum(both[1]) > ENOUGH:
                    continue
                for pipe, times in zip(pipes, both, strict=True):
                    pipe.send(name)
                    times.append(pipe.recv()[0])
        for pipe, process in zip(pipes, processes, strict=True):
            pipe.send(None)
            process.join()
        report.publish("flat", [_table(results, lengths)])


def _table(results: dict[str, list[list[float]]], lengths: list[dict[str, int]]) -> report.Table:
    rows: list[list[object]] = []
    for name, (small, large) in results.items():
        # Use the median of the ratios of pairs, because other load on the machine slows down both requests of a pair.
        ratio = statistics.median(b / a for a, b in zip(small, large, strict=True))
        verdict = "" if name in LONGER else "met" if ratio <= GOAL else "missed"
        quarters = statistics.quantiles(large, n=4)
        spread = f"{quarters[0]:.1f}–{quarters[2]:.1f}"
        medians = [f"{statistics.median(times):.2f}" for times in (small, large)]
        sizes = [f"{length[name] / 1_000:.1f}" for length in lengths]
        rows.append([name, *medians, spread, f"{ratio:.2f}", *sizes, verdict])
    about = (
        f"These are the times of complete requests without the page cache, in milliseconds (medians of up to {ROUNDS} "
        "requests). "
        f"The sites have {SIZES[0]:,} and {SIZES[1]:,} nodes, with one tag per ten nodes. "
        "Requests to the two sites alternate, and *Ratio* is the median of the ratios of consecutive requests. "
        "*KB* is the size of the page on each site. "
        "The sitemap page, the folder of many pages and the archive contain more on the large site, so they have no "
        "goal. "
        "In the row *search, a common word*, the search term is a word that occurs on every page. "
        "Searches time out after 1.5 s."
    )
    columns = ["Page", f"{SIZES[0]:,}", f"{SIZES[1]:,}", "Quartiles", "Ratio", "KB", "KB", f"≤ {GOAL}"]
    return report.Table("A large site compared with a small one", about, columns, rows)


def serve(size: int, pipe: Connection) -> None:
    """Load a site with `size` nodes, and send {page name: bytes}. Then time each received page name, until None."""
    os.environ["LOG_LEVEL"] = "WARNING"
    site.set_up(size)
    from django.core.handlers.wsgi import WSGIHandler

    handler = WSGIHandler()
    paths = dict(measured_pages())
    pipe.send({name: time_request(handler, path)[1] for name, path in paths.items()})
    while (name := pipe.recv()) is not None:
        pipe.send(time_request(handler, paths[name]))


def measured_pages() -> Iterator[tuple[str, str]]:
    """Yield (name, path) for every kind of page."""
    from marginalia.mongo.clock import now
    from nodes.models import tree
    from nodes.selectors import stored_nodes

    sections = tree.current()
    moment = now()
    blog, folder = (next(s for s in sections.sections.values() if s.slug == slug) for slug in ("blog-1", "folder-1"))
    posts = stored_nodes.entries(blog.id, moment, size=10)
    middle = posts.nodes[5]
    path = sections.url(blog.parent_id, blog.slug)
    yield "home", "/"
    yield "folder", "/library"
    yield "folder of many pages", sections.url(folder.parent_id, folder.slug)
    yield "blog", path
    yield "blog, further down", f"{path}?from={posts.older}"
    yield "archive", f"{path}/archive"
    yield "archive, a year", f"{path}/archive/{middle.metadata.published.year}"
    yield "tag on many posts", "/tag/topic-1"
    yield "tag on few posts", "/tag/note-1"
    yield "feed", "/feed/atom"
    yield "feed of a blog", f"{path}/feed/atom"
    yield "sitemap, index", "/sitemap.xml"
    yield "sitemap, a page", "/sitemap-blog-entry-1.xml"
    yield "search, a rare word", "/search?q=pamphlet"
    yield "search, a common word", "/search?q=paper"
    yield "search, two common words", "/search?q=paper+ink"
    yield "search, a rare and two common words", "/search?q=paper+ink+pamphlet"
    yield "post", middle.get_absolute_url()


def time_request(handler: Callable[..., Any], path: str) -> tuple[float, int]:
    """Return the milliseconds of a request, and the bytes of its response.

    Raises:
        RuntimeError: The status isn't 200.
    """
    path, _, query = path.partition("?")
    environment = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": unquote(path).encode().decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.url_scheme": "http",
    }
    statuses: list[str] = []
    started = time.perf_counter()
    response = handler(environment, lambda status, headers: statuses.append(status))
    length = len(b"".join(response))
    response.close()
    seconds = time.perf_counter() - started
    if not statuses[0].startswith("200"):
        raise RuntimeError(f"{path}: {statuses[0]}")
    return seconds * 1_000, length
