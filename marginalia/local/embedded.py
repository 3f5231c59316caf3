"""The embedded MongoDB server of a var folder: a single mongod, for the demo and for development.

The process that starts the server is its owner, and also restarts and stops it. While the owner is running, other
processes read the server's URI from var/mongod.json, which has mode 0600 because the URI contains the password. If
there is no owner, the first process that needs the server starts it. Clients need the database user's password, which
is regenerated on every start, or the key file var/mongod.key. In any case, mongod's own lock on its data folder
prevents a second server from using the folder.
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
    """Another process owns this folder's server."""


@dataclass(frozen=True)
class State:
    """A running server: its URI with the password, mongod's process id and port, and the owner's process id."""

    uri: str
    pid: int
    port: int
    owner: int


class Embedded:
    """The server of one var folder. `start` starts the server, and `running` finds a server that is already running."""

    def __init__(self, var: Path) -> None:
        self.var = var.resolve()
        self.dbpath = self.var / "mongod"
        self.log = self.var / "log" / "mongod.log"
        self._claim = Claim(self.var / "mongod.json")
        self._server: Mongod | None = None
        self._owner = 0  # the id of the process that started the server; forked children have different ids
        self._password = ""
        self._not_before = 0.0

    def running(self) -> State | None:
        """Return the running server, whichever process owns it, or None if no server is running."""
        recorded = self._claim.owner()
        if not recorded or "uri" not in recorded or not is_alive(recorded["pid"]):
            return None
        return State(uri=recorded["uri"], pid=recorded["mongod"], port=recorded["port"], owner=recorded["pid"])

    def start(self, patience: float = NOTICING_SECONDS) -> State:
        """Start the server and own it until `stop` is called.

        Args:
            patience: How many seconds to wait for another owner to exit. If that owner is already shutting down, the
                method waits longer.

        Raises:
            OwnedElsewhere: Another process owns the server.
            MongodError: The server can't be started.
        """
        try:
            previous = self._claim.acquire(patience)
        except Claimed as claimed:
            owner = claimed.facts.get("pid", 0)
            who = f"Process {owner} ({command_line(owner)[-80:]})"
            raise OwnedElsewhere(f"{who} already runs the MongoDB of {self.var}. Stop it first.") from claimed
        try:
            self._owner = os.getpid()
            self._claim.record()
            port = previous["port"] if previous.get("folder") == str(self.var) and is_free(previous["port"]) else 0
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

    def ensure_running(self, report: Callable[[str], None]) -> None:
        """Restart mongod if it has exited and the next attempt is due. Pass a description of the result to `report`.

        The process that started the server calls this method regularly.
        """
        assert self._server is not None
        if self._server.alive or time.monotonic() < self._not_before:
            return
        try:
            state = self._start()
        except MongodError as error:
            report(f"mongod is down. Next attempt in {PAUSE_SECONDS:.0f} s: {error}")
        else:
            report(f"mongod ended and was restarted as process {state.pid} on port {state.port}.")
        self._not_before = time.monotonic() + PAUSE_SECONDS

    def stop(self) -> None:
        """Stop the server if this process owns it, and wait until the server has exited."""
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
                users = client.admin.command("usersInfo", USER)["users"]
                account: dict[str, Any] = {"pwd": self._password, "roles": ["root"]}
                client.admin.command("updateUser" if users else "createUser", USER, **account)
        except (MongodError, PyMongoError) as error:
            server.stop()
            raise MongodError(f"mongod started, but doesn't respond: {error}") from error
        assert server.pid is not None
        self._claim.record(uri=uri, mongod=server.pid, port=server.port, folder=str(self.var))
        return State(uri=uri, pid=server.pid, port=server.port, owner=self._owner)

    def _key(self) -> Path:
        """Create the key file if it doesn't exist, and return its path."""
        key = self.var / "mongod.key"
        if not key.exists():
            unfinished = key.with_suffix(".part")
            unfinished.touch(0o600)
            unfinished.write_text(secrets.token_hex(256))
            unfinished.replace(key)
        return key


_start_lock = threading.Lock()
_instances: dict[Path, Embedded] = {}


def for_folder(var: Path) -> Embedded:
    """Return this process's Embedded instance for the `var` folder. The first call creates the instance.

    When the process exits, any server that the instance has started is stopped.
    """
    if var not in _instances:
        _instances[var] = Embedded(var)
        atexit.register(_instances[var].stop)
    return _instances[var]


def uri_for(var: Path) -> str:
    """Return the URI of the embedded server for the `var` folder.

    If no server is running, the function starts one that stops when this process exits. The database engine calls this
    function on its first connection, so commands that never use the database don't start a server.

    Raises:
        MongodError: The server can't be started.
    """
    deadline = time.monotonic() + START_SECONDS
    with _start_lock:
        while True:
            try:
                if state := for_folder(var).running():
                    return state.uri
                return for_folder(var).start(patience=0).uri
            except OwnedElsewhere:  # another process is starting the server
                if time.monotonic() > deadline:
                    raise
            except PermissionError as error:
                raise MongodError(
                    f"{error.filename} belongs to another user: {error.strerror}. Change its owner with chown."
                ) from error
            time.sleep(0.05)


def _wait_for_data_folder(server: Mongod) -> None:
    """Wait until a mongod that is shutting down or was killed has released the data folder.

    Raise MongodError if this takes too long.
    """
    deadline = time.monotonic() + STOP_SECONDS
    pid = server.pid
    while is_locked(server.dbpath / "mongod.lock"):
        if time.monotonic() > deadline:
            raise MongodError(
                f"Another program (process {pid or 'unknown'}) uses the data in {server.dbpath}. Stop it first."
            )
        time.sleep(0.05)
