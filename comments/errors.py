"""What callers of comments can act on. A wrong setting is not among these: it raises ImproperlyConfigured."""

from comments.types import Comment


class CommentError(Exception):
    """The root of what can go wrong with one comment or discussion."""


class CommentNotFound(CommentError):
    """No comment has this slug in this discussion."""


class TargetNotFound(CommentError):
    """The object that the discussion is about is not there (any more)."""


class InvalidParent(CommentError):
    """The comment that is replied to does not exist in this discussion, or was removed."""


class InvalidComment(CommentError):
    """The comment cannot be stored as it is: empty, or too long."""


class DiscussionClosed(CommentError):
    """The discussion takes no more comments."""


class DiscussionBusy(CommentError):
    """Too many writes are under way, or one waited too long: the same request may be sent again."""


class EditConflict(CommentError):
    """The comment was changed by someone else since it was read; `theirs` is how it is stored now."""

    def __init__(self, theirs: Comment) -> None:
        super().__init__(f"{theirs.slug} is at revision {theirs.rev}")
        self.theirs = theirs


class HeldChanged(CommentError):
    """The author of a held comment changed it since it was looked at."""


class NothingToRestore(CommentError):
    """The comment is not removed, or what it said was erased with its author."""


class ConversionFailed(CommentError):
    """The discussion could not be converted: another conversion is under way, or the target cannot hold it."""
