"""A limit on the number of requests per worker that can use the database at the same time.

If the database hangs, the limit keeps some threads free for other requests. Without the limit, all threads would soon
be waiting for the database, and the worker couldn't even serve style sheets, health checks or the outage page. This is
a bulkhead with a circuit breaker, as described by M. Nygard in "Release It!", chapter 5.
"""

import logging
import threading
import time
from collections.abc import Callable

from cms.requests.metrics.request_metrics import GATE_REFUSED, GATE_WAITING

logger = logging.getLogger("cms.requests.gate")

# How many seconds a request waits for other requests to finish before its thread checks whether the database hangs.
WAIT_SECONDS = 1.0
# How many seconds to wait before checking again whether the database still hangs.
CHECK_INTERVAL = 1.0


class Gate:
    """A gate that admits up to `limit` requests at the same time.

    `database_answers` is a function that returns whether the database responds. The function takes at most about a
    second.
    """

    def __init__(self, limit: int, database_answers: Callable[[], bool]) -> None:
        self._limit = limit
        self._database_answers = database_answers
        self._changed = threading.Condition()
        self._active = 0
        self._hangs = False
        self._is_checking = False
        self._next_check = 0.0

    def enter(self, *, counted: bool = True) -> bool:
        """Admit a request and return True, or return False if the database hangs.

        If the result is True, the caller must call leave() when the request has finished.

        If the database is only busy, requests wait for their turn, and are always admitted after WAIT_SECONDS. For
        requests that are slow for other reasons, use `counted=False`, so that they don't count toward the limit.
        """
        is_admitted = self._enter(counted)
        if not is_admitted:
            GATE_REFUSED.inc()
        return is_admitted

    def _enter(self, counted: bool) -> bool:
        with self._changed:
            if not self._hangs and (not counted or self._has_room()):
                self._active += counted
                return True
            if self._hangs and (self._is_checking or time.monotonic() < self._next_check):
                return False
            if self._is_checking:
                self._wait_for(lambda: not self._is_checking)
                self._active += counted and not self._hangs
                return not self._hangs
            self._is_checking = True
        answers = False
        try:
            answers = self._database_answers()
        finally:
            self._record_check(answers)
        with self._changed:
            self._active += counted and answers
        return answers

    def leave(self, *, counted: bool = True) -> None:
        """Admit the next waiting request."""
        with self._changed:
            self._active -= counted
            self._changed.notify_all()

    def _has_room(self) -> bool:
        self._wait_for(lambda: self._hangs or self._active < self._limit)
        return not self._hangs and self._active < self._limit

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        if not condition():
            with GATE_WAITING.track_inprogress():
                self._changed.wait_for(condition, WAIT_SECONDS)

    def _record_check(self, answers: bool) -> None:
        with self._changed:
            if self._hangs == answers:
                change = "responds again" if answers else "doesn't respond, so requests are refused until it does"
                logger.warning("The database %s.", change)
            self._hangs = not answers
            self._is_checking = False
            self._next_check = time.monotonic() + CHECK_INTERVAL
            self._changed.notify_all()
