"""Requests that can occupy a thread for seconds: long texts, uploads, bulk changes.

A worker accepts a limited number of them at once, so some threads are always free for readers.
"""

import threading

from django.http import HttpRequest

from api.middleware import PREFIX

# Rendering, merging or storing a longer body can take long.
LONG_BODY_BYTES = 10_000
# Always heavy: a bulk request makes many changes, however short its body is.
BULK_PATH = f"{PREFIX}v1/bulk"
# Maximum number of heavy requests that run at once. Python runs one thread per process at a time, so more would only slow
# readers down.
CONCURRENT = 2


def is_heavy(request: HttpRequest) -> bool:
    """Return whether a request can occupy its thread for long."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return False
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > LONG_BODY_BYTES or request.path_info == BULK_PATH


class Slots:
    """Admits `limit` threads, of which `concurrent` run. The others wait for their turn."""

    def __init__(self, limit: int, concurrent: int) -> None:
        self._slots = threading.BoundedSemaphore(limit)
        self._turns = threading.BoundedSemaphore(concurrent)

    def enter(self) -> bool:
        """Wait for this thread's turn and return True; return False at once if all slots are taken.

        The caller must call leave() after True.
        """
        if not self._slots.acquire(blocking=False):
            return False
        self._turns.acquire()
        return True

    def leave(self) -> None:
        """Release the slot, so that the next waiting thread can run."""
        self._turns.release()
        self._slots.release()
