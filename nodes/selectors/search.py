"""Search for readers: live pages and photos, with extracts, filters and corrected spelling."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import partial
from typing import Any

from bson import ObjectId
from pymongo.errors import PyMongoError

from marginalia.markup import text
from marginalia.mongo.connection import database, time_limit
from marginalia.mongo.reading import read_document
from nodes.collections import NODES, listed_filter
from nodes.content import registry
from nodes.models import Node, Photo, as_shown, derived_of, node_from_document
from nodes.models.tree import Tree
from nodes.search import vocabulary, words
from nodes.search.query import LONGEST, Query, parse
from nodes.search.ranking import COLLECTIONS, Match, Matches, Search, Word, finder
from nodes.selectors.listing import FIELDS, for_readers, public_filter

# Maximum number of results. Readers who need more can refine their search.
MOST = 100
LONGEST_QUERY = LONGEST
MILLISECONDS = 1_500
# If a search finds no more pages than this, a similar word that finds many more pages is suggested.
FEW = 2
MANY_MORE = 10


class SearchTimeout(Exception):
    """A search exceeded its time limit."""


@dataclass(frozen=True)
class Filters:
    """The filters of a search: the name of a type, a top-level section, and a year. Empty filters match everything."""

    type: str = ""
    section: ObjectId | None = None
    year: int | None = None


@dataclass(frozen=True)
class Counts:
    """The numbers of results, keyed by type name, id of a top-level section, and year, most frequent first."""

    types: Mapping[str, int] = field(default_factory=dict)
    sections: Mapping[ObjectId, int] = field(default_factory=dict)
    years: Mapping[int, int] = field(default_factory=dict)


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
        words: The words in the query, or the values of its operators.
        hits: The results on this page.
        total: The number of results on all pages, at most MOST.
        all_words: Whether each result contains every word in the query.
        is_cut_short: Whether there may be more results.
        corrected: The query for which results are shown, because there are none for the typed query.
        suggestion: A similar query that finds many more pages.
        counts: The numbers of results without the filter of each kind.
    """

    words: tuple[str, ...]
    hits: tuple[Hit, ...] = ()
    total: int = 0
    all_words: bool = True
    is_cut_short: bool = False
    corrected: str = ""
    suggestion: str = ""
    counts: Counts = Counts()


@dataclass(frozen=True)
class Found:
    """The nodes that match a query, and the words that were searched. For the other attributes, see Results."""

    words: Sequence[Word]
    matches: Matches
    all_words: bool = True
    corrected: str = ""
    suggestion: str = ""


def search(
    sections: Tree,
    typed: str,
    moment: datetime,
    *,
    page: int,
    size: int,
    filters: Filters = Filters(),
    zone: tzinfo | None = None,
    milliseconds: float = MILLISECONDS,
) -> Results:
    """Return a page of live nodes and photos that contain every word in a query, best matches first.

    If nothing contains every word, misspelled words are corrected. If there is still no result, return nodes and photos
    that contain any of the words.

    Args:
        sections: The section tree.
        typed: The query as typed.
        moment: The current time.
        page: The number of the page, starting at 1.
        size: The number of results per page.
        filters: The filters.
        zone: The time zone that determines the year of a result.
        milliseconds: The time limit.

    Raises:
        SearchTimeout: The search exceeded the time limit.
    """
    query = parse(typed)
    if query.is_empty:
        return Results(())
    required = query.required
    among = Search(sections, moment, public_filter(sections, moment), listed_filter)
    with search_time_limit(milliseconds):
        found = find(among, query)
        shown = [match for match in found.matches.found if _passes(among, match, filters, zone)]
        return Results(
            required.words or (*required.tags, *required.authors, *required.sections),
            _hits(among, shown[:MOST][(page - 1) * size : page * size], found.words),
            min(len(shown), MOST),
            found.all_words,
            found.matches.is_cut_short,
            found.corrected,
            found.suggestion,
            _counts(among, found.matches.found, filters, zone),
        )


def find(among: Search, query: Query) -> Found:
    """Return the nodes that match a query.

    If there are none, complete unfinished words, then correct misspelled words, or return partial matches.
    """
    if query.is_empty:
        return Found((), Matches())
    resolved = among.resolve(query.required.words)
    matches = among.run(query, resolved)
    if len(matches.found) > FEW:
        return Found(resolved, matches)
    # Words are counted among the nodes that can be found, so that hidden pages don't change the results.
    finds = {word.typed: among.finds(word.typed) for word in resolved if not word.is_optional}
    completed = [word if finds.get(word.typed, True) else among.complete(word) for word in resolved]
    if completed != resolved:
        resolved = completed
        matches = among.run(query, resolved)
    suggestion = ""
    if len(matches.found) <= FEW and (better := _correct(among, query, finds)):
        resolved_better = among.resolve(better.required.words)
        better_matches = among.run(better, resolved_better)
        if not matches.found and better_matches.found:
            return Found(resolved_better, better_matches, corrected=better.text)
        if len(better_matches.found) >= MANY_MORE * len(matches.found) > 0:
            suggestion = better.text
    if not matches.found and len(resolved) > 1 and not query.required.phrases:
        return Found(resolved, among.run_any(query, resolved), all_words=False)
    return Found(resolved, matches, suggestion=suggestion)


def _correct(among: Search, query: Query, finds: Mapping[str, int]) -> Query | None:
    """Return a query in which misspelled words are replaced, or None if no better spelling is known.

    Args:
        among: Where to search.
        query: The query.
        finds: The number of nodes that each word finds.
    """
    text = query.text
    for word, count in finds.items():
        if count <= FEW and (better := _similar(among, word, count)) is not None:
            text = _replace_word(text, word, better)
    return parse(text) if text != query.text else None


def _similar(among: Search, word: str, finds: int) -> str | None:
    """Return the most similar word that finds more pages than `word`, or None."""
    folded = words.fold(word)
    best: tuple[Any, ...] | None = None
    for distance, other in vocabulary.similar(folded):
        if best is not None and distance > best[0]:
            break
        count = among.finds(other)
        if count > finds * MANY_MORE and (best is None or (distance, -count) < best[:2]):
            best = distance, -count, other
    if best is None and not finds:
        for pair in vocabulary.splits(folded):
            if all(among.finds(part) for part in pair):
                return " ".join(pair)
    return best[2] if best else None


def _replace_word(typed: str, word: str, better: str) -> str:
    """Replace a word in a query as it was typed."""
    for token in words.tokens(typed):
        if word in words.spellings(token.word):
            return typed[: token.start] + better + typed[token.end :]
    return typed


def _passes(among: Search, match: Match, filters: Filters, zone: tzinfo | None, *, but: str = "") -> bool:
    """Return whether a match passes all filters except the one called `but`."""
    return (
        (but == "type" or not filters.type or match.type == filters.type)
        and (but == "section" or filters.section is None or _top_section(among, match) == filters.section)
        and (but == "year" or filters.year is None or _year(match, zone) == filters.year)
    )


def _counts(among: Search, matches: Sequence[Match], filters: Filters, zone: tzinfo | None) -> Counts:
    def count(name: str, value: Any) -> dict[Any, int]:
        counts = Counter(value(match) for match in matches if _passes(among, match, filters, zone, but=name))
        return {key: number for key, number in counts.most_common() if key}

    types = count("type", lambda match: match.type)
    return Counts(
        {name: number for name, number in types.items() if registry.get(name).is_installed},
        count("section", partial(_top_section, among)),
        dict(sorted(count("year", partial(_year, zone=zone)).items(), reverse=True)),
    )


def _top_section(among: Search, match: Match) -> ObjectId | None:
    """Return the id of the top-level section that contains a match, or of the match itself if it is one."""
    if match.parent_id is None:
        return match.key[1] if match.key[1] in among.sections.sections else None
    chain = among.sections.ancestors(match.parent_id)
    return chain[0].id if chain else None


def _year(match: Match, zone: tzinfo | None) -> int | None:
    if match.published is None or not registry.get(match.type).is_dated:
        return None
    return match.published.astimezone(zone).year


@contextmanager
def search_time_limit(milliseconds: float) -> Iterator[None]:
    """Limit the time for the queries in the block, both in the client and on the server.

    Raises:
        SearchTimeout: A query took too long.
    """
    try:
        with time_limit(milliseconds / 1_000):
            yield
    except PyMongoError as error:
        if error.timeout:
            raise SearchTimeout from error
        raise


def _hits(among: Search, matches: Sequence[Match], resolved: Sequence[Word]) -> tuple[Hit, ...]:
    documents: dict[Any, Mapping[str, Any]] = {}
    for name in COLLECTIONS:
        if ids := [match.key[1] for match in matches if match.key[0] == name]:
            fields = {**FIELDS[name], "derived.text": 1}
            read = database()[name].find(
                {"_id": {"$in": ids}}, for_readers(fields, among.moment) if name == NODES else fields
            )
            documents |= {(name, document["_id"]): document for document in read}
    keys = [match.key for match in matches if match.key in documents]
    find_words = finder([word for word in resolved if not word.is_optional], among.language_codes())
    hits = (read_document(key[0], documents[key], partial(_hit, find_words)) for key in keys)
    return tuple(hit for hit in hits if hit and hit.node.content_type.is_installed)


def _hit(find_words: Callable[[str], list[tuple[int, int, int]]], document: Mapping[str, Any]) -> Hit:
    node = node_from_document(document)
    body = derived_of(as_shown(document)).get("text") or node.metadata.summary or ""
    return Hit(node, text.highlight(body, find_words))
