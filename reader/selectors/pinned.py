"""List the posts in a section, with pinned posts first."""

from dataclasses import replace
from datetime import datetime

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import NODES, PINNED, keys_of
from nodes.models import Node, version_cache
from nodes.selectors import due
from nodes.selectors.listing import LISTED, NEWEST_FIRST, Listing, for_readers, listing, live, posts_of, readable_nodes

# Maximum number of pinned posts that are shown first. If there are more pinned posts, only the newest are shown first.
# The others are listed by date, like posts that aren't pinned.
MAX_PINNED = 3


def entries(section_id: ObjectId, moment: datetime, *, size: int, cursor: str | None = None) -> Listing:
    """Return live posts in a live section, newest first. On the first page, pinned posts come before the other posts.

    Each post appears only once.

    Args:
        section_id: The id of the section.
        moment: The time at which posts must be live.
        size: The maximum number of posts, not counting pinned posts.
        cursor: The cursor of a later page, or None for the first page.

    Raises:
        ValueError: The cursor is invalid.
    """
    pinned = _pinned(section_id, moment)
    base = {**posts_of(section_id), **({"_id": {"$nin": [node.pk for node in pinned]}} if pinned else {})}
    posts = listing(base, "by_section", moment, size, cursor)
    is_first_page = not posts.newer and (posts.nodes or not cursor)
    return replace(posts, nodes=(*pinned, *posts.nodes)) if is_first_page else posts


def _pinned(section_id: ObjectId, moment: datetime) -> tuple[Node, ...]:
    """Return a section's newest live pinned posts, up to MAX_PINNED. The result is cached in memory."""

    def read() -> tuple[tuple[Node, ...], datetime | None]:
        query = {**posts_of(section_id), **PINNED, **live(moment)}
        collection = database()[NODES]
        fields = for_readers(LISTED, moment)
        documents = read_with_hint(
            keys_of("by_pin"),
            lambda hint: collection.find(query, fields).sort(NEWEST_FIRST).limit(MAX_PINNED).hint(hint),
        )
        nodes = list(readable_nodes(NODES, documents))
        for node in nodes:
            node.is_pinned = True
        return tuple(node for node in nodes if node.content_type.is_installed), due.next_due(moment)

    return version_cache.get_or_set(("pinned", section_id), moment, read)
