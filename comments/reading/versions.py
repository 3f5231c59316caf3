"""The versions of the discussions that a response was made from.

A cache compares them before it serves the response again.
"""

from dataclasses import dataclass, field

from marginalia.comments.types import Discussion
from marginalia.mongo.engine.recording import Recorder


@dataclass
class ReadVersions:
    """The versions that were read in a `recorded()` block.

    `versions` contains the version of each discussion by its id, read before the comments.
    `lasting` is False if no version covers something that was read, such as the newest comments of all discussions.
    `writing` is True if a discussion was being written to, so that its version is not reliable yet.
    `readings` counts how often a discussion was reads.
    """

    versions: dict[str, str] = field(default_factory=dict)
    lasting: bool = True
    writing: bool = False
    readings: int = 0


# Records the reads of marginalia.comments.reading.selectors.
_recorder = Recorder("discussions", ReadVersions)
recorded = _recorder.recorded


def reliable_version(version: object, *, writing: object) -> str | None:
    """Return the version of a discussion, or None while a claim is open (`writing`).

    A failing server can lose a commit. Then the claim stays, and the version is older than a comment that may have
    been acknowledged.
    """
    return None if writing else str(version)


def note(discussion: Discussion) -> None:
    """Record that comments were read after the version of `discussion` was read."""
    if (reads := _recorder.current) is None:
        return
    reads.writing |= discussion.writing
    reads.readings += 1
    if reads.versions.setdefault(discussion.target.id, discussion.version) != discussion.version:
        # The discussion changed between two reads, so that no single version covers the response.
        reads.lasting = False


def note_unversioned() -> None:
    """Record a read that no version of a discussion covers."""
    if (reads := _recorder.current) is not None:
        reads.lasting = False
