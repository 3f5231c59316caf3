"""Queries for working copies, which contain unsaved input that only the editor who typed it can see."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.collections import WORKING_COPIES, WORKING_COPY_DAYS

# Maximum number of working copies that a form offers.
OFFERED = 12
# Maximum number of working copies on the Dashboard.
LISTED = 5
# The number of minutes after an editor's last change during which other editors see that this editor is editing. Forms
# that are closed report it, so this limit applies to crashed browsers and lost connections.
PRESENT_MINUTES = 30
# Maximum number of working copies that are read to find the other editors of a node.
MOST_PRESENT = 20


@dataclass(frozen=True)
class Presence:
    """An editor with unsaved changes to a node. `heading` is the heading above the last change, or ""."""

    name: str
    updated: datetime
    heading: str


@dataclass(frozen=True)
class WorkingCopy:
    """Unsaved input in a form, as an ordered list of names and values. `node_id` is None for a new node."""

    id: ObjectId
    seq: int
    updated: datetime
    type: str
    node_id: ObjectId | None
    fields: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """The title that the editor typed, or "" if there is none."""
        return dict(self.fields).get("title", "")

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        pairs = tuple((name, value) for name, value in document["fields"])
        copy_id = document["_id"]["copy"]
        return cls(copy_id, document["seq"], document["updated"], document["type"], document["node_id"], pairs)


def newest(user_id: ObjectId, type: str, node_id: ObjectId | None) -> list[WorkingCopy]:
    """Return a user's working copies of a node, newest first.

    If `node_id` is None, return working copies of new nodes of `type`.
    """
    return _newest(form_filter(user_id, type, node_id), OFFERED)


def unsaved(user_id: ObjectId) -> list[WorkingCopy]:
    """Return a user's newest working copies, up to LISTED."""
    return _newest(user_filter(user_id), LISTED)


def _newest(query: Mapping[str, Any], most: int) -> list[WorkingCopy]:
    documents = database()[WORKING_COPIES].find(query).sort("updated", -1).limit(most)
    return [WorkingCopy.of(document) for document in documents]


def get(user_id: ObjectId, copy_id: ObjectId) -> WorkingCopy | None:
    """Return a user's working copy. If it doesn't exist or its input has been saved, return None."""
    key = {"user": user_id, "copy": copy_id}
    document = database()[WORKING_COPIES].find_one({"_id": key, "type": {"$exists": True}, **_in_time()})
    return WorkingCopy.of(document) if document else None


def others(node_id: ObjectId, user_id: ObjectId) -> list[Presence]:
    """Return the other editors who have unsaved changes to a node. The editor with the latest change comes first."""
    found = database()[WORKING_COPIES].find(
        presence_filter(node_id, user_id), {"editor": 1, "heading": 1, "updated": 1}
    )
    newest: dict[ObjectId, Presence] = {}
    for copy in found.sort("updated", -1).limit(MOST_PRESENT):
        newest.setdefault(copy["_id"]["user"], Presence(copy["editor"], copy["updated"], copy["heading"]))
    return list(newest.values())


def presence_filter(node_id: ObjectId, user_id: ObjectId) -> dict[str, Any]:
    """Return the filter for other users' working copies of a node whose forms are open."""
    since = now() - timedelta(minutes=PRESENT_MINUTES)
    return {"node_id": node_id, "updated": {"$gt": since}, "editor": {"$gt": ""}, "_id.user": {"$ne": user_id}}


def form_filter(user_id: ObjectId, type: str, node_id: ObjectId | None) -> dict[str, Any]:
    """Return the filter for a user's working copies of a node, or of new nodes of `type` if `node_id` is None."""
    return {"_id.user": user_id, "type": type, "node_id": node_id, **_in_time()}


def user_filter(user_id: ObjectId) -> dict[str, Any]:
    """Return the filter for all working copies of a user."""
    return {"_id.user": user_id, "type": {"$exists": True}, **_in_time()}


def _in_time() -> dict[str, Any]:
    # The server deletes expired working copies up to two minutes late, so the filter excludes them.
    return {"updated": {"$gt": now() - timedelta(days=WORKING_COPY_DAYS)}}
