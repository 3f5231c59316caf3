"""The number of processor cores that the site can use, and of worker processes to start."""

import os
from pathlib import Path

# "<microseconds> <period>", or "max <period>": the CPU limit of a container (cgroup v2).
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Return how many cores this process can use, by the scheduler and the container's quota, rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        microseconds, period = map(int, QUOTA.read_text().split())
    except (OSError, ValueError):  # no quota, or "max"
        return cores
    return min(cores, -(-microseconds // period))


def default_workers() -> int:
    """Return the number of web server processes to start if WEB_CONCURRENCY isn't set.

    This is one per core, because Python runs one thread per process at a time, and at least two, so that one can fail.
    """
    return max(2, usable_cores())
