"""Many new nodes at once, for measurements: the documents that `editing.create` would write, in batches, one revision each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, batched, database, insert_new
from nodes.collections import NODES, REDIRECTS, REVISIONS, TRASH
from nodes.content import MARKDOWN, declared_fields, upgrading
from nodes.selectors import slugs
from nodes.services import derived
from nodes.services.editing import NEVER
from nodes.services.site import invalidate
from nodes.services.write import check_place
from nodes.types import Actor

BATCH = 1_000


@dataclass(frozen=True)
class Row:
    """A node to be made, under an id chosen beforehand."""

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
    # Further fields of its type.
    detail: Mapping[str, Any] = field(default_factory=dict)


def insert(rows: Iterable[Row]) -> Iterator[int]:
    """Insert nodes with their revisions, those that are there already left as they are; yield how many were new, by batch.

    Raises InvalidPlace, InvalidSlug; of a batch in which one is raised nothing is written.
    """
    checked: set[tuple[ObjectId | None, str]] = set()
    for batch in batched(rows, BATCH):
        for row in batch:
            if (row.parent_id, row.type) not in checked:
                check_place(row.parent_id, row.type)
                slugs.check(row.slug, row.parent_id)
                checked.add((row.parent_id, row.type))
        documents = [_document(row) for row in batch]
        insert_new(database()[REVISIONS], [_revision(document) for document in documents])
        yield insert_new(database()[NODES], documents)
        invalidate()


def _document(row: Row) -> Document:
    metadata: dict[str, Any] = {
        # A node made again must find its revision: the first nonce is worked out of the id.
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
    return {"_id": row.id, "metadata": metadata, "derived": derived.of(metadata)}


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


def delete(first: ObjectId, last: ObjectId) -> Iterator[int]:
    """Delete for good the nodes with ids from `first` to `last`, their history and old addresses; yield how many, by batch."""
    span = {"$gte": first, "$lte": last}
    for collection in (NODES, TRASH):
        while ids := [d["_id"] for d in database()[collection].find({"_id": span}, {"_id": 1}).limit(BATCH)]:
            database()[collection].delete_many({"_id": {"$in": ids}})
            invalidate()
            for other in (REVISIONS, REDIRECTS):
                database()[other].delete_many({"node_id": {"$in": ids}})
            yield len(ids)
    # What a run that was broken off between the two left behind.
    database()[REVISIONS].delete_many({"node_id": span})


def forget_places(ids: Sequence[ObjectId]) -> None:
    """Forget where nodes stood that were deleted for good, for content that is to leave no trace."""
    database()[REDIRECTS].delete_many({"node_id": {"$in": list(ids)}, "deleted_at": {"$exists": True}})
