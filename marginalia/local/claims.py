"""A file that one process holds locked, and says in it what it does: two processes never run one server."""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from marginalia.local.processes import is_alive

NOTICING_SECONDS = 5.0  # how long a process may take on a busy machine to notice that it should end
ENDING_SECONDS = 60.0  # how long one that ends may take, what it started included


class Claimed(Exception):
    """Another process has the claim; `facts` are what it says of itself, "pid" among them, or nothing."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(f"Claimed by process {facts.get('pid', 'unknown')}")
        self.facts = facts


class Claim:
    """The right to run something, kept as a lock on a file (mode 0600), which the kernel gives back even after kill -9.

    A guard that inherits `descriptor` keeps the claim until it has ended too. The lock is no part of the file's
    content: a copy of the folder is claimed by no process.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = -1

    def acquire(self, patience: float = NOTICING_SECONDS) -> dict[str, Any]:
        """Take the claim and return what its last owner said.

        Waits `patience` seconds for another owner, and longer for one that ends or was killed. Raises Claimed.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        began = time.monotonic()
        while not _lock(descriptor, fcntl.LOCK_EX):
            facts = _read(self.path)
            ends = facts.get("ending") or not ("pid" in facts and is_alive(facts["pid"]))
            if time.monotonic() - began > (ENDING_SECONDS if ends else patience):
                os.close(descriptor)
                raise Claimed(facts)
            time.sleep(0.05)
        os.fchmod(descriptor, 0o600)
        self.descriptor = descriptor
        return _read(self.path)

    def record(self, **facts: Any) -> None:
        """Replace what the owner, this process, says of itself."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps({"pid": os.getpid(), **facts}).encode(), 0)

    def release(self) -> None:
        """Give the claim back; what was said stays in the file."""
        os.close(self.descriptor)
        self.descriptor = -1

    def owner(self) -> dict[str, Any] | None:
        """What the process that has the claim says of itself; None when none has it."""
        return _read(self.path) if is_locked(self.path) else None


def is_locked(path: Path) -> bool:
    """Whether a process holds an exclusive lock (flock) on this file."""
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
    with contextlib.suppress(ValueError):  # empty, or just being written
        return dict(json.loads(path.read_text()))
    return {}
