"""Searches and suggestions on a large site, saving a page, and the size of the index."""

import os
import random
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

from benchmarks import report, site
from benchmarks.flat import time_request

NODES = 1_000 if site.QUICK else 100_000
# Number of nodes with their own text. The other nodes are copies of them with their own places, dates, authors and tags.
DISTINCT = NODES // 10
ROUNDS = 5 if site.QUICK else 60
SAVES = 10 if site.QUICK else 100
# Goals in milliseconds.
SUGGESTIONS, COMMON_WORDS, TYPO = 30, 50, 80
# Maximum ratio of the time of a save to the time of a save that doesn't store anything for searches.
RATIO = 1.2
PARAGRAPHS, WORDS_PER_PARAGRAPH = 10, 80


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
        report.publish("search", [report.Table("Search", about, columns, [*rows, *_measure_saves(), *_sizes()])])


def _requests() -> Iterator[tuple[str, str, int]]:
    yield "suggestions, three letters", "/search/suggestions?q=pap", SUGGESTIONS
    yield "suggestions, two words", "/search/suggestions?q=paper%20in", SUGGESTIONS
    yield "a rare word", "/search?q=pamphlet", COMMON_WORDS
    yield "a common word", "/search?q=paper", COMMON_WORDS
    yield "two common words", "/search?q=paper+ink", COMMON_WORDS
    yield "a phrase of common words", "/search?q=%22paper+ink%22", COMMON_WORDS
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


def _measure_saves() -> Iterator[list[object]]:
    """Change the text of a page, with and without the data for searches, and yield rows with the times."""
    from cms.testing.build import node, nonce
    from nodes.search import languages

    chance = random.Random(1)
    known = _words()
    page = node(slug="saved", text="Before")
    paragraphs = [""] * PARAGRAPHS
    for label, changed in (("all text", PARAGRAPHS), ("one paragraph", 1)):
        times: dict[bool, list[float]] = {True: [], False: []}
        for number in range(2 * SAVES):
            is_searchable = number % 2 == 0
            # Make an unmeasured save first, so that the measured one replaces a page that was saved in the same way.
            _save(page, nonce(page), _text(chance, known, paragraphs, PARAGRAPHS), is_searchable)
            times[is_searchable].append(
                _save(page, nonce(page), _text(chance, known, paragraphs, changed), is_searchable)
            )
        yield _row(f"save, {label} changed", times[True])
        yield _row(f"save, {label} changed, without search", times[False])
        ratio = statistics.median(a / b for a, b in zip(times[True], times[False], strict=True))
        yield [f"save, {label} changed, ratio", f"{ratio:.2f}", "", f"≤ {RATIO}", "met" if ratio <= RATIO else "missed"]
    text = _text(chance, known, paragraphs, PARAGRAPHS)
    guesses = []
    for _ in range(SAVES):
        start = time.perf_counter()
        languages.guess(text)
        guesses.append((time.perf_counter() - start) * 1_000)
    yield _row("detecting the language", guesses)


def _words() -> list[str]:
    """Return the words in the texts of the demo."""
    from marginalia.mongo.connection import database

    texts = database()["cms.nodes"].find({"metadata.detail.text": {"$exists": True}}, {"metadata.detail.text": 1})
    found = {word for node in texts.limit(200) for word in re.findall(r"[a-z]{2,}", node["metadata"]["detail"]["text"])}
    return sorted(found)


def _text(chance: random.Random, known: list[str], paragraphs: list[str], changed: int) -> str:
    """Replace some of the paragraphs, and return the text."""
    for number in chance.sample(range(PARAGRAPHS), changed):
        paragraphs[number] = " ".join(chance.choices(known, k=WORDS_PER_PARAGRAPH))
    return "\n\n".join(paragraphs)


def _save(page: Any, nonce: Any, text: str, is_searchable: bool) -> float:
    """Save a page, and return the milliseconds. Without search, store nothing for searches."""
    from cms.testing.build import EDITOR
    from nodes.search import index, languages
    from nodes.services import editing, vocabulary

    with ExitStack() as patches:
        if not is_searchable:
            patches.enter_context(mock.patch.object(index, "node_terms", return_value=[]))
            patches.enter_context(mock.patch.object(vocabulary, "learn"))
            patches.enter_context(mock.patch.object(languages, "guess", return_value=""))
        start = time.perf_counter()
        editing.save(EDITOR, page, nonce, {"detail.text": text})
        return (time.perf_counter() - start) * 1_000


def _sizes() -> Iterator[list[object]]:
    from marginalia.mongo.connection import database

    stats = database().command("collStats", "cms.nodes")
    for name in ("by_term", "by_title_word"):
        if size := stats["indexSizes"].get(name):
            yield [f"index `{name}`, MB", f"{size / 1e6:.0f}", "", "", ""]
    yield ["collection `cms.nodes` on disk, MB", f"{stats['storageSize'] / 1e6:.0f}", "", "", ""]


if __name__ == "__main__":
    main()
