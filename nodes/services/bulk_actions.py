"""The same change to many nodes. Each node has its own compare-and-set with the nonce from the list, so no edit is lost.

There is no transaction. Each node is changed, or listed among the refused ones.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from marginalia.mongo.connection import database
from nodes.collections import NODES, node_filter
from nodes.errors import ChangedSince, DraftStays, NodeError, NodeGone
from nodes.services import editing, scheduled, trash
from nodes.services.write import STORED, compare_and_set
from nodes.types import NO_TAGS, Actor, Refused, SelectedNode, Summary, TagChange


def change(
    actor: Actor,
    chosen: Iterable[SelectedNode],
    fields: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
    *,
    collection: str = NODES,
    only_unpublished: bool = False,
) -> Summary:
    """Set `fields` (by path) and tags of each node. Concurrent changes merge, or the node is refused with a conflict."""
    return _each(
        chosen,
        lambda node: editing.save(
            actor, node.id, node.nonce, fields, tags, collection=collection, only_unpublished=only_unpublished
        ),
    )


def publish(actor: Actor, chosen: Iterable[SelectedNode], moment: datetime, *, collection: str = NODES) -> Summary:
    """Publish each node at `moment`, as the list showed it. A node that was changed since is refused with ChangedSince.

    Public nodes keep their date, and expired nodes no longer expire. A public node with a draft is refused with DraftStays,
    because the list didn't show the draft.
    """

    def work(node: SelectedNode) -> None:
        stored = database()[collection].find_one({"_id": node.id, **node_filter(collection)}, STORED)
        if stored is None:
            raise NodeGone(node.id)
        fields = editing.publication_dates(stored["metadata"], moment)
        if all(stored["metadata"][name] == date for name, date in fields.items()):
            if "draft" in stored and not scheduled.publish_if_due(stored):
                raise DraftStays(node.id)
            return
        if stored["metadata"]["nonce"] != node.nonce or compare_and_set(actor, stored, fields) is None:
            raise ChangedSince(node.id)

    return _each(chosen, work)


def tag(
    chosen: Iterable[SelectedNode], tags: TagChange, *, collection: str = NODES, only_unpublished: bool = False
) -> Summary:
    """Add and remove tags of each node. This needs no nonce, because tags cannot conflict."""
    return _each(chosen, lambda node: editing.change_tags(node.id, tags, collection, only_unpublished=only_unpublished))


def move_to_trash(actor: Actor, chosen: Iterable[SelectedNode], *, collection: str = NODES) -> Summary:
    """Move each node to trash, unless it was changed since."""
    return _each(chosen, lambda node: trash.trash(actor, node.id, node.nonce, collection))


def _each(chosen: Iterable[SelectedNode], work: Callable[[SelectedNode], Any]) -> Summary:
    done = 0
    refused = []
    for node in chosen:
        try:
            work(node)
        except NodeError as error:
            refused.append(Refused(node, str(error)))
        else:
            done += 1
    return Summary(done, tuple(refused))
