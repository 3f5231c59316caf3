"""Requests that could occupy all threads: requests with long text, uploads and bulk changes.

A worker accepts only a limited number of these requests at the same time, so that some threads are always free for
readers. Comments have slots of their own (cms.requests.comment_flood).
"""

import threading
import time

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from api.middleware import PREFIX

# A request is heavy if its body has more bytes than this. Rendering, merging or storing a long body can take seconds.
LONG_BODY_BYTES = 10_000
# The path for bulk requests. These requests are always heavy, because even a short body can contain many changes.
BULK_PATH = f"{PREFIX}v1/bulk"
# Maximum number of heavy requests that run at the same time. Running more would only slow readers down, because Python
# runs one thread per process at a time.
CONCURRENT = 2
# Maximum number of seconds of a pause between two requests. While the database is unavailable, requests take very long,
# and the next one must not wait even longer.
LONGEST_PAUSE = 1.0
TOO_MANY_LONG_REQUESTS = gettext_lazy(
    "The site is busy processing other long pages and uploads. Nothing has been saved yet. Please try again in a few "
    "seconds."
)


def is_heavy(request: HttpRequest) -> bool:
    """Return whether a request can keep its thread busy for a long time."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return False
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > LONG_BODY_BYTES or request.path_info == BULK_PATH


class Slots:
    """Slots for up to `limit` threads. Up to `concurrent` of these threads run, and the others wait for their turn.

    When a request has finished, the next one that enters waits `pause` times as long as the request took, for each
    request that is waiting, but at most LONGEST_PAUSE.
    """

    def __init__(self, limit: int, concurrent: int, *, pause: float = 0.0) -> None:
        self._limit = limit
        self._turns = threading.BoundedSemaphore(concurrent)
        self._pause = pause
        self._paused_until = 0.0
        self._lock = threading.Lock()
        self._waiting = 0
        self._running = 0
        self._entered = threading.local()

    @property
    def is_full(self) -> bool:
        """Return whether the next request would be refused."""
        return self._waiting + self._running >= self._limit

    def enter(self) -> bool:
        """Wait for this thread's turn and return True, or immediately return False if all slots are occupied.

        If the result is True, the caller must call leave() when the request has finished.
        """
        with self._lock:
            if self.is_full:
                return False
            self._waiting += 1
        self._turns.acquire()
        time.sleep(max(0.0, self._paused_until - time.monotonic()))
        with self._lock:
            self._waiting -= 1
            self._running += 1
        self._entered.at = time.monotonic()
        return True

    def leave(self) -> None:
        """Release this thread's slot, so that the next waiting thread can run."""
        now = time.monotonic()
        with self._lock:
            self._running -= 1
            self._paused_until = now + min(self._pause * self._waiting * (now - self._entered.at), LONGEST_PAUSE)
        self._turns.release()
