"""The storage layouts: a class each, registered under its name.

Attributes of the class describe what a layout can do.
"""

from collections.abc import Mapping
from dataclasses import replace

from django.core.exceptions import ImproperlyConfigured
from pymongo.database import Database

from marginalia.comments import conf
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.layouts.buckets import Buckets
from marginalia.comments.backends.layouts.documents import Documents
from marginalia.comments.backends.layouts.embedded import Embedded
from marginalia.comments.backends.layouts.threaded_buckets import ThreadedBuckets
from marginalia.comments.backends.stored import Document, Place, Storage
from marginalia.comments.types import Order, Target

_registered: dict[tuple[str, Order], type[Layout]] = {}


def register(layout: type[Layout]) -> type[Layout]:
    """Register a layout for discussions of the orders that it supports."""
    _registered.update({(layout.name, order): layout for order in layout.supported_orders})
    return layout


def unregister(layout: type[Layout]) -> None:
    """Remove a layout, for tests."""
    for order in layout.supported_orders:
        del _registered[layout.name, order]


def layout_classes() -> Mapping[str, type[Layout]]:
    """Return a layout for each name. Layouts with the same name have the same options."""
    by_name: dict[str, type[Layout]] = {}
    for (name, _order), layout in _registered.items():
        by_name.setdefault(name, layout)
    return by_name


for _layout in (Documents, Embedded, Buckets, ThreadedBuckets):
    register(_layout)


def storage(label: str) -> Storage:
    """Return how new discussions of `label` are stored, from COMMENTS. Raises ImproperlyConfigured."""
    entry = conf.entry(label)
    try:
        order = Order(entry["ORDER"])
    except ValueError as error:
        raise ImproperlyConfigured(f"COMMENTS: {label} has an ORDER that does not exist.") from error
    return Storage(_check_name(entry["LAYOUT"], label), order.native, order, bucket_size(label))


def storage_of(target: Target) -> Storage:
    """Return how a new discussion of `target` is stored.

    Its layout is the result of COMMENTS["CHOOSE_LAYOUT"], or else that of its label. Raises ImproperlyConfigured.
    """
    default = storage(target.label)
    layout = conf.load("CHOOSE_LAYOUT")(target)
    is_used = layout and can_store(_check_name(layout, str(target)), target.label)
    return replace(default, layout=layout) if is_used else default


def _check_name(layout: str, owner: str) -> str:
    """Return the name of a layout. Raises ImproperlyConfigured if there is no layout with this name."""
    if layout not in layout_classes():
        raise ImproperlyConfigured(f"COMMENTS: {layout!r}, for {owner}, is none of {', '.join(layout_classes())}.")
    return layout


def can_store(layout: str, label: str) -> bool:
    """Return whether discussions of `label` can be stored in a layout: only some documents can contain comments."""
    layout_class = layout_classes()[layout]
    return not layout_class.in_target or layout_class.is_configured_for(label)


def stock(target: Target) -> str:
    """Return "", so that the entry's LAYOUT applies: the default of COMMENTS["CHOOSE_LAYOUT"]."""
    return ""


def bucket_size(label: str) -> int:
    """Return the number of comments per bucket of a new discussion: the option SIZE of buckets."""
    return int(Buckets.options_of(label)["SIZE"])


def may_embed(label: str) -> bool:
    """Return whether documents of `label` can contain their comments, for new discussions or after a conversion."""
    return any(layout.in_target and layout.is_configured_for(label) for layout in layout_classes().values())


class Layouts:
    """The layouts on one database, each created when it is first needed."""

    def __init__(self, db: Database[Document]) -> None:
        self._db = db
        self._made = dict[type[Layout], Layout]()

    @property
    def all(self) -> tuple[Layout, ...]:
        """Return one layout per name. Look-ups by author, and deletions, do not depend on the order."""
        return tuple(map(self._get, layout_classes().values()))

    def of(self, place: Place) -> Layout:
        """Return the layout of a copy."""
        return self._get(_registered[place.layout, place.order])

    def _get(self, layout: type[Layout]) -> Layout:
        if layout not in self._made:
            self._made[layout] = layout(self._db)
        return self._made[layout]
