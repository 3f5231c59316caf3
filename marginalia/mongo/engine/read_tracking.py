"""Tracking of database reads. A response can be cached only if the dependencies of all its reads are recorded."""

from dataclasses import dataclass

from marginalia.mongo.engine.recording import Recorder


@dataclass
class WatchedReads:
    """The reads in a `watch_reads()` block. `has_untracked` is True after a read with unrecorded dependencies."""

    has_untracked: bool = False


_watched = Recorder("watched", WatchedReads)
# `watch_reads()` records whether a block reads anything outside of `tracked_reads()`. Code that records the
# dependencies of its own reads runs in `tracked_reads()`.
watch_reads = _watched.recorded
tracked_reads = _watched.unrecorded


def note_read() -> None:
    """Record that a read is about to happen. Functions that return a database or a collection call this function."""
    if (reads := _watched.current) is not None:
        reads.has_untracked = True
