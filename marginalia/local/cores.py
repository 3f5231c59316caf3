"""The number of CPU cores that the site can use, and the default number of worker processes."""

import os
from pathlib import Path

# This file contains the CPU limit of a container (cgroup v2), as "<microseconds> <period>" or "max <period>".
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Return how many cores this process can use, given its CPU affinity and the container's quota (rounded up)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        microseconds, period = map(int, QUOTA.read_text().split())
    except (OSError, ValueError):  # no quota, or "max"
        return cores
    return min(cores, -(-microseconds // period))


def default_workers() -> int:
    """Return the number of web server processes to start if WEB_CONCURRENCY isn't set.

    There is one process per core, because Python runs only one thread per process at a time. There are at least two
    processes, so that the site keeps running if one of them fails.
    """
    return max(2, usable_cores())
