"""The sum of the metrics of all worker processes on a machine, returned by the process that is scraped.

Each process counts in its own files (the multi-process mode of prometheus-client). The files aren't named after
process ids, because old files would be left behind, and other programs reuse ids. Instead, a process claims the lowest
number whose lock is free, and continues the counts of the previous process with that number.

Counts therefore never decrease, and there are only as many files as there were processes at the same time. A free lock
means that its process has ended, even by kill -9.
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

# The web server's settings set this variable (cms/serving/gunicorn_conf.py). In commands and tests it is empty, and a
# process counts only for itself.
FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
# The metrics of this process. If you change a histogram's buckets, rename the histogram, because the files keep the old counts.
REGISTRY = CollectorRegistry()

# The process id and the claimed number.
_claimed = (0, "")


def process_number() -> str:
    """Return the number of this process, which no other process uses. A child process claims a number of its own."""
    global _claimed
    if _claimed[0] != os.getpid():
        _claimed = (os.getpid(), _claim_number(Path(FOLDER)))
    return _claimed[1]


def _claim_number(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    # Also repairs a folder that an earlier version created as world-readable.
    with suppress(PermissionError):
        folder.chmod(0o700)
    for number in itertools.count():
        # If the lock is acquired, the file is never closed, so that the lock lasts as long as the process.
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
    """A Prometheus collector that sums the metrics of all processes. Gauges of current values include only living processes."""

    def collect(self) -> Iterable[Metric]:
        """Return the summed metrics, without metrics of earlier releases that old files still contain."""
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
