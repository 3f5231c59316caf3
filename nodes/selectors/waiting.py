"""Queries for the Dashboard: nodes that need an editor's attention, upcoming nodes and recent changes.

Counts are limited, and only the first few nodes are listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_documents
from nodes.collections import NODES, REVISIONS
from nodes.models import Node
from nodes.selectors.listing import LISTED, readable_nodes
from nodes.selectors.lists import ANY, COUNTED, DUE, SCHEDULED, Filters, sort_paths

# Maximum number of upcoming nodes and of recently changed nodes to list.
NAMED = 6


@dataclass(frozen=True)
class Changed:
    """A recently changed node, and the name of the user who changed it, or "" if the name is no longer known."""

    node: Node
    by: str


@dataclass(frozen=True)
class Upcoming:
    """A page that will be published at the time `at`, or whose scheduled changes will go live then."""

    node: Node
    at: datetime
    is_change: bool


def count(filters: Filters, moment: datetime) -> int:
    """Return the number of nodes, or COUNTED + 1 if there are more than COUNTED.

    The result isn't cached, so that editors see the effect of their own saves immediately.
    """
    return int(database()[NODES].count_documents(filters.query(moment), limit=COUNTED + 1))


def has_nodes() -> bool:
    """Return whether the site has any page, post or section."""
    return bool(database()[NODES].estimated_document_count())


def coming(author: ObjectId | str | None, moment: datetime) -> list[Upcoming]:
    """Return the next NAMED pages that will be published, or whose scheduled changes will go live, earliest first.

    `author` limits the result to one author's pages.
    """
    upcoming: list[Upcoming] = []
    for state in (SCHEDULED, DUE):
        filters = Filters(state=state, author=author)
        documents = database()[NODES].find(filters.query(moment), LISTED | {"draft.due": 1})
        earliest = documents.sort([(path, 1) for path in (*sort_paths(filters.order), "_id")]).limit(NAMED)
        upcoming += read_documents(NODES, earliest, _scheduled if state == SCHEDULED else _due)
    return sorted(upcoming, key=lambda node: node.at)[:NAMED]


def _scheduled(document: Mapping[str, Any]) -> Upcoming:
    node = Node.from_document(document)
    return Upcoming(node, node.metadata.published, is_change=False)


def _due(document: Mapping[str, Any]) -> Upcoming:
    return Upcoming(Node.from_document(document), document["draft"]["due"], is_change=True)


def changed(author: ObjectId | str | None = ANY) -> list[Changed]:
    """Return the NAMED most recently changed nodes, latest first. `author` limits the result to one author's nodes."""
    query = {} if author == ANY else {"metadata.author._id": author}
    latest = database()[NODES].find(query, LISTED).sort([("metadata.updated", -1), ("_id", -1)]).limit(NAMED)
    nodes = list(readable_nodes(NODES, latest))
    nonces = [node.metadata.nonce for node in nodes]
    saves = database()[REVISIONS].find({"_id": {"$in": nonces}}, {"saved_by.name": 1})
    savers = dict(read_documents(REVISIONS, saves, lambda save: (save["_id"], str(save["saved_by"]["name"]))))
    return [Changed(node, savers.get(node.metadata.nonce, "")) for node in nodes]
