"""Import of comments from other sources.

If a comment is imported several times, it is still stored or held only once.
"""

from collections.abc import Iterable, Mapping

from django.db.models import Model

from marginalia.comments import conf, slugs, targets
from marginalia.comments.backends import backend
from marginalia.comments.posting.preparation import clean
from marginalia.comments.types import NewComment, PostResult, Target


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
