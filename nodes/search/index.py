"""The terms that each save stores with a node, and the queries that find nodes by their terms.

A stored term consists of a level and the term, such as "0 letter". The level is the place in which the term occurs.
Because the index is sorted by level first, a query reads the documents with the term in their title first.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import unescape
from typing import Any, Final

from marginalia.markup import text
from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint
from nodes.collections import ASSET_FILES, NODES, keys_of
from nodes.search import words

PATH: Final = "derived.terms"
INDEX: Final = "by_term"
# The levels, in order of their weight.
TITLE: Final = "0"
TAG: Final = "1"
KEYWORD: Final = "2"  # fields that weigh as much as tags, and own words of a type
AUTHOR: Final = "3"
SUMMARY: Final = "4"  # summaries, headings, alternative texts, and file names
OFTEN: Final = "5"  # words that occur often or early in the text
BODY: Final = "6"
LEVELS: Final = (TITLE, TAG, KEYWORD, AUTHOR, SUMMARY, OFTEN, BODY)
# The levels in which a word is part of what a page is about, or of who wrote it.
HEAVY: Final = (TITLE, TAG, KEYWORD, AUTHOR)
WEIGHTS: Final = dict(zip(LEVELS, (10.0, 7.0, 7.0, 6.0, 4.0, 2.0, 1.0), strict=True))

# Maximum number of terms that are stored for a node.
MAX_TERMS: Final = 8_000
# A word is prominent if it occurs this often in the text, or among the first words.
_OFTEN: Final = 4
_EARLY: Final = 60
_HEADING: Final = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.DOTALL)
_ALT: Final = re.compile(r'\balt="([^"]+)"')
_FILE_EXTENSION: Final = re.compile(r"\.\w{1,5}$")

# The maximum number of documents that a query reads for its rarest word, and the maximum number of results.
LOOKED_THROUGH: Final = 1_000
MOST: Final = 200
# Words are counted up to this number.
COUNTED: Final = 1_000


def node_terms(
    metadata: Mapping[str, Any],
    html: str,
    plain: str,
    body: Sequence[str],
    language: str,
    *,
    title_words: str = "",
    keywords: str = "",
) -> list[str]:
    """Return the terms of a node as they are stored, without duplicates.

    A term is stored once, with the highest level in which it occurs. The terms of tags and authors are always stored,
    so that changing a node's tags changes only their terms, and people can search by tag and author.

    Args:
        metadata: The node's metadata.
        html: The node's text as HTML.
        plain: The node's text as plain text, including the text in its fields.
        body: The words in `plain`, from words.split.
        language: The code of the language of the text.
        title_words: Words that weigh as much as the title.
        keywords: Words that weigh as much as tags.
    """
    detail = metadata.get("detail") or {}
    author = (metadata.get("author") or {}).get("name") or ""
    headings = (text.html_to_text(found[2]) for found in _HEADING.finditer(html))
    alts = map(unescape, _ALT.findall(html))
    file_name = _FILE_EXTENSION.sub("", detail.get("filename") or "")
    summary = (metadata.get("summary") or "", *headings, *alts, detail.get("alt") or "", file_name)
    often, others = _body_terms(body, language)
    by_level = (
        (TITLE, words.all_terms(f"{metadata['title']} {title_words}", language, exact=True)),
        (KEYWORD, words.all_terms(keywords, language, exact=True)),
        (SUMMARY, words.all_terms(" \n ".join(summary), language)),
        (OFTEN, often),
        (BODY, others | words.unspaced(plain)),
    )
    levels: dict[str, str] = {}
    for level, terms in by_level:
        for term in terms:
            levels.setdefault(term, level)
    authors = {f"{AUTHOR} {term}" for term in words.all_terms(author, language, exact=True)}
    rest = {f"{level} {term}" for term, level in levels.items()}
    return [*sorted(tag_terms(metadata.get("tags") or (), language)), *sorted(authors | rest)[:MAX_TERMS]]


def tag_terms(tags: Iterable[str], language: str = "") -> set[str]:
    """Return the stored terms for a node's tags."""
    return {f"{TAG} {term}" for term in words.all_terms(" \n ".join(tags), language, exact=True)}


def _body_terms(body: Sequence[str], language: str) -> tuple[set[str], set[str]]:
    """Return the terms of the words that occur often or early in the text, and the terms of all words."""
    counts = Counter(body)
    often = {*body[:_EARLY], *(word for word, count in counts.items() if count >= _OFTEN)}
    return (
        {term for word in often for term in words.terms(word, language)},
        {term for word in counts for term in words.terms(word, language)},
    )


def has(terms: Collection[str], levels: Sequence[str] = LEVELS) -> dict[str, Any]:
    """Return the filter for nodes that have any of `terms` in one of `levels`."""
    return {PATH: {"$in": stored(terms, levels)}}


def stored(terms: Collection[str], levels: Sequence[str] = LEVELS) -> list[str]:
    """Return `terms` as they are stored in each of `levels`."""
    return [f"{level} {term}" for level in levels for term in sorted(terms)]


def count(collection: str, *conditions: Mapping[str, Any], most: int = COUNTED) -> int:
    """Return the number of documents that match all filters, at most `most`."""
    return int(database()[collection].count_documents({"$and": [*conditions]}, limit=most))


def is_used(word: str, codes: Iterable[str]) -> bool:
    """Return whether a node or photo contains a word."""
    terms = {word}.union(*(words.terms(word, code) for code in codes))
    return any(database()[name].find_one(has(terms), {"_id": 1}) for name in (NODES, ASSET_FILES))


def find(
    collection: str,
    driver: Mapping[str, Any],
    conditions: Sequence[Mapping[str, Any]],
    fields: Mapping[str, Any],
    *,
    hint: str = INDEX,
    most: int = MOST,
) -> list[dict[str, Any]]:
    """Return up to `most` documents that match the filter `driver` and all `conditions`, heaviest terms first.

    The server reads up to LOOKED_THROUGH documents that match `driver`, which must use the index `hint`. To use
    Atlas Search ($search) instead of the index, replace this function.
    """
    pipeline: list[dict[str, Any]] = [
        {"$match": driver},
        {"$limit": LOOKED_THROUGH},
        {"$match": {"$and": [*conditions]}},
        {"$limit": most},
        {"$project": fields},
    ]
    return list(aggregate_with_hint(database()[collection], pipeline, keys_of(hint, collection)))
