"""The registry of storage layouts. Each layout is a class that is registered under its name.

The attributes of the class describe what the layout can do.
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
    """Register a layout class for the orders that it supports. This function can also be used as a decorator."""
    _registered.update({(layout.name, order): layout for order in layout.supported_orders})
    return layout


def unregister(layout: type[Layout]) -> None:
    """Unregister a layout class. Only tests need this function."""
    for order in layout.supported_orders:
        del _registered[layout.name, order]


def layout_classes() -> Mapping[str, type[Layout]]:
    """Return the layout classes, keyed by name. If several classes share a name, return one of them.

    Classes with the same name have the same options.
    """
    by_name: dict[str, type[Layout]] = {}
    for (name, _order), layout in _registered.items():
        by_name.setdefault(name, layout)
    return by_name


for _layout in (Documents, Embedded, Buckets, ThreadedBuckets):
    register(_layout)


def storage(label: str) -> Storage:
    """Return the storage for new discussions on `label` objects, as configured in COMMENTS.

    Raises:
        ImproperlyConfigured: COMMENTS specifies a layout that does not exist.
    """
    entry = conf.entry(label)
    try:
        order = Order(entry["ORDER"])
    except ValueError as error:
        raise ImproperlyConfigured(f"COMMENTS uses an unknown ORDER for {label}.") from error
    return Storage(_check_name(entry["LAYOUT"], label), order.native, order, bucket_size(label))


def storage_of(target: Target) -> Storage:
    """Return the storage for a new discussion of `target`.

    The function COMMENTS["CHOOSE_LAYOUT"] chooses the layout. If it returns "", or a layout that can't store the
    target's comments, the layout configured for the target's label is used.

    Raises:
        ImproperlyConfigured: The layout does not exist.
    """
    default = storage(target.label)
    layout = conf.load("CHOOSE_LAYOUT")(target)
    is_used = layout and can_store(_check_name(layout, str(target)), target.label)
    return replace(default, layout=layout) if is_used else default


def _check_name(layout: str, owner: str) -> str:
    """Return `layout` if a layout with this name exists.

    Raises:
        ImproperlyConfigured: The layout does not exist. The message contains `owner`, which is the label or target that
            uses the layout.
    """
    if layout not in layout_classes():
        raise ImproperlyConfigured(
            f"COMMENTS uses the unknown layout {layout!r} for {owner}. Use one of: {', '.join(layout_classes())}."
        )
    return layout


def can_store(layout: str, label: str) -> bool:
    """Return whether a layout can store discussions on `label` objects.

    Comments can be embedded only in objects for which COMMENTS allows it.
    """
    layout_class = layout_classes()[layout]
    return not layout_class.in_target or layout_class.is_configured_for(label)


def stock(target: Target) -> str:
    """Return "", which selects the configured LAYOUT. This function is the default for COMMENTS["CHOOSE_LAYOUT"]."""
    return ""


def bucket_size(label: str) -> int:
    """Return the SIZE option: the number of comments per bucket in new discussions on `label` objects."""
    return int(Buckets.options_of(label)["SIZE"])


def may_embed(label: str) -> bool:
    """Return whether comments on `label` objects can be embedded, either from the start or after a conversion."""
    return any(layout.in_target and layout.is_configured_for(label) for layout in layout_classes().values())


class Layouts:
    """The layouts in one database. Each layout object is created when it is first needed."""

    def __init__(self, db: Database[Document]) -> None:
        self._db = db
        self._made = dict[type[Layout], Layout]()

    @property
    def all(self) -> tuple[Layout, ...]:
        """Return one layout per name.

        Use this property if the order of comments doesn't matter, for example to delete comments or to find all comments
        by an author.
        """
        return tuple(map(self._get, layout_classes().values()))

    def of(self, place: Place) -> Layout:
        """Return the layout of the copy at `place`."""
        return self._get(_registered[place.layout, place.order])

    def _get(self, layout: type[Layout]) -> Layout:
        if layout not in self._made:
            self._made[layout] = layout(self._db)
        return self._made[layout]
