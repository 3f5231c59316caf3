"""What the words that a reader types may become: titles and tags that readers see, found along indexes."""

from datetime import datetime
from typing import Any

from mongo.connection import database
from nodes.collections import NODES, keys_of
from nodes.models import Node
from nodes.models.tree import Tree
from nodes.selectors import picking, search
from nodes.selectors.listing import LISTED, for_readers, live
from nodes.texts import tags, titles

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
    documents = database()[NODES].find(wanted, for_readers(LISTED, moment)).hint(keys_of("by_title_word")).limit(TITLES)
    nodes = map(Node.from_document, documents)
    return [node.metadata.title for node in nodes if node.content_type.is_installed]


def _tags(typed: str, public: dict[str, Any]) -> list[str]:
    """Return tags by one document each: that of the first entry of the index beyond the tag that was found before."""
    found: list[str] = []
    # They are stored as editors spelled them.
    for beginning in dict.fromkeys((typed, typed.lower(), typed.title())) if typed else ():
        tag, end = beginning, beginning + titles.LAST
        while len(found) < TAGS:
            wanted = {"metadata.tags": {"$elemMatch": {"$gt": tag, "$lt": end}}, **public}
            document = database()[NODES].find_one(wanted, {"metadata.tags": 1}, hint=keys_of("by_tag"))
            if document is None:
                break
            tag = min(one for one in document["metadata"]["tags"] if tag < one < end)
            found.append(tag)
    return found
