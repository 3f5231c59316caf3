"""The same change to many nodes: each by its own compare-and-set under the nonce that the list showed, so that an open
editor or another list never loses anything. Without transaction: each node is done or is named among those that were not.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import NODES, node_filter
from nodes.errors import ChangedSince, DraftStays, NodeError, NodeGone
from nodes.services import editing, scheduled, trash
from nodes.services.write import STORED, compare_and_set
from nodes.types import NO_TAGS, Actor, TagChange


@dataclass(frozen=True)
class SelectedNode:
    """A node as a list showed it."""

    id: ObjectId
    nonce: ObjectId
    title: str


@dataclass(frozen=True)
class Refused:
    """A node that was left as it is, and why."""

    chosen: SelectedNode
    reason: str


@dataclass(frozen=True)
class Summary:
    """How many nodes were changed, and which were not."""

    done: int
    refused: tuple[Refused, ...]


def change(
    actor: Actor,
    chosen: Iterable[SelectedNode],
    fields: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
    *,
    collection: str = NODES,
    only_unpublished: bool = False,
) -> Summary:
    """Set `fields` (by path) and tags of each node; what others changed since merges, or is named as a conflict."""
    return _each(
        chosen,
        lambda one: editing.save(
            actor, one.id, one.nonce, fields, tags, collection=collection, only_unpublished=only_unpublished
        ),
    )


def publish(actor: Actor, chosen: Iterable[SelectedNode], moment: datetime, *, collection: str = NODES) -> Summary:
    """Publish each node at `moment`, as the list showed it: one that was changed since is refused, as ChangedSince.

    What is public already keeps its date, what had expired has no end any more. A draft of what is public is refused
    (DraftStays), as the list has not shown it.
    """

    def work(one: SelectedNode) -> None:
        stored = database()[collection].find_one({"_id": one.id, **node_filter(collection)}, STORED)
        if stored is None:
            raise NodeGone(one.id)
        fields = editing.publication_dates(stored["metadata"], moment)
        if all(stored["metadata"][name] == date for name, date in fields.items()):
            if "draft" in stored and not scheduled.publish_if_due(stored):
                raise DraftStays(one.id)
            return
        if stored["metadata"]["nonce"] != one.nonce or compare_and_set(actor, stored, fields) is None:
            raise ChangedSince(one.id)

    return _each(chosen, work)


def tag(
    chosen: Iterable[SelectedNode], tags: TagChange, *, collection: str = NODES, only_unpublished: bool = False
) -> Summary:
    """Add and remove tags of each node: without nonce, as tags cannot conflict."""
    return _each(chosen, lambda one: editing.change_tags(one.id, tags, collection, only_unpublished=only_unpublished))


def move_to_trash(actor: Actor, chosen: Iterable[SelectedNode], *, collection: str = NODES) -> Summary:
    """Move each node to the trash, unless it was changed since."""
    return _each(chosen, lambda one: trash.trash(actor, one.id, one.nonce, collection))


def _each(chosen: Iterable[SelectedNode], work: Callable[[SelectedNode], Any]) -> Summary:
    done = 0
    refused = []
    for one in chosen:
        try:
            work(one)
        except NodeError as error:
            refused.append(Refused(one, str(error)))
        else:
            done += 1
    return Summary(done, tuple(refused))
