"""What waits for an editor: counted along indexes up to a bound, with the first few of what a start page names."""

from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from mongo.connection import database
from nodes.collections import NODES, REVISIONS
from nodes.models import Node
from nodes.selectors.listing import LISTED
from nodes.selectors.lists import ANY, COUNTED, Filters

# Of what is to come and what was changed: as many as are named.
NAMED = 6


@dataclass(frozen=True)
class Changed:
    """A recently changed node, and who changed it: "" where that is not known any more."""

    node: Node
    by: str


def count(filters: Filters, moment: datetime) -> int:
    """Return how many nodes there are, COUNTED + 1 for more; not kept, so that one's own save is seen at once."""
    return int(database()[NODES].count_documents(filters.query(moment), limit=COUNTED + 1))


def anything() -> bool:
    """Return whether there is any page, post or section at all."""
    return bool(database()[NODES].estimated_document_count())


def soonest(filters: Filters, moment: datetime) -> list[Node]:
    """Return the first NAMED nodes in the order of the time that makes their state, the earliest first."""
    found = database()[NODES].find(filters.query(moment), LISTED)
    return [Node.from_document(d) for d in found.sort([(filters.order, 1), ("_id", 1)]).limit(NAMED)]


def changed(author: ObjectId | str | None = ANY) -> list[Changed]:
    """Return the NAMED nodes (of an author) that were changed last, the latest first."""
    query = {} if author == ANY else {"metadata.author._id": author}
    found = database()[NODES].find(query, LISTED)
    documents = list(found.sort([("metadata.updated", -1), ("_id", -1)]).limit(NAMED))
    nonces = [document["metadata"]["nonce"] for document in documents]
    saves = database()[REVISIONS].find({"_id": {"$in": nonces}}, {"saved_by.name": 1})
    savers = {save["_id"]: save["saved_by"]["name"] for save in saves}
    return [Changed(Node.from_document(d), savers.get(d["metadata"]["nonce"], "")) for d in documents]
