"""Queries that imports run before they write: for existing nodes, and for slugs that are in use."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from marginalia.mongo.connection import batched, database
from nodes.collections import NODES, REVISIONS, TRASH
from nodes.content import HTML
from nodes.types import Actor

# Number of ids or slugs per query.
BATCH = 1_000


@dataclass(frozen=True)
class ExistingNode:
    """A node that an earlier run of an import created.

    Attributes:
        is_html: Whether the text of the node is stored as HTML.
        trashed: Whether an editor moved the node to trash.
        imported: The time of the earlier run, or None if the node's `source` doesn't contain the time.
        posted: The time when the node was published on the old site, or None if the node wasn't public there or
            `source` doesn't contain the time.
    """

    id: ObjectId
    type: str
    parent_id: ObjectId | None
    slug: str
    published: datetime | None
    is_html: bool
    trashed: bool
    imported: datetime | None
    posted: datetime | None


def existing_nodes(ids: Collection[ObjectId]) -> dict[ObjectId, ExistingNode]:
    """Return the existing nodes with these ids, including nodes in the trash, keyed by id."""
    wanted = {f"metadata.{name}": 1 for name in ("type", "parent_id", "slug", "published")}
    wanted |= {"metadata.detail.source": 1, "metadata.detail.format": 1}
    nodes: dict[ObjectId, ExistingNode] = {}
    for batch in batched(ids, BATCH):
        # The trash is read last, so a node that is moved to the trash between the two queries is found. A node that is
        # restored between the queries isn't found, but creating this node again does nothing.
        for collection, trashed in ((NODES, False), (TRASH, True)):
            for document in database()[collection].find({"_id": {"$in": batch}}, wanted):
                metadata = document["metadata"]
                detail = metadata.get("detail", {})
                source = detail.get("source", {})
                nodes.setdefault(
                    document["_id"],
                    ExistingNode(
                        id=document["_id"],
                        type=metadata["type"],
                        parent_id=metadata["parent_id"],
                        slug=metadata["slug"],
                        published=metadata["published"],
                        is_html=detail.get("format") == HTML,
                        trashed=trashed,
                        imported=source.get("imported"),
                        posted=None if "state" in source else source.get("posted"),
                    ),
                )
    return nodes


def unchanged_nonce(node_id: ObjectId, importer: Actor) -> ObjectId | None:
    """Return the nonce of a node that only `importer` has changed.

    Return None if someone else has changed the node, saved a draft, or moved the node to trash.
    """
    node = database()[NODES].find_one({"_id": node_id, "draft": {"$exists": False}}, {"metadata.nonce": 1})
    if node is None:
        return None
    nonce: ObjectId = node["metadata"]["nonce"]
    by = {"$or": [{"parent": None}, {"saved_by": importer.as_document()}]}
    return nonce if database()[REVISIONS].find_one({"_id": nonce, "node_id": node_id, **by}, {"_id": 1}) else None


def text_of(node_id: ObjectId, nonce: ObjectId) -> str:
    """Return the text of a node, or "" if the node has a different nonce."""
    node = database()[NODES].find_one({"_id": node_id, "metadata.nonce": nonce}, {"metadata.detail.text": 1})
    text: str = node["metadata"]["detail"].get("text", "") if node else ""
    return text


def taken_slugs(parent_id: ObjectId | None, slugs: Collection[str]) -> set[str]:
    """Return the `slugs` that nodes in this section already use."""
    taken: set[str] = set()
    for batch in batched(slugs, BATCH):
        places = {"metadata.parent_id": parent_id, "metadata.slug": {"$in": batch}}
        taken.update(d["metadata"]["slug"] for d in database()[NODES].find(places, {"metadata.slug": 1, "_id": 0}))
    return taken
