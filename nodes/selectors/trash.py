"""Reading the trash."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from mongo.connection import database
from nodes.collections import TRASH
from nodes.models import Node
from nodes.selectors import editing

# More than an editor looks through; what is older is found once the newer is gone.
SHOWN = 200


@dataclass(frozen=True)
class Trashed:
    """A node in the trash."""

    node: Node
    trashed_at: datetime
    trashed_by: str


def load(node_id: ObjectId) -> editing.Editable | None:
    """Return a node from the trash; None if it is not there."""
    document = database()[TRASH].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
    return editing.editable(document) if document else None


def newest(among: Mapping[str, Any]) -> list[Trashed]:
    """Return what was thrown away last of the nodes that match the filter `among`, at most SHOWN, without their texts."""
    fields = {"metadata.detail": 0, "metadata.summary": 0, "draft": 0, "comments": 0}
    found = database()[TRASH].find(among, fields).sort([("trashed_at", -1), ("_id", -1)]).limit(SHOWN)
    return [_trashed(document) for document in found]


def _trashed(document: Mapping[str, Any]) -> Trashed:
    return Trashed(Node.from_document(document), document["trashed_at"], document["trashed_by"]["name"])
