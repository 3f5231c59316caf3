"""Which versions of which discussions an answer was made from: what must be checked before it is shown again."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from comments.types import Discussion


@dataclass
class ReadVersions:
    """What was read in a `recorded()` block: the version of each discussion, by id, as it was before its comments.

    `lasting` is False if something was read that no version stands for, such as the newest comments of all discussions.
    """

    versions: dict[str, str] = field(default_factory=dict)
    lasting: bool = True


_recording: ContextVar[ReadVersions | None] = ContextVar("recording", default=None)


def settled(version: object, *, writing: object) -> str | None:
    """Return a discussion's version, None while a claim is open (`writing`): a commit that a failing server lost leaves its
    claim, and the version from before a comment that may have been acknowledged."""
    return None if writing else str(version)


@contextmanager
def recorded() -> Iterator[ReadVersions]:
    """Record what the block reads through comments.reading.selectors."""
    token = _recording.set(read := ReadVersions())
    try:
        yield read
    finally:
        _recording.reset(token)


def note(discussion: Discussion) -> None:
    """Record that comments were read after this version of their discussion."""
    if (read := _recording.get()) is not None and read.versions.setdefault(
        discussion.target.id, discussion.version
    ) != (discussion.version):
        # It was changed between two reads: the answer is of no single version.
        read.lasting = False


def note_fleeting() -> None:
    """Record that something was read which no discussion's version stands for."""
    if (read := _recording.get()) is not None:
        read.lasting = False
