"""A comment as another comment system stored it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class BrokenSource(Exception):
    """The export can't be read. The message says why, and where in the file."""


class SourceState(StrEnum):
    """The state of a comment in the other system."""

    PUBLIC = "public"
    PENDING = "pending"
    SPAM = "spam"
    REMOVED = "removed"


class TextFormat(StrEnum):
    """The format of a text."""

    MARKDOWN = "markdown"
    HTML = "html"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class SourceComment:
    """A comment of another comment system.

    Attributes:
        id: The id, which is unique in the export.
        address: The URL or path of the page, or "app.model:pk" if the object is known.
        parent: The id of the comment that this comment replies to, or "".
        posted: The time, with a time zone.
        anchor: The fragment of the old permalink, for example "comment-123", or "".
        likes: How many readers liked the comment.
        account: The primary key of the author's account, if the other system uses the accounts of this project, or "".
    """

    id: str
    address: str
    posted: datetime
    name: str
    text: str
    format: TextFormat
    parent: str = ""
    email: str = ""
    website: str = ""
    state: SourceState = SourceState.PUBLIC
    anchor: str = ""
    likes: int = 0
    dislikes: int = 0
    account: str = ""

    @property
    def is_queued(self) -> bool:
        """Return whether the comment belongs in the moderation queue."""
        return self.state in (SourceState.PENDING, SourceState.SPAM)
