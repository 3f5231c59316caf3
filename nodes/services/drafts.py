"""Drafts beside the live version: saved by a nonce of their own, published by a three-way merge and one update on both."""

from collections.abc import Mapping
from typing import Any

from bson import ObjectId

from mongo.clock import now
from mongo.connection import Document, database
from nodes import merging
from nodes.collections import NODES, REVISIONS
from nodes.content import upgrading
from nodes.errors import DraftGone, EditConflict, NodeGone, TooBusy
from nodes.services import derived
from nodes.services.editing import ATTEMPTS, normalized
from nodes.services.site import touch
from nodes.services.write import (
    base_for,
    base_of,
    check_inserts,
    check_lengths,
    compare_and_set,
    insert_revision,
    said_in,
    writable,
)
from nodes.types import NO_TAGS, Act, Actor, Expected, Saved, Submitted, TagChange

# Where a node stands is not drafted: addresses are live or they are not.
NOT_DRAFTED = frozenset({"slug", "parent_id"})


def save_draft(
    actor: Actor,
    node_id: ObjectId,
    seen_nonce: ObjectId,
    mine: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
    *,
    form: ObjectId | None = None,
) -> Saved:
    """Save the fields `mine` as the node's draft; readers see the live version still.

    `seen_nonce` is the nonce that the form was rendered with: the draft's, or the node's where it had none. A draft that
    a concurrent editor saved is merged into as a node would be. Raises EditConflict, NodeGone, FieldRefused,
    NewerVersion, NotUpgraded, TooBusy.
    """
    base: Mapping[str, Any] | None = None
    for _attempt in range(ATTEMPTS):
        stored = _read(node_id)
        draft = stored.get("draft")
        present = draft or stored["metadata"]
        said = _drafted(stored)
        type, theirs = said["type"], merging.fields(said)
        if base is None:
            mine = {path: value for path, value in normalized(mine, type).items() if path not in NOT_DRAFTED}
            base = theirs
            if present["nonce"] != seen_nonce:
                base, tags = base_for(node_id, seen_nonce, present["nonce"], form, tags)
        merge = merging.merge(base, mine, theirs, type)
        if merge.conflicts:
            raise EditConflict(base, said, merge, tags)
        if draft and not merge.changes and not tags.changes(said["tags"]):
            return Saved(node_id, draft["nonce"], merged=merge.merged)
        check_lengths(merge.changes)
        after = merging.nested({k: v for k, v in {**theirs, **merge.changes}.items() if k not in NOT_DRAFTED})
        check_inserts(merge.changes, {**said, **after})
        after |= {"tags": tags.applied(said["tags"]), **upgrading.stamp(type)}
        nonce = ObjectId()
        # History follows `parent` from the node's nonce, so that this is the base of later merges and in no list.
        submitted = Submitted(form, mine, was_merged=bool(merge.merged), tags=tags.wanted) if form else None
        insert_revision(node_id, present["nonce"], {**said, **after, "nonce": nonce}, actor, submitted, draft=True)
        written = {
            "nonce": nonce,
            "base_nonce": draft["base_nonce"] if draft else stored["metadata"]["nonce"],
            # Tagging takes no nonce, so that the base's revision does not know what was tagged since.
            "base_tags": _base_tags(node_id, draft) if draft else stored["metadata"]["tags"],
            "metadata": after,
            "saved_at": now(),
            "saved_by": actor.as_document(),
            **derived.references({**said, **after}),
        }
        unchanged = {"draft.nonce": draft["nonce"]} if draft else {"draft": {"$exists": False}}
        if database()[NODES].update_one({**_place(stored), **unchanged}, {"$set": {"draft": written}}).matched_count:
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged)
    raise TooBusy


def publish_draft(
    actor: Actor,
    node_id: ObjectId,
    seen_draft: ObjectId,
    *,
    seen_nonce: ObjectId | None = None,
    mine: Mapping[str, Any] | None = None,
    tags: TagChange = NO_TAGS,
) -> Saved:
    """Make the draft the live version, merged with what was saved live since it was begun.

    After a conflict: `mine` is what the editor decided on seeing the live version `seen_nonce`; it takes the draft's place.
    Raises EditConflict, DraftGone (saved anew, published or discarded since), NodeGone, FieldRefused, NewerVersion,
    NotUpgraded, TooBusy.
    """
    for _attempt in range(ATTEMPTS):
        stored = _read(node_id)
        draft = stored.get("draft")
        if draft is None or draft["nonce"] != seen_draft:
            # Published already, perhaps: readers may not have been told.
            touch()
            raise DraftGone(node_id)
        type = stored["metadata"]["type"]
        if mine is None or seen_nonce is None:
            wanted, since = merging.fields(upgrading.draft_of(stored)), draft["base_nonce"]
            tags = _tags_of(node_id, draft)
        else:
            wanted, since = normalized(mine, type), seen_nonce
        base = base_of(node_id, since)
        merge = merging.merge(base, wanted, merging.fields(stored["metadata"]), type)
        if merge.conflicts:
            raise EditConflict(base, stored["metadata"], merge, tags)
        nonce = compare_and_set(
            actor,
            stored,
            merge.changes,
            tags,
            more_filter={"draft.nonce": seen_draft},
            more_update={"$unset": {"draft": ""}},
            submitted=_said_last(node_id, draft["nonce"]),
            act=Act.CHANGES_PUBLISHED,
        )
        if nonce:
            touch()
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged)
    raise TooBusy


def discard_draft(node_id: ObjectId, seen_draft: ObjectId) -> None:
    """Remove the draft if it is still `seen_draft`. Raises DraftGone, NodeGone."""
    done = database()[NODES].update_one(
        {**_place(_read(node_id)), "draft.nonce": seen_draft}, {"$unset": {"draft": ""}}
    )
    if not done.modified_count:
        raise DraftGone(node_id)


def _read(node_id: ObjectId) -> Document:
    stored = database()[NODES].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
    if stored is None:
        raise NodeGone(node_id)
    writable(stored["metadata"])
    if "draft" in stored:
        writable(upgrading.draft_of(stored))
    return stored


def _place(stored: Document) -> dict[str, Any]:
    seen = Expected.of(stored)
    return {"_id": seen.id, "metadata.parent_id": seen.parent_id, "metadata.slug": seen.slug}


def _drafted(stored: Document) -> dict[str, Any]:
    """Return the metadata that the draft would make, under the draft's nonce; that of the node if there is no draft."""
    live, draft = upgrading.upgraded(stored["metadata"]), stored.get("draft")
    if draft is None:
        return dict(live)
    drafted = upgrading.upgraded(upgrading.draft_of(stored))
    said = {**live, **drafted, "nonce": draft["nonce"], "updated": draft["saved_at"]}
    said["detail"] = {**(live.get("detail") or {}), **drafted["detail"]}
    return said


def _said_last(node_id: ObjectId, draft_nonce: ObjectId) -> Submitted | None:
    """Return what the form said that saved the draft, for the version that it becomes: the form goes on from that."""
    saved = database()[REVISIONS].find_one({"_id": draft_nonce, "node_id": node_id})
    if saved is None or "form" not in saved:
        return None
    tags = saved.get("form_tags")
    return Submitted(saved["form"], said_in(saved), was_merged=True, tags=None if tags is None else frozenset(tags))


def _tags_of(node_id: ObjectId, draft: Mapping[str, Any]) -> TagChange:
    """Return what the draft did to the tags that it was begun with."""
    said = draft["metadata"].get("tags")
    return NO_TAGS if said is None else TagChange.between(_base_tags(node_id, draft), said)


def _base_tags(node_id: ObjectId, draft: Mapping[str, Any]) -> list[str]:
    """Return the live tags when the draft was begun; of a draft by an earlier release, those of the version below it."""
    if "base_tags" in draft:
        return list(draft["base_tags"])
    base = database()[REVISIONS].find_one({"_id": draft["base_nonce"], "node_id": node_id}, {"metadata.tags": 1})
    return list(base["metadata"]["tags"]) if base else []
