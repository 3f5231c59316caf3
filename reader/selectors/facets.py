"""A section's nodes of one type filtered by facets, for readers: pages by keyset, and how many nodes have each value."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint
from nodes.collections import DATED, NODES, keys_of
from nodes.content import UPCOMING, facets
from nodes.models import tree, version_cache
from nodes.models.dependencies import on_lists
from nodes.selectors import due
from nodes.selectors.listing import Listing, listing, live

# (name of a field, value), each once: "course", "dessert".
Wanted = Sequence[tuple[str, str]]

# Values of all fields that are read, and of one field that are told of: those of the most nodes. Of a list of free words there
# may be any number.
MOST_READ, MOST_TOLD = 1_000, 20
# Values wanted at once whose counts are kept: of what more of them have in common there is any number too.
MOST_KEPT = 2


def having(
    section_id: ObjectId, type: str, wanted: Wanted, moment: datetime, *, size: int, cursor: str | None = None
) -> Listing:
    """Return `size` live nodes of a type in a (live) section that have all of these values, newest first.

    Raises ValueError for a cursor that is none.
    """
    if not _is_possible(type, wanted):
        # The index would be searched for nothing.
        return Listing(())
    base, index = _query(section_id, type, wanted)
    return listing(base, index, moment, size, cursor)


@on_lists
def counts(section_id: ObjectId, type: str, wanted: Wanted, moment: datetime) -> dict[str, dict[str, int]]:
    """Return, by the name of a field and by value, how many live nodes of a section have it besides all that is wanted.

    In the order of the type's `facets`; of each MOST_TOLD values, by how many have them. Kept in process for up to MOST_KEPT
    wanted values.
    """

    # A page without the date by which a section lists is not in its list.
    dated = DATED if tree.current().sections[section_id].content_type.lists == UPCOMING else {}

    def read() -> tuple[dict[str, dict[str, int]], datetime | None]:
        base, index = _query(section_id, type, wanted)
        pipeline: list[dict[str, Any]] = [
            {"$match": {**base, **dated, **live(moment)}},
            {"$project": {"derived.facets": 1, "_id": 0}},
            {"$unwind": "$derived.facets"},
            {"$group": {"_id": "$derived.facets", "count": {"$sum": 1}}},
            {"$sort": {"count": -1, "_id": 1}},
            {"$limit": MOST_READ},
        ]
        found: dict[str, dict[str, int]] = {field.name: {} for field in facets.fields(type)}
        for group in aggregate_with_hint(database()[NODES], pipeline, keys_of(index)):
            name, value = facets.parse_facet(group["_id"])
            if name in found and len(found[name]) < MOST_TOLD:
                found[name][value] = group["count"]
        # A stranger can ask for any number of values that nothing has.
        return found, due.next_due(moment) if any(found.values()) or not wanted else moment

    if len(wanted) > MOST_KEPT:
        return read()[0]
    return version_cache.get_or_set(("facets", section_id, type, tuple(sorted(wanted))), moment, read)


def _query(section_id: ObjectId, type: str, wanted: Wanted) -> tuple[dict[str, Any], str]:
    """Return the filter, but for what is live, and the name of the index that serves it."""
    if not wanted:
        return {"metadata.parent_id": section_id, "metadata.type": type}, "by_section"
    keys = sorted({facets.format_facet(type, name, value) for name, value in wanted})
    having_all = keys[0] if len(keys) == 1 else {"$all": keys}
    return {"derived.facets": having_all, "metadata.parent_id": section_id}, "by_facet"


def _is_possible(type: str, wanted: Wanted) -> bool:
    """Return whether a node can have all of these: no more than are stored, and of a field that is no list one."""
    values = Counter(name for name, _value in set(wanted))
    return len(wanted) <= facets.MOST and not any(
        values[field.name] > 1 for field in facets.fields(type) if not facets.is_list(field)
    )
