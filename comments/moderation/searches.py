"""Search the published and pending comments of all discussions, for moderators."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Model

from marginalia.comments import conf, targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentError, CommentNotFound, SearchTimeout
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, Found, HeldComment, Selection, State, Target, Verdict
from marginalia.mongo.servers import Outage, outage_after

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Time limit for a search, in seconds. A short beginning of a word can match most comments, and the server sorts them.
SECONDS = 0.5
# The time in milliseconds, and the id.
_CURSOR = re.compile("([0-9]{1,14})-([0-9a-f]{24})")


@dataclass(frozen=True)
class Hit:
    """A comment that a search found, with its text.

    Attributes:
        comment: The comment. If it was removed, it has the text and author that it had before.
        obj: The discussed object, or None if readers can't see it.
    """

    found: Found
    comment: Comment | HeldComment
    obj: Model | None


@contextmanager
def time_limit() -> Iterator[None]:
    """Limit the time for the searches in the block, both in the client and on the server.

    Raises:
        SearchTimeout: A search took too long.
    """
    try:
        with outage_after(SECONDS, conf.database_alias()):
            yield
    except Outage as error:
        raise SearchTimeout from error


def find(
    selection: Selection,
    states: tuple[State | Verdict, ...],
    *,
    limit: int,
    before: tuple[datetime, str] | None = None,
) -> list[Found]:
    """Return the comments of a selection that are in one of these states, newest first.

    `before` is the `(posted, id)` of the last comment on the previous page.
    """
    return backend().search(selection, states, limit=limit, before=before)


def cursor(last: Found) -> str:
    """Return the cursor of the page that follows the comment `last`."""
    return f"{(last.posted - _EPOCH) // timedelta(milliseconds=1)}-{last.id}"


def parse_cursor(typed: str) -> tuple[datetime, str] | None:
    """Return the `before` argument of `find` for a cursor, or None if the cursor is invalid."""
    match = _CURSOR.fullmatch(typed)
    return (_EPOCH + timedelta(milliseconds=int(match[1])), match[2]) if match else None


def with_texts(found: Sequence[Found]) -> list[Hit]:
    """Return the comments that a search found, with their texts. Comments that no longer exist are left out."""
    published = _published(found)
    objects = targets.resolve_many({hit.target for hit in found})
    hits = []
    for hit in found:
        comment = _held(hit) if hit.held_id else published.get((hit.target, hit.slug))
        if comment:
            now = replace(hit, state=comment.state if isinstance(comment, Comment) else comment.verdict)
            hits.append(Hit(now, comment, objects.get(hit.target)))
    return hits


def with_text(comment: Comment) -> Comment:
    """Return a removed comment with the author and text that it had before, and any other comment unchanged."""
    return _read(comment.target, [comment.slug]).get(comment.slug, comment) if comment.removed else comment


def _published(found: Sequence[Found]) -> dict[tuple[Target, str], Comment]:
    slugs: dict[Target, list[str]] = {}
    for hit in found:
        if not hit.held_id:
            slugs.setdefault(hit.target, []).append(hit.slug)
    return {(target, slug): comment for target in slugs for slug, comment in _read(target, slugs[target]).items()}


def _read(target: Target, slugs: list[str]) -> dict[str, Comment]:
    try:
        return backend().get_with_texts(target, slugs)
    except CommentError:  # the discussion is damaged
        return {}


def _held(hit: Found) -> HeldComment | None:
    try:
        return selectors.get_held(hit.held_id)
    except CommentNotFound:
        return None
