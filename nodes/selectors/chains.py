"""Which revisions a node, or its draft, still leads to: all others were begun by saves that failed, or are of nodes gone."""

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
    """A revision without what it says."""

    nonce: ObjectId
    parent: ObjectId | None
    saved_at: datetime


@dataclass(frozen=True)
class Chains:
    """A node's revisions: those that led to what it is (newest first), those of its draft, and all others.

    `is_whole`: the revision of what the node is now was found; otherwise nothing can be said of the others. Of a node
    that is nowhere, not even in the trash, all are others.
    """

    node_id: ObjectId
    live: tuple[RevisionLink, ...]
    draft: tuple[RevisionLink, ...]
    others: tuple[RevisionLink, ...]
    is_whole: bool


def all_chains() -> Iterator[Chains]:
    """Yield the chains of every node that has revisions.

    Each node is read before its revisions: what is saved in between has a newer revision, which is no matter here.
    """
    ids = (group["_id"] for group in database()[REVISIONS].aggregate([{"$group": {"_id": "$node_id"}}]))
    for batch in batched(ids, BATCH):
        heads = _heads(batch)
        for node_id in batch:
            yield _chains(node_id, heads.get(node_id))


def count() -> int:
    """Return about how many revisions there are."""
    return int(database()[REVISIONS].estimated_document_count())


def _heads(ids: list[ObjectId]) -> dict[ObjectId, Mapping[str, Any]]:
    """Return {id: nonces of a node and its draft}; a node on its way to or from the trash is found on one of both sides."""
    wanted = {"metadata.nonce": 1, "draft.nonce": 1, "draft.base_nonce": 1}
    found: dict[ObjectId, Mapping[str, Any]] = {}
    for collection in (NODES, ASSET_FILES, TRASH, NODES, ASSET_FILES):
        missing = [node_id for node_id in ids if node_id not in found]
        if missing:
            query = {"_id": {"$in": missing}, **node_filter(collection)}
            found.update({d["_id"]: d for d in database()[collection].find(query, wanted)})
    return found


def _chains(node_id: ObjectId, head: Mapping[str, Any] | None) -> Chains:
    found = database()[REVISIONS].find({"node_id": node_id}, {"parent": 1, "saved_at": 1})
    links = {d["_id"]: RevisionLink(d["_id"], d["parent"], d["saved_at"]) for d in found}
    if head is None:
        return Chains(node_id, (), (), tuple(links.values()), is_whole=True)
    draft = head.get("draft") or {}
    nonce = (head.get("metadata") or {}).get("nonce")
    live = _follow(links, nonce)
    # A draft's chain ends in the live version that it was begun on.
    of_draft = _follow(links, draft.get("nonce")) + _follow(links, draft.get("base_nonce"))
    known = {link.nonce for link in (*live, *of_draft)}
    others = tuple(link for link in links.values() if link.nonce not in known)
    return Chains(node_id, live, of_draft, others, is_whole=nonce in links)


def _follow(links: Mapping[ObjectId, RevisionLink], nonce: ObjectId | None) -> tuple[RevisionLink, ...]:
    found: dict[ObjectId, RevisionLink] = {}
    while nonce is not None and nonce in links and nonce not in found:
        found[nonce] = links[nonce]
        nonce = links[nonce].parent
    return tuple(found.values())
