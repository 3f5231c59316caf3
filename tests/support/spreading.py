"""Measure how evenly ids are distributed over ranges, which stand for shards."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

RANGES = 64
# Maximum ratio between the fullest range and the mean.
BOUND = 2.5


def moments(count: int) -> Iterator[datetime]:
    """Yield `count` random moments, uniformly distributed over ten years."""
    generator = random.Random(6)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(count):
        yield start + timedelta(days=generator.uniform(0, 3_650))


def fullest(prefixes: Iterable[str]) -> float:
    """Return the ratio between the fullest of RANGES equal ranges and the mean, for 4-digit hexadecimal prefixes."""
    counts = Counter(int(digits, 16) * RANGES >> 16 for digits in prefixes)
    return max(counts.values()) / (counts.total() / RANGES)
