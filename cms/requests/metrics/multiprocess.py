"""The metrics of all worker processes on a machine, added up by the process that is scraped.

Each process stores its counts in its own files (the multiprocess mode of prometheus-client). The files aren't named
after process ids, because old files would be left behind, and process ids are reused by other programs. Instead, each
process claims the lowest number whose lock is free, and continues the counts of the previous process with this number.

Counts therefore never decrease, and the number of files depends only on how many processes have run at the same time.
If a lock is free, its process has ended, even if it was killed with kill -9.
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

# The web server's settings set this variable (cms/serving/gunicorn_conf.py). In commands and tests, it is empty, and
# each process counts only for itself.
FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
# This process's metrics. If you change a histogram's buckets, rename the histogram, because the files still contain the
# old counts.
REGISTRY = CollectorRegistry()

# The id of the process, and the number that it has claimed.
_claimed = (0, "")


def process_number() -> str:
    """Return this process's number, which no other process uses. A child process claims its own number."""
    global _claimed
    if _claimed[0] != os.getpid():
        _claimed = (os.getpid(), _claim_number(Path(FOLDER)))
    return _claimed[1]


def _claim_number(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    # This also repairs a folder that an earlier version created as world-readable.
    with suppress(PermissionError):
        folder.chmod(0o700)
    for number in itertools.count():
        # If the lock is acquired, the file is never closed, so that the process holds the lock until it ends.
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
    """A Prometheus collector that adds up the metrics of all processes. Live gauges include only running processes."""

    def collect(self) -> Iterable[Metric]:
        """Return the total metrics, excluding metrics from earlier releases that old files still contain."""
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
