"""A throw-away MongoDB, for tests and benchmarks."""

import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from pymongo import MongoClient

from marginalia.local.mongod import Mongod, initiate, locate


class Member(Mongod):
    """A mongod that ends with a block of code, and that a test may kill."""

    @property
    def uri(self) -> str:
        """The connection string for this member's set (or this standalone)."""
        options = f"replicaSet={self.replset}" if self.replset else "directConnection=true"
        return f"mongodb://{self.address}/?{options}"

    def kill(self) -> None:
        """kill -9 mongod and wait until it is gone."""
        if self.guard is not None:
            if self.alive and (pid := self.pid):
                os.kill(pid, signal.SIGKILL)
            self.guard.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()


class EphemeralMongod:
    """A throw-away replica set in temporary folders (mode 0700), without log-in: gone with its maker, even after kill -9."""

    def __init__(
        self,
        members: int = 1,
        extra_args: Sequence[str] = (),
        *,
        binary: Path | None = None,
        replset: str = "marginalia",
        journaled: bool = True,
    ) -> None:
        """`journaled=False`: an acknowledged write waits for no journal. For a server that no test kills: it takes half the
        time for a write."""
        small = ("--wiredTigerEngineConfigString", "log=(file_max=10MB,prealloc=false)")  # else 300 MB of journal each
        self._extra_args = (*small, *extra_args)
        self._binary = binary
        self._count = members
        self._replset = replset
        self._journaled = journaled
        self.members: list[Member] = []
        self.uri = ""

    def start(self) -> str:
        """Start every member and initiate the set; return its URI. Raises MongodError."""
        binary = self._binary or locate()
        try:
            for _ in range(self._count):
                folder = Path(tempfile.mkdtemp(prefix="marginalia-mongod-"))
                member = Member(
                    folder / "data",
                    replset=self._replset,
                    extra_args=self._extra_args,
                    binary=binary,
                    remove=folder,
                    death_signal=signal.SIGKILL,
                )
                self.members.append(member.start())
            self.uri = initiate(self.members)
            if not self._journaled:
                self._forgo_the_journal()
        except BaseException:
            self.stop()
            raise
        return self.uri

    def _forgo_the_journal(self) -> None:
        with MongoClient(self.uri) as client:
            config = client.admin.command("replSetGetConfig")["config"]
            config |= {"version": config["version"] + 1, "writeConcernMajorityJournalDefault": False}
            client.admin.command("replSetReconfig", config)

    def stop(self) -> None:
        """Kill every member and delete its folder (the guards do it)."""
        for member in self.members:
            member.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()


@contextmanager
def mongod() -> Iterator[str]:
    """Start a server with an empty data folder; yield its URI, and end it with the block."""
    server = EphemeralMongod()
    try:
        yield server.start()
    finally:
        server.stop()
