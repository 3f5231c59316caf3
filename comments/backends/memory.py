"""Orders that a schema is not sorted by: everything is read and sorted in memory, for discussions short enough for
that."""

from collections.abc import Iterator
from typing import Any

from comments.backends.schema import Schema
from comments.backends.stored import Document, Place
from comments.types import Order, State


class ByNumberInMemory(Schema):
    """The reads by number."""

    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        return [item for item in self._sorted(place, Order.OLDEST) if low <= item["number"] <= high]

    def nearest(self, place: Place, number: int, direction: int) -> int | None:
        numbers = [int(item["number"]) for item in self._all(place)]
        if direction > 0:
            return min((n for n in numbers if n > number), default=None)
        return max((n for n in numbers if n < number), default=None)

    def newest(self, place: Place, limit: int) -> list[Document]:
        public = [item for item in self._sorted(place, Order.OLDEST) if item["state"] == State.PUBLIC.value]
        return public[: -limit - 1 : -1]

    def _sorted(self, place: Place, order: Order) -> list[Document]:
        return sorted(self._all(place), key=lambda item: sort_key(item, order))

    def _all(self, place: Place) -> Iterator[Document]:
        return self.iterate(place, self.orders(place)[0])


class ByPathInMemory(Schema):
    """The reads by full slug."""

    def by_path(self, place: Place, low: str, high: str, limit: int, *, backwards: bool = False) -> list[Document]:
        found = [item for item in self.iterate(place, self.orders(place)[0]) if low < item["full_slug"] < high]
        return sorted(found, key=lambda item: sort_key(item, Order.THREADED), reverse=backwards)[:limit]


def sort_key(document: Document, order: Order) -> Any:
    """Return by what stored comments are sorted in an order (OLDEST or THREADED)."""
    if order is Order.THREADED:
        return document["full_slug"]
    return document["number"], document["posted"], document["slug"]
