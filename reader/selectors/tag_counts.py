"""Count how often each tag is used on public pages."""

from collections import Counter
from datetime import datetime
from typing import Any

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint
from nodes.collections import ASSET_FILES, NODES, keys_of, listed_filter
from nodes.models import version_cache
from nodes.models.dependencies import note_tags
from nodes.models.tree import Tree
from nodes.selectors import due
from nodes.selectors.listing import public_filter

# Maximum number of tags to return. The most frequent tags are returned.
MAX_TAGS = 1_000


def count_tags(sections: Tree, moment: datetime) -> dict[str, int]:
    """Return, for each tag, the number of live nodes and photos with this tag, sorted by frequency, then by name.

    The result is cached in memory.
    """

    def read() -> tuple[dict[str, int], datetime | None]:
        note_tags()
        counts: Counter[str] = Counter()
        public = {
            "metadata.tags": {"$gt": ""},
            **public_filter(sections, moment),
        }
        for name in (NODES, ASSET_FILES):
            pipeline: list[dict[str, Any]] = [
                {"$match": {**public, **listed_filter(name)}},
                {"$project": {"metadata.tags": 1, "_id": 0}},
                {"$unwind": "$metadata.tags"},
                {"$group": {"_id": "$metadata.tags", "count": {"$sum": 1}}},
                {"$sort": {"count": -1, "_id": 1}},
                {"$limit": MAX_TAGS},
            ]
            for group in aggregate_with_hint(database()[name], pipeline, keys_of("by_tag", name)):
                counts[group["_id"]] += group["count"]
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return dict(ordered[:MAX_TAGS]), due.next_due(moment)

    return version_cache.get_or_set("tags of readers", moment, read)
