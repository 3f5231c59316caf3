"""Requests that can occupy a thread for seconds: long texts, uploads, and bulk changes.

A worker accepts a limited number of them at once, so that some threads are always free for readers.
"""

import threading

from django.http import HttpRequest

from api.middleware import PREFIX

# Minimum length of a long body. Rendering, merging or storing a long body can take seconds.
LONG_BODY_BYTES = 10_000
# The path of bulk requests, which are always heavy, because a short body can contain many changes.
BULK_PATH = f"{PREFIX}v1/bulk"
# Maximum number of heavy requests that run at once. More would only slow readers down, because Python runs one thread
# per process at a time.
CONCURRENT = 2


def is_heavy(request: HttpRequest) -> bool:
    """Return whether a request can occupy its thread for long."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return False
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > LONG_BODY_BYTES or request.path_info == BULK_PATH


class Slots:
    """Slots for `limit` threads, of which `concurrent` run. The others wait for their turn."""

    def __init__(self, limit: int, concurrent: int) -> None:
        self._slots = threading.BoundedSemaphore(limit)
        self._turns = threading.BoundedSemaphore(concurrent)

    def enter(self) -> bool:
        """Wait for this thread's turn and return True, or return False at once if all slots are occupied.

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
