"""Selectors of working copies: unsaved input that only its editor reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.collections import WORKING_COPIES, WORKING_COPY_DAYS

# Maximum working copies offered per page.
OFFERED = 5


@dataclass(frozen=True)
class WorkingCopy:
    """What a form would have sent, names and values in order; `node_id` is None for a node that is not made yet."""

    id: ObjectId
    seq: int
    updated: datetime
    type: str
    node_id: ObjectId | None
    fields: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """The title as it was typed, "" for none."""
        return dict(self.fields).get("title", "")

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        pairs = tuple((name, value) for name, value in document["fields"])
        copy_id = document["_id"]["copy"]
        return cls(copy_id, document["seq"], document["updated"], document["type"], document["node_id"], pairs)


def newest(user_id: ObjectId, type: str, node_id: ObjectId | None) -> list[WorkingCopy]:
    """Return what a user typed and did not save into forms over a node, newest first; None: over new nodes of the type."""
    found = database()[WORKING_COPIES].find(form_filter(user_id, type, node_id)).sort("updated", -1).limit(OFFERED)
    return [WorkingCopy.of(document) for document in found]


def unsaved(user_id: ObjectId) -> list[WorkingCopy]:
    """Return the OFFERED newest that a user typed and did not save, into whatever form."""
    found = database()[WORKING_COPIES].find(user_filter(user_id)).sort("updated", -1).limit(OFFERED)
    return [WorkingCopy.of(document) for document in found]


def get(user_id: ObjectId, copy_id: ObjectId) -> WorkingCopy | None:
    """Return one of a user's own; None if it is not there, or was saved."""
    key = {"user": user_id, "copy": copy_id}
    found = database()[WORKING_COPIES].find_one({"_id": key, "type": {"$exists": True}, **_in_time()})
    return WorkingCopy.of(found) if found else None


def form_filter(user_id: ObjectId, type: str, node_id: ObjectId | None) -> dict[str, Any]:
    """Return the filter for a user's working copies of forms of a node, or of new nodes of `type`."""
    return {"_id.user": user_id, "type": type, "node_id": node_id, **_in_time()}


def user_filter(user_id: ObjectId) -> dict[str, Any]:
    """Return the filter for all working copies of a user."""
    return {"_id.user": user_id, "type": {"$exists": True}, **_in_time()}


def _in_time() -> dict[str, Any]:
    # The server removes what is too old within a minute or two.
    return {"updated": {"$gt": now() - timedelta(days=WORKING_COPY_DAYS)}}
