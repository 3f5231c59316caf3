"""Reading without a primary: data read from secondaries may be old and must never be cached.

Reads return majority-committed data, which no rollback undoes. A member that is further behind the newest one than
MAX_STALENESS_SECONDS is never read. Two reads of a block may use two members and see two points in time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import PrimaryPreferred

# The least value that the driver allows.
MAX_STALENESS_SECONDS = 90

_OPTIONS = {
    "read_preference": PrimaryPreferred(max_staleness=MAX_STALENESS_SECONDS),
    "read_concern": ReadConcern("majority"),
}
_reading: ContextVar[bool] = ContextVar("secondaries", default=False)


@contextmanager
def reading() -> Iterator[None]:
    """Let a block read from secondaries if there is no primary. Writes fail as they do elsewhere."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


def is_reading() -> bool:
    """Return whether reads may return old data now."""
    return _reading.get()


def options() -> dict[str, Any]:
    """Return the options with which databases and collections must be opened now."""
    return _OPTIONS if _reading.get() else {}
