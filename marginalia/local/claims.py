"""Claims: lock files that ensure that two processes never run the same server.

The process that locks a file also writes a description of itself to the file.
"""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from marginalia.local.processes import is_alive

NOTICING_SECONDS = 5.0  # how long a process on a busy machine may take to notice that it should exit
ENDING_SECONDS = 60.0  # how long a process and its child processes may take to exit


class Claimed(Exception):
    """Another process owns the claim.

    `facts` contains the facts that the owner recorded, including its "pid". If these facts are unknown, `facts` is {}.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(f"Claimed by process {facts.get('pid', 'unknown')}")
        self.facts = facts


class Claim:
    """The exclusive right to run something, implemented as a lock on a file (mode 0600).

    The kernel releases the lock even after kill -9. A guard process that inherits `descriptor` also owns the claim
    until it exits. The lock isn't part of the file's content, so copying the folder doesn't copy the claim.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = -1

    def acquire(self, patience: float = NOTICING_SECONDS) -> dict[str, Any]:
        """Acquire the claim and return the facts that its last owner recorded.

        Args:
            patience: How many seconds to wait if another process owns the claim. If that process is shutting down or
                was killed, the method waits longer.

        Raises:
            Claimed: Another process still owns the claim.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        started = time.monotonic()
        while not _lock(descriptor, fcntl.LOCK_EX):
            facts = _read(self.path)
            is_ending = facts.get("ending") or not ("pid" in facts and is_alive(facts["pid"]))
            if time.monotonic() - started > (ENDING_SECONDS if is_ending else patience):
                os.close(descriptor)
                raise Claimed(facts)
            time.sleep(0.05)
        os.fchmod(descriptor, 0o600)
        self.descriptor = descriptor
        return _read(self.path)

    def record(self, **facts: Any) -> None:
        """Replace the recorded facts about this process, which must own the claim."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps({"pid": os.getpid(), **facts}).encode(), 0)

    def release(self) -> None:
        """Release the claim, but keep the recorded facts in the file."""
        os.close(self.descriptor)
        self.descriptor = -1

    def owner(self) -> dict[str, Any] | None:
        """Return the facts recorded by the process that owns the claim, or None if no process owns it."""
        return _read(self.path) if is_locked(self.path) else None


def is_locked(path: Path) -> bool:
    """Return whether a process has an exclusive lock (flock) on the file at `path`."""
    try:
        with path.open("rb") as file:
            return not _lock(file.fileno(), fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _lock(descriptor: int, kind: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return True
    return False


def _read(path: Path) -> dict[str, Any]:
    with contextlib.suppress(ValueError):  # the file is empty, or another process is writing to it
        return dict(json.loads(path.read_text()))
    return {}
