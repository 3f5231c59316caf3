"""Exceptions that callers of the comments app can handle.

For invalid settings, the app raises Django's ImproperlyConfigured instead.
"""

from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marginalia.mongo.reading import Malformed

if TYPE_CHECKING:
    from marginalia.comments.types import Comment


class CommentError(Exception):
    """Base class for errors about one comment or discussion.

    Attributes:
        sentence: The message for the user. The arguments of the exception are meant only for logs.
    """

    sentence: str | Promise = _("The action failed. Nothing was changed. Please try again.")


class CommentNotFound(CommentError):
    """The discussion has no comment with this slug."""

    sentence = _("This comment no longer exists.")


class TargetNotFound(CommentError):
    """The object of the discussion does not exist, no longer exists, or isn't shown to readers."""

    sentence = _("The page that this comment belongs to no longer exists.")


class DiscussionDamaged(CommentError, Malformed):
    """The stored document of a discussion lacks a required field, or a field has the wrong type.

    The message identifies the discussion and the field. The app itself never writes such a document.
    """

    sentence = _("Comments can't be shown right now. Please try again later.")


class InvalidParent(CommentError):
    """The parent comment does not exist in this discussion, or was removed."""

    sentence = _("The comment that you replied to was removed. You can post your reply as a new comment.")


class InvalidComment(CommentError):
    """The comment can't be stored, for example because it is empty or too long. `sentence` contains the reason."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class InvalidBan(CommentError):
    """The ban can't be stored, for example because a domain is malformed.

    Attributes:
        sentence: The reason.
        field: The wrong part of the ban, "value" or "expires".
    """

    def __init__(self, sentence: str, field: str = "value") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.field = field


class TokenUsed(CommentError):
    """The form token was already used for different text, or for a comment that has since been deleted.

    `sentence` contains the reason.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class DiscussionClosed(CommentError):
    """The discussion no longer accepts comments."""

    sentence = _("This discussion is closed.")


class TooManyLocked(CommentError):
    """Too many threads of a discussion are locked."""

    sentence = _("Too many threads of this discussion are locked. Unlock one, or close the discussion.")


class DiscussionBusy(CommentError):
    """The request had to wait too long, for example because too many writes are in progress. It can be sent again."""

    sentence = _("Many people are commenting right now. Your comment has not been saved yet. Please send it again.")


class DiscussionFull(DiscussionBusy):
    """An embedded discussion is full. It is being converted to another layout, or has already been converted."""


class EditConflict(CommentError):
    """Someone else changed the comment after it was read.

    Attributes:
        current: The comment as it is stored now.
    """

    sentence = _("This comment has changed since you opened it. Check it, then try again.")

    def __init__(self, current: "Comment") -> None:
        super().__init__(f"{current.slug} is at revision {current.rev}")
        self.current = current


class HeldChanged(CommentError):
    """The author changed a pending comment after the moderator had read it."""

    sentence = _("The author has changed this comment since you opened it. Check it again, then decide.")


class DecidedByOther(CommentError):
    """Another moderator has decided about a queued comment since, so the earlier decision can't be undone."""

    sentence = _("Another moderator has decided about this comment since.")


class NothingToRestore(CommentError):
    """The comment was never removed, or its text was erased along with its author's data."""

    sentence = _("You can't restore this comment. It wasn't removed, or its author's data was erased.")


class SearchTimeout(CommentError):
    """A search for comments took too long."""

    sentence = _("The search took too long. Enter longer words or more filters.")


class ConversionFailed(CommentError):
    """The discussion could not be converted.

    For example, another conversion is in progress, or the target can't store the comments.
    """
