"""Signals that are sent after a page, post, section or photo was written.

Each signal is sent once, after the write was acknowledged, in the process that made it. If this process is killed between
the write and the signal, the signal is not sent, so use the API's list of changes where every change counts. Importing an
archive sends no signals. An exception in a receiver is logged, and doesn't affect the write.

Every signal has the arguments `node_id` (`ObjectId`) and `type` (`str`, as in `metadata.type`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from bson import ObjectId
from django.dispatch import Signal

from nodes.types import NEVER

node_saved = Signal()
"""Sent after the live version was created or changed, but not when a draft is saved.

Further arguments: `created` (bool), `changed` (frozenset of paths under `metadata`, such as "title" and "detail.text"),
`nonce` (`ObjectId`, the new version).
"""

node_published = Signal()
"""Sent after `node_saved` if the node was not published before, or its publication had expired.

Further argument: `published` (datetime, from which on readers see the node; it can be in the future).
"""

node_unpublished = Signal()
"""Sent after `node_saved` if the node was published before, and no longer is."""

node_moved = Signal()
"""Sent after `node_saved` if the node has another section or slug.

Further arguments: `old_place` and `new_place` (each a tuple of the section's id, or None for the top level, and the slug).
"""

node_trashed = Signal()
"""Sent after a node was moved to the trash."""

node_restored = Signal()
"""Sent after a node was restored from the trash."""

node_deleted = Signal()
"""Sent while a node is deleted permanently. Unlike with other signals, an exception in a receiver stops the deletion.

Ids of photos and of other nodes are unique only among themselves.
"""

photo_added = Signal()
"""Sent after the upload of a new photo was completed."""


def send_saved(
    node_id: ObjectId, before: Mapping[str, Any] | None, after: Mapping[str, Any], changed: Iterable[str]
) -> None:
    """Send `node_saved`, and the signals for what the write has changed.

    Args:
        node_id: The node.
        before: Its metadata before the write. None for a new node.
        after: Its metadata after the write.
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
    """Send a signal without further arguments."""
    _send(signal, node_id=node_id, type=type)


def _send(signal: Signal, **arguments: Any) -> None:
    signal.send_robust(sender=None, **arguments)


def _is_published(metadata: Mapping[str, Any], moment: Any) -> bool:
    return metadata["published"] is not None and (metadata.get("expires") or NEVER) > moment


def _place(metadata: Mapping[str, Any]) -> tuple[ObjectId | None, str]:
    return metadata["parent_id"], metadata["slug"]
