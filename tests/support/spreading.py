"""How evenly ids fall on ranges, as shards would get them."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

RANGES = 64
# The fullest range has at most so many times what it would have if all had the same.
BOUND = 2.5


def moments(count: int) -> Iterator[datetime]:
    """Yield moments of ten years, as many of each."""
    chance, began = random.Random(6), datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(count):
        yield began + timedelta(days=chance.uniform(0, 3_650))


def fullest(beginnings: Iterable[str]) -> float:
    """Return how many times the mean the fullest of RANGES equal ranges has, of ids that begin with these 4 hex digits."""
    counted = Counter(int(digits, 16) * RANGES >> 16 for digits in beginnings)
    return max(counted.values()) / (counted.total() / RANGES)
