"""The embedded server: one mongod for a var folder, shared by every process that asks for it.

Each user holds a shared lock on var/locks/mongod.lease while it lives, and the guard (local/guard.py) ends mongod when
the last one is gone, however it went. Whoever finds no server running starts one, under var/locks/mongod.start. The
guard holds var/locks/mongod, and var/mongod.json tells where the server is. mongod's own lock in its data folder has
the last word.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from local.mongod import (
    LOOPBACK,
    STOP_SECONDS,
    EphemeralMongod,
    Mongod,
    MongodError,
    initiate,
    is_free,
    locate,
    recorded_pid,
)
from local.processes import command_line, is_locked, open_lock

__all__ = ["Embedded", "EphemeralMongod", "Mongod", "MongodError", "State", "locate", "share", "uri_for"]

logger = logging.getLogger(__name__)
LOG_BYTES = 10_000_000
DYING_SECONDS = 5.0  # for a killed process to give back its locks
LEAVING_SECONDS = 2.0  # for an ended one to give back its port, which comes after its locks

_one_thread = threading.Lock()


@dataclass(frozen=True)
class State:
    """What var/mongod.json says of the running server: its URI, mongod's and the guard's process ids, its port."""

    uri: str
    pid: int
    guard: int
    port: int


class Embedded:
    """A share in the server of one var folder: acquire() starts or finds it, release() gives the share back."""

    def __init__(self, var: Path) -> None:
        self.var = var.absolute()
        self.dbpath = self.var / "mongod"
        self.log = self.var / "log" / "mongod.log"
        self._state = self.var / "mongod.json"
        self._locks = self.var / "locks"
        self._lease: int | None = None
        self._owner = 0  # the process that holds the lease: a forked child has only borrowed its descriptor

    def acquire(self) -> State:
        """Take a share, starting the server when none runs, and return where it is. Raises MongodError."""
        with _one_thread:
            if self._lease is None or self._owner != os.getpid():
                self._lease = self._open("mongod.lease")
                fcntl.flock(self._lease, fcntl.LOCK_SH)  # waits while a guard ends the server that nobody needed
                self._owner = os.getpid()
        return self.ensure()

    def ensure(self) -> State:
        """Return the running server, starting it when it is not there (also after a crash). For holders of a share."""
        with self._exclusively("mongod.start"):
            if state := self._answering():
                return state
            self._end_guard()
            self._end_survivor()
            return self._start()

    def running(self) -> State | None:
        """The server that runs now, if one does; starts nothing and takes no share."""
        state = self._read()
        return state if state and state.guard == self._holder() else None

    def release(self) -> bool:
        """Give the share back; if it was the last, wait for the server's clean end. True when no server is left."""
        if self._lease is None or self._owner != os.getpid():
            return False
        try:
            return self._ended()
        finally:
            os.close(self._lease)
            self._lease = None

    def _ended(self) -> bool:
        assert self._lease is not None
        try:
            fcntl.flock(self._lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # others share it, or the guard took it while ours was being exchanged
            while self._holder() is not None:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(self._lease, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return False
                time.sleep(0.02)
        else:
            self._end_guard()
        return True

    def _port(self) -> int:
        """The port of last time, which keeps the set's configuration and whoever is connected valid; else 0, any."""
        known = self._read()
        deadline = time.monotonic() + LEAVING_SECONDS
        while known is not None and time.monotonic() < deadline:
            if is_free(known.port):
                return known.port
            time.sleep(0.02)
        return 0

    def _start(self) -> State:
        _rotate(self.log)
        held = self._open("mongod")
        try:
            fcntl.flock(held, fcntl.LOCK_EX)  # free but for a passing look at it
            os.ftruncate(held, 0)
            server = Mongod(
                self.dbpath,
                self._port(),
                binary=locate(self.var / "bin"),
                log=self.log,
                lease=self._locks / "mongod.lease",
                hold=held,
            )
            try:
                server.start()
                uri = initiate([server])
            except BaseException:
                server.stop()
                raise
        finally:
            os.close(held)
        assert server.pid is not None
        assert server.guard is not None
        state = State(uri=uri, pid=server.pid, guard=server.guard.pid, port=server.port)
        half = self._state.with_suffix(".part")
        half.write_text(json.dumps(asdict(state)) + "\n")
        half.replace(self._state)
        logger.debug("Started mongod (process %d) on port %d.", state.pid, state.port)
        return state

    def _answering(self) -> State | None:
        state = self.running()
        if state is not None:
            with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, state.port), timeout=2):
                return state
        return None

    def _end_guard(self) -> None:
        """End a guard whose mongod does not answer, or whose starter died before it could say where the server is."""
        deadline = time.monotonic() + STOP_SECONDS + 5
        told = 0
        while (holder := self._holder()) is not None:
            if holder and holder != told:
                os.kill(holder, signal.SIGTERM)
                told = holder
            if time.monotonic() > deadline:
                raise MongodError(f"Process {holder} holds the data in {self.dbpath} and does not end.")
            time.sleep(0.02)

    def _end_survivor(self) -> None:
        """End a mongod that outlived its guard: the one that locks the data folder, if its command line names it."""
        started = time.monotonic()
        pid = recorded_pid(self.dbpath)  # taken first: a mongod that ends cleanly empties its lock file
        while True:
            ours = pid is not None and _serves(pid, self.dbpath)
            if not ours and not is_locked(self.dbpath / "mongod.lock", fcntl.LOCK_EX):
                return
            waited = time.monotonic() - started
            if ours and pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM if waited < STOP_SECONDS else signal.SIGKILL)
            elif waited > DYING_SECONDS:  # a killed process has no command line but keeps its locks for a moment
                raise MongodError(f"Another program (process {pid or 'unknown'}) holds the data in {self.dbpath}.")
            time.sleep(0.05)
            pid = pid or recorded_pid(self.dbpath)

    def _holder(self) -> int | None:
        """The guard's process id while one lives (0 while it has not written it yet); None otherwise."""
        path = self._locks / "mongod"
        return int(path.read_bytes() or 0) if is_locked(path) else None

    def _read(self) -> State | None:
        try:
            return State(**json.loads(self._state.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def _open(self, name: str) -> int:
        try:
            return open_lock(self._locks / name)
        except PermissionError as error:
            raise MongodError(f"{error.filename} belongs to another user: {error.strerror}.") from error

    @contextlib.contextmanager
    def _exclusively(self, name: str) -> Iterator[None]:
        lock = self._open(name)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


_shares: dict[Path, Embedded] = {}


def share(var: Path) -> Embedded:
    """Return this process's one share in the server of this var folder (acquire it to use it); given back at exit."""
    with _one_thread:
        if var not in _shares:
            _shares[var] = Embedded(var)
            atexit.register(_shares[var].release)
        return _shares[var]


def uri_for(var: Path) -> str:
    """Return the URI of the embedded server of this var folder, starting it for this process's duration if need be.

    Called by the database engine at its first connection, so that commands which never touch the database start none.
    Raises MongodError.
    """
    return share(var).acquire().uri


def _serves(pid: int, dbpath: Path) -> bool:
    """Whether this process lives and is a mongod on this data folder, by its command line."""
    return f" --dbpath {dbpath} " in command_line(pid)


def _rotate(log: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
