"""Measure the duration of a function."""

import time
from collections.abc import Callable


def measure_seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Call `work`, and return its duration in seconds."""
    started = clock()
    work()
    return clock() - started
