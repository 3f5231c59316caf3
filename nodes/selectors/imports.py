"""What an import has to know before it writes: which of its nodes are there, and which places are taken."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from marginalia.mongo.connection import batched, database
from nodes.collections import NODES, REVISIONS, TRASH
from nodes.types import Actor

# Ids or slugs in one query.
BATCH = 1_000


@dataclass(frozen=True)
class ExistingNode:
    """A node that an earlier run has made. `trashed`: an editor has thrown it away. `imported` is when that run was, and
    `posted` when it was published where it comes from, if it was public there: as the source that was given to it says;
    None if it does not."""

    id: ObjectId
    type: str
    parent_id: ObjectId | None
    slug: str
    published: datetime | None
    trashed: bool
    imported: datetime | None
    posted: datetime | None


def existing_nodes(ids: Collection[ObjectId]) -> dict[ObjectId, ExistingNode]:
    """Return those of the nodes that exist, the trash included, by id."""
    wanted = {f"metadata.{name}": 1 for name in ("type", "parent_id", "slug", "published", "detail.source")}
    found: dict[ObjectId, ExistingNode] = {}
    for batch in batched(ids, BATCH):
        # The trash last: a node that is thrown away between the two queries is found there. One that is restored is
        # found by neither, but creating it again does nothing.
        for collection, trashed in ((NODES, False), (TRASH, True)):
            for document in database()[collection].find({"_id": {"$in": batch}}, wanted):
                metadata = document["metadata"]
                source = metadata.get("detail", {}).get("source", {})
                found.setdefault(
                    document["_id"],
                    ExistingNode(
                        id=document["_id"],
                        type=metadata["type"],
                        parent_id=metadata["parent_id"],
                        slug=metadata["slug"],
                        published=metadata["published"],
                        trashed=trashed,
                        imported=source.get("imported"),
                        posted=None if "state" in source else source.get("posted"),
                    ),
                )
    return found


def unchanged_nonce(node_id: ObjectId, importer: Actor) -> ObjectId | None:
    """Return the nonce of a node that nobody but `importer` changed since it was made; None if somebody did, has a draft of
    it, or moved it to the trash."""
    node = database()[NODES].find_one({"_id": node_id, "draft": {"$exists": False}}, {"metadata.nonce": 1})
    if node is None:
        return None
    nonce: ObjectId = node["metadata"]["nonce"]
    by = {"$or": [{"parent": None}, {"saved_by": importer.as_document()}]}
    return nonce if database()[REVISIONS].find_one({"_id": nonce, "node_id": node_id, **by}, {"_id": 1}) else None


def taken_slugs(parent_id: ObjectId | None, slugs: Collection[str]) -> set[str]:
    """Return those of the slugs that a node in this section has."""
    found: set[str] = set()
    for batch in batched(slugs, BATCH):
        places = {"metadata.parent_id": parent_id, "metadata.slug": {"$in": batch}}
        found.update(d["metadata"]["slug"] for d in database()[NODES].find(places, {"metadata.slug": 1, "_id": 0}))
    return found
