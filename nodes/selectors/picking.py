"""Finding what is put into a text or a form while an editor types: pages and photos by titles, photos by words, tags."""

from collections.abc import Mapping
from typing import Any

from bson import ObjectId

from marginalia.markup import titles
from marginalia.markup.text import fold
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import ASSET_FILES, NODES, keys_of, node_filter
from nodes.content import PHOTO
from nodes.models import Node, Photo
from nodes.selectors import lists, search
from nodes.selectors.listing import FIELDS, readable_nodes
from nodes.selectors.lists import ANY, Filters

# Photos that are offered at once.
OFFERED = 24
# The newest photos are looked through for parts of words; of all others only whole words are found.
LOOKED_THROUGH = 300
TAGS_OFFERED = 10
# What one look for titles may take.
MILLISECONDS = 500


def title_filter(query: str) -> dict[str, Any]:
    """Return the filter of what has, for each word typed, a word in its title that begins so: along by_title_word."""
    begun = [
        {"$elemMatch": {"$gte": word, "$lt": word + titles.LAST_CHARACTER}} for word in titles.query_prefixes(query)
    ]
    return (
        {"derived.title_words": begun[0]} if len(begun) == 1 else {"$and": [{"derived.title_words": b} for b in begun]}
    )


def by_title(
    query: str,
    size: int,
    *,
    collection: str = NODES,
    among: Mapping[str, Any] | None = None,
    author: ObjectId | str | None = ANY,
) -> list[Node | Photo]:
    """Return up to `size` nodes or photos, whatever their state, with every word of `query` in their titles, or its beginning.

    Whole words come before longer ones, and of one word what was changed last. Of a query without words: what was changed last
    at all, of one `author`. `among`: a filter of what may be found. What takes too long finds nothing.
    """
    if not titles.query_prefixes(query):
        newest = (
            () if query.strip() else lists.page(Filters(author=author), now(), size=size, collection=collection).rows
        )
        return [row.node for row in newest]
    wanted = {"$and": [title_filter(query), among or {}, node_filter(collection)]}
    try:
        with search.search_time_limit(MILLISECONDS):
            stored = database()[collection]
            fields = FIELDS[collection]
            found = read_with_hint(
                keys_of("by_title_word", collection), lambda hint: stored.find(wanted, fields).hint(hint).limit(size)
            )
            return list(readable_nodes(collection, found))
    except search.SearchTimeout:
        return []


def photos(query: str) -> list[Photo]:
    """Return photos to choose from, whatever their state: the newest, or those with the words typed so far."""
    moment = now()
    words = fold(query).split()
    if not words:
        found = lists.page(Filters(type=PHOTO), moment, size=OFFERED, collection=ASSET_FILES)
        return [row.node for row in found.rows]
    best = lists.page(Filters(search=query), moment, collection=ASSET_FILES).rows if _has_word(query) else ()
    chosen = {row.node.pk: row.node for row in best[:OFFERED]}
    for photo in _newest(LOOKED_THROUGH):
        if len(chosen) >= OFFERED:
            break
        said = fold(" ".join((photo.metadata.title, photo.metadata.detail.alt, *photo.metadata.tags)))
        if all(word in said for word in words):
            chosen.setdefault(photo.pk, photo)
    return list(chosen.values())


def _has_word(query: str) -> bool:
    return any(character.isalnum() for character in query)


def _newest(most: int) -> list[Photo]:
    found = database()[ASSET_FILES].find(node_filter(ASSET_FILES), FIELDS[ASSET_FILES])
    newest = found.sort([("metadata.updated", -1), ("_id", -1)]).limit(most)
    return list(readable_nodes(ASSET_FILES, newest))


def tags(typed: str, version: ObjectId | None, author: ObjectId | str | None = ANY) -> list[str]:
    """Return tags of pages (of one author) and of photos that begin with what was typed, and then those that contain it."""
    wanted = typed.casefold().strip()
    every = dict.fromkeys((*lists.tags(version, NODES, author), *lists.tags(version, ASSET_FILES)))
    first = [tag for tag in every if tag.casefold().startswith(wanted)]
    rest = [tag for tag in every if wanted in tag.casefold() and tag not in first]
    return [*sorted(first, key=str.casefold), *sorted(rest, key=str.casefold)][:TAGS_OFFERED]
