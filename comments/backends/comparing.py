"""Comparing two copies of a discussion, comment by comment.

They are read as the server's bytes: a copy mostly has the same, and what is the same need not be decoded.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.database import Database

from comments.backends.memory import sort_key
from comments.backends.schema import Pulse, Schema
from comments.backends.stored import Document, Place
from comments.errors import ConversionFailed
from comments.types import Order
from mongo.connection import AWARE

PULSE = 1_000
RAW: CodecOptions[Any] = AWARE.with_options(document_class=RawBSONDocument)


@dataclass(frozen=True)
class Side:
    """A copy, and how its comments are to be seen when they are compared."""

    schema: Schema
    place: Place
    seen: Callable[[Document], Document] = lambda document: document

    def iterate(self, order: Order | None) -> Iterator[Document]:
        """Yield the comments, in `order` or in whatever order costs least."""
        for document in self.schema.iterate(self.place, order or self.schema.orders(self.place)[0]):
            yield self.seen(document)


def as_bytes(db: Database[Document]) -> Database[Any]:
    """Return the database, whose documents are not decoded before somebody looks into them."""
    return db.with_options(codec_options=RAW)


def differences(source: Side, copy: Side, order: Order | None, pulse: Pulse) -> Iterator[str]:
    """Yield the slugs that the copy lacks, or has in an earlier revision. `pulse` is called now and then.

    In an `order` that both are stored in, two streams are merged in flat memory; without, digests of one side are kept.
    Raises ConversionFailed for a comment that differs in the same revision, or that only the copy has.
    """
    if order is None:
        yield from _by_digest(source, copy, pulse)
        return
    theirs = copy.iterate(order)
    other = next(theirs, None)
    for document in _with(pulse, source.iterate(order)):
        if other is not None and _same_bytes(document, other):
            other = next(theirs, None)
            continue
        while other is not None and sort_key(other, order) < sort_key(document, order):
            _refuse(other, source)
            other = next(theirs, None)
        if other is None or other["slug"] != document["slug"]:
            yield document["slug"]
            continue
        if other["rev"] < document["rev"]:
            yield document["slug"]
        elif other["rev"] == document["rev"] and _plain(other) != _plain(document):
            raise ConversionFailed(f"{copy.place.discussion_id}: the copy of {document['slug']} differs.")
        other = next(theirs, None)
    while other is not None:
        _refuse(other, source)
        other = next(theirs, None)


def _with(pulse: Pulse, documents: Iterator[Document]) -> Iterator[Document]:
    for count, document in enumerate(documents):
        if count % PULSE == 0:
            pulse()
        yield document


def _same_bytes(one: Any, other: Any) -> bool:
    return isinstance(one, RawBSONDocument) and isinstance(other, RawBSONDocument) and one.raw == other.raw


def _plain(document: Any) -> Document:
    """Return a document decoded to the end: fields may stand in another order."""
    return bson.decode(bson.encode(document), AWARE)


def _refuse(extra: Document, source: Side) -> None:
    """A comment that only the copy showed: it may have come to the source while that was read."""
    if extra["slug"] not in source.schema.look(source.place, [extra["slug"]]).found:
        raise ConversionFailed(f"{source.place.discussion_id}: only the copy has {extra['slug']}.")


def _by_digest(source: Side, copy: Side, pulse: Pulse) -> Iterator[str]:
    theirs = _with(pulse, copy.iterate(None))
    digests = {document["slug"]: (document["rev"], _digest(document)) for document in theirs}
    for document in _with(pulse, source.iterate(None)):
        rev, digest = digests.pop(document["slug"], (0, b""))
        if rev < document["rev"]:
            yield document["slug"]
        elif rev == document["rev"] and digest != _digest(document):
            raise ConversionFailed(f"{copy.place.discussion_id}: the copy of {document['slug']} differs.")
    for slug in digests:
        _refuse({"slug": slug}, source)


def _digest(document: Document) -> bytes:
    return hashlib.blake2b(bson.encode(dict(sorted(document.items()))), digest_size=8).digest()
