"""Many who begin together."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

_T = TypeVar("_T")


def at_once(count: int, work: Callable[[int], _T]) -> list[_T]:
    """Run work(0), work(1)… in threads that begin together; return what they returned."""
    barrier = Barrier(count)

    def begin(i: int) -> _T:
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))
