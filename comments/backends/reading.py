"""Pages: by number, by cursor, around one comment; two commands each, whatever the discussion's length."""

from collections.abc import Iterator

from comments import slugs
from comments.backends.memory import sort_key
from comments.backends.schema import Schema
from comments.backends.schemas import Schemas
from comments.backends.stored import Document, Place, comment
from comments.errors import CommentNotFound
from comments.types import Comment, Discussion, Order, Page

# Above every full slug, which begin with a digit.
LAST = "~"


class Reading:
    """Reads of one copy of a discussion."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas

    def get(self, place: Place, slug: str) -> Document:
        """Return a stored comment. Raises CommentNotFound."""
        found = self.schemas.of(place).look(place, [slug]).found.get(slug) if slugs.is_slug(slug) else None
        if found is None:
            raise CommentNotFound(slug)
        return found

    def by_number(self, discussion: Discussion, place: Place, order: Order, size: int, number: int, at: str) -> Page:
        """Return the page of `number`, or the one that holds the slug `at`."""
        schema = self.schemas.of(place)
        backwards = order is Order.NEWEST
        pages = max(1, -(-discussion.last_number // size))
        if at:
            number = page_of(self.get(place, at)["number"], size)
        number = min(number, pages) or (pages if backwards else 1)
        found = schema.by_number(place, size * (number - 1) + 1, size * number)
        is_last = False
        if not found and discussion.last_number:
            number, found, is_last = self._pass_over(schema, place, number, size, backwards)
        if backwards:
            found.reverse()
        earlier = str(number - 1) if number > 1 and not (is_last and backwards) else ""
        later = str(number + 1) if number < pages and not (is_last and not backwards) else ""
        return Page(
            discussion,
            as_comments(place, found),
            order,
            order,
            size,
            number=number,
            pages=pages,
            previous=later if backwards else earlier,
            next=earlier if backwards else later,
        )

    def _pass_over(
        self, schema: Schema, place: Place, number: int, size: int, backwards: bool
    ) -> tuple[int, list[Document], bool]:
        """Return the next page in reading direction that has comments, or the last before it, and whether that was so."""
        low, high = size * (number - 1) + 1, size * number
        ahead, behind = (-1, 1) if backwards else (1, -1)
        nearest, is_last = schema.nearest(place, high if ahead > 0 else low, ahead), False
        if nearest is None:
            is_last = True
            nearest = schema.nearest(place, low if behind < 0 else high, behind)
        if nearest is None:
            return number, [], True
        number = page_of(nearest, size)
        return number, schema.by_number(place, size * (number - 1) + 1, size * number), is_last

    def threaded(self, discussion: Discussion, place: Place, size: int, after: str, before: str, at: str) -> Page:
        """Return a threaded page after or before a cursor, or one in which `at` is read below its ancestors."""
        schema = self.schemas.of(place)
        if at:
            return self._around(discussion, place, size, self.get(place, at))
        if before:
            found = schema.by_path(place, "", before, size + 1, backwards=True)
            more_before, found = len(found) > size, found[:size][::-1]
            return cut(discussion, place, found, size, more_before=more_before, more_after=True)
        found = schema.by_path(place, after, LAST, size + 1)
        return cut(discussion, place, found[:size], size, more_before=bool(after), more_after=len(found) > size)

    def _around(self, discussion: Discussion, place: Place, size: int, wanted: Document) -> Page:
        schema = self.schemas.of(place)
        root = wanted["full_slug"].partition("/")[0]
        found = schema.by_path(place, just_below(root), LAST, size + 1)
        if not any(document["slug"] == wanted["slug"] for document in found[:size]):
            lead = schema.by_path(place, "", wanted["full_slug"], size // 2, backwards=True)
            found = schema.by_path(place, just_below(wanted["full_slug"]), LAST, size - len(lead) + 1)
            found = lead[::-1] + found
        if not found:  # dropped while it was read
            raise CommentNotFound(wanted["slug"])
        first = found[0]["full_slug"]
        more_before = bool(schema.by_path(place, "", first, 1, backwards=True))
        return cut(discussion, place, found[:size], size, more_before=more_before, more_after=len(found) > size)

    def below(self, discussion: Discussion, place: Place, slug: str, size: int, after: str) -> Page:
        """Return a comment and its descendants, by cursor."""
        top = self.get(place, slug)
        room = size if after else size - 1
        found = self.schemas.of(place).below(place, top, after, room + 1)
        shown = found[:room] if after else [top, *found[:room]]
        return cut(discussion, place, shown, size, more_before=False, more_after=len(found) > room)

    def documents(self, place: Place, order: Order) -> Iterator[Document]:
        """Yield all comments; an order that the schema is not sorted by is sorted in memory."""
        schema = self.schemas.of(place)
        native = schema.orders(place)
        if order in native:
            yield from schema.iterate(place, order)
        else:
            yield from sorted(schema.iterate(place, native[0]), key=lambda item: sort_key(item, order))


def cut(
    discussion: Discussion, place: Place, found: list[Document], size: int, *, more_before: bool, more_after: bool
) -> Page:
    """Return a threaded page of what was found, with cursors where there is more."""
    return Page(
        discussion,
        as_comments(place, found),
        Order.THREADED,
        Order.THREADED,
        size,
        previous=found[0]["full_slug"] if found and more_before else "",
        next=found[-1]["full_slug"] if found and more_after else "",
    )


def as_comments(place: Place, documents: list[Document]) -> tuple[Comment, ...]:
    """Return stored comments as values."""
    return tuple(comment(place.target, document) for document in documents)


def page_of(number: int, size: int) -> int:
    """Return the page of `size` numbers in which a number lies."""
    return (int(number) - 1) // size + 1


def just_below(full_slug: str) -> str:
    """Return a key below a full slug and above all that come before it: nothing lies between it and the slug."""
    return full_slug[:-1] + chr(ord(full_slug[-1]) - 1) + LAST
