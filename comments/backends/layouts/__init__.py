"""The storage layouts: a class each, registered under its name. What a layout can do is an attribute of its class."""

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
    """Take a layout into use, for discussions of the orders that it keeps."""
    _registered.update({(layout.name, order): layout for order in layout.keeps})
    return layout


def unregister(layout: type[Layout]) -> None:
    """Take a layout out of use: for tests."""
    for order in layout.keeps:
        del _registered[layout.name, order]


def layout_classes() -> Mapping[str, type[Layout]]:
    """Return a layout for each name: those of one name have their options in common."""
    found: dict[str, type[Layout]] = {}
    for (name, _order), layout in _registered.items():
        found.setdefault(name, layout)
    return found


for _layout in (Documents, Embedded, Buckets, ThreadedBuckets):
    register(_layout)


def storage(label: str) -> Storage:
    """Return how new discussions of `label` are kept, as COMMENTS says. Raises ImproperlyConfigured."""
    entry = conf.entry(label)
    try:
        order = Order(entry["ORDER"])
    except ValueError as error:
        raise ImproperlyConfigured(f"COMMENTS: {label} has an ORDER that does not exist.") from error
    return Storage(_known(entry["LAYOUT"], label), order.native, order, bucket_size(label))


def storage_of(target: Target) -> Storage:
    """Return the storage of a new discussion of this target.

    COMMENTS["CHOOSE_LAYOUT"] chooses its layout; "" leaves it to the storage of the target's label.
    Raises ImproperlyConfigured.
    """
    kept = storage(target.label)
    wanted = conf.imported("CHOOSE_LAYOUT")(target)
    is_used = wanted and may_keep(_known(wanted, str(target)), target.label)
    return replace(kept, layout=wanted) if is_used else kept


def _known(layout: str, whose: str) -> str:
    """Return the name of a layout. Raises ImproperlyConfigured where there is none of this name."""
    if layout not in layout_classes():
        raise ImproperlyConfigured(f"COMMENTS: {layout!r}, for {whose}, is none of {', '.join(layout_classes())}.")
    return layout


def may_keep(layout: str, label: str) -> bool:
    """Return whether discussions of `label` may be kept in the layout of a name: only some documents may hold theirs."""
    chosen = layout_classes()[layout]
    return not chosen.in_target or chosen.is_named_for(label)


def stock(target: Target) -> str:
    """Return "", so that the entry's LAYOUT applies. The default of COMMENTS["CHOOSE_LAYOUT"]."""
    return ""


def bucket_size(label: str) -> int:
    """Return how many comments a bucket of a new discussion has: the option SIZE of buckets."""
    return int(Buckets.options_of(label)["SIZE"])


def may_embed(label: str) -> bool:
    """Return whether documents of `label` may hold their comments: new discussions do, or any may be converted to it."""
    return any(layout.in_target and layout.is_named_for(label) for layout in layout_classes().values())


class Layouts:
    """The layouts on one database, each made when it is first asked for."""

    def __init__(self, db: Database[Document]) -> None:
        self._db = db
        self._made = dict[type[Layout], Layout]()

    @property
    def all(self) -> tuple[Layout, ...]:
        """One layout of each name: what is found by author, or cleared, does not depend on the order."""
        return tuple(map(self._get, layout_classes().values()))

    def of(self, place: Place) -> Layout:
        """Return the layout of a copy."""
        return self._get(_registered[place.layout, place.order])

    def _get(self, layout: type[Layout]) -> Layout:
        if layout not in self._made:
            self._made[layout] = layout(self._db)
        return self._made[layout]
