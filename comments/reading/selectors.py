"""Functions that read comments. `target` is a saved object or a Target.

Returned values are immutable, and contain no email addresses.

Reading a page takes two commands (three in the threaded buckets layout), however long the discussion is. If readers
have liked comments in the discussion, it takes one more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from datetime import datetime

from django.db.models import Model

from marginalia.comments import conf, targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.reading import versions
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.types import Comment, Discussion, HeldComment, Order, Page, ReplacedComment, Target, Verdict
from marginalia.mongo.engine.read_tracking import tracked_reads


@tracked_reads()
def discussion(target: Model | Target) -> Discussion:
    """Return the discussion of a target. If there are no comments yet, `begun` is False.

    Call this function before you read the comments. For the reason, see `Discussion.version`.
    """
    result = backend().discussion(targets.target_for(target))
    versions.note(result)
    return result


@tracked_reads()
def discussions(wanted: Iterable[Model | Target]) -> dict[Target, Discussion]:
    """Return the discussions of many targets, using one query, for example to show the number of comments on each."""
    by_target = backend().discussions([targets.target_for(target) for target in wanted])
    for found in by_target.values():
        versions.note(found)
    return by_target


def count(target: Model | Target) -> int:
    """Return the number of public comments on a target."""
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
    """Return a page of comments, as `Backend.page` does.

    Args:
        target: The target of the discussion.
        order: The order of the page. This can be an unchecked value from a request. None or an unknown order selects
            the discussion's default order.
        size: The number of comments per page, from 1 to MAX_PAGE_SIZE. The default is PAGE_SIZE.
        number: The page number in the orders OLDEST and NEWEST, or 0 for the first page in reading order.
        after: A cursor in the order THREADED. The page begins after this cursor.
        before: A cursor in the order THREADED. The page ends before this cursor.
        at: The slug of a comment on the requested page.

    Raises:
        CommentNotFound: There is no comment with the slug `at`.
    """
    result = backend().page(
        targets.target_for(target),
        order=_order(order),
        size=max(1, min(size or conf.get("PAGE_SIZE"), conf.get("MAX_PAGE_SIZE"))),
        number=max(0, number),
        after=after,
        before=before,
        at=at,
    )
    versions.note(result.discussion)
    return _with_likes(result)


def _with_likes(page: Page) -> Page:
    """Return the page with the numbers of likes of its comments."""
    if not page.discussion.has_likes:
        return page
    counts = backend().likes.counts(page.discussion.target, [comment.slug for comment in page.comments])
    comments = tuple(replace(comment, likes=counts.get(comment.slug, 0)) for comment in page.comments)
    return replace(page, comments=comments)


def with_likes(comment: Comment) -> Comment:
    """Return a comment with its number of likes."""
    return replace(comment, likes=likes(comment.target, [comment.slug]).get(comment.slug, 0))


def likes(target: Model | Target, slugs: Iterable[str] | None = None) -> dict[str, int]:
    """Return the numbers of likes of comments in a discussion, keyed by slug. Comments without likes can be left out.

    If `slugs` is None, return the numbers of all comments.
    """
    versions.note_unversioned()
    return backend().likes.counts(targets.target_for(target), slugs)


def requested_page(target: Model | Target, request: PageRequest, *, size: int | None = None) -> Page:
    """Return the page that a reader requested, or the first page if the requested comment does not exist."""
    query = asdict(request)
    try:
        return page(target, size=size, **query)
    except CommentNotFound:
        return page(target, size=size, order=request.order)


def _order(name: Order | str | None) -> Order | None:
    try:
        return Order(name) if name else None
    except ValueError:
        return None


@tracked_reads()
def newest(target: Model | Target, *, limit: int = 50) -> tuple[Comment, ...]:
    """Return the newest public comments of a discussion, newest first, for example for a feed."""
    result = backend().newest(targets.target_for(target), limit)
    versions.note(result.discussion)
    return result.comments


def get(target: Model | Target, slug: str) -> Comment:
    """Return one comment, even if it has been removed (a tombstone).

    Raises:
        CommentNotFound: There is no comment with this slug.
    """
    versions.note_unversioned()
    return backend().get(targets.target_for(target), slug)


@tracked_reads()
def pinned(discussion: Discussion) -> Comment | None:
    """Return the pinned comment of a discussion that was already read, or None if the discussion has none.

    The comment can be a tombstone. Changing it changes the version of the discussion.
    """
    slug = discussion.restrictions.pinned
    if not slug:
        return None
    versions.note(discussion)
    try:
        return backend().get(discussion.target, slug)
    except CommentNotFound:
        return None


def permalink(target: Model | Target, slug: str, *, order: Order | str | None = None, size: int | None = None) -> Page:
    """Return the page that contains a comment, in the order that the reader requested.

    Raises:
        CommentNotFound: There is no comment with this slug.
    """
    return page(target, order=order, size=size, at=slug)


@tracked_reads()
def subdiscussion(target: Model | Target, slug: str, *, size: int | None = None, after: str = "") -> Page:
    """Return a page that begins with a comment, followed by its descendants in threaded order.

    If `after`, the cursor of the previous page, is given, the page contains only the descendants that follow.

    Raises:
        CommentNotFound: There is no comment with this slug.
    """
    page_size = max(1, min(size or conf.get("PAGE_SIZE"), conf.get("MAX_PAGE_SIZE")))
    result = backend().subdiscussion(targets.target_for(target), slug, size=page_size, after=after)
    versions.note(result.discussion)
    return _with_likes(result)


def iterate(target: Model | Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
    """Yield all comments of a discussion, including tombstones."""
    return backend().iterate(targets.target_for(target), order=order)


def recent(limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
    """Return the newest public comments. If `label` is given, return only comments on objects of this model.

    The result can include comments on objects that readers can't see. To leave them out, use `targets.with_objects`.
    """
    versions.note_unversioned()
    return backend().recent(limit, label=label)


def by_author(author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
    """Return the public comments of an account, newest first.

    `before` is the `posted` time of the last comment on the previous page.
    """
    versions.note_unversioned()
    return backend().by_author(author_id, limit=limit, before=before)


def history(target: Model | Target, slug: str) -> tuple[ReplacedComment, ...]:
    """Return the previous versions of a comment, newest first. Show them only to moderators."""
    return backend().history(targets.target_for(target), slug)


def held(
    *,
    target: Model | Target | None = None,
    author_id: str = "",
    slug: str = "",
    verdict: Verdict | None = Verdict.WAITING,
    limit: int = 100,
    after: str = "",
) -> tuple[HeldComment, ...]:
    """Return queued comments, oldest first. Show each comment only to moderators and to its author.

    Args:
        target: Return only comments on this target. None selects all targets.
        author_id: Return only comments by the account with this primary key. "" selects all authors.
        slug: Return only comments with this slug. "" selects comments with any slug.
        verdict: Return only comments with this verdict. None selects comments with any verdict.
        limit: The maximum number of comments.
        after: The id of the last comment on the previous page, or "".
    """
    subject = targets.target_for(target) if target else None
    return backend().held(target=subject, author_id=author_id, slug=slug, verdict=verdict, limit=limit, after=after)


def get_held(held_id: str) -> HeldComment:
    """Return one queued comment. Show it only to moderators.

    Raises:
        CommentNotFound: The queue has no such comment.
    """
    return backend().get_held(held_id)


def find_held(target: Model | Target, slug: str, *, verdict: Verdict | None = Verdict.WAITING) -> HeldComment | None:
    """Return the queued comment with the given slug, to show it to its author.

    Return None if there is no such comment, or if its verdict isn't `verdict`. If `verdict` is None, any verdict is
    accepted.
    """
    return next(iter(held(target=target, slug=slug, verdict=verdict)), None)


def email_of(comment: Comment | HeldComment) -> str:
    """Return the email address of a comment's author, or "".

    Use the address only for notices and for display to moderators. Never show it on public pages.
    """
    if isinstance(comment, HeldComment):
        return comment.email
    return backend().email_of(comment.target, comment.slug)


def imported_slug(target: Model | Target, anchor: str) -> str:
    """Return the slug of the imported comment whose old permalink ended with `anchor`, or "" if there is none."""
    return backend().imported.slug(targets.target_for(target), anchor)


def iterate_targets(*, label: str = "") -> Iterator[Target]:
    """Yield the targets that have a discussion. If `label` is given, yield only targets of this model."""
    return backend().targets(label=label)


def iterate_with_emails(target: Model | Target) -> Iterator[tuple[Comment, str]]:
    """Yield all comments of a discussion, oldest first, each with the email address of its author or "".

    Use this function only for an administrator's exports. Never show the addresses on pages.
    """
    return backend().iterate_with_emails(targets.target_for(target))


def written_by(*, id: str = "", email: str = "") -> Iterator[Comment | HeldComment | ReplacedComment]:
    """Yield all comments by an author, identified by an account's primary key (`id`) or an email address."""
    return backend().written_by(id=id, email=email)
