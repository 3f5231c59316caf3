"""Errors that callers of comments can act on.

A wrong setting raises ImproperlyConfigured instead.
"""

from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marginalia.mongo.reading import Malformed

if TYPE_CHECKING:
    from marginalia.comments.types import Comment


class CommentError(Exception):
    """Base class of the errors of one comment or discussion.

    `sentence` is shown to the user. The arguments of the exception are for logs.
    """

    sentence: str | Promise = _("This could not be done.")


class CommentNotFound(CommentError):
    """The discussion has no comment with this slug."""

    sentence = _("This comment is not there any more.")


class TargetNotFound(CommentError):
    """The object that the discussion belongs to does not exist, or no longer exists."""

    sentence = _("What this comment is about is not there any more.")


class DiscussionDamaged(CommentError, Malformed):
    """The document of a discussion lacks a required field, or a field has the wrong type.

    The message names the discussion and the field. This app never writes such a document.
    """

    sentence = _("Comments cannot be shown just now.")


class InvalidParent(CommentError):
    """The comment that is replied to does not exist in this discussion, or was removed."""

    sentence = _("The comment that you answered was removed. You can still post yours as a comment of its own.")


class InvalidComment(CommentError):
    """The comment cannot be stored because it is empty or too long. `sentence` gives the reason."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class TokenUsed(CommentError):
    """The form has already posted another text, or its comment was deleted. `sentence` says which."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class DiscussionClosed(CommentError):
    """The discussion accepts no more comments."""

    sentence = _("This discussion is closed.")


class DiscussionBusy(CommentError):
    """Too many writes are in progress, or one waited too long. The same request can be sent again."""

    sentence = _("Very many people are posting just now. Please send it again.")


class DiscussionFull(DiscussionBusy):
    """An embedded discussion has no room. A writer moves it to another layout, or has already done so."""


class EditConflict(CommentError):
    """Another writer changed the comment after it was read. `current` is the comment as it is stored now."""

    sentence = _("The comment has changed since you opened it: look at it again.")

    def __init__(self, current: "Comment") -> None:
        super().__init__(f"{current.slug} is at revision {current.rev}")
        self.current = current


class HeldChanged(CommentError):
    """The author of a pending comment changed it after the moderator had read it."""

    sentence = _("Its author has changed it since: please look at it again.")


class NothingToRestore(CommentError):
    """The comment is not removed, or its text was erased with its author."""

    sentence = _("There is nothing to bring back: it was not removed, or its author was erased.")


class ConversionFailed(CommentError):
    """The discussion could not be converted.

    Another conversion is in progress, or the target cannot store the comments.
    """
