"""What callers of comments can act on. A wrong setting is not among these: it raises ImproperlyConfigured."""

from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marginalia.mongo.reading import Malformed

if TYPE_CHECKING:
    from marginalia.comments.types import Comment


class CommentError(Exception):
    """The root of what can go wrong with one comment or discussion. `sentence` is for the user; what the error
    was raised with is for logs."""

    sentence: str | Promise = _("This could not be done.")


class CommentNotFound(CommentError):
    """No comment has this slug in this discussion."""

    sentence = _("This comment is not there any more.")


class TargetNotFound(CommentError):
    """The object that the discussion is about is not there (any more)."""

    sentence = _("What this comment is about is not there any more.")


class DiscussionDamaged(CommentError, Malformed):
    """A discussion's document lacks what a discussion has: it says which and what. This app never writes such a one."""

    sentence = _("Comments cannot be shown just now.")


class InvalidParent(CommentError):
    """The comment that is replied to does not exist in this discussion, or was removed."""

    sentence = _("The comment that you answered was removed. You can still post yours as a comment of its own.")


class InvalidComment(CommentError):
    """The comment cannot be stored as it is: empty, or too long. `sentence` says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class TokenUsed(CommentError):
    """The form has posted another text, or what it posted was deleted. `sentence` says which."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class DiscussionClosed(CommentError):
    """The discussion takes no more comments."""

    sentence = _("This discussion is closed.")


class DiscussionBusy(CommentError):
    """Too many writes are under way, or one waited too long: the same request may be sent again."""

    sentence = _("Very many people are posting just now. Please send it again.")


class DiscussionFull(DiscussionBusy):
    """An embedded discussion has no room: a writer moves it, or has done so already."""


class EditConflict(CommentError):
    """The comment was changed by a concurrent writer since it was read; `theirs` is how it is stored now."""

    sentence = _("The comment has changed since you opened it: look at it again.")

    def __init__(self, theirs: "Comment") -> None:
        super().__init__(f"{theirs.slug} is at revision {theirs.rev}")
        self.theirs = theirs


class HeldChanged(CommentError):
    """The author of a pending comment changed it since it was looked at."""

    sentence = _("Its author has changed it since: please look at it again.")


class NothingToRestore(CommentError):
    """The comment is not removed, or what it said was erased with its author."""

    sentence = _("There is nothing to bring back: it was not removed, or its author was erased.")


class ConversionFailed(CommentError):
    """The discussion could not be converted: another conversion is under way, or the target cannot hold it."""
