"""Flags: readers report comments that moderators should see.

There is one document per comment, and each reader counts once.
"""

from marginalia.comments.backends import backend
from marginalia.comments.types import Comment, FlaggedComment, Target


def flag(comment: Comment, who: str) -> bool:
    """Flag a comment for a reader ("user:KEY" or "ip_hash:HASH"). Return False if the reader had already flagged it."""
    return backend().flags.add(comment.target, comment.slug, who)


def list_flagged(limit: int = 100) -> list[FlaggedComment]:
    """Return the flagged comments that no moderator has looked at since, the last flagged first."""
    return backend().flags.newest(limit)


def count() -> int:
    """Return the approximate number of flagged comments."""
    return backend().flags.count()


def flagged_by(user: str) -> list[FlaggedComment]:
    """Return the comments that a user flagged."""
    return backend().flags.flagged_by(f"user:{user}")


def erase(*, user: str = "", ip_hash: str = "") -> int:
    """Remove a user, or a reader with this ip hash, from all flags. The flags themselves stay.

    Return the number of flags.
    """
    return backend().flags.erase(f"{kind}:{key}" for kind, key in (("user", user), ("ip_hash", ip_hash)) if key)


def clear(target: Target, slug: str) -> None:
    """Delete the flags of a comment after a moderator has looked at it."""
    backend().flags.clear(target, slug)
