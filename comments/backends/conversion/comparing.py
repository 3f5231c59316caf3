"""Comparing two copies of a discussion, comment by comment, as two streams in one order.

They are read as the server's bytes: a copy mostly has the same, and what is the same need not be decoded.
"""

from collections.abc import Callable, Iterator
from typing import Any

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.database import Database

from comments.backends.layouts import Layouts
from comments.backends.layouts.base import Layout, Pulse, sort_key
from comments.backends.stored import Document, Place
from comments.errors import ConversionFailed
from comments.types import Order
from mongo.connection import AWARE

PULSE = 1_000
RAW: CodecOptions[Any] = AWARE.with_options(document_class=RawBSONDocument)
Seen = Callable[[Document], Document]


def differences(db: Database[Document], source: Place, copy: Place, seen: Seen | None, pulse: Pulse) -> Iterator[str]:
    """Yield the slugs that the copy lacks, or has in an earlier revision. `seen` makes of a comment of the source what the copy
    has in its place, where that is not the same; `pulse` is called now and then.

    Raises ConversionFailed for a comment that differs in the same revision, or that only the copy has.
    """
    layouts = Layouts(db.with_options(codec_options=RAW))
    here, there = layouts.of(source), layouts.of(copy)
    # A numbering changes no path.
    orders = [Order.THREADED, *([] if seen else [Order.OLDEST])]
    order = next((order for order in orders if order in here.orders and order in there.orders), None)
    theirs = _stream(there, copy, order)
    other = next(theirs, None)
    for count, stored in enumerate(_stream(here, source, order)):
        if count % PULSE == 0:
            pulse()
        document = seen(stored) if seen else stored
        if other is not None and _same_bytes(document, other):
            other = next(theirs, None)
            continue
        while other is not None and _key(other, order) < _key(document, order):
            _refuse(other, here, source)
            other = next(theirs, None)
        if other is None or other["slug"] != document["slug"]:
            yield document["slug"]
            continue
        if other["rev"] < document["rev"]:
            yield document["slug"]
        elif other["rev"] == document["rev"] and _plain(other) != _plain(document):
            raise ConversionFailed(f"{copy.discussion_id}: the copy of {document['slug']} differs.")
        other = next(theirs, None)
    while other is not None:
        _refuse(other, here, source)
        other = next(theirs, None)


def _key(document: Document, order: Order | None) -> Any:
    return sort_key(document, order or Order.THREADED)


def _stream(layout: Layout, place: Place, order: Order | None) -> Iterator[Document]:
    """Yield a copy by `order`; where the two sides have none in common, by path, sorted in memory."""
    if order:
        return layout.iterate(place, order)
    return iter(sorted(layout.iterate(place, layout.orders[0]), key=lambda item: sort_key(item, Order.THREADED)))


def _same_bytes(one: Any, other: Any) -> bool:
    return isinstance(one, RawBSONDocument) and isinstance(other, RawBSONDocument) and one.raw == other.raw


def _plain(document: Any) -> Document:
    """Return a document decoded to the end: fields may stand in another order."""
    return bson.decode(bson.encode(document), AWARE)


def _refuse(extra: Document, layout: Layout, source: Place) -> None:
    """A comment that only the copy showed: it may have come to the source while that was read."""
    if extra["slug"] not in layout.look(source, [extra["slug"]]).comments:
        raise ConversionFailed(f"{source.discussion_id}: only the copy has {extra['slug']}.")
