"""Run functions concurrently in tests."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

_T = TypeVar("_T")


def run_concurrently(count: int, work: Callable[[int], _T]) -> list[_T]:
    """Call work(0), work(1)… in threads that start at the same time, and return the results."""
    barrier = Barrier(count)

    def start(number: int) -> _T:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))
