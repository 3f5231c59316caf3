"""Whether this process is about to end: it still answers what it has, and is not ready for more."""

import threading

_begun = threading.Event()


def begin() -> None:
    """Note that the process is asked to end. For good."""
    _begun.set()


def has_begun() -> bool:
    """Return whether the process is asked to end."""
    return _begun.is_set()
