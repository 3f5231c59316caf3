"""Find the chains of revisions that lead to a node's current version or to its draft, and the saves of earlier drafts.

Any other revision comes from a failed save, or belongs to a node that no longer exists.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import batched, database
from nodes.collections import ASSET_FILES, NODES, REVISIONS, TRASH, node_filter

BATCH = 200


@dataclass(frozen=True)
class RevisionLink:
    """A revision without its content."""

    nonce: ObjectId
    parent: ObjectId | None
    saved_at: datetime


@dataclass(frozen=True)
class Chains:
    """The revisions of a node.

    Attributes:
        node_id: The node.
        live: The revisions that led to the node's current version, newest first.
        draft: The revisions that led to the node's draft.
        earlier_drafts: The saves of drafts that were published or discarded.
        others: All other revisions. If the node no longer exists, not even in the trash, these are all of its
            revisions.
        is_whole: Whether the current version's revision was found. If not, revisions in `others` may still be needed.
    """

    node_id: ObjectId
    live: tuple[RevisionLink, ...]
    draft: tuple[RevisionLink, ...]
    earlier_drafts: tuple[RevisionLink, ...]
    others: tuple[RevisionLink, ...]
    is_whole: bool


def all_chains() -> Iterator[Chains]:
    """Yield the chains of all nodes that have revisions.

    Each node is read before its revisions. If the node is saved between the two reads, its revisions include a newer
    one, which callers ignore.
    """
    ids = (group["_id"] for group in database()[REVISIONS].aggregate([{"$group": {"_id": "$node_id"}}]))
    for batch in batched(ids, BATCH):
        heads = _heads(batch)
        for node_id in batch:
            yield _chains(node_id, heads.get(node_id))


def count() -> int:
    """Return the estimated number of revisions."""
    return int(database()[REVISIONS].estimated_document_count())


def _heads(ids: list[ObjectId]) -> dict[ObjectId, Mapping[str, Any]]:
    """Return the nonces of each node and its draft, keyed by the node's id.

    The order in which the collections are read ensures that nodes are found even if they move to or from the trash
    during the read.
    """
    fields = {"metadata.nonce": 1, "draft.nonce": 1, "draft.base_nonce": 1}
    heads: dict[ObjectId, Mapping[str, Any]] = {}
    for collection in (NODES, ASSET_FILES, TRASH, NODES, ASSET_FILES):
        missing = [node_id for node_id in ids if node_id not in heads]
        if missing:
            query = {"_id": {"$in": missing}, **node_filter(collection)}
            heads.update({d["_id"]: d for d in database()[collection].find(query, fields)})
    return heads


def _chains(node_id: ObjectId, head: Mapping[str, Any] | None) -> Chains:
    revisions = list(database()[REVISIONS].find({"node_id": node_id}, {"parent": 1, "saved_at": 1, "draft": 1}))
    links = {d["_id"]: RevisionLink(d["_id"], d["parent"], d["saved_at"]) for d in revisions}
    if head is None:
        return Chains(node_id, (), (), (), tuple(links.values()), is_whole=True)
    draft = head.get("draft") or {}
    nonce = (head.get("metadata") or {}).get("nonce")
    live = _follow(links, nonce)
    # A draft's chain continues with the chain of the live version from which the draft was started.
    of_draft = _follow(links, draft.get("nonce")) + _follow(links, draft.get("base_nonce"))
    known = {link.nonce for link in (*live, *of_draft)}
    drafted = {d["_id"] for d in revisions if d.get("draft")} - known
    earlier = tuple(links[draft_nonce] for draft_nonce in drafted)
    others = tuple(link for link in links.values() if link.nonce not in known | drafted)
    return Chains(node_id, live, of_draft, earlier, others, is_whole=nonce in links)


def _follow(links: Mapping[ObjectId, RevisionLink], nonce: ObjectId | None) -> tuple[RevisionLink, ...]:
    chain: dict[ObjectId, RevisionLink] = {}
    while nonce is not None and nonce in links and nonce not in chain:
        chain[nonce] = links[nonce]
        nonce = links[nonce].parent
    return tuple(chain.values())
