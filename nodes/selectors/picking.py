"""Suggestions while an editor types: pages and photos by title, photos by other words, and tags."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bson import ObjectId

from marginalia.markup import titles
from marginalia.markup.text import fold
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import ASSET_FILES, NODES, keys_of, node_filter
from nodes.content import PHOTO
from nodes.models import File, Node, Photo, tree
from nodes.selectors import lists, search
from nodes.selectors.listing import FIELDS, readable_nodes
from nodes.selectors.lists import ANY, Filters

# Maximum number of photos to suggest at once.
OFFERED = 24
# How many of the newest photos are searched for partial words. Older photos are found only by whole words.
LOOKED_THROUGH = 300
TAGS_OFFERED = 10
# Time limit for a title search, in milliseconds.
MILLISECONDS = 500


def title_filter(query: str) -> dict[str, Any]:
    """Return the filter for nodes whose titles match: each word in `query` must begin a word in the title.

    The `by_title_word` index supports this filter.
    """
    prefixes = [
        {"$elemMatch": {"$gte": word, "$lt": word + titles.LAST_CHARACTER}} for word in titles.query_prefixes(query)
    ]
    return (
        {"derived.title_words": prefixes[0]}
        if len(prefixes) == 1
        else {"$and": [{"derived.title_words": prefix} for prefix in prefixes]}
    )


def by_title(
    query: str,
    size: int,
    *,
    collection: str = NODES,
    type: str = "",
    among: Mapping[str, Any] | None = None,
    author: ObjectId | str | None = ANY,
) -> list[Node | Photo | File]:
    """Return up to `size` nodes or photos, live or not, whose titles contain words that begin with those in `query`.

    Exact matches come before longer words. Results that match the same word are sorted by last change. If the
    search takes too long, the result is empty.

    Args:
        query: The typed words. If `query` is empty, the most recently changed nodes are returned.
        size: The maximum number of results.
        collection: The collection to search.
        type: The type of the results, or "" for all types.
        among: A filter that results must match.
        author: The author of the results, or ANY. This argument is used only if `query` is empty.
    """
    if not titles.query_prefixes(query):
        newest = (
            ()
            if query.strip()
            else lists.page(Filters(type=type, author=author), now(), size=size, collection=collection).rows
        )
        return [row.node for row in newest]
    wanted = {
        "$and": [title_filter(query), among or {}, {"metadata.type": type} if type else {}, node_filter(collection)]
    }
    try:
        with search.search_time_limit(MILLISECONDS):
            stored = database()[collection]
            fields = FIELDS[collection]
            documents = read_with_hint(
                keys_of("by_title_word", collection), lambda hint: stored.find(wanted, fields).hint(hint).limit(size)
            )
            return list(readable_nodes(collection, documents))
    except search.SearchTimeout:
        return []


def by_words(
    query: str,
    size: int,
    *,
    collection: str = NODES,
    type: str = "",
    among: Mapping[str, Any] | None = None,
    author: ObjectId | str | None = ANY,
) -> list[Node | Photo | File]:
    """Return up to `size` nodes or photos, live or not, that match `query`.

    Nodes whose titles match come first (see `by_title`), followed by those with the words in other places, such as the
    text or a tag. Misspelled words are corrected. The arguments are the same as those of `by_title`.
    """
    titled = by_title(query, size, collection=collection, type=type, among=among, author=author)
    if len(titled) >= size or not titles.query_prefixes(query):
        return titled
    known = {node.pk for node in titled}
    wanted = {**(among or {}), **({"metadata.type": type} if type else {})}
    where = search.Search(tree.current(), now(), wanted, collections=(collection,))
    try:
        with search.search_time_limit(MILLISECONDS):
            matches = search.find(where, search.parse(query)).matches.found
            ids = [match.key[1] for match in matches if match.key[1] not in known][: size - len(titled)]
            documents = database()[collection].find(
                {"_id": {"$in": ids}, **node_filter(collection)}, FIELDS[collection]
            )
            by_id = {node.pk: node for node in readable_nodes(collection, documents)}
    except search.SearchTimeout:
        return titled
    return titled + [by_id[id] for id in ids if id in by_id]


def photos(query: str, section: ObjectId | str | None = ANY, cursor: str = "") -> tuple[list[Photo], str]:
    """Return photos, live or not, that an editor can choose: the newest photos, or photos that match `query`.

    Args:
        query: The typed words.
        section: The photos' gallery, None for the library, or ANY.
        cursor: The cursor of a page of the newest photos, or "" for the first page.

    Returns:
        The photos, and the cursor of the next page of the newest photos, or "".

    Raises:
        ValueError: The cursor is invalid.
    """
    moment = now()
    words = fold(query).split()
    filters = Filters(type=PHOTO, section=section)
    if not words:
        newest = lists.page(filters, moment, cursor=cursor, size=OFFERED, collection=ASSET_FILES)
        return [row.node for row in newest.rows], newest.older
    wanted = replace(filters, search=query)
    best = lists.page(wanted, moment, collection=ASSET_FILES).rows if _has_word(query) else ()
    chosen = {row.node.pk: row.node for row in best[:OFFERED]}
    for photo in _newest(filters.query(moment)):
        if len(chosen) >= OFFERED:
            break
        text = fold(" ".join((photo.metadata.title, photo.metadata.detail.alt, *photo.metadata.tags)))
        if all(word in text for word in words):
            chosen.setdefault(photo.pk, photo)
    return list(chosen.values()), ""


def _has_word(query: str) -> bool:
    return any(character.isalnum() for character in query)


def _newest(wanted: Mapping[str, Any]) -> list[Photo]:
    photos = database()[ASSET_FILES].find({**wanted, **node_filter(ASSET_FILES)}, FIELDS[ASSET_FILES])
    newest = photos.sort([("metadata.updated", -1), ("_id", -1)]).limit(LOOKED_THROUGH)
    return list(readable_nodes(ASSET_FILES, newest))


def tags(typed: str, version: ObjectId | None, author: ObjectId | str | None = ANY) -> list[str]:
    """Return the tags that contain `typed`, from photos and pages. If `author` is given, use only this author's pages.

    Tags that begin with `typed` come first.
    """
    wanted = typed.casefold().strip()
    every = dict.fromkeys((*lists.tags(version, NODES, author), *lists.tags(version, ASSET_FILES)))
    first = [tag for tag in every if tag.casefold().startswith(wanted)]
    rest = [tag for tag in every if wanted in tag.casefold() and tag not in first]
    return [*sorted(first, key=str.casefold), *sorted(rest, key=str.casefold)][:TAGS_OFFERED]
