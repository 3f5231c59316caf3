"""The embedded server of a var folder: one mongod, for the demo and for development.

The process that starts it owns it, keeps it up and ends it; every other process finds it by var/mongod.json (mode
0600: its URI has the password) while the owner lives, or starts one for itself. A client must name the user, whose
password is made anew at each start, or know the key file var/mongod.key. mongod's own lock in its data folder
has the last word.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymongo.errors import PyMongoError

from marginalia.local.claims import NOTICING_SECONDS, Claim, Claimed, is_locked
from marginalia.local.mongod import START_SECONDS, STOP_SECONDS, Mongod, MongodError, initiate, locate
from marginalia.local.ports import is_free
from marginalia.local.processes import PAUSE_SECONDS, command_line, is_alive

USER = "marginalia"


class OwnedElsewhere(MongodError):
    """Another process runs the server of this folder."""


@dataclass(frozen=True)
class State:
    """Where a running server is: its URI, with the password; mongod's process id and port; its owner's process id."""

    uri: str
    pid: int
    port: int
    owner: int


class Embedded:
    """The server of one var folder: start() owns it, running() finds it."""

    def __init__(self, var: Path) -> None:
        self.var = var.resolve()
        self.dbpath = self.var / "mongod"
        self.log = self.var / "log" / "mongod.log"
        self._claim = Claim(self.var / "mongod.json")
        self._server: Mongod | None = None
        self._owner = 0  # the process that started it: a forked child is another
        self._password = ""
        self._not_before = 0.0

    def running(self) -> State | None:
        """The server that a living process owns and has started; None if there is none."""
        said = self._claim.owner()
        if not said or "uri" not in said or not is_alive(said["pid"]):
            return None
        return State(uri=said["uri"], pid=said["mongod"], port=said["port"], owner=said["pid"])

    def start(self, patience: float = NOTICING_SECONDS) -> State:
        """Start the server and own it until stop(). Raises MongodError, also where another process owns it.

        `patience` is how many seconds another owner has to end; one that ends already has more.
        """
        try:
            before = self._claim.acquire(patience)
        except Claimed as claimed:
            owner = claimed.facts.get("pid", 0)
            who = f"Process {owner} ({command_line(owner)[-80:]})"
            raise OwnedElsewhere(f"{who} runs the MongoDB of {self.var} already: end it first.") from claimed
        try:
            self._owner = os.getpid()
            self._claim.record()
            port = before["port"] if before.get("folder") == str(self.var) and is_free(before["port"]) else 0
            self._password = secrets.token_urlsafe(32)
            self._server = Mongod(
                self.dbpath,
                port,
                binary=locate(),
                log=self.log,
                key=self._key(),
                claims=[self._claim.descriptor],
            )
            return self._start()
        except BaseException:
            self.stop()
            raise

    def ensure_running(self, say: Callable[[str], None]) -> None:
        """Start mongod again if it has ended and its next try is due, and say so. To be called now and then by the owner."""
        assert self._server is not None
        if self._server.alive or time.monotonic() < self._not_before:
            return
        try:
            state = self._start()
        except MongodError as error:
            say(f"mongod is down, next try in {PAUSE_SECONDS:.0f} s: {error}")
        else:
            say(f"mongod had ended; it runs again as process {state.pid} on port {state.port}.")
        self._not_before = time.monotonic() + PAUSE_SECONDS

    def stop(self) -> None:
        """End the server, if this process owns it, and wait until it is gone."""
        if self._owner != os.getpid():
            return
        if self._server:
            self._claim.record(ending=True, folder=str(self.var), port=self._server.port)
            self._server.stop()
        self._claim.release()
        self._owner = 0
        self._server = None

    def _start(self) -> State:
        server = self._server
        assert server is not None
        _wait_for_data_folder(server)
        server.start()
        try:
            uri = initiate([server]).replace("://", f"://{USER}:{self._password}@") + "&authSource=admin"
            with server.client() as client:
                known = client.admin.command("usersInfo", USER)["users"]
                account: dict[str, Any] = {"pwd": self._password, "roles": ["root"]}
                client.admin.command("updateUser" if known else "createUser", USER, **account)
        except (MongodError, PyMongoError) as error:
            server.stop()
            raise MongodError(f"mongod started and does not answer: {error}") from error
        assert server.pid is not None
        self._claim.record(uri=uri, mongod=server.pid, port=server.port, folder=str(self.var))
        return State(uri=uri, pid=server.pid, port=server.port, owner=self._owner)

    def _key(self) -> Path:
        """The key file, made at the first start."""
        key = self.var / "mongod.key"
        if not key.exists():
            half = key.with_suffix(".part")
            half.touch(0o600)
            half.write_text(secrets.token_hex(256))
            half.replace(key)
        return key


_start_lock = threading.Lock()
_instances: dict[Path, Embedded] = {}


def for_folder(var: Path) -> Embedded:
    """Return this process's one object for the server of this var folder; what it started ends with the process."""
    if var not in _instances:
        _instances[var] = Embedded(var)
        atexit.register(_instances[var].stop)
    return _instances[var]


def uri_for(var: Path) -> str:
    """Return the URI of the embedded server of this var folder, starting one for this process's duration if none runs.

    Called by the database engine at its first connection, so that commands which never touch the database start none.
    Raises MongodError.
    """
    deadline = time.monotonic() + START_SECONDS
    with _start_lock:
        while True:
            try:
                if state := for_folder(var).running():
                    return state.uri
                return for_folder(var).start(patience=0).uri
            except OwnedElsewhere:  # by a process that is just starting it
                if time.monotonic() > deadline:
                    raise
            except PermissionError as error:
                raise MongodError(f"{error.filename} belongs to another user: {error.strerror}.") from error
            time.sleep(0.05)


def _wait_for_data_folder(server: Mongod) -> None:
    """Wait for a mongod that just ends, or was killed, to let go of the data folder. Raises MongodError."""
    deadline = time.monotonic() + STOP_SECONDS
    pid = server.pid
    while is_locked(server.dbpath / "mongod.lock"):
        if time.monotonic() > deadline:
            raise MongodError(f"Another program (process {pid or 'unknown'}) holds the data in {server.dbpath}.")
        time.sleep(0.05)
