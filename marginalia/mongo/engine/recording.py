"""Records that a block starts and that code running in it can find and extend, per thread and task."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Recorder(Generic[T]):
    """Records of one kind. Nested blocks have records of their own."""

    def __init__(self, name: str, begin: Callable[[], T]) -> None:
        """Use `begin` to create the record of each block."""
        self._begin = begin
        self._current: ContextVar[T | None] = ContextVar(name, default=None)

    @property
    def current(self) -> T | None:
        """Return the record of the running block; None outside of any."""
        return self._current.get()

    @contextmanager
    def recorded(self) -> Iterator[T]:
        """Run the block with a record, and yield the record."""
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
