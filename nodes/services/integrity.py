"""Find and repair damage that crashes cause in nodes.

Examples of such damage are orphan revisions, needless redirects, and nodes whose section no longer exists. `manage.py
check_nodes` runs these checks. They never delete a node, its text or a comment. A node whose section no longer exists
is moved to trash as a whole.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, batched, database
from marginalia.mongo.reading import MALFORMED
from nodes.collections import (
    ASSET_FILES,
    NODES,
    REDIRECTS,
    REVISIONS,
    TRASH,
    node_filter,
)
from nodes.content import CONTENT
from nodes.errors import NodeError
from nodes.models import damage, tree
from nodes.selectors import chains, slugs
from nodes.services import trash
from nodes.types import Actor

# Documents that are younger than this may belong to a save that is still in progress.
AGE = timedelta(days=1)
BATCH = 500
ORPHAN = "orphan"
BROKEN_HISTORY = "history"
REDIRECT = "redirect"
PARENT = "parent"
CYCLE = "cycle"
SLUG = "slug"
FILE = "file"
UNFINISHED = "malformed"
DAMAGED = "damaged"
LOST = "lost"


@dataclass(frozen=True)
class Defect:
    """A defect, with its kind, its description, and whether it was repaired."""

    kind: str
    about: str
    fixed: bool


# File checks, added by the photos app. Each check's argument specifies whether to repair defects.
FILE_CHECKS: list[Callable[[bool], Iterator[Defect]]] = []


def check(*, fix: bool = False, files: bool = False) -> Iterator[Defect]:
    """Yield all defects. If `fix` is true, repair them. If `files` is true, also read all photos and their copies."""
    before = now() - AGE
    checks = [
        *(_damaged(collection) for collection in (NODES, ASSET_FILES, TRASH)),
        *(_broken_histories(collection) for collection in (NODES, ASSET_FILES, TRASH)),
        _orphans(before, fix),
        _redirects(before, fix),
        *(_lost(collection, fix) for collection in (NODES, ASSET_FILES)),
        _cycles(),
        _hidden_by_routes(),
        *(check_files(fix) for check_files in FILE_CHECKS if files),
    ]
    for defects in checks:
        yield from _to_its_end(defects)


def _to_its_end(defects: Iterator[Defect]) -> Iterator[Defect]:
    """Yield the defects that a check finds.

    If a malformed document ends the check early, also yield a defect for it, so that the other checks can still run.
    """
    try:
        yield from defects
    except MALFORMED as error:
        about = f"{type(error).__name__}: {error}. Run manage.py setup_indexes --check to list the malformed documents"
        yield Defect(UNFINISHED, about, False)


def _damaged(collection: str) -> Iterator[Defect]:
    """Yield a defect for each node that can't be read or whose data is incomplete. Such nodes aren't repaired."""
    for document in database()[collection].find(node_filter(collection), damage.FIELDS):
        for fault in damage.faults(document):
            yield Defect(DAMAGED, f"{document['_id']} of {collection} {fault}", False)


def _broken_histories(collection: str) -> Iterator[Defect]:
    """Yield a defect for each node whose history is missing, or lacks the revision of the current version."""
    for batch in batched(database()[collection].find(node_filter(collection), {"metadata.nonce": 1}), BATCH):
        nonces = {document["_id"]: (document.get("metadata") or {}).get("nonce") for document in batch}
        query = {"node_id": {"$in": list(nonces)}, "_id": {"$in": list(nonces.values())}}
        present = {revision["_id"] for revision in database()[REVISIONS].find(query, {"_id": 1})}
        for node_id, nonce in nonces.items():
            if nonce not in present:
                yield Defect(BROKEN_HISTORY, f"{node_id}: the revision of its current version is missing", False)


def _orphans(before: datetime, fix: bool) -> Iterator[Defect]:
    for history in chains.all_chains():
        if not history.is_whole:
            continue
        if _is_lost(history):
            yield Defect(
                LOST, f"{history.node_id} no longer exists. {len(history.others)} revisions contain its text", False
            )
            continue
        orphans = [link.nonce for link in history.others if link.saved_at < before]
        for batch in batched(orphans, BATCH):
            if fix:
                database()[REVISIONS].delete_many({"_id": {"$in": batch}, "node_id": history.node_id})
        yield from (Defect(ORPHAN, f"{history.node_id}: revision {nonce}", fix) for nonce in orphans)


def _is_lost(history: chains.Chains) -> bool:
    """Return whether a node was lost: only its revisions are left, although no one deleted the node.

    The node must have been saved more than once, because a failed creation also leaves one revision.
    """
    if history.live or len(history.others) < 2:
        return False
    deleted = {"node_id": history.node_id, "deleted_at": {"$exists": True}}
    return not database()[REDIRECTS].find_one(deleted, {"_id": 1})


def _redirects(before: datetime, fix: bool) -> Iterator[Defect]:
    """Yield needless redirects.

    These are redirects to missing nodes, and redirects from a node's current URL that a failed rename left behind.
    """
    for batch in batched(database()[REDIRECTS].find({"deleted_at": {"$exists": False}}), BATCH):
        ids = list({redirect["node_id"] for redirect in batch})
        places = _places(ids)
        for redirect in batch:
            place = redirect["_id"]["parent_id"], redirect["_id"]["slug"]
            if redirect.get("kept_at", before) > before or places.get(redirect["node_id"], place) != place:
                continue
            if fix:
                _remove_redirect(redirect)
            yield Defect(REDIRECT, f"{place[1]} in {place[0] or 'the top level'}", fix)


def _remove_redirect(redirect: Document) -> None:
    """Delete a redirect, or point it at the node that had the URL before."""
    seen = {"_id": redirect["_id"], "node_id": redirect["node_id"]}
    if earlier := redirect.get("earlier"):
        left = {"$set": {"node_id": earlier[0], "earlier": earlier[1:]}}
        database()[REDIRECTS].update_one({**seen, "earlier": earlier}, left)
    else:
        database()[REDIRECTS].delete_one({**seen, "earlier": {"$exists": False}})


def _places(ids: list[ObjectId]) -> dict[ObjectId, tuple[ObjectId | None, str]]:
    places: dict[ObjectId, tuple[ObjectId | None, str]] = {}
    # Nodes are read before and after the trash, so that nodes that move to or from the trash during the read are found.
    for collection in (NODES, ASSET_FILES, TRASH, NODES, ASSET_FILES):
        missing = [node_id for node_id in ids if node_id not in places]
        if not missing:
            break
        query = {"_id": {"$in": missing}, **node_filter(collection)}
        for document in database()[collection].find(query, {"metadata.parent_id": 1, "metadata.slug": 1}):
            metadata = document.get("metadata") or {}
            places[document["_id"]] = metadata.get("parent_id"), metadata.get("slug", "")
    return places


def _lost(collection: str, fix: bool) -> Iterator[Defect]:
    """Yield a defect for each node whose section neither exists nor is in the trash."""
    parents = database()[collection].aggregate(
        [{"$match": {"metadata.type": {"$ne": CONTENT}}}, {"$group": {"_id": "$metadata.parent_id"}}]
    )
    for batch in batched(parents, BATCH):
        ids = [group["_id"] for group in batch if group["_id"] is not None]
        existing = _places(ids)
        for parent_id in ids:
            if parent_id not in existing:
                yield from _trash_contents(collection, parent_id, fix)


def _trash_contents(collection: str, parent_id: ObjectId, fix: bool) -> Iterator[Defect]:
    query = {"metadata.parent_id": parent_id, **node_filter(collection)}
    for document in database()[collection].find(query, {"metadata.nonce": 1, "metadata.slug": 1}):
        metadata = document["metadata"]
        about = f"{document['_id']} ({metadata.get('slug')}): its section {parent_id} no longer exists"
        fixed = fix
        if fix:
            try:
                trash.trash(Actor(None, "check_nodes"), document["_id"], metadata["nonce"], collection)
            except (NodeError, *MALFORMED):
                # The node couldn't be moved to trash, either because it is damaged, or because an editor has just
                # changed it.
                fixed = False
        yield Defect(PARENT, about, fixed)


def _cycles() -> Iterator[Defect]:
    """Yield a defect for each section that is inside itself. Only writes that bypass the services can cause this."""
    sections = tree.load()
    for section in sections.sections.values():
        seen = {section.id}
        above = section.parent_id
        while above in sections.sections and above not in seen:
            seen.add(above)
            above = sections.sections[above].parent_id
        if above == section.id:
            yield Defect(CYCLE, f"{section.id} ({section.slug}) is inside itself", False)


def _hidden_by_routes() -> Iterator[Defect]:
    """Yield a defect for each node at the top level whose URL the site itself uses, for example after an upgrade."""
    query = {"metadata.parent_id": None, "metadata.slug": {"$in": sorted(slugs.reserved())}}
    for document in database()[NODES].find(query, {"metadata.slug": 1}):
        slug = document["metadata"]["slug"]
        yield Defect(SLUG, f"{document['_id']}: the site uses the URL /{slug}. Change the slug", False)
