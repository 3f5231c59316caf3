"""Tracking of reads. A response can only be cached if the dependencies of all its reads are recorded."""

from dataclasses import dataclass

from marginalia.mongo.engine.recording import Recorder


@dataclass
class WatchedReads:
    """The reads of a `watch_reads()` block. `has_untracked` is True after a read whose dependencies nobody recorded."""

    has_untracked: bool = False


_watched = Recorder("watched", WatchedReads)
# `watch_reads()` records whether a block reads anything outside of `tracked_reads()`. Code that records the
# dependencies of its reads itself runs in `tracked_reads()`.
watch_reads = _watched.recorded
tracked_reads = _watched.unrecorded


def note_read() -> None:
    """Record that something is about to be read. Functions that return a database or a collection call this."""
    if (reads := _watched.current) is not None:
        reads.has_untracked = True
