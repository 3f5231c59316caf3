"""Full-text search of live pages and photos, with limits for results, words and time."""

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
from nodes.collections import ASSET_FILES, NODES, SEARCH, node_filter
from nodes.models import Node, Photo, as_shown, derived_of
from nodes.models.tree import Tree
from nodes.models.validation import check_metadata
from nodes.selectors.listing import FIELDS, MODELS, for_readers, live

COLLECTIONS = (NODES, ASSET_FILES)
# In which collection something was found, and its id there.
ResultKey = tuple[str, Any]
# More results than readers look through: those need another word.
MOST = 100
MOST_WORDS = 10
# Documents that are looked through for several words, and what of them.
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
    """A node or photo that was found, with extracts of its text as pieces (piece, whether it is a word searched for)."""

    node: Node | Photo
    pieces: list[tuple[str, bool]]


@dataclass(frozen=True)
class Results:
    """A page of results. `total` counts at most MOST; `all_words`: False where nothing holds every word."""

    words: tuple[str, ...]
    hits: tuple[Hit, ...] = ()
    total: int = 0
    all_words: bool = True
    is_cut_short: bool = False


def split_words(query: str) -> tuple[str, ...]:
    """Return the words of `query`, at most MOST_WORDS. Operators and punctuation are ignored."""
    return tuple(_WORD.findall(normalize_for_search(query[:LONGEST_QUERY]))[:MOST_WORDS])


def search(
    sections: Tree, query: str, moment: datetime, *, page: int, size: int, milliseconds: float = MILLISECONDS
) -> Results:
    """Return page `page` (from 1) of the live nodes and photos with every word of `query`, the best first; else with any.

    Each of its steps may take `milliseconds`; after one that takes longer, the answer is what an unordered look finds first.
    """
    words = split_words(query)
    if not words:
        return Results(())
    public = {"metadata.parent_id": {"$in": sections.live_ids(moment)}, **live(moment)}
    parts = _parts(words)
    wanted = _all_of(parts)
    try:
        if len(parts) > 1:
            found, all_words, cut_short = _of_several(parts, public, milliseconds)
        else:
            found = _of_one_word(wanted, public, milliseconds)
            all_words = True
            cut_short = False
    except SearchTimeout:
        found = _any_ids(wanted, public, milliseconds)
        all_words = True
        cut_short = True
    hits = _hits(found[(page - 1) * size : page * size], words, moment)
    return Results(words, hits, len(found), all_words, cut_short)


def all_words_query(query: str) -> str:
    """Return what the text index is asked for, for documents that hold every word of `query`; "" if there is no word."""
    return _all_of(_parts(split_words(query)))


def _all_of(parts: Sequence[str]) -> str:
    return " ".join(f'"{part}"' for part in parts)


def _parts(words: Sequence[str]) -> list[str]:
    return [*scripts.without_unspaced(" ".join(words)).split(), *_parts_of_unspaced(words)]


def _parts_of_unspaced(words: Sequence[str]) -> list[str]:
    """Return what to look for of scripts without spaces: pairs, or characters that stand alone."""
    pairs = scripts.character_pairs(" ".join(words))
    in_pairs = {character for pair in pairs if len(pair) > 1 for character in pair}
    return sorted(pair for pair in pairs if len(pair) > 1 or pair not in in_pairs)[: 2 * MOST_WORDS]


def _ids(wanted: str, public: dict[str, Any], milliseconds: float) -> list[ResultKey]:
    """Return what holds the words, the best first: the scores of both collections are worked out alike."""
    fields = {"metadata.created": 1, "score": {"$meta": "textScore"}}
    found: list[tuple[float, datetime, Any, str]] = []
    with search_time_limit(milliseconds):
        for name in COLLECTIONS:
            best = database()[name].find(_query(wanted, public, name), fields).sort(BEST_FIRST).limit(MOST)
            found += read_documents(name, best, partial(_scored, name))
    found.sort(reverse=True)
    return [(name, key) for _score, _created, key, name in found[:MOST]]


def _scored(collection: str, document: Mapping[str, Any]) -> tuple[float, datetime, Any, str]:
    check_metadata(document["metadata"], ("created",))
    return document["score"], document["metadata"]["created"], document["_id"], collection


def _of_one_word(wanted: str, public: dict[str, Any], milliseconds: float) -> list[ResultKey]:
    """Return what holds one word, the best first, of many without working out scores.

    To sort by score the server works out the score of everything that has the word. But a text index keeps what has one word by
    its weight there, which is the score of that word alone: read without sorting, the best come first.
    """
    ranked: list[list[ResultKey]] = []
    with search_time_limit(milliseconds):
        for name in COLLECTIONS:
            best = database()[name].find(_query(wanted, public, name), {"_id": 1}).limit(MOST)
            ranked.append([(name, document["_id"]) for document in best])
    if all(ranked) and max(map(len, ranked)) < MOST:
        # Few in both: what they score says in which order they belong.
        return _ids(wanted, public, milliseconds)
    # Of many the order between photos and posts does not matter: they take turns.
    turns = (one for turn in zip_longest(*ranked) for one in turn if one is not None)
    return list(islice(turns, MOST))


def _of_several(
    parts: Sequence[str], public: dict[str, Any], milliseconds: float
) -> tuple[list[ResultKey], bool, bool]:
    """Return what holds several words, else some of them, the best first; whether it is all words; whether more may hold them.

    For all that has two common words the server would read whatever has one. Looked through are those documents in which each
    weighs most, LOOKED_THROUGH of a collection together: of a rare word they are all.
    """
    size = LOOKED_THROUGH // len(parts)
    plain = [text.fold(part) for part in parts]
    ranks: dict[ResultKey, tuple[int, int, int]] = {}
    is_whole = False
    with search_time_limit(milliseconds):
        for part in parts:
            lists = [list(database()[name].find(_query(part, public, name), READ).limit(size)) for name in COLLECTIONS]
            # The index knows nothing of words that say little, such as "the".
            is_whole |= any(lists) and max(map(len, lists)) < size
            for name, documents in zip(COLLECTIONS, lists, strict=True):
                for place, (key, missing) in enumerate(read_documents(name, documents, partial(_missing, plain))):
                    ranks.setdefault((name, key), (*missing, place))
    best = sorted(ranks, key=ranks.__getitem__)
    whole = [one for one in best if ranks[one][0] == 0]
    return (whole or best)[:MOST], bool(whole), not is_whole and len(whole) < MOST


def _missing(words: Sequence[str], document: Mapping[str, Any]) -> tuple[Any, tuple[int, int]]:
    """Return a document's id, and how many of some words, without accents, it does not have, and its title does not have."""
    metadata = document["metadata"]
    derived = derived_of(document)
    title = text.fold(f"{metadata['title']} {derived.get('title', '')}")
    untitled = [word for word in words if word not in title]
    said = " ".join(
        (*(metadata.get("tags") or ()), metadata.get("summary") or "", derived.get("tags", ""), derived.get("text", ""))
    )
    # Most words stand there as they were typed: to fold a long text takes longest.
    lowered = said.lower()
    missing = [word for word in untitled if word not in lowered]
    folded = text.fold(said) if missing else ""
    return document["_id"], (sum(word not in folded for word in missing), len(untitled))


def _any_ids(wanted: str, public: dict[str, Any], milliseconds: float) -> list[ResultKey]:
    found: list[ResultKey] = []
    try:
        with search_time_limit(milliseconds):
            for name in COLLECTIONS:
                some = database()[name].find(_query(wanted, public, name), {"_id": 1}).limit(MOST - len(found))
                found += [(name, document["_id"]) for document in some]
                if len(found) == MOST:
                    break
    except SearchTimeout:
        return found
    return found


def _query(wanted: str, public: dict[str, Any], collection: str) -> dict[str, Any]:
    return {"$text": {"$search": wanted}, **public, **node_filter(collection)}


@contextmanager
def search_time_limit(milliseconds: float) -> Iterator[None]:
    """Limit the time of queries in the block, also on the server. Raises SearchTimeout, also if the text index is missing."""
    try:
        with time_limit(milliseconds / 1_000):
            yield
    except PyMongoError as error:
        if error.timeout or lacks_text_index(error):
            raise SearchTimeout from error
        raise


@contextmanager
def ignore_missing_index() -> Iterator[None]:
    """Leave the block if the text index is missing, so that the search finds nothing."""
    try:
        yield
    except PyMongoError as error:
        if not lacks_text_index(error):
            raise


def _hits(found: Sequence[ResultKey], words: Sequence[str], moment: datetime) -> tuple[Hit, ...]:
    documents: dict[ResultKey, Mapping[str, Any]] = {}
    for name in COLLECTIONS:
        if ids := [key for collection, key in found if collection == name]:
            fields = {**FIELDS[name], "derived.text": 1}
            read = database()[name].find(
                {"_id": {"$in": ids}}, for_readers(fields, moment) if name == NODES else fields
            )
            documents |= {(name, document["_id"]): document for document in read}
    there = [one for one in found if one in documents]
    hits = (read_document(name, documents[name, key], partial(_hit, name, words)) for name, key in there)
    return tuple(hit for hit in hits if hit and hit.node.content_type.is_installed)


def _hit(collection: str, words: Sequence[str], document: Mapping[str, Any]) -> Hit:
    node = MODELS[collection].from_document(document)
    body = derived_of(as_shown(document)).get("text") or node.metadata.summary or ""
    return Hit(node, text.highlight(body, words))
