"""Creating, saving and tagging nodes: what editors, commands and imports call."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from mongo.connection import database, now
from nodes import merging, slugs
from nodes.collections import NODES
from nodes.errors import EditConflict, NodeGone, SlugTaken, TooBusy
from nodes.kinds import KINDS
from nodes.services import placement
from nodes.services.site import touch
from nodes.services.write import base_of, check_place, compare_and_set, insert_revision, pull_tags
from nodes.types import NO_TAGS, Actor, Saved, Seen, TagChange

# Never null: $gt does not match null.
NEVER = datetime(9999, 12, 31, tzinfo=UTC)
# How often a save is merged again while others keep saving the same node.
ATTEMPTS = 50


def create(
    actor: Actor,
    *,
    type: str,
    parent_id: ObjectId | None,
    slug: str,
    title: str,
    fields: Mapping[str, Any] | None = None,
    tags: tuple[str, ...] = (),
    node_id: ObjectId | None = None,
    created: datetime | None = None,
) -> Saved:
    """Insert a node and its first revision.

    `fields` are further fields by path ("summary", "published", "detail.text"…). `node_id`: an id chosen beforehand makes a
    repeated create answer what the first one did. Raises SlugTaken, InvalidSlug, InvalidPlace.
    """
    check_place(parent_id, type)
    slug = slugs.normalized(slug)
    slugs.check(slug, parent_id)
    node_id, nonce, moment = node_id or ObjectId(), ObjectId(), now()
    metadata: dict[str, Any] = {
        "nonce": nonce,
        "type": type,
        "parent_id": parent_id,
        "slug": slug,
        "title": title,
        "created": created or moment,
        "updated": moment,
        "published": None,
        "expires": NEVER,
        "author": actor.as_document(),
        "tags": sorted(set(tags)),
        "summary": "",
        "detail": {"text": "", "format": "markdown"},
    }
    extra = merging.nested(fields or {})
    metadata["detail"].update(extra.pop("detail"))
    metadata.update(extra)
    metadata["expires"] = metadata["expires"] or NEVER
    insert_revision(node_id, None, metadata, actor)
    try:
        database()[NODES].insert_one({"_id": node_id, "metadata": metadata})
    except DuplicateKeyError as error:
        if (error.details or {}).get("keyPattern") == {"_id": 1}:
            return _created_before(node_id)
        raise SlugTaken(slug, slugs.free(slug, parent_id)) from error
    touch()
    return Saved(node_id, nonce, tuple(fields or ()))


def _created_before(node_id: ObjectId) -> Saved:
    """Answer a repeated create as the first one was answered."""
    stored = database()[NODES].find_one({"_id": node_id}, {"metadata.nonce": 1})
    if stored is None:
        raise NodeGone(node_id)
    touch()
    return Saved(node_id, stored["metadata"]["nonce"])


def save(
    actor: Actor,
    node_id: ObjectId,
    seen_nonce: ObjectId,
    mine: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
) -> Saved:
    """Save the fields `mine` of a form that was rendered when the node had the nonce `seen_nonce`, merging by itself.

    Only what differs is written. Place (slug, parent_id) is a field like others, checked. Raises EditConflict,
    NodeGone, SlugTaken, InvalidSlug, InvalidPlace, TooBusy.
    """
    base: Mapping[str, Any] | None = None
    for _attempt in range(ATTEMPTS):
        stored = database()[NODES].find_one({"_id": node_id}, {"metadata": 1})
        if stored is None:
            raise NodeGone(node_id)
        theirs = merging.fields(stored["metadata"])
        if base is None:
            base = theirs if stored["metadata"]["nonce"] == seen_nonce else base_of(node_id, seen_nonce)
        merge = merging.merge(base, mine, theirs)
        if merge.conflicts:
            raise EditConflict(base, stored["metadata"], merge)
        if not merge.changes and not tags:
            # It says already what I want: done, by me before or by somebody else. Readers may not have been told.
            touch()
            return Saved(node_id, stored["metadata"]["nonce"], merged=merge.merged)
        write = placement.move_section if _moves_section(stored["metadata"], merge.changes) else compare_and_set
        if nonce := write(actor, stored, merge.changes, tags):
            touch()
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged)
    raise TooBusy


def _moves_section(metadata: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    return "parent_id" in changes and KINDS[metadata["type"]].is_section


def change_tags(node_id: ObjectId, tags: TagChange) -> None:
    """Add and remove tags without a nonce: tagging cannot conflict with an editor. Raises NodeGone."""
    stored = database()[NODES].find_one({"_id": node_id}, {"metadata": 1})
    if stored is None:
        raise NodeGone(node_id)
    seen = Seen.of(stored)
    if tags.removed:
        pull_tags(seen, tags.removed)
    if tags.added:
        database()[NODES].update_one(
            {"_id": seen.id, "metadata.parent_id": seen.parent_id, "metadata.slug": seen.slug},
            {"$addToSet": {"metadata.tags": {"$each": sorted(tags.added)}}},
        )
    touch()
