"""How many processor cores the site may use: as many worker processes as that are started."""

import os
from pathlib import Path

# "<microseconds> <period>", or "max <period>": a container's share of the machine (cgroup v2).
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Return the cores that the scheduler and the container's quota leave to this process: part of one counts as one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        microseconds, period = map(int, QUOTA.read_text().split())
    except (OSError, ValueError):  # none, or "max"
        return cores
    return min(cores, -(-microseconds // period))


def default_workers() -> int:
    """Return how many worker processes the web server starts unless WEB_CONCURRENCY sets a number.

    One for each core, because Python runs one thread of a process at a time; two at least, so that one can fail.
    """
    return max(2, usable_cores())
