"""Import of comments from other sources.

If a comment is imported several times, it is still stored or held only once.
"""

from collections.abc import Iterable, Mapping

from django.db.models import Model

from marginalia.comments import conf, slugs, targets
from marginalia.comments.backends import backend
from marginalia.comments.posting.preparation import clean
from marginalia.comments.types import HeldComment, NewComment, PostResult, Target, Verdict

# Maximum number of queued comments of a discussion that are compared with an export.
MAX_QUEUED = 10_000


class EarlierImports:
    """The comments of a discussion that earlier imports have stored or queued.

    They are found by the last part of their slug, which is derived from the token. The other parts can differ in a
    newer export. For example, if the old site has since approved a comment, its replies are now below this comment.
    """

    def __init__(self, stored: Iterable[str] = (), queued: Iterable[HeldComment] = ()) -> None:
        """Initialize the object with the slugs of the stored comments, and with queued comments with any verdict."""
        self._stored = {slugs.last_part(slug): slug for slug in stored}
        self._queued = {slugs.last_part(held.slug): held for held in queued}

    def stored(self, token: str) -> str:
        """Return the slug of the stored comment or tombstone with this token, or "" if there is none."""
        return self._stored.get(slugs.part(token), "")

    def held(self, token: str) -> HeldComment | None:
        """Return the queued comment with this token, or None if there is none, or if the comment is stored."""
        return None if self.stored(token) else self._queued.get(slugs.part(token))


def queue_of(target: Target) -> tuple[HeldComment, ...]:
    """Return the queued comments of a discussion, even if they have been approved or rejected."""
    return backend().held(target=target, verdict=None, limit=MAX_QUEUED)


def is_refused(held: HeldComment) -> bool:
    """Return whether a moderator has rejected a queued comment, or its author has withdrawn it.

    Imports also mark spam from the old site as spam, but without a moderator.
    """
    is_refused_spam = held.verdict is Verdict.SPAM and held.decided_by
    return bool(is_refused_spam) or held.verdict in (Verdict.REJECTED, Verdict.WITHDRAWN)


def import_(target: Model | Target, comments: Iterable[NewComment]) -> int:
    """Import comments. If they are imported again, nothing changes.

    Args:
        target: The target of the discussion.
        comments: The comments. Parents must come before their replies. Each comment is identified by `slug` or `token`,
            and its `html` must already be clean.

    Returns:
        The number of new comments.

    Raises:
        InvalidComment: A comment is empty or too long.
        InvalidParent: The parent of a comment does not exist.
    """
    return backend().import_(targets.target_for(target), (clean(new) for new in comments))


def hold_imported(target: Model | Target, new: NewComment, *, reasons: Iterable[str] = ()) -> PostResult:
    """Add a comment that is waiting for moderation on another site to this site's moderation queue.

    If the comment is imported again, it is not added again. The comment keeps its `posted` time, and is added even if
    the discussion is closed.

    Raises:
        InvalidComment: The comment is empty or too long.
        InvalidParent: The comment's parent does not exist.
    """
    return backend().hold(targets.target_for(target), clean(new), tuple(reasons))


def import_likes(target: Model | Target, likes: Mapping[str, int]) -> None:
    """Make sure that imported comments have at least these numbers of likes, which are keyed by slug.

    If the numbers are imported again, nothing changes.
    """
    backend().likes.raise_to({targets.target_for(target): {slug: n for slug, n in likes.items() if n > 0}})


def slug_of(new: NewComment) -> str:
    """Return the slug of an imported comment, which need not be stored yet. Replies use this slug as their `parent`."""
    return new.slug or slugs.from_token(new.token, new.parent, conf.get("MAX_DEPTH"))
