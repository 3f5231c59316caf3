"""The metrics of all worker processes on a machine, added up by the process that receives the scrape request.

Each process stores its counts in its own files (the multiprocess mode of prometheus-client). The names of the files
don't contain process ids, because the files of old processes would be left behind, and the operating system reuses
process ids. Instead, each process claims the lowest number whose lock is free, and continues the counts of the previous
process that had this number.

Counts therefore never decrease, and the number of files depends only on how many processes have run at the same time.
When a process exits, its lock is released, even if the process was killed with kill -9.
"""

import fcntl
import itertools
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from marginalia.local.claims import is_locked

# The web server's settings set this variable (cms/serving/gunicorn_conf.py). In commands and tests, the variable is
# empty, and the counts of each process are separate.
FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
# This process's metrics. If you change a histogram's buckets, rename the histogram, because the files still contain the
# old counts.
REGISTRY = CollectorRegistry()

# The id of the process, and the number that it has claimed.
_claimed = (0, "")


def process_number() -> str:
    """Return the number that this process has claimed, and that no other process uses.

    Child processes claim their own numbers.
    """
    global _claimed
    if _claimed[0] != os.getpid():
        _claimed = (os.getpid(), _claim_number(Path(FOLDER)))
    return _claimed[1]


def _claim_number(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    # If an earlier version created the folder as world-readable, correct its permissions.
    with suppress(PermissionError):
        folder.chmod(0o700)
    for number in itertools.count():
        # If the lock is acquired, the file is never closed, so that the process holds the lock until it exits.
        descriptor = os.open(_lock_path(folder, number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mark_process_dead(number, folder)
            break
        os.close(descriptor)
    return str(number)


def _lock_path(folder: Path, number: object) -> Path:
    return folder / f"{number}.lock"


class AllProcessesCollector:
    """A Prometheus collector that adds up the metrics of all processes.

    Live gauges include only running processes.
    """

    def collect(self) -> Iterable[Metric]:
        """Return the totals of all metrics, except metrics from earlier releases that old files still contain."""
        own = list(REGISTRY.collect())
        if not FOLDER:
            return own
        names = {metric.name for metric in own}
        files = [str(path) for path in Path(FOLDER).glob("*.db") if _is_current(path)]
        return [metric for metric in MultiProcessCollector.merge(files) if metric.name in names]


def _is_current(path: Path) -> bool:
    number = path.stem.rpartition("_")[2]
    return not path.name.startswith("gauge_live") or is_locked(_lock_path(path.parent, number))


if FOLDER:
    values.ValueClass = values.MultiProcessValue(process_number)
