"""The site behind a cache.

It has three members of a replica set, two web processes on two ports behind Varnish, and two workers that purge it.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import psutil
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from cms.serving import web_server
from marginalia.local.mongod import Mongod
from marginalia.local.ports import free_port
from marginalia.local.processes import start_guarded, stop
from tests.faults.harness.places import WORKERS, OnReplicaSet, takes_writes
from tests.support.processes import ROOT, until
from tests.support.varnish import Varnish, varnish

# Seconds for running requests and jobs when a process is stopped.
GRACE = 20.0
# Seconds within which an open change stream is visible.
LOOKING = 2.0


class Process:
    """A program of the site that is stopped and restarted. It ends with this process, too."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str]) -> None:
        self._command, self._log, self._environment = command, log, environment
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as output:
            self._guard = start_guarded(self._command, grace=GRACE, output=output, environment=self._environment)

    @property
    def alive(self) -> bool:
        return self._guard.poll() is None

    @property
    def pid(self) -> int:
        """Return the process id of the program, not of its guard."""
        found: list[psutil.Process] = []
        until(lambda: found.extend(psutil.Process(self._guard.pid).children()) or found)
        return int(found[0].pid)

    @property
    def children(self) -> list[int]:
        """Return its worker processes, if any."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(self.pid).children()]
        return []

    def stop(self) -> None:
        """Stop it with a signal."""
        stop(self._guard)

    def kill(self) -> None:
        """Kill it with kill -9. Its guard ends its workers."""
        os.kill(self.pid, signal.SIGKILL)
        self._guard.wait()


class OnCdn(OnReplicaSet):
    """`site.port` is Varnish's port. With `is_told=False`, the workers purge another address than Varnish's."""

    is_told = True

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(folder, READ_SECONDARIES="on", **environment)
        self._folder = folder
        self._at = self.site.port, free_port()
        self.webs: list[Process] = []
        self.queue: list[Process] = []
        self.web_ports = [free_port(), free_port()]
        self._running = ExitStack()
        self.varnish: Varnish

    def start(self) -> None:
        # Indexes, static files and an account.
        super().start()
        self.site.stop()
        heard = self._at[1] if self.is_told else free_port()
        environment = self.site.environment
        environment["CDN_PURGE_URLS"] = f"http://127.0.0.1:{heard}"
        for port in self.web_ports:
            command = web_server.gunicorn_command(port)
            self.webs.append(Process(command, self._folder / f"web-{port}.log", environment))
        for number in range(2):
            command = [sys.executable, str(ROOT / "manage.py"), "work"]
            self.queue.append(Process(command, self._folder / f"work-{number}.log", environment))
        self.start_varnish()
        until(self.is_whole, 60)

    def stop(self) -> None:
        self.stop_varnish()
        for process in [*self.queue, *self.webs]:
            process.stop()
        super().stop()

    def start_varnish(self) -> None:
        self.varnish = self._running.enter_context(varnish(*self.web_ports, at=self._at))

    def stop_varnish(self) -> None:
        self._running.close()

    @property
    def ports(self) -> list[int]:
        return [self.site.port, *self.web_ports]

    def workers(self) -> list[int]:
        return [pid for web in self.webs for pid in web.children]

    def is_whole(self) -> bool:
        """Return whether every part works, so that another one can fail.

        All members are in the set, and both workers follow.
        """
        return (
            all(web.alive and len(web.children) == WORKERS for web in self.webs)
            and all(process.alive for process in self.queue)
            and all(_is_member(member) for member in self.members)
            and (self._follow() or not self.is_told)
        )

    def _follow(self) -> bool:
        """Return whether each worker of the queue has an open change stream."""
        clients, until = set(), time.monotonic() + LOOKING
        with contextlib.suppress(PyMongoError, psutil.Error), MongoClient(self.uri, timeoutMS=2_000) as client:
            # Between two commands, a stream is not visible.
            while time.monotonic() < until:
                running = client.admin.aggregate([{"$currentOp": {}}, {"$match": {"op": "getmore"}}])
                clients |= {one.get("client") for one in running if "$changeStream" in str(one)}
                if all(clients & _ends(process.pid) for process in self.queue):
                    return True
        return False


def _ends(pid: int) -> set[str]:
    return {f"{one.laddr.ip}:{one.laddr.port}" for one in psutil.Process(pid).net_connections("tcp") if one.laddr}


def _is_member(member: Mongod) -> bool:
    if not member.alive:
        return False
    with contextlib.suppress(PyMongoError), MongoClient(member.uri_direct, timeoutMS=500) as client:
        return bool(client.admin.command("hello").get("secondary")) or takes_writes(member.uri_direct)
    return False
