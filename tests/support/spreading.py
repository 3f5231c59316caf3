"""Measuring how evenly ids are distributed over ranges, as over shards."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

RANGES = 64
# Maximum ratio of the fullest range to the mean.
BOUND = 2.5


def moments(count: int) -> Iterator[datetime]:
    """Yield `count` random moments, evenly distributed over ten years."""
    generator = random.Random(6)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(count):
        yield start + timedelta(days=generator.uniform(0, 3_650))


def fullest(prefixes: Iterable[str]) -> float:
    """Return the ratio of the fullest of RANGES equal ranges to the mean, for ids with these prefixes of 4 hex digits."""
    counts = Counter(int(digits, 16) * RANGES >> 16 for digits in prefixes)
    return max(counts.values()) / (counts.total() / RANGES)
