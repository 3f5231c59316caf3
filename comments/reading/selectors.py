"""Reads. `target` is a saved object or a Target; what is returned never changes and holds no e-mail address.

Two commands show a page (three in threaded buckets), whatever the discussion's length.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime

from django.db.models import Model

from marginalia.comments import conf, targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.reading import versions
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.types import Comment, Discussion, Held, Order, Page, Replaced, Target, Verdict
from marginalia.mongo.engine.read_tracking import tracked_reads


@tracked_reads()
def discussion(target: Model | Target) -> Discussion:
    """Return a target's discussion; `begun` is False before the first post. Take it before the comments: see
    `version`."""
    found = backend().discussion(targets.of(target))
    versions.note(found)
    return found


@tracked_reads()
def discussions(wanted: Iterable[Model | Target]) -> dict[Target, Discussion]:
    """Return the discussions of many targets in one look-up: for lists that show counts."""
    found = backend().discussions([targets.of(target) for target in wanted])
    for one in found.values():
        versions.note(one)
    return found


def count(target: Model | Target) -> int:
    """Return how many public comments a target has."""
    return discussion(target).count


@tracked_reads()
def page(
    target: Model | Target,
    *,
    order: Order | str | None = None,
    size: int | None = None,
    number: int = 0,
    after: str = "",
    before: str = "",
    at: str = "",
) -> Page:
    """Return a page: see `Backend.page`. `size` is cut to 1 … MAX_PAGE_SIZE; without one it is PAGE_SIZE.

    `order` may be a word from a request: one that does not exist means the discussion's own. Raises CommentNotFound
    for `at`.
    """
    found = backend().page(
        targets.of(target),
        order=_order(order),
        size=max(1, min(size or conf.get("PAGE_SIZE"), conf.get("MAX_PAGE_SIZE"))),
        number=max(0, number),
        after=after,
        before=before,
        at=at,
    )
    versions.note(found.discussion)
    return found


def requested(target: Model | Target, request: PageRequest, *, size: int | None = None) -> Page:
    """Return the page that a reader asks for; the beginning if the comment that was asked for is not there."""
    wanted = asdict(request)
    try:
        return page(target, size=size, **wanted)
    except CommentNotFound:
        return page(target, size=size, order=request.order)


def _order(word: Order | str | None) -> Order | None:
    try:
        return Order(word) if word else None
    except ValueError:
        return None


@tracked_reads()
def newest(target: Model | Target, *, limit: int = 50) -> tuple[Comment, ...]:
    """Return the newest public comments of a discussion, newest first, whatever order it is kept in: for feeds."""
    found = backend().newest(targets.of(target), limit)
    versions.note(found.discussion)
    return found.comments


def get(target: Model | Target, slug: str) -> Comment:
    """Return one comment, also a tombstone. Raises CommentNotFound."""
    versions.note_fleeting()
    return backend().get(targets.of(target), slug)


def permalink(target: Model | Target, slug: str, *, order: Order | str | None = None, size: int | None = None) -> Page:
    """Return the page that holds a comment, in the order the reader uses. Raises CommentNotFound."""
    return page(target, order=order, size=size, at=slug)


@tracked_reads()
def subdiscussion(target: Model | Target, slug: str, *, size: int | None = None, after: str = "") -> Page:
    """Return a comment and all that hangs below it, threaded. Raises CommentNotFound."""
    wanted = max(1, min(size or conf.get("PAGE_SIZE"), conf.get("MAX_PAGE_SIZE")))
    found = backend().subdiscussion(targets.of(target), slug, size=wanted, after=after)
    versions.note(found.discussion)
    return found


def iterate(target: Model | Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
    """Yield all comments of a discussion, tombstones included."""
    return backend().iterate(targets.of(target), order=order)


def recent(limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
    """Return the newest public comments of all discussions. Whether readers may see their targets is for
    `targets.with_objects` to say."""
    versions.note_fleeting()
    return backend().recent(limit, label=label)


def by_author(author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
    """Return a user's public comments, newest first."""
    versions.note_fleeting()
    return backend().by_author(author_id, limit=limit, before=before)


def history(target: Model | Target, slug: str) -> tuple[Replaced, ...]:
    """Return what was replaced in a comment, newest first: for moderators."""
    return backend().history(targets.of(target), slug)


def held(
    *,
    target: Model | Target | None = None,
    author_id: str = "",
    slug: str = "",
    verdict: Verdict | None = Verdict.WAITING,
    limit: int = 100,
    after: str = "",
) -> tuple[Held, ...]:
    """Return queued comments of a verdict, None for any (of one target, by one user, with one slug), the longest waiting first:
    for moderators and their authors."""
    subject = targets.of(target) if target else None
    return backend().held(target=subject, author_id=author_id, slug=slug, verdict=verdict, limit=limit, after=after)


def get_held(held_id: str) -> Held:
    """Return one queued comment: for moderators. Raises CommentNotFound."""
    return backend().get_held(held_id)


def held_at(target: Model | Target, slug: str, *, verdict: Verdict | None = Verdict.WAITING) -> Held | None:
    """Return what is queued under a slug, None if nothing is, or nothing of this verdict (None: any): to be shown to its
    author."""
    return next(iter(held(target=target, slug=slug, verdict=verdict)), None)


def email_of(comment: Comment) -> str:
    """Return the e-mail address that a comment's author left, or "": for notices and moderators, never for a page."""
    return backend().email_of(comment.target, comment.slug)


def begun(*, label: str = "") -> Iterator[Target]:
    """Yield the targets (of one label) that were ever discussed."""
    return backend().targets(label=label)


def with_addresses(target: Model | Target) -> Iterator[tuple[Comment, str]]:
    """Yield all comments, oldest first, each with its author's e-mail address: for exports by an operator, never for a page."""
    return backend().with_addresses(targets.of(target))


def written_by(*, id: str = "", email: str = "") -> Iterator[Comment | Held | Replaced]:
    """Yield all that is kept of a user's key or an e-mail address, wherever it is kept."""
    return backend().written_by(id=id, email=email)
