"""Whether whatever is read for an answer is noted by what it depends on: only then may the answer be kept and compared."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Watched:
    """What a `watched()` block did. `unnoted`: it read something, and nothing noted what that depends on."""

    unnoted: bool = False


_watched: ContextVar[Watched | None] = ContextVar("watched", default=None)


@contextmanager
def watched() -> Iterator[Watched]:
    """Watch whether the block reads anything outside of `noted()`."""
    token = _watched.set(found := Watched())
    try:
        yield found
    finally:
        _watched.reset(token)


@contextmanager
def noted() -> Iterator[None]:
    """Read what the block, or the function that this decorates, notes itself."""
    token = _watched.set(None)
    try:
        yield
    finally:
        _watched.reset(token)


def reading() -> None:
    """Say that something is about to be read: called by whatever hands out the database."""
    if (found := _watched.get()) is not None:
        found.unnoted = True
