"""Which versions of which discussions an answer was made from: what must be checked before it is shown again."""

from dataclasses import dataclass, field

from marginalia.comments.types import Discussion
from marginalia.mongo.engine.recording import Recorder


@dataclass
class ReadVersions:
    """What was read in a `recorded()` block: the version of each discussion, by id, as it was before its comments.

    `lasting` is False if something was read that no version stands for, such as the newest comments of all discussions;
    `writing`: whether one of them was being written to, so that its version says little until it is settled;
    `readings`: how often a discussion was read.
    """

    versions: dict[str, str] = field(default_factory=dict)
    lasting: bool = True
    writing: bool = False
    readings: int = 0


# What is read through marginalia.comments.reading.selectors.
_recorder = Recorder("discussions", ReadVersions)
recorded = _recorder.recorded


def settled(version: object, *, writing: object) -> str | None:
    """Return a discussion's version, None while a claim is open (`writing`): a commit that a failing server lost leaves its
    claim, and the version from before a comment that may have been acknowledged."""
    return None if writing else str(version)


def note(discussion: Discussion) -> None:
    """Record that comments were read after this version of their discussion."""
    if (read := _recorder.current) is None:
        return
    read.writing |= discussion.writing
    read.readings += 1
    if read.versions.setdefault(discussion.target.id, discussion.version) != discussion.version:
        # It was changed between two reads: the answer is of no single version.
        read.lasting = False


def note_fleeting() -> None:
    """Record that something was read which no discussion's version stands for."""
    if (read := _recorder.current) is not None:
        read.lasting = False
