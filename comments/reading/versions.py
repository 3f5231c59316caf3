"""Record the discussion versions that a response depends on.

A cache compares these versions before it serves the response again.
"""

from dataclasses import dataclass, field

from marginalia.comments.types import Discussion
from marginalia.mongo.engine.recording import Recorder


@dataclass
class ReadVersions:
    """The versions that were read in a `recorded()` block.

    Attributes:
        versions: The versions of discussions, keyed by discussion id. Each version was read before the discussion's
            comments.
        lasting: False if something was read that no version covers, such as the newest comments of all discussions.
        writing: True if a discussion was being written to, so that its version is not reliable yet.
        readings: The number of times that a discussion was read.
    """

    versions: dict[str, str] = field(default_factory=dict)
    lasting: bool = True
    writing: bool = False
    readings: int = 0


# The recorder to which marginalia.comments.reading.selectors reports its reads.
_recorder = Recorder("discussions", ReadVersions)
recorded = _recorder.recorded


def reliable_version(version: object, *, writing: object) -> str | None:
    """Return the version of a discussion, or None if the version is not reliable because a claim is open (`writing`).

    If a server failure loses a commit, the claim remains. The version is then older than a comment that may have been
    acknowledged.
    """
    return None if writing else str(version)


def note(discussion: Discussion) -> None:
    """Record the version of `discussion`, whose comments are about to be read."""
    if (reads := _recorder.current) is None:
        return
    reads.writing |= discussion.writing
    reads.readings += 1
    if reads.versions.setdefault(discussion.target.id, discussion.version) != discussion.version:
        # The discussion changed between two reads, so no single version covers the response.
        reads.lasting = False


def note_unversioned() -> None:
    """Record a read that is not covered by the version of a discussion."""
    if (reads := _recorder.current) is not None:
        reads.lasting = False
