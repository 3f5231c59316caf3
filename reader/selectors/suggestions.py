"""Suggest public pages, tags and authors while a reader types a search query. The queries use indexes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from marginalia.markup import scripts, titles
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes import links, tags
from nodes.collections import NODES, keys_of
from nodes.content import registry
from nodes.models.tree import Tree
from nodes.selectors import picking, search
from nodes.selectors.listing import LISTED, for_readers, public_filter, readable_nodes, type_condition
from reader.selectors import bylines

MAX_TITLES, MAX_TAGS, MAX_AUTHORS = 6, 3, 3
# Suggestions are given from this number of letters on. In scripts without spaces, one character is enough.
MIN_LETTERS = 3
# Time limit in milliseconds. After this time, the reader has usually typed another letter.
TIME_LIMIT_MS = 250
PAGE, TAG, PERSON = "page", "tag", "person"


@dataclass(frozen=True)
class Suggestion:
    """A suggested page, tag or author. `kind` is PAGE, TAG or PERSON."""

    kind: str
    text: str
    url: str


def suggest(sections: Tree, typed: str, moment: datetime) -> list[Suggestion]:
    """Return live pages whose titles contain words that begin with the typed words, and tags and authors likewise.

    Suggestions that take longer than TIME_LIMIT_MS are omitted.
    """
    typed = typed.strip()
    if len(typed) < MIN_LETTERS and not scripts.unspaced_runs(typed):
        return []
    public = public_filter(sections, moment)
    found: list[Suggestion] = []
    try:
        with search.search_time_limit(TIME_LIMIT_MS):
            found += _titles(typed, public, moment)
            found += [Suggestion(TAG, tag, reverse("tag", args=[tag])) for tag in _tags(tags.normalized(typed), public)]
            found += _authors(typed, public, moment)
    except search.SearchTimeout:
        pass
    return found


def _authors(typed: str, public: dict[str, Any], moment: datetime) -> Iterator[Suggestion]:
    """Yield authors of public posts whose names contain words that begin with the typed words."""
    wanted = titles.query_prefixes(typed)
    matching = (name for name in bylines.all_names(moment) if wanted and titles.has_prefixes(name, wanted))
    shown = 0
    for name in matching:
        if (url := links.author(name)) and _has_public_post(name, public):
            yield Suggestion(PERSON, name, url)
            shown += 1
        if shown == MAX_AUTHORS:
            return


def _has_public_post(name: str, public: dict[str, Any]) -> bool:
    query = {"metadata.author.name": name, "metadata.type": type_condition(registry.dated()), **public}
    nodes = database()[NODES]
    documents = read_with_hint(keys_of("by_byline"), lambda hint: nodes.find(query, {"_id": 1}).hint(hint).limit(1))
    return any(documents)


def _titles(typed: str, public: dict[str, Any], moment: datetime) -> list[Suggestion]:
    if not titles.query_prefixes(typed):
        return []
    query = {**picking.title_filter(typed), **public}
    collection = database()[NODES]
    fields = for_readers(LISTED, moment)
    documents = read_with_hint(
        keys_of("by_title_word"), lambda hint: collection.find(query, fields).hint(hint).limit(MAX_TITLES)
    )
    return [
        Suggestion(PAGE, node.metadata.title, node.get_absolute_url())
        for node in readable_nodes(NODES, documents)
        if node.content_type.is_installed
    ]


def _tags(typed: str, public: dict[str, Any]) -> list[str]:
    """Return tags that begin with `typed`. The query for each tag reads only one document."""
    found_tags: list[str] = []
    # Search for three capitalizations, because tags keep the capitalization that editors used.
    for prefix in dict.fromkeys((typed, typed.lower(), typed.title())) if typed else ():
        start = prefix
        end = prefix + titles.LAST_CHARACTER
        while len(found_tags) < MAX_TAGS:
            query = {"metadata.tags": {"$elemMatch": {"$gte": start, "$lt": end}}, **public}
            if (tag := _next_tag(query, start, end)) is None:
                break
            found_tags.append(tag)
            # The first string after the tag.
            start = tag + "\x00"
    return found_tags


def _next_tag(query: dict[str, Any], start: str, end: str) -> str | None:
    """Find one document with `query`, and return its alphabetically first tag between `start` and `end`.

    Return None if there is no such document or tag.
    """
    collection = database()[NODES]
    documents = read_with_hint(
        keys_of("by_tag"), lambda hint: collection.find(query, {"metadata.tags": 1}).hint(hint).limit(1)
    )
    document = next(iter(documents), None)
    stored_tags = document["metadata"]["tags"] if document else ()
    return min((other for other in stored_tags if isinstance(other, str) and start <= other < end), default=None)
