"""Flags, which readers use to report comments to the moderators.

The flags of a comment are stored in one document, and each reader is counted only once.
"""

from marginalia.comments.backends import backend
from marginalia.comments.types import Comment, FlaggedComment, Target


def flag(comment: Comment, who: str) -> bool:
    """Flag a comment on behalf of the reader `who` ("user:KEY" or "ip_hash:HASH").

    Returns:
        False if the reader had already flagged the comment.
    """
    return backend().flags.add(comment.target, comment.slug, who)


def list_flagged(limit: int = 100) -> list[FlaggedComment]:
    """Return flagged comments, most recently flagged first.

    A comment that a moderator has reviewed is returned only if it has been flagged again since.
    """
    return backend().flags.newest(limit)


def find(target: Target, slug: str) -> FlaggedComment | None:
    """Return how many readers have flagged a comment, and when, or None if it isn't flagged."""
    return backend().flags.find(target, slug)


def count() -> int:
    """Return the approximate number of flagged comments."""
    return backend().flags.count()


def flagged_by(user: str) -> list[FlaggedComment]:
    """Return the comments that an account flagged. `user` is the account's primary key as a str."""
    return backend().flags.flagged_by(f"user:{user}")


def erase(*, user: str = "", ip_hash: str = "") -> int:
    """Remove an account, or the readers with an IP hash, from all flags. Their flags still count.

    Returns:
        How many documents were changed.
    """
    return backend().flags.erase(f"{kind}:{key}" for kind, key in (("user", user), ("ip_hash", ip_hash)) if key)


def clear(target: Target, slug: str) -> None:
    """Delete the flags of a comment, for example after a moderator has reviewed it."""
    backend().flags.clear(target, slug)
