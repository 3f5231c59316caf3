"""Full-text search for live pages and photos. The number of results, the number of words and the time are limited."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice, zip_longest
from typing import Any

from pymongo.errors import PyMongoError

from marginalia.markup import scripts, text
from marginalia.markup.characters import normalize_for_search
from marginalia.mongo.connection import database, time_limit
from marginalia.mongo.reading import lacks_text_index, read_document, read_documents
from nodes.collections import ASSET_FILES, NODES, SEARCH, listed_filter
from nodes.models import Node, Photo, as_shown, derived_of
from nodes.models.tree import Tree
from nodes.models.validation import check_metadata
from nodes.selectors.listing import FIELDS, MODELS, for_readers, public_filter

COLLECTIONS = (NODES, ASSET_FILES)
# The collection that contains a result, and the result's id.
ResultKey = tuple[str, Any]
# Maximum number of results. Readers who need more can refine their search.
MOST = 100
MOST_WORDS = 10
# For searches with several words: the maximum number of documents to read per collection, and the fields to read.
LOOKED_THROUGH = 400
READ = {path: 1 for path, _way in SEARCH.keys if path != "derived.pairs"}
LONGEST_QUERY = 200
MILLISECONDS = 1_500
_WORD = re.compile(r"[^\W_]+(?:’[^\W_]+)*")
BEST_FIRST: list[tuple[str, Any]] = [("score", {"$meta": "textScore"}), ("metadata.created", -1), ("_id", -1)]


class SearchTimeout(Exception):
    """A search exceeded its time limit."""


@dataclass(frozen=True)
class Hit:
    """A node or photo that was found.

    Attributes:
        pieces: Extracts of its text, as (text, whether the text is a search term) pairs.
    """

    node: Node | Photo
    pieces: list[tuple[str, bool]]


@dataclass(frozen=True)
class Results:
    """A page of results.

    Attributes:
        words: The words in the query.
        hits: The results on this page.
        total: The number of results on all pages, at most MOST.
        all_words: Whether each result contains every word in the query.
        is_cut_short: Whether there may be more results, for example because a step took too long.
    """

    words: tuple[str, ...]
    hits: tuple[Hit, ...] = ()
    total: int = 0
    all_words: bool = True
    is_cut_short: bool = False


def split_words(query: str) -> tuple[str, ...]:
    """Return the first MOST_WORDS words in `query`. Operators and punctuation are ignored."""
    return tuple(_WORD.findall(normalize_for_search(query[:LONGEST_QUERY]))[:MOST_WORDS])


def search(
    sections: Tree, query: str, moment: datetime, *, page: int, size: int, milliseconds: float = MILLISECONDS
) -> Results:
    """Return a page of live nodes and photos that contain every word in `query`, best matches first.

    If nothing contains every word, return nodes and photos that contain any of the words. If a step takes too long,
    return the first results without sorting them.

    Args:
        sections: The section tree.
        query: The typed words.
        moment: The current time.
        page: The number of the page, starting at 1.
        size: The number of results per page.
        milliseconds: The time limit for each step.
    """
    words = split_words(query)
    if not words:
        return Results(())
    public = public_filter(sections, moment)
    parts = _parts(words)
    wanted = _all_of(parts)
    try:
        if len(parts) > 1:
            keys, all_words, cut_short = _of_several(parts, public, milliseconds)
        else:
            keys = _of_one_word(wanted, public, milliseconds)
            all_words = True
            cut_short = False
    except SearchTimeout:
        keys = _any_ids(wanted, public, milliseconds)
        all_words = True
        cut_short = True
    hits = _hits(keys[(page - 1) * size : page * size], words, moment)
    return Results(words, hits, len(keys), all_words, cut_short)


def all_words_query(query: str) -> str:
    """Return the `$search` string for documents that contain every word in `query`, or "" if there are no words."""
    return _all_of(_parts(split_words(query)))


def _all_of(parts: Sequence[str]) -> str:
    return " ".join(f'"{part}"' for part in parts)


def _parts(words: Sequence[str]) -> list[str]:
    return [*scripts.without_unspaced(" ".join(words)).split(), *_parts_of_unspaced(words)]


def _parts_of_unspaced(words: Sequence[str]) -> list[str]:
    """Return the search terms for words in scripts without spaces. A term consists of one or two characters."""
    pairs = scripts.character_pairs(" ".join(words))
    in_pairs = {character for pair in pairs if len(pair) > 1 for character in pair}
    return sorted(pair for pair in pairs if len(pair) > 1 or pair not in in_pairs)[: 2 * MOST_WORDS]


def _ids(wanted: str, public: dict[str, Any], milliseconds: float) -> list[ResultKey]:
    """Return the keys of the documents that match `wanted`, best first.

    Scores are comparable across the two collections.
    """
    fields = {"metadata.created": 1, "score": {"$meta": "textScore"}}
    scored: list[tuple[float, datetime, Any, str]] = []
    with search_time_limit(milliseconds):
        for name in COLLECTIONS:
            best = database()[name].find(_query(wanted, public, name), fields).sort(BEST_FIRST).limit(MOST)
            scored += read_documents(name, best, partial(_scored, name))
    scored.sort(reverse=True)
    return [(name, key) for _score, _created, key, name in scored[:MOST]]


def _scored(collection: str, document: Mapping[str, Any]) -> tuple[float, datetime, Any, str]:
    check_metadata(document["metadata"], ("created",))
    return document["score"], document["metadata"]["created"], document["_id"], collection


def _of_one_word(wanted: str, public: dict[str, Any], milliseconds: float) -> list[ResultKey]:
    """Return the keys of the documents that contain a single word, best first.

    For common words, scores are not calculated.

    To sort by score, the server would have to calculate the score of every document that contains the word. However, a
    text index already sorts documents by the word's weight, which equals the score for a single word. So the best
    matches come first even without sorting.
    """
    ranked: list[list[ResultKey]] = []
    with search_time_limit(milliseconds):
        for name in COLLECTIONS:
            best = database()[name].find(_query(wanted, public, name), {"_id": 1}).limit(MOST)
            ranked.append([(name, document["_id"]) for document in best])
    if all(ranked) and max(map(len, ranked)) < MOST:
        # Neither collection has many matches, so sorting by score is fast.
        return _ids(wanted, public, milliseconds)
    # Pages and photos alternate. If there are many matches, the order between the two kinds doesn't matter.
    turns = (key for turn in zip_longest(*ranked) for key in turn if key is not None)
    return list(islice(turns, MOST))


def _of_several(
    parts: Sequence[str], public: dict[str, Any], milliseconds: float
) -> tuple[list[ResultKey], bool, bool]:
    """Return the keys of the documents that contain all words, or some words if none contains all, best first.

    Also return whether the documents contain all words, and whether there may be more such documents. For two common
    words, the server would have to read every document that contains either of them. Therefore, for each word, this
    function reads only the documents in which the word has the greatest weight, up to LOOKED_THROUGH per collection.
    For a rare word, these are all documents that contain it.
    """
    size = LOOKED_THROUGH // len(parts)
    plain = [text.fold(part) for part in parts]
    ranks: dict[ResultKey, tuple[int, int, int]] = {}
    is_whole = False
    with search_time_limit(milliseconds):
        for part in parts:
            lists = [list(database()[name].find(_query(part, public, name), READ).limit(size)) for name in COLLECTIONS]
            # If all documents that contain this word were read, none that contain all words were missed. A word without
            # any documents is ignored, because it may be a stop word, such as "the", which the index doesn't contain.
            is_whole |= any(lists) and max(map(len, lists)) < size
            for name, documents in zip(COLLECTIONS, lists, strict=True):
                for place, (key, missing) in enumerate(read_documents(name, documents, partial(_missing, plain))):
                    ranks.setdefault((name, key), (*missing, place))
    best = sorted(ranks, key=ranks.__getitem__)
    whole = [key for key in best if ranks[key][0] == 0]
    return (whole or best)[:MOST], bool(whole), not is_whole and len(whole) < MOST


def _missing(words: Sequence[str], document: Mapping[str, Any]) -> tuple[Any, tuple[int, int]]:
    """Return a document's id, and how many of `words` are missing from the document and from its title.

    `words` must not contain accents. Accents in the document are ignored.
    """
    metadata = document["metadata"]
    derived = derived_of(document)
    title = text.fold(f"{metadata['title']} {derived.get('title', '')}")
    untitled = [word for word in words if word not in title]
    body = " ".join(
        (*(metadata.get("tags") or ()), metadata.get("summary") or "", derived.get("tags", ""), derived.get("text", ""))
    )
    # Folding long text is slow, and most words appear in the text exactly as the reader typed them. Therefore, the text
    # is folded only if a word is missing from it.
    lowered = body.lower()
    missing = [word for word in untitled if word not in lowered]
    folded = text.fold(body) if missing else ""
    return document["_id"], (sum(word not in folded for word in missing), len(untitled))


def _any_ids(wanted: str, public: dict[str, Any], milliseconds: float) -> list[ResultKey]:
    keys: list[ResultKey] = []
    try:
        with search_time_limit(milliseconds):
            for name in COLLECTIONS:
                some = database()[name].find(_query(wanted, public, name), {"_id": 1}).limit(MOST - len(keys))
                keys += [(name, document["_id"]) for document in some]
                if len(keys) == MOST:
                    break
    except SearchTimeout:
        return keys
    return keys


def _query(wanted: str, public: dict[str, Any], collection: str) -> dict[str, Any]:
    return {"$text": {"$search": wanted}, **public, **listed_filter(collection)}


@contextmanager
def search_time_limit(milliseconds: float) -> Iterator[None]:
    """Limit the time for the queries in the block, both in the client and on the server.

    Raises:
        SearchTimeout: A query took too long, or the text index is missing.
    """
    try:
        with time_limit(milliseconds / 1_000):
            yield
    except PyMongoError as error:
        if error.timeout or lacks_text_index(error):
            raise SearchTimeout from error
        raise


@contextmanager
def ignore_missing_index() -> Iterator[None]:
    """Suppress the error that MongoDB raises in the `with` block if the text index is missing.

    The search then finds nothing.
    """
    try:
        yield
    except PyMongoError as error:
        if not lacks_text_index(error):
            raise


def _hits(keys: Sequence[ResultKey], words: Sequence[str], moment: datetime) -> tuple[Hit, ...]:
    documents: dict[ResultKey, Mapping[str, Any]] = {}
    for name in COLLECTIONS:
        if ids := [node_id for collection, node_id in keys if collection == name]:
            fields = {**FIELDS[name], "derived.text": 1}
            read = database()[name].find(
                {"_id": {"$in": ids}}, for_readers(fields, moment) if name == NODES else fields
            )
            documents |= {(name, document["_id"]): document for document in read}
    hits = (read_document(key[0], documents[key], partial(_hit, key[0], words)) for key in keys if key in documents)
    return tuple(hit for hit in hits if hit and hit.node.content_type.is_installed)


def _hit(collection: str, words: Sequence[str], document: Mapping[str, Any]) -> Hit:
    node = MODELS[collection].from_document(document)
    body = derived_of(as_shown(document)).get("text") or node.metadata.summary or ""
    return Hit(node, text.highlight(body, words))
