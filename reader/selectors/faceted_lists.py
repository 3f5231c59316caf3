"""List a section's nodes of one type, filtered by facets, with keyset pagination. Count the values of facets.

The nodes of a type include those of the types that extend it.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint
from nodes.collections import DATED, NODES, keys_of
from nodes.content import UPCOMING, facets, registry
from nodes.models import tree, version_cache
from nodes.models.dependencies import on_lists
from nodes.selectors import due
from nodes.selectors.listing import Listing, listing, live

# Unique (field name, value) pairs, such as ("course", "dessert").
Values = Sequence[tuple[str, str]]

# Maximum number of values that are read for all fields together, and maximum number of values that are returned for one
# field. The most frequent values are chosen, because free text can have any number of values.
MAX_VALUES_READ = 1_000
MAX_VALUES_SHOWN = 20
# Counts are cached only if at most this many values are chosen, because more values have too many combinations.
MAX_CHOSEN_CACHED = 2


def filtered(
    section_id: ObjectId, type: str, wanted: Values, moment: datetime, *, size: int, cursor: str | None = None
) -> Listing:
    """Return the live nodes of a type that have all `wanted` values, from a live section, newest first.

    Args:
        section_id: The id of the section.
        type: The content type.
        wanted: The facet values.
        moment: The time at which nodes must be live.
        size: The maximum number of nodes.
        cursor: The cursor of a later page, or None for the first page.

    Raises:
        ValueError: The cursor is invalid.
    """
    if not _is_possible(type, wanted):
        # Skip the query, because it can't find anything.
        return Listing(())
    base, index = _query(section_id, type, wanted)
    return listing(base, index, moment, size, cursor)


@on_lists
def count_values(section_id: ObjectId, type: str, wanted: Values, moment: datetime) -> dict[str, dict[str, int]]:
    """Count, for each facet value, a section's live nodes that have this value and all `wanted` values.

    The counts are keyed by field name and then by value. Fields are in the order of the type's `facets`. Each field has
    at most MAX_VALUES_SHOWN values, most frequent first. If there are at most MAX_CHOSEN_CACHED wanted values, the
    result is cached in memory.
    """
    # Sections that list their pages by a date field don't list pages without a date.
    dated = DATED if tree.current().sections[section_id].content_type.lists == UPCOMING else {}

    def read() -> tuple[dict[str, dict[str, int]], datetime | None]:
        base, index = _query(section_id, type, wanted)
        pipeline: list[dict[str, Any]] = [
            {"$match": {**base, **dated, **live(moment)}},
            {"$project": {"derived.facets": 1, "_id": 0}},
            {"$unwind": "$derived.facets"},
            {"$group": {"_id": "$derived.facets", "count": {"$sum": 1}}},
            {"$sort": {"count": -1, "_id": 1}},
            {"$limit": MAX_VALUES_READ},
        ]
        counts: dict[str, dict[str, int]] = {field.name: {} for field in facets.fields(type)}
        for group in aggregate_with_hint(database()[NODES], pipeline, keys_of(index)):
            name, value = facets.parse_facet(group["_id"])
            if name in counts and len(counts[name]) < MAX_VALUES_SHOWN:
                counts[name][value] = group["count"]
        # Empty results aren't cached, because anyone can request any number of values that no node has.
        return counts, due.next_due(moment) if any(counts.values()) or not wanted else moment

    if len(wanted) > MAX_CHOSEN_CACHED:
        return read()[0]
    return version_cache.get_or_set(("facets", section_id, type, tuple(sorted(wanted))), moment, read)


def _query(section_id: ObjectId, type: str, wanted: Values) -> tuple[dict[str, Any], str]:
    """Return the filter and the name of the index. The filter doesn't contain the condition for live nodes."""
    if not wanted:
        types = registry.extensions(type)
        is_type = types[0] if len(types) == 1 else {"$in": list(types)}
        return {"metadata.parent_id": section_id, "metadata.type": is_type}, "by_section"
    keys = sorted({facets.format_facet(type, name, value) for name, value in wanted})
    condition = keys[0] if len(keys) == 1 else {"$all": keys}
    return {"derived.facets": condition, "metadata.parent_id": section_id}, "by_facet"


def _is_possible(type: str, wanted: Values) -> bool:
    """Return whether a node can have all `wanted` values.

    A node has at most `facets.MOST` values, and at most one value for a field that isn't a list.
    """
    values = Counter(name for name, _value in set(wanted))
    return len(wanted) <= facets.MOST and not any(
        values[field.name] > 1 for field in facets.fields(type) if not facets.is_list(field)
    )
