"""Tracking of database reads. A response can be cached only if the dependencies of all its reads are recorded."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from marginalia.mongo.engine.recording import Recorder


@dataclass
class WatchedReads:
    """The reads in a `watch_reads()` block.

    Attributes:
        has_untracked: Whether there was a read with unrecorded dependencies.
        recorders: Functions that record the dependencies of the ORM's reads, keyed by collection.
    """

    has_untracked: bool = False
    recorders: dict[str, Callable[[], None]] = field(default_factory=dict)


_watched = Recorder("watched", WatchedReads)
# `watch_reads()` records whether a block reads anything outside of `tracked_reads()`. Code that records the
# dependencies of its own reads runs in `tracked_reads()`.
watch_reads = _watched.recorded
tracked_reads = _watched.unrecorded


def note_read(collection: str = "") -> None:
    """Record that a read is about to happen. Functions that return a database or a collection call this function."""
    if (reads := _watched.current) is None:
        return
    if record := reads.recorders.get(collection):
        record()
    else:
        reads.has_untracked = True


def record_orm_reads(collections: Iterable[str], record: Callable[[], None]) -> None:
    """Call `record` each time the ORM reads one of `collections` in the rest of the current block."""
    if (reads := _watched.current) is not None:
        reads.recorders.update(dict.fromkeys(collections, record))
