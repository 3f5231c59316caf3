"""Whether whatever is read for an answer is noted by what it depends on: only then may the answer be kept and compared."""

from dataclasses import dataclass

from marginalia.mongo.engine.recording import Recorder


@dataclass
class WatchedReads:
    """What a `watched()` block did. `has_untracked`: it read something, and nothing noted what that depends on."""

    has_untracked: bool = False


_watched = Recorder("watched", WatchedReads)
# Watch whether the block reads anything outside of `noted()`, which is for what notes itself what it reads.
watch_reads = _watched.recorded
tracked_reads = _watched.unrecorded


def note_read() -> None:
    """Say that something is about to be read: called by whatever hands out the database."""
    if (found := _watched.current) is not None:
        found.has_untracked = True
