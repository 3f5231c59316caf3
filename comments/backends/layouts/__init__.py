"""The storage layouts: a class each, registered under its name. What a layout can do is an attribute of its class."""

from collections.abc import Mapping

from pymongo.database import Database

from comments.backends.layouts.base import Layout
from comments.backends.layouts.buckets import Buckets
from comments.backends.layouts.documents import Documents
from comments.backends.layouts.embedded import Embedded
from comments.backends.layouts.threaded_buckets import ThreadedBuckets
from comments.backends.stored import Document, Place
from comments.types import Order

_registered: dict[tuple[str, Order], type[Layout]] = {}


def register(layout: type[Layout]) -> type[Layout]:
    """Take a layout into use, for discussions of the orders that it keeps."""
    _registered.update({(layout.name, order): layout for order in layout.keeps})
    return layout


def unregister(layout: type[Layout]) -> None:
    """Take a layout out of use: for tests."""
    for order in layout.keeps:
        del _registered[layout.name, order]


def all_layouts() -> tuple[type[Layout], ...]:
    """Return every layout once."""
    return tuple(dict.fromkeys(_registered.values()))


def by_name() -> Mapping[str, type[Layout]]:
    """Return a layout for each name: those of one name have their options in common."""
    found: dict[str, type[Layout]] = {}
    for (name, _order), layout in _registered.items():
        found.setdefault(name, layout)
    return found


for _layout in (Documents, Embedded, Buckets, ThreadedBuckets):
    register(_layout)


class Layouts:
    """The layouts on one database."""

    def __init__(self, db: Database[Document]) -> None:
        self._made = {layout: layout(db) for layout in all_layouts()}
        # Of each collection one: what is found by author, or cleared, does not depend on the order.
        self.all: tuple[Layout, ...] = tuple({layout.name: made for layout, made in self._made.items()}.values())

    def of(self, place: Place) -> Layout:
        """Return the layout of a copy."""
        return self._made[_registered[place.layout, place.order]]
