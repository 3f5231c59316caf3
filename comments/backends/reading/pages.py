"""Pages: by number, by cursor, around one comment; two commands each, whatever the discussion's length.

A reader takes the discussion first, then its present copy. What a conversion replaces is kept for an hour: a reader that finds
something has found all there was. One that finds nothing looks whether the copy is another one by now, and reads again: a
reader is refused only if conversions follow each other for longer than PATIENCE.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar, Unpack

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import BRIEF, PATIENCE
from marginalia.comments.backends.layouts import storage
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.layouts.buckets import page_of
from marginalia.comments.backends.store import Part
from marginalia.comments.backends.stored import Document, Place, comment, discussion, place
from marginalia.comments.errors import CommentNotFound, DiscussionBusy, DiscussionDamaged
from marginalia.comments.types import Comment, Discussion, Order, Page, PageQuery, Target

# Above every full slug, which begin with a digit.
LAST = "~"
# Pages without comments, at the most, that are passed over at once.
PASSED_OVER = 20
T = TypeVar("T")
Read = Callable[[Discussion, Place, Layout], T]


class Reading(Part):
    """Reads of one discussion."""

    def discussion(self, target: Target) -> Discussion:
        return self._found(target)[0]

    def discussions(self, targets: Iterable[Target]) -> dict[Target, Discussion]:
        wanted = list(dict.fromkeys(targets))
        cursor = self.store.discussions.collection.find({"_id": {"$in": [target.id for target in wanted]}}, BRIEF)
        found = {}
        for document in cursor:
            with suppress(DiscussionDamaged):  # a list of many shows it as empty; its own page, and audits, say so
                found[document["_id"]] = discussion(document)
        return {target: found.get(target.id) or _unbegun(target) for target in wanted}

    def _found(self, target: Target) -> tuple[Discussion, Place, Layout]:
        document = self.store.discussions.find(target)
        if document is None:
            missing = _unbegun(target)
            where = Place(target, missing.layout, missing.order, 0, 1)
            return missing, where, self.store.layouts.of(where)
        where = place(document)
        return discussion(document), where, self.store.layouts.of(where)

    def _read(self, target: Target, read: Read[T]) -> T:
        """Return what `read` makes of a discussion and its present copy; again, if it finds nothing because that copy was
        replaced. Raises CommentNotFound, DiscussionBusy."""
        patience = time.monotonic() + PATIENCE
        while True:
            present = self._found(target)
            missing = None
            try:
                result = read(*present)
                if not present[0].last_number or (result.comments if isinstance(result, Page) else result):
                    return result
            except CommentNotFound as error:
                missing = error
            if self._found(target)[0].epoch == present[0].epoch:
                if missing:
                    raise missing
                return result
            if time.monotonic() > patience:
                raise DiscussionBusy(str(target))

    def page(self, target: Target, **wanted: Unpack[PageQuery]) -> Page:
        size = wanted.get("size", 50)
        at = wanted.get("at", "")

        def read(found: Discussion, where: Place, layout: Layout) -> Page:
            asked = wanted.get("order") or _shown(found)
            around = _stored(at, found, where, layout) if at else None
            if not found.begun:
                return Page(found, (), asked, asked, size, pages=1, number=1)
            used = asked if _is_affordable(layout, found, asked) else found.order
            if used is not Order.THREADED:
                number = page_of(around["number"], size) if around else wanted.get("number", 0)
                page = _by_number(layout, found, where, used, size, number)
            elif around:
                page = _around(layout, found, where, size, around)
            else:
                page = _threaded(layout, found, where, size, wanted.get("after", ""), wanted.get("before", ""))
            return replace(page, asked=asked)

        return self._read(target, read)

    def newest(self, target: Target, limit: int = 50) -> Page:
        def read(found: Discussion, where: Place, layout: Layout) -> Page:
            newest = layout.newest(where, limit) if found.begun else []
            return Page(found, _comments(where, newest), Order.NEWEST, Order.NEWEST, limit)

        return self._read(target, read)

    def subdiscussion(self, target: Target, slug: str, *, size: int = 50, after: str = "") -> Page:
        def read(found: Discussion, where: Place, layout: Layout) -> Page:
            top = _stored(slug, found, where, layout)
            room = size if after else size - 1
            below = layout.below(where, top, after, room + 1)
            shown = below[:room] if after else [top, *below[:room]]
            return _cut(found, where, shown, size, more_before=False, more_after=len(below) > room)

        return self._read(target, read)

    def get(self, target: Target, slug: str) -> Comment:
        return comment(target, self._read(target, lambda *present: _stored(slug, *present)))

    def email_of(self, target: Target, slug: str) -> str:
        return str(self._read(target, lambda *present: _stored(slug, *present))["author"].get("email", ""))

    def iterate(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
        return (found for found, _ in self.with_addresses(target, order=order))

    def with_addresses(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[tuple[Comment, str]]:
        patience = time.monotonic() + PATIENCE
        while True:
            found, where, layout = self._found(target)
            is_empty = True
            for document in layout.sorted(where, order.native):
                is_empty = False
                yield comment(target, document), str(document["author"].get("email", ""))
            if layout.in_target and not is_empty:
                return  # read whole, by one command
            now = self.store.discussions.find(target) if found.begun else None
            if now is None or where.epoch in (now["epoch"], *(old["epoch"] for old in now["leftovers"])):
                return
            if not is_empty or time.monotonic() > patience:
                raise DiscussionBusy(str(target))


def _stored(slug: str, found: Discussion, where: Place, layout: Layout) -> Document:
    document = layout.look(where, [slug]).comments.get(slug) if found.begun and slugs.is_slug(slug) else None
    if document is None:
        raise CommentNotFound(slug)
    return document


def _unbegun(target: Target) -> Discussion:
    """Return what a target has before its first comment is posted: which layout that will be in is not asked for readers."""
    kept = storage(target.label)
    return Discussion(target, kept.layout, kept.order)


def _shown(found: Discussion) -> Order:
    """Return the order in which a discussion is shown without being asked for one: its own, or newest first if settings say
    so."""
    configured = storage(found.target.label).shown
    return configured if configured.native is found.order else found.order


def _is_affordable(layout: Layout, found: Discussion, asked: Order) -> bool:
    """Return whether a discussion is stored in that order, or short enough to be sorted."""
    if asked.native in layout.orders:
        return True
    return max(found.last_number, found.count) <= layout.options_of(found.target.label)["CAP"]


def _by_number(layout: Layout, found: Discussion, where: Place, order: Order, size: int, number: int) -> Page:
    """Return the page of `number`, 0 for the first in reading direction, or the next that has comments."""
    backwards = order is Order.NEWEST
    pages = max(1, -(-found.last_number // size))
    number = min(number, pages) or (pages if backwards else 1)
    ahead = range(number, 0, -1) if backwards else range(number, pages + 1)
    documents: list[Document] = []
    for number in ahead[:PASSED_OVER]:
        if documents := layout.by_number(where, size * (number - 1) + 1, size * number):
            break
    if backwards:
        documents.reverse()
    ends = [str(number - 1) if number > 1 else "", str(number + 1) if number < pages else ""]
    previous, later = reversed(ends) if backwards else ends
    shown = _comments(where, documents)
    return Page(found, shown, order, order, size, previous=previous, next=later, number=number, pages=pages)


def _threaded(layout: Layout, found: Discussion, where: Place, size: int, after: str, before: str) -> Page:
    """Return a threaded page after or before a cursor."""
    if before:
        documents = layout.by_path(where, "", before, size + 1, backwards=True)
        more_before = len(documents) > size
        documents = documents[:size][::-1]
        return _cut(found, where, documents, size, more_before=more_before, more_after=True)
    documents = layout.by_path(where, after, LAST, size + 1)
    return _cut(found, where, documents[:size], size, more_before=bool(after), more_after=len(documents) > size)


def _around(layout: Layout, found: Discussion, where: Place, size: int, wanted: Document) -> Page:
    """Return a threaded page in which a comment is read below its ancestors."""
    root = wanted["full_slug"].partition("/")[0]
    documents = layout.by_path(where, _just_below(root), LAST, size + 1)
    if not any(document["slug"] == wanted["slug"] for document in documents[:size]):
        lead = layout.by_path(where, "", wanted["full_slug"], size // 2, backwards=True)
        documents = layout.by_path(where, _just_below(wanted["full_slug"]), LAST, size - len(lead) + 1)
        documents = lead[::-1] + documents
    if not documents:  # dropped while it was read
        raise CommentNotFound(wanted["slug"])
    more_before = bool(layout.by_path(where, "", documents[0]["full_slug"], 1, backwards=True))
    return _cut(found, where, documents[:size], size, more_before=more_before, more_after=len(documents) > size)


def _cut(
    found: Discussion, where: Place, documents: list[Document], size: int, *, more_before: bool, more_after: bool
) -> Page:
    """Return a threaded page of what was found, with cursors where there is more."""
    return Page(
        found,
        _comments(where, documents),
        Order.THREADED,
        Order.THREADED,
        size,
        previous=documents[0]["full_slug"] if documents and more_before else "",
        next=documents[-1]["full_slug"] if documents and more_after else "",
    )


def _comments(where: Place, documents: list[Document]) -> tuple[Comment, ...]:
    return tuple(comment(where.target, document) for document in documents)


def _just_below(full_slug: str) -> str:
    """Return a key below a full slug and above all that come before it: nothing lies between it and the slug."""
    return full_slug[:-1] + chr(ord(full_slug[-1]) - 1) + LAST
