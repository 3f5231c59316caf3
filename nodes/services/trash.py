"""Move nodes to trash, restore them, and delete them permanently.

Moves are transactions, so that no comment is lost if it is stored in the node's document during a move.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext as _
from pymongo.client_session import ClientSession
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database, transaction
from nodes import content
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, REVISIONS, TRASH, home_of, node_filter
from nodes.content import CONTENT, registry
from nodes.errors import EditConflict, InvalidPlace, NodeError, NodeGone, SlugTaken, TooBusy
from nodes.merging import Merge
from nodes.models import stored_site
from nodes.selectors import slugs
from nodes.services import ordering, placement, rules, scheduled
from nodes.services.site import invalidate
from nodes.services.write import insert_revision, store_redirect
from nodes.signals import node_deleted, node_restored, node_trashed, send_event
from nodes.types import Act, Actor, Expected


def trash(actor: Actor, node_id: ObjectId, seen_nonce: ObjectId, collection: str = NODES) -> None:
    """Move a node to trash if its nonce is still `seen_nonce`. Nodes in a trashed section aren't visible anywhere.

    Scheduled changes that are due count as live, so they are published first. If they became due after the user saw the
    node, the node isn't moved.

    Raises:
        NodeGone: The node no longer exists.
        EditConflict: The node has changed since the user saw it.
    """
    if collection == NODES and (due := database()[NODES].find_one({"_id": node_id}, {"draft.due": 1})):
        # If the scheduled changes can't be published, they remain the node's draft.
        with suppress(NodeError):
            scheduled.publish_if_due(due)

    def work(session: ClientSession) -> Document | None:
        wanted = {"_id": node_id, **node_filter(collection)}
        stored: Document | None = database()[collection].find_one(wanted, session=session)
        if stored is None or stored["metadata"]["nonce"] != seen_nonce:
            return stored
        database()[collection].delete_one(Expected.of(stored).as_filter(), session=session)
        for name in ("due", "derived"):
            # If the node is restored later, its scheduled changes must not go live unexpectedly, so they become a
            # draft.
            stored.get("draft", {}).pop(name, None)
        database()[TRASH].insert_one(
            {**stored, "trashed_at": now(), "trashed_by": actor.as_document()}, session=session
        )
        return stored

    stored = transaction(work)
    if stored is None:
        # Another writer may have moved the node to trash, but crashed before it invalidated the caches, so invalidate
        # them now.
        invalidate()
        raise NodeGone(node_id)
    if stored["metadata"]["nonce"] != seen_nonce:
        raise EditConflict(None, stored["metadata"], Merge({}, (), ()))
    invalidate()
    send_event(node_trashed, node_id, stored["metadata"]["type"])


def restore(
    actor: Actor, node_id: ObjectId, seen_nonce: ObjectId | None = None, *, slug: str | None = None, **place: Any
) -> bool:
    """Restore a node from the trash. If the node moves or becomes a draft, it gets a new nonce and a revision.

    Args:
        actor: The author of the change.
        node_id: The node.
        seen_nonce: The nonce that the node must still have, or None to accept any nonce.
        slug: A new slug for the node, in case another node now uses its original slug.
        **place: `parent_id`, the id of the new section. Pass this argument if the node's section no longer exists.

    Returns:
        Whether the node's publication time passed while it was in the trash. If so, the node is restored as a draft,
        because restoring a node must not publish it unexpectedly.

    Raises:
        NodeGone: The node isn't in the trash.
        InvalidPlace: The section doesn't exist, or can't contain the node.
        InvalidSlug: The slug can't be part of a URL, or is reserved.
        SlugTaken: Another node in the section has the slug.
        NotUnique: Another node in the section has the same values in fields that must be unique together.
        TooBusy: Other writers kept changing the node.
    """
    trashed = database()[TRASH].find_one(_restorable(node_id, seen_nonce), {"metadata": 1, "trashed_at": 1})
    if trashed is None:
        invalidate()
        raise NodeGone(node_id)
    metadata = trashed["metadata"]
    changes = {"parent_id": place.get("parent_id", metadata["parent_id"]), "slug": metadata["slug"]}
    if slug:
        changes["slug"] = slugs.normalized(slug)
    seen_tree = stored_site.read().tree
    rules.check_place(changes["parent_id"], metadata["type"])
    rules.check_capacity(changes["parent_id"])
    slugs.check(changes["slug"], changes["parent_id"])
    if is_section := content.get(metadata["type"]).is_section:
        placement.check_ancestors(node_id, changes["parent_id"])
    rules.check_unique(node_id, {**metadata, **changes})
    changes = {name: value for name, value in changes.items() if value != metadata[name]}
    if changes:
        store_redirect(Expected.of(trashed))
    if was_due := bool(metadata["published"] and trashed["trashed_at"] < metadata["published"] <= now()):
        changes["published"] = None
    if changes:
        changes |= {"nonce": ObjectId(), "updated": now()}
        insert_revision(node_id, metadata["nonce"], {**metadata, **changes}, actor, act=Act.RESTORED)
    home = home_of(metadata["type"])

    def work(session: ClientSession) -> bool | None:
        stored = database()[TRASH].find_one_and_delete(_restorable(node_id, metadata["nonce"]), session=session)
        if stored is None:
            return None
        if is_section and not placement.count_move(seen_tree, session):
            session.abort_transaction()
            return False
        stored["metadata"].update(changes)
        del stored["trashed_at"], stored["trashed_by"]
        if "parent_id" in changes:
            stored = ordering.with_position(stored, changes["parent_id"])
        database()[home].insert_one(stored, session=session)
        return True

    try:
        done = transaction(work)
    except DuplicateKeyError as error:
        if duplicate := rules.duplicate_values(metadata["type"], error):
            raise duplicate from error
        wanted = {**metadata, **changes}
        raise SlugTaken(wanted["slug"], slugs.find_free(wanted["slug"], wanted["parent_id"], home)) from error
    if done is None:
        raise NodeGone(node_id)
    if not done:
        raise TooBusy
    invalidate()
    send_event(node_restored, node_id, metadata["type"])
    return was_due


def _trashed(node_id: ObjectId, nonce: ObjectId | None) -> dict[str, Any]:
    return {"_id": node_id} if nonce is None else {"_id": node_id, "metadata.nonce": nonce}


def _restorable(node_id: ObjectId, nonce: ObjectId | None) -> dict[str, Any]:
    return {**_trashed(node_id, nonce), "deleting": None}


def delete(node_id: ObjectId, seen_nonce: ObjectId | None = None) -> None:
    """Permanently delete a node in the trash, its history, and (through a signal) its comments.

    Redirects to the node are kept, but marked as deleted. Until the comments are deleted, the node remains in the
    trash, but can't be restored. Therefore, an interrupted deletion can be repeated.

    Raises:
        NodeGone: The node isn't in the trash, or its nonce is no longer `seen_nonce`.
        InvalidPlace: The section isn't empty.
    """
    trashed = database()[TRASH].find_one(_trashed(node_id, seen_nonce), {"metadata": 1})
    if trashed is None:
        raise NodeGone(node_id)
    if _holds_something(node_id):
        raise InvalidPlace(_("This section isn't empty. Move or delete its contents first."))
    store_redirect(Expected.of(trashed))
    type = trashed["metadata"]["type"]
    wanted = _trashed(node_id, trashed["metadata"]["nonce"])
    if not database()[TRASH].update_one(wanted, {"$set": {"deleting": True}}).matched_count:
        raise NodeGone(node_id)
    node_deleted.send(sender=None, node_id=node_id, type=type)
    if not database()[TRASH].delete_one(wanted).deleted_count:
        raise NodeGone(node_id)
    database()[REDIRECTS].update_many({"node_id": node_id}, {"$set": {"deleted_at": now()}})
    # A photo and a page can have the same id. In that case, only the revisions of the deleted document are removed.
    uploaded = list(registry.uploaded())
    of_same_kind = {"$in": uploaded} if type in uploaded else {"$nin": uploaded}
    database()[REVISIONS].delete_many({"node_id": node_id, "metadata.type": of_same_kind})


def _holds_something(node_id: ObjectId) -> bool:
    # A photo's files don't count as contents, because they are deleted together with the photo.
    inside = {"metadata.parent_id": node_id, "metadata.type": {"$ne": CONTENT}}
    return any(database()[name].find_one(inside, {"_id": 1}) for name in (NODES, ASSET_FILES, TRASH))


def delete_redirects(ids: Sequence[ObjectId]) -> None:
    """Delete the redirects to permanently deleted nodes. Use this if these nodes must leave no trace."""
    database()[REDIRECTS].delete_many({"node_id": {"$in": list(ids)}, "deleted_at": {"$exists": True}})
