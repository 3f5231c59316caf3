"""The posts of a section with those first that editors pinned."""

from dataclasses import replace
from datetime import datetime

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import NODES, PINNED, keys_of
from nodes.models import Node, version_cache
from nodes.selectors import due
from nodes.selectors.listing import LISTED, NEWEST_FIRST, Listing, for_readers, listing, live, posts_of, readable_nodes

# Pinned posts that stand first, the newest; others stand where they would.
MOST = 3


def entries(section_id: ObjectId, moment: datetime, *, size: int, cursor: str | None = None) -> Listing:
    """Return `size` live posts of a (live) section, newest first; on the first page those that are pinned before them.

    Each stands on one page. Raises ValueError for a cursor that is none.
    """
    first = _pinned(section_id, moment)
    base = {**posts_of(section_id), **({"_id": {"$nin": [node.pk for node in first]}} if first else {})}
    found = listing(base, "by_section", moment, size, cursor)
    is_first_page = not found.newer and (found.nodes or not cursor)
    return replace(found, nodes=(*first, *found.nodes)) if is_first_page else found


def _pinned(section_id: ObjectId, moment: datetime) -> tuple[Node, ...]:
    """Return the live pinned posts of a section, the newest MOST. Kept in process."""

    def read() -> tuple[tuple[Node, ...], datetime | None]:
        wanted = {**posts_of(section_id), **PINNED, **live(moment)}
        stored = database()[NODES]
        fields = for_readers(LISTED, moment)
        found = read_with_hint(
            keys_of("by_pin"),
            lambda hint: stored.find(wanted, fields).sort(NEWEST_FIRST).limit(MOST).hint(hint),
        )
        nodes = list(readable_nodes(NODES, found))
        for node in nodes:
            node.is_pinned = True
        return tuple(node for node in nodes if node.content_type.is_installed), due.next_due(moment)

    return version_cache.get_or_set(("pinned", section_id), moment, read)
