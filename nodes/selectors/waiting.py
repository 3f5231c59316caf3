"""What waits for an editor: counted along indexes up to a bound, with the first few of what a start page names."""

from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from mongo.connection import database
from nodes.collections import NODES, REVISIONS
from nodes.models import Node
from nodes.selectors.listing import LISTED
from nodes.selectors.lists import ANY, COUNTED, DUE, SCHEDULED, Filters, times_of

# Of what is to come and what was changed: as many as are named.
NAMED = 6


@dataclass(frozen=True)
class Changed:
    """A recently changed node, and who changed it: "" where that is not known any more."""

    node: Node
    by: str


@dataclass(frozen=True)
class Coming:
    """A page that appears, or changes of which appear, at a time ahead."""

    node: Node
    at: datetime
    is_change: bool


def count(filters: Filters, moment: datetime) -> int:
    """Return how many nodes there are, COUNTED + 1 for more; not kept, so that one's own save is seen at once."""
    return int(database()[NODES].count_documents(filters.query(moment), limit=COUNTED + 1))


def anything() -> bool:
    """Return whether there is any page, post or section at all."""
    return bool(database()[NODES].estimated_document_count())


def coming(author: ObjectId | str | None, moment: datetime) -> list[Coming]:
    """Return the NAMED pages (of an author) that are to appear, or changes of which are, the earliest first."""
    found = []
    for state in (SCHEDULED, DUE):
        filters = Filters(state=state, author=author)
        documents = database()[NODES].find(filters.query(moment), LISTED | {"draft.due": 1})
        for document in documents.sort([(path, 1) for path in (*times_of(filters.order), "_id")]).limit(NAMED):
            at = document["metadata"]["published"] if state == SCHEDULED else document["draft"]["due"]
            found.append(Coming(Node.from_document(document), at, is_change=state == DUE))
    return sorted(found, key=lambda one: one.at)[:NAMED]


def changed(author: ObjectId | str | None = ANY) -> list[Changed]:
    """Return the NAMED nodes (of an author) that were changed last, the latest first."""
    query = {} if author == ANY else {"metadata.author._id": author}
    found = database()[NODES].find(query, LISTED)
    documents = list(found.sort([("metadata.updated", -1), ("_id", -1)]).limit(NAMED))
    nonces = [document["metadata"]["nonce"] for document in documents]
    saves = database()[REVISIONS].find({"_id": {"$in": nonces}}, {"saved_by.name": 1})
    savers = {save["_id"]: save["saved_by"]["name"] for save in saves}
    return [Changed(Node.from_document(d), savers.get(d["metadata"]["nonce"], "")) for d in documents]
