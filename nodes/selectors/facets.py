"""Lists of one type filtered by its facets, for readers: pages by keyset, and how many nodes have each value."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mongo.connection import database
from nodes.collections import NODES
from nodes.content import facets
from nodes.models import version_cache
from nodes.models.tree import Tree
from nodes.selectors import due
from nodes.selectors.listing import Listing, listing, live

# (name of a field, value), each once: "course", "dessert".
Wanted = Sequence[tuple[str, str]]


def having(
    sections: Tree, type: str, wanted: Wanted, moment: datetime, *, size: int, cursor: str | None = None
) -> Listing:
    """Return `size` live nodes of a type that have all of these values, newest first. Raises ValueError for a cursor that is
    none."""
    base, index = _query(sections, type, wanted, moment)
    return listing(base, index, moment, size, cursor)


def counts(sections: Tree, type: str, wanted: Wanted, moment: datetime) -> dict[str, dict[str, int]]:
    """Return, by the name of a field and by value, how many live nodes have it besides all that is wanted. Kept in process.

    In the order of the type's `facets`; the values by how many have them.
    """

    def read() -> tuple[dict[str, dict[str, int]], datetime | None]:
        base, index = _query(sections, type, wanted, moment)
        first = facets.prefix(type)
        pipeline: list[dict[str, Any]] = [
            {"$match": {**base, **live(moment)}},
            {"$project": {"derived.facets": 1, "_id": 0}},
            {"$unwind": "$derived.facets"},
            {"$match": {"derived.facets": {"$gte": first, "$lt": first + "\uffff"}}},
            {"$group": {"_id": "$derived.facets", "count": {"$sum": 1}}},
            {"$sort": {"count": -1, "_id": 1}},
        ]
        found: dict[str, dict[str, int]] = {field.name: {} for field in facets.fields(type)}
        for group in database()[NODES].aggregate(pipeline, hint=index):
            name, value = facets.read(group["_id"])
            if name in found:
                found[name][value] = group["count"]
        return found, due.next_due(moment)

    return version_cache.under_version(("facets", type, tuple(sorted(wanted))), moment, read)


def _query(sections: Tree, type: str, wanted: Wanted, moment: datetime) -> tuple[dict[str, Any], str]:
    """Return the filter, but for what is live by itself, and the name of the index that serves it."""
    somewhere = {"metadata.parent_id": {"$in": sections.live_ids(moment)}}
    if not wanted:
        return {"metadata.type": type, **somewhere}, "by_type"
    keys = sorted({facets.key(type, name, value) for name, value in wanted})
    return {"derived.facets": keys[0] if len(keys) == 1 else {"$all": keys}, **somewhere}, "by_facet"
