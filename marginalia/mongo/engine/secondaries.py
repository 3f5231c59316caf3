"""Reading without a primary: what a block reads, of secondaries, may be old, and must be kept nowhere.

A member gives what a majority has and no rollback undoes; none is asked that is further behind the newest than MOST_BEHIND.
Two reads of a block may ask two members, and see two moments.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import PrimaryPreferred

# Seconds; the driver allows no fewer.
MAX_STALENESS_SECONDS = 90

_OPTIONS = {
    "read_preference": PrimaryPreferred(max_staleness=MAX_STALENESS_SECONDS),
    "read_concern": ReadConcern("majority"),
}
_reading: ContextVar[bool] = ContextVar("secondaries", default=False)


@contextmanager
def reading() -> Iterator[None]:
    """Read from secondaries in a block, if there is no primary. Writes fail there as they do elsewhere."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


def is_reading() -> bool:
    """Return whether what is read now may be old."""
    return _reading.get()


def options() -> dict[str, Any]:
    """Return what a database or collection is opened with: by whatever hands them out."""
    return _OPTIONS if _reading.get() else {}
