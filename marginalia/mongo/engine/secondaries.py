"""Reads from secondaries while there is no primary. The data can be outdated, so it must never be cached.

Reads return majority-committed data, which can't be rolled back. A member that is more than MAX_STALENESS_SECONDS
behind the most recent member is never used. Two reads in a block can use different members, so they can return data
from different points in time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import PrimaryPreferred

# The driver doesn't allow a lower value.
MAX_STALENESS_SECONDS = 90

_OPTIONS = {
    "read_preference": PrimaryPreferred(max_staleness=MAX_STALENESS_SECONDS),
    "read_concern": ReadConcern("majority"),
}
_reading: ContextVar[bool] = ContextVar("secondaries", default=False)


@contextmanager
def reading() -> Iterator[None]:
    """Allow a block to read from secondaries if there is no primary. Writes fail as usual."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


def is_reading() -> bool:
    """Return whether reads can currently return outdated data."""
    return _reading.get()


def options() -> dict[str, Any]:
    """Return the options with which databases and collections must currently be opened."""
    return _OPTIONS if _reading.get() else {}
