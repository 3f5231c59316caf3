"""Flags: readers point out comments that moderators should see. One document a comment, one flag a reader."""

from marginalia.comments.backends import backend
from marginalia.comments.types import Comment, Flagged, Target


def flag(comment: Comment, who: str) -> bool:
    """Flag a comment for a reader ("user:KEY" or "ip_hash:HASH"); return whether the reader had not before."""
    return backend().flags.add(comment.target, comment.slug, who)


def flagged(limit: int = 100) -> list[Flagged]:
    """Return the comments that readers flagged and no moderator has looked at since, the latest first."""
    return backend().flags.newest(limit)


def count() -> int:
    """Return about how many comments are flagged."""
    return backend().flags.count()


def by(user: str) -> list[Flagged]:
    """Return the comments that a user flagged."""
    return backend().flags.by(f"user:{user}")


def erase(*, user: str = "", ip_hash: str = "") -> int:
    """Forget that this user or a reader of this ip hash flagged; the flags themselves stay. Returns how many
    there were."""
    return backend().flags.erase(f"{kind}:{key}" for kind, key in (("user", user), ("ip_hash", ip_hash)) if key)


def settle(target: Target, slug: str) -> None:
    """Forget a comment's flags: a moderator has looked at it."""
    backend().flags.settle(target, slug)
