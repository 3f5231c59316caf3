"""Imports of comments that were written elsewhere. They are stored or held once, however often they are imported."""

from collections.abc import Iterable

from django.db.models import Model

from marginalia.comments import conf, slugs, targets
from marginalia.comments.backends import backend
from marginalia.comments.posting.preparation import clean
from marginalia.comments.types import NewComment, PostResult, Target


def import_(target: Model | Target, comments: Iterable[NewComment]) -> int:
    """Store comments that were written elsewhere, parents before their replies. Return how many were new.

    `slug` or `token` identifies each comment, so that importing twice changes nothing. Their `html` must be clean.
    Raises InvalidComment, InvalidParent.
    """
    return backend().import_(targets.target_for(target), (clean(new) for new in comments))


def hold_imported(target: Model | Target, new: NewComment, *, reasons: Iterable[str] = ()) -> PostResult:
    """Put a comment that waited elsewhere into the moderation queue, once for each token.

    It keeps its `posted`, and closed discussions accept it too. Raises InvalidComment, InvalidParent.
    """
    return backend().hold(targets.target_for(target), clean(new), tuple(reasons))


def slug_of(new: NewComment) -> str:
    """Return the slug that an imported comment will have, or has. Its replies use it as `parent`."""
    return new.slug or slugs.from_token(new.token, new.parent, conf.get("MAX_DEPTH"))
