"""The number of processor cores that the site can use, and of worker processes to start."""

import os
from pathlib import Path

# "<microseconds> <period>", or "max <period>": the CPU limit of a container (cgroup v2).
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Return how many cores the scheduler and the container's quota allow this process. A fraction of a core counts as one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        microseconds, period = map(int, QUOTA.read_text().split())
    except (OSError, ValueError):  # no quota, or "max"
        return cores
    return min(cores, -(-microseconds // period))


def default_workers() -> int:
    """Return how many worker processes the web server starts unless WEB_CONCURRENCY is set.

    There is one per core, because Python runs one thread per process at a time. There are at least two, so that one can fail.
    """
    return max(2, usable_cores())
