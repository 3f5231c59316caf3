"""Pages of a discussion with a million comments, compared with the first page of a discussion with a hundred."""

import os
import random
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks import report, site
from benchmarks.timing import measure_seconds

SMALL = 100
# Number of comments by layout. Threaded buckets are built from a sorted list in memory.
LARGE = dict.fromkeys(("documents", "buckets, oldest", "buckets, threaded"), 1_000_000)
SELECTED = os.environ.get("BENCH_LAYOUTS", ",".join(name.replace(", ", "-") for name in LARGE)).split(",")
ROUNDS = 20 if site.QUICK else 300
WARM_ROUNDS = 10
GOAL = 1.5


def main() -> None:
    """Measure both discussions, and publish the results."""
    with site.temporary_site():
        from benchmarks.comments import prepare

        prepare()
        for name, size in LARGE.items():
            if name.replace(", ", "-") in SELECTED:
                _compare(name, size // 200 if site.QUICK else size)


def _compare(name: str, size: int) -> None:
    from benchmarks.comments import Trial

    layout, _, order = name.partition(", ")
    small = Trial(SMALL)
    large = Trial(size)
    for trial in (small, large):
        trial.build(layout, order or "oldest")
    operations = {(label, n): call for n, trial in enumerate((small, large)) for label, call in _operations(trial)}
    times: dict[tuple[str, int], list[float]] = {key: [] for key in operations}
    for round in range(WARM_ROUNDS + ROUNDS):
        for key, call in operations.items():
            if key[0] != "post" or round % 5 == 0:
                seconds = measure_seconds(call)
                if round >= WARM_ROUNDS:
                    times[key].append(seconds * 1_000)
    medians = {key: statistics.median(milliseconds) for key, milliseconds in times.items()}
    rows: list[list[object]] = []
    for label in dict.fromkeys(label for label, _ in operations):
        # Pages are compared with the first page of the short discussion. Other operations are compared with the same
        # operation in the short discussion.
        base = times[f"first page, {label.partition(', ')[2]}" if "page" in label else label, 0]
        ratio = statistics.median(long / short for long, short in zip(times[label, 1], base, strict=True))
        row = [label, f"{medians[label, 0]:.2f}", f"{medians[label, 1]:.2f}", f"{ratio:.2f}"]
        rows.append([*row, "met" if ratio <= GOAL else "missed"])
    about = (
        f"The times are in milliseconds (medians of {ROUNDS} calls, or of {ROUNDS // 5} calls for posts). "
        "Calls alternate between a short and a long discussion, and *Ratio* is the median of the ratios of "
        "consecutive calls. "
        f"Each page has {SMALL} comments and is compared with the first page of the short discussion."
    )
    columns = ["", f"{SMALL}", f"{size:,}", "Ratio", f"≤ {GOAL}"]
    report.publish(f"discussion {name}", [report.Table(f"A long discussion: {name}", about, columns, rows)])


def _operations(trial: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield (label, function) for each operation whose cost should not depend on the length of a discussion."""
    from marginalia.comments.types import CommentAuthor, NewComment, Order

    backend = trial.backend
    target = trial.target
    slug = trial.reply_slug(0.6)
    cursor = backend.get(target, slug).full_slug
    discussion = backend.discussion(target)
    pages = -(-discussion.last_number // 100)
    place = trial.place()
    for order in backend.store.layouts.of(place).orders:
        options: dict[str, Any] = {"target": target, "order": order, "size": 100}
        if order is Order.THREADED:
            places: dict[str, dict[str, Any]] = {"first": {}, "middle": {"after": cursor}, "last": {"before": "~"}}
        else:
            places = {"first": {"number": 1}, "middle": {"number": max(1, pages // 2)}, "last": {"number": pages}}
        for name, position in places.items():
            yield f"{name} page, {order}", partial(backend.page, **options, **position)
        yield f"permalink, {order}", partial(backend.page, **options, at=slug)

    def post() -> None:
        backend.post(target, NewComment(CommentAuthor("Bench"), "Yes", "<p>Yes</p>", str(random.random())))

    yield "post", post
