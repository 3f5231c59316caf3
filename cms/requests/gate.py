"""At most so many requests of a worker ask the database at once, so that a database that hangs leaves it threads for the rest.

Without it each of a worker's threads would soon wait for the same answer, and nothing else would be served: no style sheet, no
health check, not even the page that says so. A bulkhead with a circuit breaker, after M. Nygard, "Release It!", chapter 5.
"""

import logging
import threading
import time
from collections.abc import Callable

from cms.requests.metrics.counted import GATE_REFUSED, GATE_WAITING

logger = logging.getLogger("cms.requests.gate")

# Seconds that a request waits for one of the others to end, before anybody asks whether the database hangs.
PATIENCE = 1.0
# Seconds between two such questions while it does.
PAUSE = 1.0


class Gate:
    """Lets `most` requests in at once. `answers` says, within about a second, whether the database does."""

    def __init__(self, most: int, answers: Callable[[], bool]) -> None:
        self._most = most
        self._answers = answers
        self._free = threading.Condition()
        self._inside = 0
        self._hangs = False
        self._is_asking = False
        self._next_question = 0.0

    def enter(self, *, counted: bool = True) -> bool:
        """Let a request in and return True, to be followed by leave(); False if the database hangs.

        Where it only works hard, requests wait for their turn, and after PATIENCE are let in all the same. One that is not
        `counted` is long for other reasons, and takes no other's place.
        """
        is_let_in = self._enter(counted)
        if not is_let_in:
            GATE_REFUSED.inc()
        return is_let_in

    def _enter(self, counted: bool) -> bool:
        with self._free:
            if not self._hangs and (not counted or self._has_room()):
                self._inside += counted
                return True
            if self._hangs and (self._is_asking or time.monotonic() < self._next_question):
                return False
            if self._is_asking:
                self._wait_for(lambda: not self._is_asking)
                self._inside += counted and not self._hangs
                return not self._hangs
            self._is_asking = True
        answers = False
        try:
            answers = self._answers()
        finally:
            self._learn(answers)
        with self._free:
            self._inside += counted and answers
        return answers

    def leave(self, *, counted: bool = True) -> None:
        """Let the next one in."""
        with self._free:
            self._inside -= counted
            self._free.notify_all()

    def _has_room(self) -> bool:
        self._wait_for(lambda: self._hangs or self._inside < self._most)
        return not self._hangs and self._inside < self._most

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        if not condition():
            with GATE_WAITING.track_inprogress():
                self._free.wait_for(condition, PATIENCE)

    def _learn(self, answers: bool) -> None:
        with self._free:
            if self._hangs == answers:
                told = "answers again" if answers else "hangs: requests are refused until it answers"
                logger.warning("The database %s.", told)
            self._hangs = not answers
            self._is_asking = False
            self._next_question = time.monotonic() + PAUSE
            self._free.notify_all()
