"""Tracking of reads: a response may only be cached if the dependencies of every read are recorded."""

from dataclasses import dataclass

from marginalia.mongo.engine.recording import Recorder


@dataclass
class WatchedReads:
    """The reads of a `watch_reads()` block. `has_untracked`: a read whose dependencies nothing recorded took place."""

    has_untracked: bool = False


_watched = Recorder("watched", WatchedReads)
# `watch_reads()` records whether a block reads anything outside of `tracked_reads()`. Code that records the dependencies of
# its reads itself runs in `tracked_reads()`.
watch_reads = _watched.recorded
tracked_reads = _watched.unrecorded


def note_read() -> None:
    """Record that something is about to be read. Called by functions that return a database or collection."""
    if (reads := _watched.current) is not None:
        reads.has_untracked = True
