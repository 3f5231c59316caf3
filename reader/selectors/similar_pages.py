"""Find pages for the 404 page: pages whose URL or title is similar to a URL at which there is no page.

All queries use indexes and read few documents, so that wrong URLs don't take much more time than correct URLs.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

from marginalia.markup import titles
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import ASSET_FILES, NODES, keys_of, listed_filter
from nodes.content import PHOTOS
from nodes.models import Node, Photo, derived_of
from nodes.models.tree import Tree
from nodes.search import languages, vocabulary
from nodes.search.ranking import Search
from nodes.selectors import search, slugs
from nodes.selectors.listing import FIELDS, LISTED, for_readers, live, public_filter, readable_nodes

# Time limit for all queries.
MILLISECONDS = 200
# The numbers of pages before and after a slug, in alphabetical order, that are compared with it.
NEIGHBOURS = 20
# A slug of at least this length matches longer slugs that begin with it, because emails and chats often cut URLs off.
MIN_BEGINNING = 5
# Maximum number of pages with words in their titles that are compared.
MAX_COMPARED = 50
# Maximum number of words that are corrected, longest first, and maximum number of corrections for each word.
MAX_CORRECTED = 2
MAX_CORRECTIONS = 3


def find(sections: Tree, path: str, words: str, moment: datetime, *, size: int) -> list[Node | Photo]:
    """Return live pages with a similar URL, then live pages with words in their titles.

    If there are none, misspelled words are corrected. Queries that exceed the time limit are left out.

    Args:
        sections: The section tree.
        path: The path of the URL.
        words: The words in the URL.
        moment: The time at which pages must be live.
        size: The maximum number of pages.
    """
    found: list[Node | Photo] = []
    wanted = _content_words(sections, words, moment)
    try:
        with search.search_time_limit(MILLISECONDS):
            found += _with_similar_slug(sections, path, moment)
            found += _with_words_in_title(sections, wanted, moment)
            if not found:
                found += _with_words_in_title(sections, _corrected(wanted), moment)
    except search.SearchTimeout:
        pass
    return list({node.pk: node for node in found if node.content_type.is_installed}.values())[:size]


def _content_words(sections: Tree, words: str, moment: datetime) -> list[str]:
    """Return the words to find in titles, longest first. Words such as "the" are left out if there are others."""
    codes = Search(sections, moment).language_codes()
    content = [word for word in words.lower().split() if not languages.is_function_word(word, codes)]
    return titles.query_prefixes(" ".join(content) or words)


def _corrected(wanted: Sequence[str]) -> list[str]:
    """Return words on the site whose spelling is similar to the first of the words."""
    return [other for word in wanted[:MAX_CORRECTED] for _distance, other in vocabulary.similar(word)[:MAX_CORRECTIONS]]


def _with_similar_slug(sections: Tree, path: str, moment: datetime) -> list[Node | Photo]:
    """Return live pages with a similar slug in the section at the path, or in a section with a similar path."""
    *above, slug = [slugs.normalized(part) for part in path.strip("/").split("/")]
    section_id = None
    for part in above:
        siblings = {s.id: s.slug for s in sections.children.get(section_id, ()) if s.is_live(moment)}
        nearest = process.extractOne(
            part, siblings, scorer=DamerauLevenshtein.distance, score_cutoff=vocabulary.max_distance(part)
        )
        if nearest is None:
            return []
        section_id = nearest[2]
    section = sections.sections.get(section_id) if section_id else None
    collection = ASSET_FILES if section and section.content_type.lists == PHOTOS else NODES
    base = {"metadata.parent_id": section_id, **live(moment), **listed_filter(collection)}
    neighbours = [
        *_neighbours(collection, base | {"metadata.slug": {"$gte": slug}}, 1, moment),
        *_neighbours(collection, base | {"metadata.slug": {"$lt": slug}}, -1, moment),
    ]
    similar = [node for node in neighbours if _is_similar(slug, node.metadata.slug)]
    return sorted(similar, key=lambda node: DamerauLevenshtein.distance(slug, node.metadata.slug))


def _neighbours(collection: str, query: dict[str, Any], direction: int, moment: datetime) -> list[Node | Photo]:
    """Return the first pages of a section that match a query, in the alphabetical order of their slugs or in reverse."""
    fields = for_readers(FIELDS[collection], moment)
    documents = read_with_hint(
        keys_of("by_place", collection),
        lambda hint: (
            database()[collection].find(query, fields).sort("metadata.slug", direction).hint(hint).limit(NEIGHBOURS)
        ),
    )
    return list(readable_nodes(collection, documents))


def _is_similar(slug: str, other: str) -> bool:
    """Return whether slugs differ by a typing mistake, or one is the beginning of the other."""
    shorter, longer = sorted((slug, other), key=len)
    if len(shorter) >= MIN_BEGINNING and longer.startswith(shorter):
        return True
    most = vocabulary.max_distance(slug)
    return DamerauLevenshtein.distance(slug, other, score_cutoff=most) <= most


def _with_words_in_title(sections: Tree, words: Sequence[str], moment: datetime) -> list[Node]:
    """Return live pages whose titles contain any of `words`. Pages with the most matching words come first."""
    if not words:
        return []
    query = {"derived.title_words": {"$in": list(words)}, **public_filter(sections, moment)}
    fields = for_readers({**LISTED, "derived.title_words": 1}, moment)
    collection = database()[NODES]
    documents = read_with_hint(
        keys_of("by_title_word"), lambda hint: collection.find(query, fields).hint(hint).limit(MAX_COMPARED)
    )

    def count_missing(document: dict[str, Any]) -> int:
        stored = derived_of(document).get("title_words")
        return len(set(words) - set(stored if isinstance(stored, list) else ()))

    return list(readable_nodes(NODES, sorted(documents, key=count_missing)))
