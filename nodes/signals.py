"""Signals that are sent after a page, post, section or photo has been written.

Each signal is sent once, after the write has been acknowledged, by the process that wrote. If the process is killed
between the write and the signal, the signal isn't sent. If you must not miss any change, use the API's list of changes.
Importing an archive sends no signals. An exception in a receiver is logged, and doesn't affect the write.

All signals have the arguments `node_id` (`ObjectId`) and `type` (`str`, the same as `metadata.type`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from bson import ObjectId
from django.dispatch import Signal

from nodes.types import NEVER

node_saved = Signal()
"""Sent after the live version was created or changed, but not after a draft was saved.

Additional arguments: `created` (bool), `changed` (frozenset of paths under `metadata`, such as "title" and
"detail.text"), and `nonce` (`ObjectId`, the new version).
"""

node_published = Signal()
"""Sent after `node_saved` if the node wasn't published before the save, or its publication had expired.

Additional argument: `published` (datetime, the time when readers can first see the node; it can be in the future).
"""

node_unpublished = Signal()
"""Sent after `node_saved` if the save unpublished the node."""

node_moved = Signal()
"""Sent after `node_saved` if the save changed the node's section or slug.

Additional arguments: `old_place` and `new_place`. Each is a tuple of the section's id, or None for the top level, and
the slug.
"""

node_trashed = Signal()
"""Sent after a node was moved to the trash."""

node_restored = Signal()
"""Sent after a node was restored from the trash."""

node_deleted = Signal()
"""Sent while a node is being deleted permanently. Unlike with other signals, an exception stops the deletion.

A photo and another node can have the same id, so receivers must also compare `type`.
"""

photo_added = Signal()
"""Sent after a new photo was uploaded completely."""


def send_saved(
    node_id: ObjectId, before: Mapping[str, Any] | None, after: Mapping[str, Any], changed: Iterable[str]
) -> None:
    """Send `node_saved`, and the signals for the other effects of the write.

    Args:
        node_id: The node.
        before: The node's metadata before the write, or None for a new node.
        after: The node's metadata after the write.
        changed: The paths of the changed fields.
    """
    node = {"node_id": node_id, "type": after["type"]}
    _send(node_saved, **node, created=before is None, changed=frozenset(changed), nonce=after["nonce"])
    was_published = before is not None and _is_published(before, after["updated"])
    if _is_published(after, after["updated"]) and not was_published:
        _send(node_published, **node, published=after["published"])
    elif was_published and not _is_published(after, after["updated"]):
        _send(node_unpublished, **node)
    if before is not None and _place(before) != _place(after):
        _send(node_moved, **node, old_place=_place(before), new_place=_place(after))


def send_event(signal: Signal, node_id: ObjectId, type: str) -> None:
    """Send a signal whose only arguments are the node's id and type."""
    _send(signal, node_id=node_id, type=type)


def _send(signal: Signal, **arguments: Any) -> None:
    signal.send_robust(sender=None, **arguments)


def _is_published(metadata: Mapping[str, Any], moment: Any) -> bool:
    return metadata["published"] is not None and (metadata.get("expires") or NEVER) > moment


def _place(metadata: Mapping[str, Any]) -> tuple[ObjectId | None, str]:
    return metadata["parent_id"], metadata["slug"]
