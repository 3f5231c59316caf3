"""Requests that may keep a thread for seconds: long texts, uploads, many changes by one request.

A worker accepts a limited number of them at once, so some threads are always free for readers.
"""

import threading

from django.http import HttpRequest

from api.middleware import PREFIX

# Bytes of a body above which rendering, merging or storing it may take long.
BYTES = 10_000
# A bulk makes many changes, however short its body is.
BULK = f"{PREFIX}v1/bulk"
# Python runs one thread of a process at a time. More long requests at once would only slow readers down.
AT_ONCE = 2


def is_heavy(request: HttpRequest) -> bool:
    """Return whether a request may keep its thread for long."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return False
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > BYTES or request.path_info == BULK


class Places:
    """Lets `most` threads in. `at_once` of them run, the others wait for their turn."""

    def __init__(self, most: int, at_once: int) -> None:
        self._places = threading.BoundedSemaphore(most)
        self._turns = threading.BoundedSemaphore(at_once)

    def enter(self) -> bool:
        """Return True when it is this thread's turn, to be followed by leave(); False at once if too many wait already."""
        if not self._places.acquire(blocking=False):
            return False
        self._turns.acquire()
        return True

    def leave(self) -> None:
        """Let the next one get on."""
        self._turns.release()
        self._places.release()
