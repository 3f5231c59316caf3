"""What all worker processes of a machine have counted, as one: whichever of them is asked.

Each counts in files of its own (the multi-process mode of prometheus-client). Their names do not come from process ids, which
would leave files behind and come again for other programs: a process takes the lowest number whose lock is free, and goes on
where the last one with that number ended. So counts only grow, there are no more files than there were processes at once, and
a lock that is free says that its process has ended, even by kill -9.
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

# Set by the web server's settings (cms/serving/gunicorn_conf.py). Elsewhere, as in commands and tests, a process counts for
# itself.
FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
# This process's own. After a change of a histogram's buckets it needs another name: the files keep what was counted before.
REGISTRY = CollectorRegistry()

_held = (0, "")


def number() -> str:
    """Return the number of this process, which no other has while it lives; a child gets one of its own."""
    global _held
    if _held[0] != os.getpid():
        _held = (os.getpid(), _taken(Path(FOLDER)))
    return _held[1]


def _taken(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    # Also where an earlier version made it readable to all.
    with suppress(PermissionError):
        folder.chmod(0o700)
    for tried in itertools.count():
        # Never closed: the lock lasts as long as the process.
        descriptor = os.open(_lock(folder, tried), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mark_process_dead(tried, folder)
            break
        os.close(descriptor)
    return str(tried)


def _lock(folder: Path, number: object) -> Path:
    return folder / f"{number}.lock"


class Everyone:
    """Collects what all processes have counted; of how much there is at the moment, only what living ones say."""

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics that this release knows."""
        own = list(REGISTRY.collect())
        if not FOLDER:
            return own
        names = {metric.name for metric in own}
        files = [str(path) for path in Path(FOLDER).glob("*.db") if _counts(path)]
        return [metric for metric in MultiProcessCollector.merge(files) if metric.name in names]


def _counts(path: Path) -> bool:
    number = path.stem.rpartition("_")[2]
    return not path.name.startswith("gauge_live") or is_locked(_lock(path.parent, number))


if FOLDER:
    values.ValueClass = values.MultiProcessValue(number)
