"""What refers to what: where links lead, what uses a node, a photo or an insert, and which links lead nowhere.

`derived.refs` of a node names what its text and fields use, `draft.refs` what its draft does: ids of nodes and photos, and
the names of inserts. The services write both; indexes answer all that is asked here, without a look into any text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from mongo.connection import database
from nodes.collections import NODES
from nodes.models import Node
from nodes.models.tree import Tree
from nodes.selectors.listing import LISTED, live

# Different nodes that one text links to, and different photos; those beyond are words without address.
MOST_NAMED = 200
# Uses that are listed, and counted.
LISTED_USES = 100
COUNTED_USES = 1_000
# Pages looked through by one query for links that lead nowhere.
LOOKED_AT_ONCE = 200
LATEST_FIRST = [("metadata.updated", -1), ("_id", -1)]

Ref = ObjectId | str


def addresses(sections: Tree, names: Sequence[str], moment: datetime) -> dict[str, str]:
    """Return the present paths of the nodes that readers may see, by their ids as texts spell them. One query."""
    ids = {name: ObjectId(name) for name in names if ObjectId.is_valid(name)}
    if not ids:
        return {}
    place = {"metadata.parent_id": 1, "metadata.slug": 1}
    found = database()[NODES].find({"_id": {"$in": list(set(ids.values()))}, **live(moment)}, place)
    paths = {
        document["_id"]: sections.url(document["metadata"]["parent_id"], document["metadata"]["slug"])
        for document in found
        if sections.is_live(document["metadata"]["parent_id"], moment)
    }
    return {name: paths[node_id] for name, node_id in ids.items() if node_id in paths}


@dataclass(frozen=True)
class Use:
    """A page or post that uses something: in what is stored live (public or not), in its draft, or in both."""

    node: Node
    live: bool
    drafted: bool


def using(refs: Sequence[Ref]) -> dict[str, Any]:
    """Return the filter of the pages and posts that use any of these: along by_ref and by_draft_ref."""
    wanted = refs[0] if len(refs) == 1 else {"$in": list(refs)}
    return {"$or": [{"derived.refs": wanted}, {"draft.refs": wanted}]}


def used_on(refs: Sequence[Ref]) -> list[Use]:
    """Return the pages and posts that use any of these, live or not, at most LISTED_USES, the last changed first.

    Where more use one of several things, it is any of these. Uses among what is asked for are left out, of itself too.
    """
    if not refs:
        return []
    either = {"live": _any_of("$derived.refs", refs), "drafted": _any_of("$draft.refs", refs)}
    found = database()[NODES].find(_by_others(refs), LISTED | either).limit(LISTED_USES)
    if len(refs) == 1:
        # Two scans in this order, merged. Of several things each would need two.
        found = found.sort(LATEST_FIRST)
    uses = [Use(Node.from_document(document), document["live"], document["drafted"]) for document in found]
    return sorted(uses, key=lambda use: (use.node.metadata.updated, use.node.pk), reverse=True)


def count_uses(refs: Sequence[Ref]) -> int:
    """Return how many pages and posts `used_on` means, COUNTED_USES + 1 for more."""
    return int(database()[NODES].count_documents(_by_others(refs), limit=COUNTED_USES + 1)) if refs else 0


def _by_others(refs: Sequence[Ref]) -> dict[str, Any]:
    return {**using(refs), "_id": {"$nin": [ref for ref in refs if isinstance(ref, ObjectId)]}}


def _any_of(path: str, refs: Sequence[Ref]) -> dict[str, Any]:
    """Return the expression that says whether the array at `path`, if there is one, holds any of these."""
    return {"$ne": [{"$setIntersection": [{"$ifNull": [path, []]}, {"$literal": list(refs)}]}, []]}
