"""A temporary MongoDB for tests and benchmarks."""

import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pymongo import MongoClient

from marginalia.local.mongod import OPLOG_MB, Mongod, initiate, locate


class Member(Mongod):
    """A mongod that is stopped at the end of its `with` block. Tests can kill it before that."""

    @property
    def uri(self) -> str:
        """Return the connection string for this member's replica set, or for this standalone server."""
        options = f"replicaSet={self.replset}" if self.replset else "directConnection=true"
        return f"mongodb://{self.address}/?{options}"

    def kill(self) -> None:
        """Kill mongod with SIGKILL, and wait until the process has exited."""
        if self.guard is not None:
            if self.alive and (pid := self.pid):
                os.kill(pid, signal.SIGKILL)
            self.guard.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()


class EphemeralMongod:
    """A replica set without authentication, whose data is in temporary folders (mode 0700).

    The replica set is stopped when the process that created it exits, even if that process was killed with kill -9.
    """

    def __init__(
        self,
        members: int = 1,
        extra_args: Sequence[str] = (),
        *,
        binary: Path | None = None,
        replset: str = "marginalia",
        oplog_mb: int = OPLOG_MB,
        journaled: bool = True,
    ) -> None:
        """Create the replica set without starting it.

        With `journaled=False`, acknowledged writes don't wait for the journal, so they take half as long. Use this only
        for a server that is not killed by any test.
        """
        small = (
            "--wiredTigerEngineConfigString",
            "log=(file_max=10MB,prealloc=false)",
        )  # by default, each member's journal takes up 300 MB
        self._extra_args = (*small, *extra_args)
        self._binary = binary
        self._count = members
        self._replset = replset
        self._oplog_mb = oplog_mb
        self._journaled = journaled
        self.members: list[Member] = []
        self.uri = ""

    def start(self) -> str:
        """Start all members, initiate the replica set, and return its URI.

        Raises:
            MongodError: A member didn't start.
        """
        binary = self._binary or locate()
        try:
            for _ in range(self._count):
                folder = Path(tempfile.mkdtemp(prefix="marginalia-mongod-"))
                member = Member(
                    folder / "data",
                    replset=self._replset,
                    oplog_mb=self._oplog_mb,
                    extra_args=self._extra_args,
                    binary=binary,
                    remove=folder,
                    death_signal=signal.SIGKILL,
                )
                self.members.append(member.start())
            self.uri = initiate(self.members)
            if not self._journaled:
                self._disable_journal_waits()
        except BaseException:
            self.stop()
            raise
        return self.uri

    def _disable_journal_waits(self) -> None:
        client: MongoClient[dict[str, Any]]
        with MongoClient(self.uri) as client:
            config = client.admin.command("replSetGetConfig")["config"]
            config |= {"version": config["version"] + 1, "writeConcernMajorityJournalDefault": False}
            client.admin.command("replSetReconfig", config)

    def stop(self) -> None:
        """Stop the guards of all members. Each guard kills its member and deletes the member's folder."""
        for member in self.members:
            member.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()


@contextmanager
def mongod() -> Iterator[str]:
    """Start a server with an empty data folder, yield the server's URI, and stop the server after the block."""
    server = EphemeralMongod()
    try:
        yield server.start()
    finally:
        server.stop()
