"""Convert change stream events to changes: the node, photo or discussion that changed, and what else is affected."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bson import ObjectId

from api.changes.change_log import COMMENTS, NODE, RESET, SETTINGS
from marginalia.comments.types import Target
from marginalia.mongo.connection import Document
from nodes.collections import NODES, SITE, TRASH, home_of
from reader.change_stream import DISCUSSIONS, ENDING_OPERATIONS

_MAINTENANCE_FIELDS = frozenset({"metadata.locked", "metadata.superseded", "metadata.doomed"})
# The fields that can hide a node from readers if they change.
_VISIBILITY_FIELDS = frozenset({"metadata.parent_id", "metadata.published", "metadata.expires"})
# The fields of a section that affect everything in the section if they change.
_SUBTREE_FIELDS = _VISIBILITY_FIELDS | {"metadata.slug"}


@dataclass(frozen=True)
class DetectedChange:
    """A change whose visibility has not been determined yet.

    Attributes:
        collection: The collection of the changed node or photo, or "" for other kinds of changes.
        affects_subtree: Whether the change also affects everything in the node, because the node's path or visibility
            changed.
        is_draft_only: Whether only the draft changed.
        hiding_nonces: The nonces of the versions that may have hidden the node from readers. None represents an unknown
            version.
        trashed: The document that was moved to the trash, if any.
    """

    token: Document
    kind: str
    id: Any
    collection: str = ""
    nonce: ObjectId | None = None
    affects_subtree: bool = False
    is_draft_only: bool = False
    hiding_nonces: tuple[ObjectId | None, ...] = ()
    trashed: Document | None = None


def parse_changes(events: Iterable[Document]) -> list[DetectedChange]:
    """Return the changes in `events`, in order.

    Several changes to the same object are merged into one, at the position of the last change.
    """
    changes: dict[tuple[str, str], DetectedChange] = {}
    for change in filter(None, map(_parse_event, events)):
        key = change.kind, str(change.id)
        earlier = changes.pop(key, None)
        changes[key] = _merged(earlier, change) if earlier else change
    return list(changes.values())


def lacks_site_version(events: Iterable[Document]) -> bool:
    """Return whether `events` contain a change after which the site didn't get a new version.

    Until the site gets a new version, cached pages may show the state before the change.
    """
    unversioned = 0
    for event in events:
        if event["ns"].get("coll") == SITE and "texts" in event["fields"]:
            # A new `lists` version applies to all pages. Each save renews the `texts` version once, so a new `texts`
            # version accounts for only one change.
            unversioned = 0 if "lists" in event["fields"] else max(unversioned - 1, 0)
        elif (change := _parse_event(event)) and change.kind in (NODE, SETTINGS):
            # Ignore changes to drafts, because pages never show drafts. However, count changes to scheduled drafts,
            # because cached pages expire when the next scheduled draft is due.
            unversioned += not change.is_draft_only or "due" in event
    return unversioned > 0


def _parse_event(event: Document) -> DetectedChange | None:
    token = event["_id"]
    operation = event["operationType"]
    if operation in ENDING_OPERATIONS:
        return DetectedChange(token, RESET, "")
    key = event["documentKey"]["_id"]
    collection = event["ns"]["coll"]
    fields = event["fields"]
    if collection == SITE:
        is_relevant = operation != "update" or any(name.startswith("settings") for name in fields)
        return DetectedChange(token, SETTINGS, key) if is_relevant else None
    if collection == DISCUSSIONS:
        return (
            DetectedChange(token, COMMENTS, str(Target.from_id(key)))
            if operation != "update" or "version" in fields
            else None
        )
    return _parse_node_event(token, operation, collection, key, event)


def _parse_node_event(
    token: Document, operation: str, collection: str, key: ObjectId, event: Document
) -> DetectedChange | None:
    nonce = event.get("nonce")
    metadata = event.get("metadata") or {}
    if collection == TRASH:
        if operation != "insert":
            return None
        trashed = {"_id": key, "metadata": metadata}
        return DetectedChange(token, NODE, key, home_of(metadata["type"]), affects_subtree=True, trashed=trashed)
    if operation != "update":
        # If the whole document was replaced, the new version may hide the node from readers.
        hiding_nonces = (nonce,) if operation == "replace" else ()
        return DetectedChange(token, NODE, key, collection, nonce, affects_subtree=True, hiding_nonces=hiding_nonces)
    fields = {name for name in event["fields"] if _is_api_field(collection, name)}
    if not fields:
        return None
    return DetectedChange(
        token,
        NODE,
        key,
        collection,
        nonce,
        affects_subtree=bool(_SUBTREE_FIELDS & fields),
        is_draft_only=all(name.partition(".")[0] == "draft" for name in fields),
        hiding_nonces=(nonce,) if _VISIBILITY_FIELDS & fields else (),
    )


def _is_api_field(collection: str, field: str) -> bool:
    """Return whether the API exposes a field of a document in `collection`.

    For nodes, the API exposes all fields except embedded comments and the id of the last discarded draft. For photos,
    the API exposes the metadata except maintenance fields.
    """
    if collection == NODES:
        return field.partition(".")[0] not in ("comments", "comments_epoch", "discarded")
    return field.startswith("metadata.") and field not in _MAINTENANCE_FIELDS


def _merged(before: DetectedChange, after: DetectedChange) -> DetectedChange:
    return replace(
        after,
        collection=after.collection or before.collection,
        affects_subtree=before.affects_subtree or after.affects_subtree,
        is_draft_only=before.is_draft_only and after.is_draft_only,
        hiding_nonces=before.hiding_nonces + after.hiding_nonces,
        trashed=after.trashed or before.trashed,
    )
