"""How long a piece of work takes."""

import time
from collections.abc import Callable


def clocked(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how many seconds `work` took."""
    began = clock()
    work()
    return clock() - began
