"""Measuring the time of a function."""

import time
from collections.abc import Callable


def measure_seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Call `work` and return the seconds it took."""
    started = clock()
    work()
    return clock() - started
