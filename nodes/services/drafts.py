"""Drafts beside the live version: saved by a nonce of their own, published by a three-way merge and one update on both."""

from collections.abc import Mapping
from typing import Any

from bson import ObjectId

from mongo.connection import database, now
from nodes import merging
from nodes.collections import NODES, REVISIONS
from nodes.errors import EditConflict, NodeGone, TooBusy
from nodes.services.editing import ATTEMPTS
from nodes.services.site import touch
from nodes.services.write import base_of, compare_and_set
from nodes.types import Actor, Saved, Seen

# Where a node stands is not drafted: addresses are live or they are not.
NOT_DRAFTED = frozenset({"slug", "parent_id"})


def save_draft(actor: Actor, node_id: ObjectId, seen_nonce: ObjectId, mine: Mapping[str, Any]) -> Saved:
    """Save the fields `mine` as the node's draft; readers see the live version still.

    `seen_nonce` is the nonce that the form was rendered with: the draft's, or the node's where it had none. A draft that
    somebody else saved meanwhile is merged into as a node would be. Raises EditConflict, NodeGone, TooBusy.
    """
    mine = {path: value for path, value in mine.items() if path not in NOT_DRAFTED}
    base: Mapping[str, Any] | None = None
    for _attempt in range(ATTEMPTS):
        stored = database()[NODES].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
        if stored is None:
            raise NodeGone(node_id)
        draft = stored.get("draft")
        present = draft or stored["metadata"]
        theirs = _flat(draft) if draft else merging.fields(stored["metadata"])
        if base is None:
            base = theirs if present["nonce"] == seen_nonce else base_of(node_id, seen_nonce)
        merge = merging.merge(base, mine, theirs)
        if merge.conflicts:
            raise EditConflict(base, merging.nested(theirs), merge)
        if not merge.changes and draft:
            return Saved(node_id, draft["nonce"], merged=merge.merged)
        nonce = ObjectId()
        after = {k: v for k, v in {**theirs, **merge.changes}.items() if k not in NOT_DRAFTED}
        written = {
            "nonce": nonce,
            "base_nonce": draft["base_nonce"] if draft else stored["metadata"]["nonce"],
            "metadata": merging.nested(after),
            "saved_at": now(),
            "saved_by": actor.as_document(),
        }
        # History follows `parent` from the node's nonce, so that this is the base of later merges and in no list.
        database()[REVISIONS].insert_one(
            {
                "_id": nonce,
                "parent": present["nonce"],
                "node_id": node_id,
                "metadata": {**stored["metadata"], **written["metadata"], "nonce": nonce},
                "saved_at": written["saved_at"],
                "saved_by": written["saved_by"],
                "draft": True,
            }
        )
        seen = Seen.of(stored)
        unchanged = {"draft.nonce": draft["nonce"]} if draft else {"draft": {"$exists": False}}
        place = {"_id": seen.id, "metadata.parent_id": seen.parent_id, "metadata.slug": seen.slug}
        if database()[NODES].update_one({**place, **unchanged}, {"$set": {"draft": written}}).matched_count:
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged)
    raise TooBusy


def publish_draft(actor: Actor, node_id: ObjectId, seen_draft: ObjectId) -> Saved:
    """Make the draft the live version, merged with what was saved live since it was begun.

    Raises EditConflict (also when the draft is not `seen_draft` any more), NodeGone, TooBusy.
    """
    for _attempt in range(ATTEMPTS):
        stored = database()[NODES].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
        if stored is None:
            raise NodeGone(node_id)
        draft = stored.get("draft")
        theirs = merging.fields(stored["metadata"])
        if draft is None or draft["nonce"] != seen_draft:
            raise EditConflict(None, stored["metadata"], merging.Merge({}, (), ()))
        merge = merging.merge(base_of(node_id, draft["base_nonce"]), _flat(draft), theirs)
        if merge.conflicts:
            raise EditConflict(base_of(node_id, draft["base_nonce"]), stored["metadata"], merge)
        nonce = compare_and_set(
            actor,
            stored,
            merge.changes,
            more_filter={"draft.nonce": seen_draft},
            more_update={"$unset": {"draft": ""}},
        )
        if nonce:
            touch()
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged)
    raise TooBusy


def discard_draft(node_id: ObjectId, seen_draft: ObjectId) -> bool:
    """Remove the draft if it is still `seen_draft`; return whether it was. Its revision stays, so that it can be found."""
    stored = database()[NODES].find_one({"_id": node_id}, {"metadata": 1})
    if stored is None:
        raise NodeGone(node_id)
    seen = Seen.of(stored)
    place = {"_id": seen.id, "metadata.parent_id": seen.parent_id, "metadata.slug": seen.slug}
    done = database()[NODES].update_one({**place, "draft.nonce": seen_draft}, {"$unset": {"draft": ""}})
    return bool(done.modified_count)


def _flat(draft: Mapping[str, Any]) -> dict[str, Any]:
    return merging.fields(draft["metadata"])
