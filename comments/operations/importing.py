"""Comments that were written elsewhere: stored with their times, or pending, once however often they are imported."""

from collections.abc import Iterable

from django.db.models import Model

from marginalia.comments import conf, slugs, targets
from marginalia.comments.backends import backend
from marginalia.comments.posting.preparation import checked
from marginalia.comments.types import NewComment, Posted, Target


def import_(target: Model | Target, comments: Iterable[NewComment]) -> int:
    """Store comments that were written elsewhere, parents before their replies; return how many were new.

    `part` or `token` names each: importing twice changes nothing. Their `html` must be clean. Raises InvalidComment,
    InvalidParent.
    """
    return backend().import_(targets.of(target), (checked(new) for new in comments))


def hold_imported(target: Model | Target, new: NewComment, *, reasons: Iterable[str] = ()) -> Posted:
    """Put a comment that waited elsewhere into the moderation queue, with the `posted` it carries, also where the discussion is
    closed. Once for each token. Raises InvalidComment, InvalidParent."""
    return backend().hold(targets.of(target), checked(new), tuple(reasons))


def slug_of(new: NewComment) -> str:
    """Return the slug that an imported comment will have, or has: its replies name it as `parent`."""
    return new.slug or slugs.of(new.token, new.parent, conf.get("MAX_DEPTH"))
