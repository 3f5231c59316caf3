"""Whether whatever is read for an answer is noted by what it depends on: only then may the answer be kept and compared."""

from dataclasses import dataclass

from marginalia.mongo.engine.recording import Recorder


@dataclass
class Watched:
    """What a `watched()` block did. `unnoted`: it read something, and nothing noted what that depends on."""

    unnoted: bool = False


_watched = Recorder("watched", Watched)
# Watch whether the block reads anything outside of `noted()`, which is for what notes itself what it reads.
watched = _watched.recorded
noted = _watched.unrecorded


def reading() -> None:
    """Say that something is about to be read: called by whatever hands out the database."""
    if (found := _watched.current) is not None:
        found.unnoted = True
