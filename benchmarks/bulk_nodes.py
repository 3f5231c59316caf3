"""Insert many nodes at once. The documents are those that `editing.create` writes, with one revision per node."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import cycle
from typing import Any

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, batched, database, insert_new
from nodes.collections import NODES, REVISIONS
from nodes.content import MARKDOWN, declared_fields, upgrading
from nodes.selectors import slugs
from nodes.services import derived, rules
from nodes.services.editing import NEVER
from nodes.services.site import invalidate
from nodes.types import Actor

BATCH = 1_000


@dataclass(frozen=True)
class Row:
    """A node to insert. The caller chooses its id."""

    id: ObjectId
    author: Actor
    type: str
    parent_id: ObjectId | None
    slug: str
    title: str
    published: datetime | None
    created: datetime
    tags: tuple[str, ...]
    text: str
    summary: str = ""
    # Other fields of the node's type.
    detail: Mapping[str, Any] = field(default_factory=dict)


def insert(rows: Iterable[Row]) -> Iterator[int]:
    """Insert nodes with their revisions, and yield the number of new nodes in each batch. Existing ids are skipped.

    Raises:
        InvalidPlace: A node in the batch cannot be in its section. No node of this batch is stored.
        InvalidSlug: A node in the batch has an invalid slug. No node of this batch is stored.
    """
    checked: set[tuple[ObjectId | None, str]] = set()
    for batch in batched(rows, BATCH):
        for row in batch:
            if (row.parent_id, row.type) not in checked:
                rules.check_place(row.parent_id, row.type)
                slugs.check(row.slug, row.parent_id)
                checked.add((row.parent_id, row.type))
        documents = [_document(row) for row in batch]
        insert_new(database()[REVISIONS], [_revision(document) for document in documents])
        yield insert_new(database()[NODES], documents)
        invalidate()


def insert_copies(originals: Sequence[Document], rows: Iterable[Row]) -> Iterator[int]:
    """Insert nodes with the title and the text of `originals` in turn. Yield the number of new nodes in each batch.

    Copies are inserted much faster than other nodes, because nothing is derived from their text, and because they have
    no revisions. The types of the rows must be the types of the originals, in the same order.
    """
    copies = (_copy(original, row) for original, row in zip(cycle(originals), rows, strict=False))
    for batch in batched(copies, BATCH):
        yield insert_new(database()[NODES], batch)
        invalidate()


def _copy(original: Document, row: Row) -> Document:
    own = {
        "nonce": ObjectId(row.id.binary[:8][::-1] + row.id.binary[8:]),
        "parent_id": row.parent_id,
        "slug": slugs.normalized(row.slug),
        "created": row.created,
        "updated": row.created,
        "published": row.published,
        "author": row.author.as_document(),
        "tags": sorted(set(row.tags)),
    }
    return {**original, "_id": row.id, "metadata": {**original["metadata"], **own}}


def _document(row: Row) -> Document:
    metadata: dict[str, Any] = {
        # The nonce is derived from the id, so that a repeated insert finds the same revision.
        "nonce": ObjectId(row.id.binary[:8][::-1] + row.id.binary[8:]),
        "type": row.type,
        "parent_id": row.parent_id,
        "slug": slugs.normalized(row.slug),
        "title": row.title,
        "created": row.created,
        "updated": row.created,
        "published": row.published,
        "expires": NEVER,
        "author": row.author.as_document(),
        "tags": sorted(set(row.tags)),
        "summary": row.summary,
        "detail": {**declared_fields.defaults(row.type), "text": row.text, "format": MARKDOWN, **row.detail},
        **upgrading.version_fields(row.type),
    }
    return {"_id": row.id, "metadata": metadata, "derived": derived.derive_to_store(metadata)}


def _revision(document: Document) -> Document:
    metadata = document["metadata"]
    return {
        "_id": metadata["nonce"],
        "parent": None,
        "node_id": document["_id"],
        "metadata": metadata,
        "saved_at": now(),
        "saved_by": metadata["author"],
    }
