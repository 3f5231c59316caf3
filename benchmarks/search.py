"""Searches and suggestions on a large site, saving a page, and the size of the index."""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks import report, site
from benchmarks.flat import time_request

NODES = 1_000 if site.QUICK else 100_000
# Number of nodes with their own text. The other nodes are copies of them with their own places, dates, authors and tags.
DISTINCT = NODES // 10
ROUNDS = 5 if site.QUICK else 60
SAVES = 10 if site.QUICK else 200
# Goals in milliseconds.
SUGGESTIONS, COMMON_WORDS, TYPO = 30, 50, 80


def main() -> None:
    """Load the site, measure it, and publish the results."""
    os.environ |= {"LOG_LEVEL": "ERROR", "PAGE_CACHE_MB": "0"}
    with site.temporary_site():
        site.set_up(NODES, distinct=DISTINCT)
        rows = list(_measure_requests())
        about = (
            f"These are the times of complete requests without the page cache, in milliseconds (medians of {ROUNDS} "
            f"requests), on a site with {NODES:,} nodes, of which {DISTINCT:,} have their own text. Each word of these "
            "nodes is on most pages, except *pamphlet*. "
            "The rows at the end are the time for saving a page of 800 words, and the sizes of the search index."
        )
        columns = ["Request", "Median", "Slowest tenth", "Goal", ""]
        report.publish("search", [report.Table("Search", about, columns, [*rows, _measure_saves(), *_sizes()])])


def _requests() -> Iterator[tuple[str, str, int]]:
    yield "suggestions, three letters", "/search/suggestions?q=pap", SUGGESTIONS
    yield "suggestions, two words", "/search/suggestions?q=paper%20in", SUGGESTIONS
    yield "a rare word", "/search?q=pamphlet", COMMON_WORDS
    yield "a common word", "/search?q=paper", COMMON_WORDS
    yield "two common words", "/search?q=paper+ink", COMMON_WORDS
    yield "three common words", "/search?q=paper+ink+window", COMMON_WORDS
    yield "a rare and a common word", "/search?q=paper+pamphlet", COMMON_WORDS
    yield "a word and a tag", "/search?q=ink+tag:note-17", COMMON_WORDS
    yield "a filter", "/search?q=paper+ink&year=2020", COMMON_WORDS
    yield "a typo", "/search?q=pamplhet", TYPO
    yield "a typo and a common word", "/search?q=paper+pamplhet", TYPO
    yield "an unknown word", "/search?q=xylophone", TYPO


def _measure_requests() -> Iterator[list[object]]:
    from django.core.handlers.wsgi import WSGIHandler

    handler = WSGIHandler()
    for name, path, goal in _requests():
        time_request(handler, path)
        times = [time_request(handler, path)[0] for _ in range(ROUNDS)]
        yield _row(name, times, goal)


def _row(name: str, times: list[float], goal: float | None = None) -> list[object]:
    median = statistics.median(times)
    slow = statistics.quantiles(times, n=10)[-1]
    verdict = "" if goal is None else "met" if median <= goal else "missed"
    return [name, f"{median:.1f}", f"{slow:.1f}", f"≤ {goal}" if goal else "", verdict]


def _measure_saves() -> list[object]:
    """Save different texts of a page, and return the row with the times."""
    from benchmarks.volume import WORDS
    from cms.testing.build import EDITOR, node, nonce
    from nodes.services import editing

    chance = random.Random(1)
    page = node(slug="saved", text="Before")

    def save() -> Callable[[], Any]:
        text = "\n\n".join(" ".join(chance.choices(WORDS, k=80)) for _ in range(10))
        return partial(editing.save, EDITOR, page, nonce(page), {"detail.text": text})

    times = []
    for _ in range(SAVES):
        work = save()
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1_000)
    return _row("saving a page", times)


def _sizes() -> Iterator[list[object]]:
    from marginalia.mongo.connection import database

    stats = database().command("collStats", "cms.nodes")
    for name in ("by_term", "by_title_word"):
        if size := stats["indexSizes"].get(name):
            yield [f"index `{name}`, MB", f"{size / 1e6:.0f}", "", "", ""]
    yield ["collection `cms.nodes` on disk, MB", f"{stats['storageSize'] / 1e6:.0f}", "", "", ""]


if __name__ == "__main__":
    main()
