"""Queries for nodes in the trash."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import Malformed, read_document, read_documents
from nodes.collections import TRASH
from nodes.models import Node
from nodes.selectors import editable_nodes

# Number of nodes per page of the trash.
SHOWN = 200


@dataclass(frozen=True)
class Trashed:
    """A node in the trash."""

    node: Node
    trashed_at: datetime
    trashed_by: str


def load(node_id: ObjectId) -> editable_nodes.Editable | None:
    """Return a node from the trash, or None if the node isn't in the trash."""
    document = database()[TRASH].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
    return read_document(TRASH, document, editable_nodes.from_document)


def newest(among: Mapping[str, Any], after: ObjectId | None = None) -> tuple[list[Trashed], bool]:
    """Return up to SHOWN nodes in the trash that match the filter `among`, most recently trashed first.

    Also return whether there are more. The text of the nodes isn't read. If `after` is given, return only nodes that
    were moved to trash before that node.
    """
    last = database()[TRASH].find_one({"_id": after}, {"trashed_at": 1}) if after else None
    if last:
        same = {"trashed_at": last["trashed_at"], "_id": {"$lt": last["_id"]}}
        among = {"$and": [among, {"$or": [{"trashed_at": {"$lt": last["trashed_at"]}}, same]}]}
    fields = {"metadata.detail": 0, "metadata.summary": 0, "draft": 0, "comments": 0}
    cursor = database()[TRASH].find(among, fields).sort([("trashed_at", -1), ("_id", -1)])
    documents = list(cursor.limit(SHOWN + 1))
    return list(read_documents(TRASH, documents[:SHOWN], _trashed)), len(documents) > SHOWN


def _trashed(document: Mapping[str, Any]) -> Trashed:
    at = document["trashed_at"]
    by = document["trashed_by"]["name"]
    if not (isinstance(at, datetime) and isinstance(by, str)):
        raise Malformed("trashed_at or trashed_by has another type")
    return Trashed(Node.from_document(document), at, by)
