"""Read operations that find a page by its number, by a cursor, or by a comment on it.

Reading a page takes two commands, regardless of the length of the discussion. The first command reads the discussion
document, and the second reads the discussion's current copy. A conversion keeps the old copy for an hour, so a reader
of this copy finds either all of its comments or, if the copy has already been deleted, none. If a reader finds none, it
checks whether the copy has been replaced. If so, it reads again. The reader gives up only if the copy keeps being
replaced for longer than PATIENCE.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar, Unpack

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import BRIEF_PROJECTION, PATIENCE
from marginalia.comments.backends.layouts import storage
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.layouts.buckets import page_of
from marginalia.comments.backends.store import Part
from marginalia.comments.backends.stored import Document, Place, read_comment, read_discussion, read_place
from marginalia.comments.errors import CommentNotFound, DiscussionBusy, DiscussionDamaged
from marginalia.comments.types import Comment, Discussion, Order, Page, PageQuery, Target

# A string that sorts after every full slug, because all full slugs begin with a digit.
LAST = "~"
# If the requested page is empty, at most this many pages are tried, in reading order, to find one with comments.
PASSED_OVER = 20
T = TypeVar("T")
Read = Callable[[Discussion, Place, Layout], T]


class Reading(Part):
    """The part of the backend that reads a single discussion."""

    def discussion(self, target: Target) -> Discussion:
        return self._find(target)[0]

    def discussions(self, targets: Iterable[Target]) -> dict[Target, Discussion]:
        unique_targets = list(dict.fromkeys(targets))
        cursor = self.store.discussions.collection.find(
            {"_id": {"$in": [target.id for target in unique_targets]}},
            BRIEF_PROJECTION,
            # Read all documents in one batch. The batch size is one more than needed, because the server closes the
            # cursor immediately if the batch isn't full.
            batch_size=len(unique_targets) + 1,
        )
        by_id = {}
        for document in cursor:
            # In lists, show a damaged discussion as empty. The damage is reported on the discussion's own page and by
            # audits.
            with suppress(DiscussionDamaged):
                by_id[document["_id"]] = read_discussion(document)
        return {target: by_id.get(target.id) or _empty_discussion(target) for target in unique_targets}

    def _find(self, target: Target) -> tuple[Discussion, Place, Layout]:
        document = self.store.discussions.find(target)
        if document is None:
            discussion = _empty_discussion(target)
            place = Place(target, discussion.layout, discussion.order, 0, 1)
            return discussion, place, self.store.layouts.of(place)
        place = read_place(document)
        return read_discussion(document), place, self.store.layouts.of(place)

    def _read_present(self, target: Target, read: Read[T]) -> T:
        """Return the result of `read` for a discussion and its current copy.

        If `read` finds nothing and the copy has been replaced, call `read` again.

        Raises:
            CommentNotFound: The requested comment does not exist.
            DiscussionBusy: The copy was replaced repeatedly.
        """
        patience = time.monotonic() + PATIENCE
        while True:
            present = self._find(target)
            not_found = None
            try:
                result = read(*present)
                if not present[0].last_number or (result.comments if isinstance(result, Page) else result):
                    return result
            except CommentNotFound as error:
                not_found = error
            if self._find(target)[0].epoch == present[0].epoch:
                if not_found:
                    raise not_found
                return result
            if time.monotonic() > patience:
                raise DiscussionBusy(str(target))

    def page(self, target: Target, **wanted: Unpack[PageQuery]) -> Page:
        size = wanted.get("size", 50)
        at = wanted.get("at", "")

        def read(discussion: Discussion, place: Place, layout: Layout) -> Page:
            requested = wanted.get("order") or _default_order(discussion)
            center = _find_comment(at, discussion, place, layout) if at else None
            if not discussion.begun:
                return Page(discussion, (), requested, requested, size, pages=1, number=1)
            order = requested if _is_affordable(layout, discussion, requested) else discussion.order
            if order is not Order.THREADED:
                number = page_of(center["number"], size) if center else wanted.get("number", 0)
                page = _page_by_number(layout, discussion, place, order, size, number)
            elif center:
                page = _page_around(layout, discussion, place, size, center)
            else:
                page = _threaded_page(
                    layout, discussion, place, size, wanted.get("after", ""), wanted.get("before", "")
                )
            return replace(page, requested_order=requested)

        return self._read_present(target, read)

    def newest(self, target: Target, limit: int = 50) -> Page:
        def read(discussion: Discussion, place: Place, layout: Layout) -> Page:
            newest = layout.newest(place, limit) if discussion.begun else []
            return Page(discussion, _comments(place, newest), Order.NEWEST, Order.NEWEST, limit)

        return self._read_present(target, read)

    def subdiscussion(self, target: Target, slug: str, *, size: int = 50, after: str = "") -> Page:
        def read(discussion: Discussion, place: Place, layout: Layout) -> Page:
            top = _find_comment(slug, discussion, place, layout)
            room = size if after else size - 1
            descendants = layout.below(place, top, after, room + 1)
            documents = descendants[:room] if after else [top, *descendants[:room]]
            return _build_threaded_page(
                discussion, place, documents, size, more_before=False, more_after=len(descendants) > room
            )

        return self._read_present(target, read)

    def get(self, target: Target, slug: str) -> Comment:
        return read_comment(target, self._read_present(target, lambda *present: _find_comment(slug, *present)))

    def email_of(self, target: Target, slug: str) -> str:
        return str(
            self._read_present(target, lambda *present: _find_comment(slug, *present))["author"].get("email", "")
        )

    def iterate(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
        return (comment for comment, _ in self.iterate_with_emails(target, order=order))

    def iterate_with_emails(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[tuple[Comment, str]]:
        patience = time.monotonic() + PATIENCE
        while True:
            discussion, place, layout = self._find(target)
            is_empty = True
            for document in layout.sorted(place, order.native):
                is_empty = False
                yield read_comment(target, document), str(document["author"].get("email", ""))
            if layout.in_target and not is_empty:
                return  # a single command has read all comments
            present = self.store.discussions.find(target) if discussion.begun else None
            if present is None or place.epoch in (present["epoch"], *(old["epoch"] for old in present["leftovers"])):
                return
            if not is_empty or time.monotonic() > patience:
                raise DiscussionBusy(str(target))


def _find_comment(slug: str, discussion: Discussion, place: Place, layout: Layout) -> Document:
    document = layout.look(place, [slug]).comments.get(slug) if discussion.begun and slugs.is_slug(slug) else None
    if document is None:
        raise CommentNotFound(slug)
    return document


def _empty_discussion(target: Target) -> Discussion:
    """Return the discussion of a target before its first post.

    The discussion has the layout that is configured for the target's model. COMMENTS["CHOOSE_LAYOUT"] is not called,
    because readers don't need to know the layout of an empty discussion.
    """
    default = storage(target.label)
    return Discussion(target, default.layout, default.order)


def _default_order(discussion: Discussion) -> Order:
    """Return the order in which a discussion is shown by default.

    This is the configured order, provided that the comments are stored in an order that allows them to be read in this
    way. Otherwise, it is the order in which they are stored.
    """
    configured = storage(discussion.target.label).shown
    return configured if configured.native is discussion.order else discussion.order


def _is_affordable(layout: Layout, discussion: Discussion, order: Order) -> bool:
    """Return whether a discussion can be read in `order`, or is short enough to be sorted in memory."""
    if order.native in layout.orders:
        return True
    return max(discussion.last_number, discussion.count) <= layout.options_of(discussion.target.label)["CAP"]


def _page_by_number(layout: Layout, discussion: Discussion, place: Place, order: Order, size: int, number: int) -> Page:
    """Return page `number`, or the next page in reading order with comments. Page 0 is the first in reading order."""
    backwards = order is Order.NEWEST
    pages = max(1, -(-discussion.last_number // size))
    number = min(number, pages) or (pages if backwards else 1)
    candidates = range(number, 0, -1) if backwards else range(number, pages + 1)
    documents: list[Document] = []
    for number in candidates[:PASSED_OVER]:
        if documents := layout.by_number(place, size * (number - 1) + 1, size * number):
            break
    if backwards:
        documents.reverse()
    ends = [str(number - 1) if number > 1 else "", str(number + 1) if number < pages else ""]
    previous, later = reversed(ends) if backwards else ends
    comments = _comments(place, documents)
    return Page(discussion, comments, order, order, size, previous=previous, next=later, number=number, pages=pages)


def _threaded_page(layout: Layout, discussion: Discussion, place: Place, size: int, after: str, before: str) -> Page:
    """Return the page after or before a cursor, in threaded order."""
    if before:
        documents = layout.by_path(place, "", before, size + 1, backwards=True)
        more_before = len(documents) > size
        documents = documents[:size][::-1]
        return _build_threaded_page(discussion, place, documents, size, more_before=more_before, more_after=True)
    documents = layout.by_path(place, after, LAST, size + 1)
    return _build_threaded_page(
        discussion, place, documents[:size], size, more_before=bool(after), more_after=len(documents) > size
    )


def _page_around(layout: Layout, discussion: Discussion, place: Place, size: int, center: Document) -> Page:
    """Return a page in threaded order that contains the comment `center`.

    The page begins with the root comment of the thread if `center` fits on this page.
    """
    root = center["full_slug"].partition("/")[0]
    documents = layout.by_path(place, _just_below(root), LAST, size + 1)
    if not any(document["slug"] == center["slug"] for document in documents[:size]):
        before = layout.by_path(place, "", center["full_slug"], size // 2, backwards=True)
        documents = layout.by_path(place, _just_below(center["full_slug"]), LAST, size - len(before) + 1)
        documents = before[::-1] + documents
    if not documents:  # the copy was deleted while it was being read
        raise CommentNotFound(center["slug"])
    more_before = bool(layout.by_path(place, "", documents[0]["full_slug"], 1, backwards=True))
    return _build_threaded_page(
        discussion, place, documents[:size], size, more_before=more_before, more_after=len(documents) > size
    )


def _build_threaded_page(
    discussion: Discussion, place: Place, documents: list[Document], size: int, *, more_before: bool, more_after: bool
) -> Page:
    """Return a page in threaded order, with cursors if there are more comments before or after it."""
    return Page(
        discussion,
        _comments(place, documents),
        Order.THREADED,
        Order.THREADED,
        size,
        previous=documents[0]["full_slug"] if documents and more_before else "",
        next=documents[-1]["full_slug"] if documents and more_after else "",
    )


def _comments(place: Place, documents: list[Document]) -> tuple[Comment, ...]:
    return tuple(read_comment(place.target, document) for document in documents)


def _just_below(full_slug: str) -> str:
    """Return a key that sorts before `full_slug`, but after the full slugs of all comments that precede it."""
    return full_slug[:-1] + chr(ord(full_slug[-1]) - 1) + LAST
