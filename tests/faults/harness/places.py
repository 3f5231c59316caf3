"""Servers of the site: the embedded one, which `serve` restarts, or three members of a replica set."""

import contextlib
import os
import shlex
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import psutil
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from marginalia.local.mongod import initiate, locate
from marginalia.local.ports import free_port
from marginalia.testing.mongod import Member
from tests.support.processes import until
from tests.support.running import Site

# Fail points, with which a server drops connections, and small journals instead of 300 MB each.
OPTIONS = (
    "--setParameter",
    "enableTestCommands=1",
    "--wiredTigerEngineConfigString",
    "log=(file_max=10MB,prealloc=false)",
)
WORKERS = 2


class Place:
    """A served site."""

    site: Site

    @property
    def ports(self) -> list[int]:
        """Return the ports of the site."""
        return [self.site.port]

    def workers(self) -> list[int]:
        """Return the processes that serve requests."""
        with contextlib.suppress(psutil.NoSuchProcess, TypeError):
            return [child.pid for child in psutil.Process(self.site.gunicorn).children()]
        return []

    def is_whole(self) -> bool:
        """Return whether all of them run."""
        return len(self.workers()) == WORKERS


class OnEmbedded(Place):
    """The site on the server that `manage.py serve` started."""

    role = "mongod"

    def __init__(self, folder: Path, **environment: str) -> None:
        wrapper = folder / "mongod"
        wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(str(locate()))} "$@" {shlex.join(OPTIONS)}\n')
        wrapper.chmod(0o755)
        self.site = Site(folder / "var", MONGOD=str(wrapper), **_served(environment))

    def start(self) -> None:
        self.site.start()

    def stop(self) -> None:
        _stop(self.site)

    @property
    def uri(self) -> str:
        state = self.site.mongod
        assert state is not None
        return state.uri

    def primary_pid(self) -> int:
        """Return the process id of the mongod that accepts writes."""
        state = self.site.mongod
        assert state is not None
        return state.pid

    def kill(self) -> float:
        """kill -9 mongod, which `serve` restarts. Return the seconds until it accepts writes."""
        pid, uri, began = self.primary_pid(), self.uri, time.monotonic()
        os.kill(pid, signal.SIGKILL)
        until(lambda: self.site.mongod and self.primary_pid() != pid and takes_writes(uri), 60)
        return time.monotonic() - began


class OnReplicaSet(Place):
    """The site on three mongods."""

    role = "the primary"
    count = 3

    def __init__(self, folder: Path, **environment: str) -> None:
        binary = locate()
        self.members = [
            # Killed at the end, because a member that ends regularly waits ten seconds for the others to take over.
            Member(
                folder / f"member{n}" / "data",
                free_port(),
                extra_args=OPTIONS,
                binary=binary,
                death_signal=signal.SIGKILL,
            )
            for n in range(self.count)
        ]
        self.site = Site(folder / "var", **_served(environment))

    def start(self) -> None:
        for member in self.members:
            member.start()
        self.site.environment["MONGODB_URI"] = initiate(self.members)
        self.site.start()

    def stop(self) -> None:
        _stop(self.site)
        for member in self.members:
            member.stop()

    @property
    def uri(self) -> str:
        return self.site.environment["MONGODB_URI"]

    def primary(self) -> Member:
        """Return the member that accepts writes, after waiting for an election."""
        found: list[Member] = []
        until(lambda: found.extend(m for m in self.members if m.alive and takes_writes(m.uri_direct)) or found, 60)
        return found[0]

    def primary_pid(self) -> int:
        """Return the process id of the mongod that accepts writes."""
        pid = self.primary().pid
        assert pid is not None
        return pid

    def kill(self) -> float:
        """kill -9 the primary and restart it later. Return the seconds until another member accepts writes."""
        victim, began = self.primary(), time.monotonic()
        victim.kill()
        self.primary()
        elected = time.monotonic() - began
        victim.start()
        return elected

    def secondary(self) -> Member:
        """Return a member that accepts no writes."""
        primary = self.primary()
        return next(member for member in self.members if member is not primary)


class OnOneMember(OnReplicaSet):
    """The site on a replica set of one, which stays down when it is killed."""

    role = "the only member"
    count = 1


def takes_writes(uri: str) -> bool:
    with contextlib.suppress(PyMongoError), MongoClient(uri, serverSelectionTimeoutMS=200, timeoutMS=500) as client:
        return bool(client.admin.command("hello").get("isWritablePrimary"))
    return False


def _served(environment: dict[str, str]) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "tests.faults.harness.settings",
        "WEB_CONCURRENCY": str(WORKERS),
        "EMAIL_URL": "dummymail://",
        **environment,
    }


def _stop(site: Site) -> None:
    if site.run is not None and site.run.poll() is None:
        site.stop()
    until(lambda: not site.remaining_processes())


P = TypeVar("P", bound=OnEmbedded | OnReplicaSet)


@contextlib.contextmanager
def running(kind: type[P], **environment: str) -> Iterator[P]:
    """Run a site of this kind in a temporary folder, then stop and delete it."""
    with tempfile.TemporaryDirectory(prefix="marginalia-faults-") as folder:
        place = kind(Path(folder), **environment)
        try:
            place.start()
            yield place
        finally:
            place.stop()
