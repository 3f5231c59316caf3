"""What the words that a reader types may become: titles and tags that readers see, found along indexes."""

from datetime import datetime
from typing import Any

from marginalia.markup import titles
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes import tags
from nodes.collections import NODES, keys_of
from nodes.models.tree import Tree
from nodes.selectors import picking, search
from nodes.selectors.listing import LISTED, for_readers, live, readable_nodes

TITLES, TAGS = 8, 4
# Of what takes longer a reader has typed on.
MILLISECONDS = 100


def suggestions(sections: Tree, typed: str, moment: datetime) -> list[str]:
    """Return titles of live pages with words that begin as those typed, up to TITLES, and up to TAGS tags that begin so.

    Each once; what takes longer than it may is left out.
    """
    public = {"metadata.parent_id": {"$in": sections.live_ids(moment)}, **live(moment)}
    found: dict[str, None] = {}
    try:
        with search.at_most(MILLISECONDS):
            found |= dict.fromkeys(_titles(typed, public, moment))
            found |= dict.fromkeys(_tags(tags.normalized(typed), public))
    except search.TooSlow:
        pass
    return list(found)


def _titles(typed: str, public: dict[str, Any], moment: datetime) -> list[str]:
    if not titles.typed(typed):
        return []
    wanted = {**picking.titled(typed), **public}
    nodes = database()[NODES]
    fields = for_readers(LISTED, moment)
    found = read_with_hint(keys_of("by_title_word"), lambda hint: nodes.find(wanted, fields).hint(hint).limit(TITLES))
    return [node.metadata.title for node in readable_nodes(NODES, found) if node.content_type.is_installed]


def _tags(typed: str, public: dict[str, Any]) -> list[str]:
    """Return tags by one document each: that of the first entry of the index beyond the tag that was found before."""
    found: list[str] = []
    # They are stored as editors spelled them.
    for beginning in dict.fromkeys((typed, typed.lower(), typed.title())) if typed else ():
        tag = beginning
        end = beginning + titles.LAST
        while len(found) < TAGS:
            wanted = {"metadata.tags": {"$elemMatch": {"$gt": tag, "$lt": end}}, **public}
            if (following := _next_tag(wanted, tag, end)) is None:
                break
            tag = following
            found.append(tag)
    return found


def _next_tag(wanted: dict[str, Any], tag: str, end: str) -> str | None:
    """Return the first tag after `tag` of the first document that is wanted; None if there is none."""
    nodes = database()[NODES]
    one = next(
        iter(
            read_with_hint(keys_of("by_tag"), lambda hint: nodes.find(wanted, {"metadata.tags": 1}).hint(hint).limit(1))
        ),
        None,
    )
    said = one["metadata"]["tags"] if one else ()
    return min((other for other in said if isinstance(other, str) and tag < other < end), default=None)
