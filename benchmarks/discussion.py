"""Every page of a discussion of a million comments against the first page of one of a hundred, in turns."""

import os
import random
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks import report, site
from benchmarks.timing import clocked

SMALL = 100
# Threaded buckets are built from a sorted list, in memory.
LARGE = dict.fromkeys(("documents", "buckets, oldest", "buckets, threaded"), 1_000_000)
WANTED = os.environ.get("BENCH_SCHEMAS", ",".join(name.replace(", ", "-") for name in LARGE)).split(",")
ROUNDS = 20 if site.QUICK else 300
WARMING = 10
GOAL = 1.5


def main() -> None:
    """Measure, print, publish."""
    with site.served_by_mongod():
        from benchmarks.comments import prepare

        prepare()
        for name, size in LARGE.items():
            if name.replace(", ", "-") in WANTED:
                _compare(name, size // 200 if site.QUICK else size)


def _compare(name: str, size: int) -> None:
    from benchmarks.comments import Trial

    schema, _, order = name.partition(", ")
    small = Trial(SMALL)
    large = Trial(size)
    for trial in (small, large):
        trial.build(schema, order or "oldest")
    works = {(what, n): work for n, trial in enumerate((small, large)) for what, work in _works(trial)}
    taken: dict[tuple[str, int], list[float]] = {key: [] for key in works}
    for round in range(WARMING + ROUNDS):
        for key, work in works.items():
            if key[0] != "post" or round % 5 == 0:
                seconds = clocked(work)
                if round >= WARMING:
                    taken[key].append(seconds * 1_000)
    medians = {key: statistics.median(times) for key, times in taken.items()}
    rows: list[list[object]] = []
    for what in dict.fromkeys(what for what, _ in works):
        # A page is compared with the first of the short discussion, other things with their like.
        base = taken[f"first page, {what.partition(', ')[2]}" if "page" in what else what, 0]
        ratio = statistics.median(long / short for long, short in zip(taken[what, 1], base, strict=True))
        row = [what, f"{medians[what, 0]:.2f}", f"{medians[what, 1]:.2f}", f"{ratio:.2f}"]
        rows.append([*row, "kept" if ratio <= GOAL else "missed"])
    about = (
        f"Milliseconds of the back end, medians of {ROUNDS} calls (of a fifth as many posts), the two discussions asked in "
        f"turns, and of the ratios of all pairs; pages of {SMALL}. A page is compared with the first one of the short "
        "discussion."
    )
    columns = ["", f"{SMALL}", f"{size:,}", "Ratio", f"≤ {GOAL}"]
    report.publish(f"discussion {name}", [report.Table(f"A long discussion: {name}", about, columns, rows)])


def _works(trial: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield (what it is, how to do it) of all that should cost the same at any length."""
    from marginalia.comments.types import Author, NewComment, Order

    backend = trial.backend
    target = trial.target
    slug = trial.somewhere(0.6)
    cursor = backend.get(target, slug).full_slug
    discussion = backend.discussion(target)
    pages = -(-discussion.last_number // 100)
    place = trial.place()
    for order in backend.store.layouts.of(place).orders:
        found: dict[str, Any] = {"target": target, "order": order, "size": 100}
        if order is Order.THREADED:
            places: dict[str, dict[str, Any]] = {"first": {}, "middle": {"after": cursor}, "last": {"before": "~"}}
        else:
            places = {"first": {"number": 1}, "middle": {"number": max(1, pages // 2)}, "last": {"number": pages}}
        for where, more in places.items():
            yield f"{where} page, {order}", partial(backend.page, **found, **more)
        yield f"permalink, {order}", partial(backend.page, **found, at=slug)

    def post() -> None:
        backend.post(target, NewComment(Author("Bench"), "Yes", "<p>Yes</p>", str(random.random())))

    yield "post", post
