"""Record the discussion versions that a response depends on.

Before a cache serves the response again, it checks that these versions haven't changed.
"""

from dataclasses import dataclass, field

from marginalia.comments.backends import read_version
from marginalia.comments.types import Discussion
from marginalia.mongo.engine.recording import Recorder


@dataclass
class ReadVersions:
    """The versions that were read in a `recorded()` block.

    Attributes:
        versions: The versions of discussions, keyed by discussion id. Each version was read before the discussion's
            comments.
        lasting: Whether all data that was read is covered by these versions. The newest comments of all discussions,
            for example, aren't covered by any version. While a comment is being written, the discussion isn't covered.
        readings: How many times any discussion was read.
    """

    versions: dict[str, str] = field(default_factory=dict)
    lasting: bool = True
    readings: int = 0


# The recorder to which marginalia.comments.reading.selectors reports its reads.
_recorder = Recorder("discussions", ReadVersions)
recorded = _recorder.recorded


def reliable_version(version: object, *, writing: object) -> str | None:
    """Return the version of a discussion, or None if it is unreliable because there is an open claim (`writing`).

    If a commit is lost in a server failure, the claim remains, and the version doesn't reflect the comment, although
    readers may already see it.
    """
    return None if writing else read_version(version)


def note(discussion: Discussion) -> None:
    """Record the version of `discussion`, whose comments are about to be read."""
    if (reads := _recorder.current) is None:
        return
    reads.readings += 1
    first_version = reads.versions.setdefault(discussion.target.id, discussion.version)
    # If the discussion has changed between two reads, no single version covers the response.
    if discussion.writing or first_version != discussion.version:
        reads.lasting = False


def note_unversioned() -> None:
    """Record a read that is not covered by the version of a discussion.

    A response that includes such a read can't be cached by version.
    """
    if (reads := _recorder.current) is not None:
        reads.lasting = False
