"""Records that a block begins, and that what runs in it finds and adds to: by thread and task."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Recorder(Generic[T]):
    """Records of one kind; of blocks in each other the inner one is recorded apart."""

    def __init__(self, name: str, begin: Callable[[], T]) -> None:
        """`begin` makes a record, for each block its own."""
        self._begin = begin
        self._current: ContextVar[T | None] = ContextVar(name, default=None)

    @property
    def current(self) -> T | None:
        """The record of the block that runs, None outside of any."""
        return self._current.get()

    @contextmanager
    def recorded(self) -> Iterator[T]:
        """Record what the block notes."""
        record = self._begin()
        token = self._current.set(record)
        try:
            yield record
        finally:
            self._current.reset(token)

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Run the block, or the function that this decorates, without a record."""
        token = self._current.set(None)
        try:
            yield
        finally:
            self._current.reset(token)
