"""Faults of a site behind Varnish: each part in turn."""

import os
import random
import signal
from typing import Any

from pymongo import MongoClient

from tests.faults.harness.cdn import OnCdn, Process
from tests.faults.harness.content import Content
from tests.faults.harness.faults import HANG_UP, KILL, KILL_WORKER, RESET, STOP, STOP_WORKER, Faults, stopped
from tests.faults.harness.ledger import Ledger
from tests.support.processes import until

RESTART = "restart of {}"
STEP_DOWN = "stepdown of the primary"
WEB, SECONDARY, QUEUE, CACHE = "a web process", "a secondary", "a worker of the queue", "Varnish"
# These last while readers have no cache.
OF_THE_CACHE = {RESTART.format(CACHE), KILL.format(CACHE)}
# How long a primary is no candidate after it stepped down.
STEPPED_DOWN = 10


class CdnFaults(Faults):
    """Breaks a site behind Varnish."""

    place: OnCdn

    def __init__(self, place: OnCdn, content: Content, ledger: Ledger, dice: random.Random) -> None:
        super().__init__(place, content, ledger, dice)
        self._ways |= {
            KILL.format(WEB): lambda: _killed(self._one_of(place.webs)),
            RESTART.format(WEB): lambda: _restarted(self._one_of(place.webs)),
            STOP.format(WEB): self.stop_a_web_process,
            KILL.format(QUEUE): lambda: _killed(self._one_of(place.queue)),
            RESTART.format(QUEUE): lambda: _restarted(self._one_of(place.queue)),
            STOP.format(QUEUE): lambda: stopped(self._one_of(place.queue).pid),
            STEP_DOWN: self.step_down,
            KILL.format(SECONDARY): self.kill_a_secondary,
            STOP.format(SECONDARY): self.stop_a_secondary,
            RESTART.format(place.role): self.restart_the_primary,
            RESTART.format(CACHE): self.restart_varnish,
            KILL.format(CACHE): lambda: os.kill(place.varnish.child, signal.SIGKILL),
        }

    @staticmethod
    def names(place: Any) -> list[str]:
        """Return the faults that are possible here."""
        killed = [name.format(part) for part in (WEB, QUEUE) for name in (KILL, RESTART, STOP)]
        members = [name.format(place.role) for name in (KILL, STOP, RESTART, RESET)]
        members += [KILL.format(SECONDARY), STOP.format(SECONDARY), STEP_DOWN]
        return [KILL_WORKER, STOP_WORKER, HANG_UP, *killed, *members, *sorted(OF_THE_CACHE)]

    def _one_of(self, processes: list[Process]) -> Process:
        return self.dice.choice(processes)

    def stop_a_web_process(self) -> None:
        web = self._one_of(self.place.webs)
        stopped(web.pid, *web.children)

    def step_down(self) -> None:
        former = self.place.primary()
        with MongoClient(former.uri_direct, timeoutMS=20_000) as client:
            client.admin.command({"replSetStepDown": STEPPED_DOWN, "secondaryCatchUpPeriodSecs": STEPPED_DOWN // 2})
        self.place.primary()

    def kill_a_secondary(self) -> None:
        member = self.place.secondary()
        member.kill()
        member.start()

    def stop_a_secondary(self) -> None:
        pid = self.place.secondary().pid
        assert pid is not None
        stopped(pid)

    def restart_the_primary(self) -> None:
        """Restart the primary as for an upgrade: it steps down, ends and comes back."""
        member = self.place.primary()
        assert member.pid is not None
        os.kill(member.pid, signal.SIGTERM)
        until(lambda: not member.alive, 60)
        member.start()

    def restart_varnish(self) -> None:
        self.place.stop_varnish()
        self.place.start_varnish()


def _killed(process: Process) -> None:
    process.kill()
    process.start()


def _restarted(process: Process) -> None:
    process.stop()
    process.start()
