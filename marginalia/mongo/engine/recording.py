"""Records of what happens in a `with` block, such as database reads, kept separately for each thread and task.

The block starts a record, and any code that runs in the block can extend it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Recorder(Generic[T]):
    """A manager for records of one kind, for example of database reads.

    Each `with` block has its own record, even if the blocks are nested.
    """

    def __init__(self, name: str, begin: Callable[[], T]) -> None:
        """Create a recorder.

        Args:
            name: The name of the context variable.
            begin: A function that creates the record for a block.
        """
        self._begin = begin
        self._current: ContextVar[T | None] = ContextVar(name, default=None)

    @property
    def current(self) -> T | None:
        """The record of the current block, or None outside any block."""
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
        """Run the block, or the decorated function, without a record."""
        token = self._current.set(None)
        try:
            yield
        finally:
            self._current.reset(token)
