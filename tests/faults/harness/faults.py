"""Deliberate faults. Each is announced in the ledger from its cause until the site is well again."""

import os
import random
import signal
import time
from collections.abc import Callable

from pymongo import MongoClient

from tests.faults.harness.browser import Broken, Browser, multipart
from tests.faults.harness.content import Content, log_in
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.pictures import png
from tests.faults.harness.places import OnEmbedded, OnReplicaSet
from tests.support.processes import until

STOPPED_SECONDS = 10.0
# Seconds in which the site must be well again after the cause has ended.
WELL_SECONDS = 60.0
# Consecutive readiness checks, each on its own connection, so that almost certainly every worker is asked.
TIMES = 8
RESETTING_SECONDS = 2.0
# Seconds between the announcement of a fault and its cause.
LEAD_SECONDS = 0.6
DROPPED = 40
ELECTION = "kill -9 until writes are taken again"
KILL_WORKER, KILL_WORKERS, KILL = "kill -9 of a worker", "kill -9 of all workers", "kill -9 of {}"
STOP, STOP_WORKER = f"SIGSTOP of {{}} for {STOPPED_SECONDS:.0f} s", f"SIGSTOP of a worker for {STOPPED_SECONDS:.0f} s"
RESET, HANG_UP = "connections to {} reset", "requests reset by visitors"
# The seed of the picture whose upload visitors abandon.
HALF = 0
WRITES = ["insert", "update", "findAndModify", "find", "aggregate", "delete", "commitTransaction"]


class Faults:
    """Breaks one site."""

    def __init__(self, place: OnEmbedded | OnReplicaSet, content: Content, ledger: Ledger, dice: random.Random) -> None:
        self.place, self.content, self.ledger, self.dice = place, content, ledger, dice
        self.visitor = Browser(place.site.port, Ledger())
        log_in(self.visitor, place.site, lambda ask: ask())
        self._ways: dict[str, Callable[[], None]] = {
            KILL_WORKER: self.kill_a_worker,
            KILL_WORKERS: self.kill_all_workers,
            KILL.format(place.role): self.kill_mongod,
            STOP.format(place.role): self.stop_mongod,
            STOP_WORKER: self.stop_a_worker,
            RESET.format(place.role): self.reset_connections,
            HANG_UP: self.hang_up,
        }

    @staticmethod
    def names(place: OnEmbedded | OnReplicaSet) -> list[str]:
        """Return the faults that are possible here."""
        of_mongod = [name.format(place.role) for name in (KILL, STOP, RESET)]
        return [KILL_WORKER, KILL_WORKERS, *of_mongod, STOP_WORKER, HANG_UP]

    def inject(self, name: str) -> None:
        """Apply the fault, and wait until the site is well again."""
        with self.ledger.fault(name):
            # Waiting clients start again.
            time.sleep(self.dice.uniform(0, LEAD_SECONDS))
            self._ways[name]()
            began = time.monotonic()
            try:
                until(self._is_well, WELL_SECONDS)
            except AssertionError as error:
                raise AssertionError(f"not well within {WELL_SECONDS:.0f} s of: {name}") from error
            self.ledger.measured["until well again"].append(time.monotonic() - began)
            # Requests that were running when the site became well may still fail.
            time.sleep(1.0)

    def _is_well(self) -> bool:
        if not self.place.is_whole():
            return False
        asking = [Browser(port, Ledger()) for port in self.place.ports] * TIMES
        try:
            return all(one.get("/readyz").status == one.get("/").status == 200 for one in asking)
        except Broken:
            return False

    def kill_a_worker(self) -> None:
        os.kill(self.dice.choice(self.place.workers()), signal.SIGKILL)

    def kill_all_workers(self) -> None:
        for pid in self.place.workers():
            os.kill(pid, signal.SIGKILL)

    def kill_mongod(self) -> None:
        self.ledger.measured[ELECTION].append(self.place.kill())

    def stop_mongod(self) -> None:
        stopped(self.place.primary_pid())

    def stop_a_worker(self) -> None:
        stopped(self.dice.choice(self.place.workers()))

    def reset_connections(self) -> None:
        """Let the server close the connection at the next commands of the site, whichever they are."""
        data = {"failCommands": WRITES, "closeConnection": True, "appName": "marginalia"}
        with MongoClient(self.place.uri, timeoutMS=10_000) as client:
            point = {"configureFailPoint": "failCommand", "mode": {"times": DROPPED}, "data": data}
            before = client.admin.command(point)["count"]
            try:
                time.sleep(RESETTING_SECONDS)
            finally:
                after = client.admin.command({**point, "mode": "off"})["count"]
        self.ledger.did("connections reset", after - before)

    def hang_up(self) -> None:
        """Close the connection in the middle of a form and of a picture, and before the response to either."""
        picture, kind = multipart([("alt", "Half")], {"files": ("half.png", png(HALF))})
        for path, body, type_ in (
            ("/comments/post", b"token=none&text=" + b"x" * 5_000, "application/x-www-form-urlencoded"),
            (f"/admin/nodes/photo/upload/{self.content.gallery}/", picture, kind),
            ("/blog/discussed", b"", "text/plain"),
        ):
            for part in {0, len(body) // 2, len(body) - 100, len(body)} - {-100}:
                given = {"Content-Type": type_, "X-CSRFToken": self.visitor.cookies["csrftoken"]}
                if body is picture and part == len(body):
                    # Everything was sent, so the site may have read it before it noticed the closed connection.
                    self.ledger.unanswered.append(HALF)
                self.visitor.hang_up(self.visitor.head("POST" if body else "GET", path, len(body), given) + body[:part])
                self.ledger.did("requests reset by visitors")


def stopped(*pids: int) -> None:
    """Stop these processes for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(STOPPED_SECONDS)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
