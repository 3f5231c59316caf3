"""Suggest public titles and tags while a reader types a search query. The queries use indexes."""

from datetime import datetime
from typing import Any

from marginalia.markup import titles
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes import tags
from nodes.collections import NODES, keys_of
from nodes.models.tree import Tree
from nodes.selectors import picking, search
from nodes.selectors.listing import LISTED, for_readers, public_filter, readable_nodes

MAX_TITLES = 8
MAX_TAGS = 4
# Time limit in milliseconds. After this time, the reader has usually typed another letter.
TIME_LIMIT_MS = 100


def suggest(sections: Tree, typed: str, moment: datetime) -> list[str]:
    """Return titles of live pages that contain words beginning with the typed words, and tags that begin with `typed`.

    Up to MAX_TITLES titles and MAX_TAGS tags are returned, without duplicates. Suggestions that take longer than
    TIME_LIMIT_MS are omitted.
    """
    public = public_filter(sections, moment)
    suggestions: dict[str, None] = {}
    try:
        with search.search_time_limit(TIME_LIMIT_MS):
            suggestions |= dict.fromkeys(_titles(typed, public, moment))
            suggestions |= dict.fromkeys(_tags(tags.normalized(typed), public))
    except search.SearchTimeout:
        pass
    return list(suggestions)


def _titles(typed: str, public: dict[str, Any], moment: datetime) -> list[str]:
    if not titles.query_prefixes(typed):
        return []
    query = {**picking.title_filter(typed), **public}
    collection = database()[NODES]
    fields = for_readers(LISTED, moment)
    documents = read_with_hint(
        keys_of("by_title_word"), lambda hint: collection.find(query, fields).hint(hint).limit(MAX_TITLES)
    )
    return [node.metadata.title for node in readable_nodes(NODES, documents) if node.content_type.is_installed]


def _tags(typed: str, public: dict[str, Any]) -> list[str]:
    """Return tags that begin with `typed`. The query for each tag reads only one document."""
    found_tags: list[str] = []
    # Search for three capitalizations, because tags keep the capitalization that editors used.
    for prefix in dict.fromkeys((typed, typed.lower(), typed.title())) if typed else ():
        tag = prefix
        end = prefix + titles.LAST_CHARACTER
        while len(found_tags) < MAX_TAGS:
            query = {"metadata.tags": {"$elemMatch": {"$gt": tag, "$lt": end}}, **public}
            if (next_tag := _next_tag(query, tag, end)) is None:
                break
            tag = next_tag
            found_tags.append(tag)
    return found_tags


def _next_tag(query: dict[str, Any], tag: str, end: str) -> str | None:
    """Find one document with `query`, and return its alphabetically first tag between `tag` and `end`.

    Return None if there is no such document or tag.
    """
    collection = database()[NODES]
    documents = read_with_hint(
        keys_of("by_tag"), lambda hint: collection.find(query, {"metadata.tags": 1}).hint(hint).limit(1)
    )
    document = next(iter(documents), None)
    stored_tags = document["metadata"]["tags"] if document else ()
    return min((other for other in stored_tags if isinstance(other, str) and tag < other < end), default=None)
