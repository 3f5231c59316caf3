"""Find the nodes that match a query, and sort them by the weight of the words, their closeness, and age."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from math import log
from operator import itemgetter
from typing import Any, Final

from bson import ObjectId

from marginalia.markup import scripts
from marginalia.markup.text import slugify
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_documents
from nodes.collections import ASSET_FILES, NODES, node_filter
from nodes.content import registry
from nodes.models import derived_of, stored_site
from nodes.models.tree import Tree
from nodes.models.validation import check_metadata
from nodes.search import index, languages, vocabulary, words
from nodes.search.query import Criteria, Query, split

# The collection that contains a result, and the result's id.
Key = tuple[str, Any]

COLLECTIONS: Final = (NODES, ASSET_FILES)
# Maximum number of results that are ranked if all words are common, unless more have all words in titles or tags.
_ENOUGH: Final = 100
# The results whose text is read to find out how close the words are, and the part of the text that is read.
_COMPARED: Final = 20
_READ: Final = 20_000
# If a word of the query is the beginning of longer words, up to this number of these words are searched.
_COMPLETIONS: Final = 20
_LETTERS_PER_WORD: Final = 6
_SECONDS_PER_YEAR: Final = 365 * 86_400
_METADATA: Final = ("title", "type", "parent_id", "published", "created")


@dataclass(frozen=True)
class Word:
    """A word of a query.

    Attributes:
        typed: The word in lower case.
        terms: The terms that match the word.
        count: The number of documents with any of these terms, at most index.COUNTED.
        sections: The sections whose title contains the word, and the sections in them.
        is_optional: Whether pages without this word match, too, because it is a function word such as "the".
    """

    typed: str
    terms: frozenset[str]
    count: int = 0
    sections: frozenset[ObjectId] = frozenset()
    is_optional: bool = False

    @property
    def condition(self) -> dict[str, Any]:
        """The filter for nodes that contain the word, or that are in a section whose title contains it."""
        if not self.sections:
            return index.has(self.terms)
        return {"$or": [index.has(self.terms), {"metadata.parent_id": {"$in": sorted(self.sections)}}]}

    @cached_property
    def rarity(self) -> float:
        """The weight of the word relative to other words of the query."""
        return 1 + log(1 + index.COUNTED / (1 + self.count))


@dataclass(frozen=True)
class Match:
    """A node or photo that matches a query."""

    key: Key
    score: float
    type: str
    parent_id: ObjectId | None
    published: datetime | None
    title: str
    created: datetime


@dataclass(frozen=True)
class Matches:
    """The matches for a query, best first, and whether there may be more."""

    found: tuple[Match, ...] = ()
    is_cut_short: bool = False


@dataclass(frozen=True)
class Search:
    """Where to search.

    Attributes:
        sections: The section tree.
        moment: The current time.
        among: The filter for the nodes that can be found.
        among_in: A function that returns the filter for a collection, in addition to `among`.
        collections: The collections to search.
    """

    sections: Tree
    moment: datetime
    among: Mapping[str, Any] = field(default_factory=dict)
    among_in: Callable[[str], Mapping[str, Any]] = node_filter
    collections: tuple[str, ...] = COLLECTIONS

    def language_codes(self) -> tuple[str, ...]:
        """Return the codes of the languages in which words are stemmed."""
        site = languages.main_code(stored_site.current().settings.language)
        return tuple(dict.fromkeys((site, *vocabulary.languages_in_use(self.moment))))

    def resolve(self, typed: Sequence[str]) -> list[Word]:
        """Return the words of a query with their terms and frequencies."""
        codes = self.language_codes()
        typed = list(_split_unspaced(typed))
        joined = [_terms(a + b, codes) if a.isalpha() and b.isalpha() else set() for a, b in pairwise(typed)]
        has_content = any(not languages.is_function_word(word, codes) for word in typed)
        resolved = []
        for number, word in enumerate(typed):
            terms = _terms(word, codes)
            # Pages that contain both words as a compound are found, too.
            compounds = frozenset().union(*joined[max(number - 1, 0) : number + 1])
            resolved.append(
                Word(
                    word,
                    frozenset(terms | compounds),
                    self.count(index.has(terms)),
                    self.sections_titled(word),
                    has_content and languages.is_function_word(word, codes),
                )
            )
        return resolved

    def count(self, condition: Mapping[str, Any]) -> int:
        """Return the number of documents that match a filter, whether or not they can be found.

        Counting stops at index.COUNTED.
        """
        count = 0
        for name in self.collections:
            if count < index.COUNTED:
                count += index.count(name, condition, most=index.COUNTED - count)
        return count

    def finds(self, word: str) -> int:
        """Return how many documents that can be found contain `word`, or are in a section whose title contains it.

        Counting stops at 50.
        """
        terms = frozenset(_terms(word, self.language_codes()))
        condition = Word(word, terms, sections=self.sections_titled(word)).condition
        return sum(index.count(name, condition, self.among, self.among_in(name), most=50) for name in self.collections)

    def complete(self, word: Word) -> Word:
        """Return a word that also matches the words that begin with it."""
        codes = self.language_codes()
        longer = vocabulary.beginning_with(words.fold(word.typed), _COMPLETIONS)
        terms = word.terms.union(*(_terms(other, codes) for other in longer))
        return replace(word, terms=terms, count=self.count(index.has(terms))) if longer else word

    def sections_titled(self, word: str) -> frozenset[ObjectId]:
        """Return the ids of the sections whose title contains a word, and of the sections in them."""
        by_term = _sections_by_term(self.sections, self.language_codes())
        return frozenset().union(*(by_term.get(term, ()) for term in _terms(word, self.language_codes())))

    def conditions(self, query: Query) -> list[dict[str, Any]]:
        """Return the filters for a query's operators, and for what it excludes except phrases."""
        excluded = query.excluded
        without = [condition for condition, _hint in self._operators(excluded)]
        without += [index.has(_terms(word, self.language_codes())) for word in _split_unspaced(excluded.words)]
        required = [condition for condition, _hint in self._operators(query.required)]
        return [*required, {"$nor": without}] if without else required

    def _operators(self, criteria: Criteria) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield a filter for each operator, and the index that supports the filter."""
        for level, values in ((index.TAG, criteria.tags), (index.AUTHOR, criteria.authors)):
            for value in values:
                terms = [_terms(word, self.language_codes()) for word in _split_unspaced(split(value))]
                yield {"$and": [index.has(each, (level,)) for each in terms]}, index.INDEX
        if criteria.sections:
            ids = {id for value in criteria.sections for id in self.sections_named(value)}
            yield {"metadata.parent_id": {"$in": sorted(ids)}}, "by_section"

    def filter(self, query: Query, resolved: Sequence[Word]) -> dict[str, Any]:
        """Return the filter for the nodes that `run` finds, except that phrases are only checked word by word."""
        required = [word.condition for word in resolved if not word.is_optional]
        return {"$and": [*required, *self.conditions(query), self.among]}

    def sections_named(self, value: str) -> set[ObjectId]:
        """Return the ids of the sections with the slug or title `value`, and of the sections in them."""
        slug = slugify(value)
        ids = {s.id for s in self.sections.sections.values() if slug in (s.slug, slugify(s.title))}
        return ids | {other.id for section_id in ids for other in self.sections.descendants(section_id)}

    def run(self, query: Query, resolved: Sequence[Word]) -> Matches:
        """Return the nodes that contain all words of a query that aren't optional."""
        required = [word for word in resolved if not word.is_optional]
        conditions = self.conditions(query)
        drivers, count = self._drivers(query, required)
        is_common = count >= index.LOOKED_THROUGH
        documents: dict[Key, Mapping[str, Any]] = {}
        is_cut_short = is_common
        for name in self.collections:
            find = partial(index.find, name, fields=_fields(resolved))
            others = [*conditions, self.among, self.among_in(name)]
            wanted = [*(word.condition for word in required), *others]
            batches = []
            # Among many pages, only as many are ranked as are shown.
            most = _ENOUGH if is_common else index.MOST
            if is_common and len(required) > 1:
                # The pages with all words in their titles or tags come first.
                rarest, *rest = sorted(required, key=lambda word: (bool(word.sections), word.count))
                heavy = [index.has(word.terms, index.HEAVY) for word in rest]
                batches.append(find(index.has(rarest.terms, index.HEAVY), [*heavy, *others]))
                most -= len(batches[0])
            if most > 0:
                # The server doesn't check the driver again.
                batches += [
                    find(driver, [each for each in wanted if each != driver], hint=hint, most=most)
                    for driver, hint in drivers
                ]
            is_cut_short |= any(len(batch) == index.MOST for batch in batches)
            documents |= {(name, document["_id"]): document for batch in batches for document in batch}
        return Matches(tuple(self._with_phrases(self._sorted(documents, resolved), query)), is_cut_short)

    def _drivers(self, query: Query, required: Sequence[Word]) -> tuple[list[tuple[dict[str, Any], str]], int]:
        """Return the filters whose documents the server reads, each with the index that supports it, and a count.

        The server reads the documents that match the most selective condition of the query. The count is the number of
        these documents, at most index.COUNTED.
        """
        choices = [(word.count, index.has(word.terms), index.INDEX) for word in required if not word.sections]
        choices += [(self.count(condition), condition, hint) for condition, hint in self._operators(query.required)]
        if choices:
            count, condition, hint = min(choices, key=itemgetter(0))
            return [(condition, hint)], count
        # Nodes that match a word only by their section are missing from the index of the word, so all are read.
        inside = frozenset.intersection(*(word.sections for word in required))
        drivers = [(index.has(word.terms), index.INDEX) for word in required]
        return [*drivers, ({"metadata.parent_id": {"$in": sorted(inside)}}, "by_section")], min(
            word.count for word in required
        )

    def run_any(self, query: Query, resolved: Sequence[Word]) -> Matches:
        """Return the nodes that contain any word of a query. Those with the most and the rarest words come first."""
        documents: dict[Key, Mapping[str, Any]] = {}
        conditions = [*self.conditions(query), self.among]
        for word in resolved:
            if word.count and not word.is_optional:
                for name in self.collections:
                    wanted = [*conditions, self.among_in(name)]
                    found = index.find(name, index.has(word.terms), wanted, _fields(resolved), most=100)
                    documents |= {(name, document["_id"]): document for document in found}
        return Matches(tuple(self._with_phrases(self._sorted(documents, resolved), query)))

    def _with_phrases(self, matches: list[Match], query: Query) -> list[Match]:
        """Return the matches whose text contains all phrases of a query, and none of the excluded phrases."""
        if not query.required.phrases and not query.excluded.phrases:
            return matches
        required = [_phrase_pattern(phrase) for phrase in query.required.phrases]
        excluded = [_phrase_pattern(phrase) for phrase in query.excluded.phrases]
        texts = self._texts(matches)

        def has_phrases(match: Match) -> bool:
            folded = words.fold_text(f"{match.title} \n {texts.get(match.key)}")
            return all(each.search(folded) for each in required) and not any(each.search(folded) for each in excluded)

        return [match for match in matches if has_phrases(match)]

    def _sorted(self, documents: Mapping[Key, Mapping[str, Any]], resolved: Sequence[Word]) -> list[Match]:
        matches: list[Match] = []
        for name in self.collections:
            stored = (document for (collection, _id), document in documents.items() if collection == name)
            matches += read_documents(name, stored, partial(self._match, name, resolved))
        matches.sort(key=_best_first)
        required = [word for word in resolved if not word.is_optional]
        if len(required) > 1 and len(matches) > 1:
            first = matches[:_COMPARED]
            texts = self._texts(first)
            find = finder(required, self.language_codes())
            matches[:_COMPARED] = sorted(
                (_with_closeness(match, required, find(texts.get(match.key, "")[:_READ])) for match in first),
                key=_best_first,
            )
        return matches

    def _match(self, collection: str, resolved: Sequence[Word], document: Mapping[str, Any]) -> Match:
        metadata = document["metadata"]
        check_metadata(metadata, _METADATA)
        levels: dict[str, list[str]] = {}
        for stored in document.get("found") or ():
            level, _space, term = stored.partition(" ")
            levels.setdefault(term, []).append(level)
        score = 0.0
        in_title = 0
        for word in resolved:
            found = sorted({level for term in word.terms for level in levels.get(term, ())})
            if found:
                weights = [index.WEIGHTS[level] for level in found]
                score += word.rarity * (weights[0] + sum(weights[1:]) / 4) * (0.2 if word.is_optional else 1)
                in_title += found[0] == index.TITLE
            elif metadata["parent_id"] in word.sections:
                score += word.rarity
        score += self._title_score(metadata["title"], resolved, in_title)
        if (published := metadata["published"]) is not None:
            years = max((self.moment - published).total_seconds(), 0) / _SECONDS_PER_YEAR
            score += 2 / (1 + years)
        score *= registry.get(metadata["type"]).search_weight
        return Match(
            (collection, document["_id"]),
            score,
            metadata["type"],
            metadata["parent_id"],
            published,
            metadata["title"],
            metadata["created"],
        )

    def _title_score(self, title: str, resolved: Sequence[Word], in_title: int) -> float:
        """Return the score for a title that contains `in_title` words of the query."""
        if not in_title:
            return 0.0
        titled = [words.fold(word) for word in words.split(title)]
        wanted = [words.fold(word.typed) for word in resolved]
        rarity = sum(word.rarity for word in resolved)
        score = rarity * 4 * in_title / len(resolved) * min(in_title / max(len(titled), 1), 1)
        if titled == wanted:
            return score + rarity * 6
        if any(titled[start : start + len(wanted)] == wanted for start in range(len(titled))):
            score += rarity * 2
        return score

    def _texts(self, matches: Sequence[Match]) -> dict[Key, str]:
        """Return the summaries and texts of matches."""
        texts = {}
        for name in self.collections:
            ids = [match.key[1] for match in matches if match.key[0] == name]
            fields = {"metadata.summary": 1, "derived.text": 1}
            for document in database()[name].find({"_id": {"$in": ids}}, fields) if ids else ():
                summary = document.get("metadata", {}).get("summary") or ""
                texts[name, document["_id"]] = f"{summary}\n{derived_of(document).get('text') or ''}"
        return texts


@lru_cache(maxsize=4)
def _sections_by_term(sections: Tree, codes: tuple[str, ...]) -> dict[str, set[ObjectId]]:
    """Return the ids of the sections whose title contains a term, and of the sections in them, keyed by the term."""
    by_term: dict[str, set[ObjectId]] = {}
    for section in sections.sections.values():
        ids = {section.id, *(other.id for other in sections.descendants(section.id))}
        for term in _title_terms(section.title, codes):
            by_term.setdefault(term, set()).update(ids)
    return by_term


def _phrase_pattern(phrase: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern that finds a phrase in a folded text. Words can contain hyphens, and end after an apostrophe."""
    found = []
    for word in phrase:
        letters = f"[{words.HYPHENS}]?".join(map(re.escape, word))
        found.append(letters if _is_unspaced((word,)) else rf"(?<!\w){letters}(?:\u2019\w+)?(?!\w)")
    return re.compile(r"[\W_]*".join(found))


def finder(resolved: Sequence[Word], codes: Sequence[str]) -> Callable[[str], list[tuple[int, int, int]]]:
    """Return a function that finds words in texts.

    The function returns (start, end, number of the word) for each place where a word occurs, in order. It looks up each
    different word of the texts only once, so use the same function for several texts.
    """
    numbers = {term: number for number, word in reversed([*enumerate(resolved)]) for term in word.terms}
    unspaced = [(number, word.typed) for number, word in enumerate(resolved) if _is_unspaced((word.typed,))]
    known: dict[str, int | None] = {}

    def find(text: str) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int, int]] = []
        for match in words.find(text):
            token = match[0]
            if token not in known:
                terms = (term for word in words.spellings(token) for term in _terms(word, codes))
                known[token] = next((numbers[term] for term in terms if term in numbers), None)
            if (number := known[token]) is not None:
                found.append((match.start(), match.end(), number))
        for number, typed in unspaced:
            start = text.find(typed)
            while start >= 0:
                found.append((start, start + len(typed), number))
                start = text.find(typed, start + 1)
        return sorted(found)

    return find


def _terms(word: str, codes: Iterable[str]) -> set[str]:
    """Return the terms for a word in all these languages, and the word itself."""
    return {words.fold(word)}.union(*(words.terms(word, code) for code in codes))


def _title_terms(title: str, codes: Iterable[str]) -> set[str]:
    return {term for word in words.split(title) for term in _terms(word, codes)} | words.unspaced(title)


def _split_unspaced(typed: Iterable[str]) -> Iterator[str]:
    """Yield words, with words in scripts without spaces split into pairs of characters."""
    for word in typed:
        if _is_unspaced((word,)):
            yield from dict.fromkeys(map("".join, pairwise(word))) if len(word) > 1 else (word,)
        else:
            yield word


def _is_unspaced(typed: Sequence[str]) -> bool:
    return all(scripts.unspaced_runs(word) == [word] for word in typed)


def _fields(resolved: Sequence[Word]) -> dict[str, Any]:
    """Return the projection for ranking. `found` lists the stored terms that match the query."""
    terms = frozenset().union(*(word.terms for word in resolved))
    found = {"$setIntersection": [f"${index.PATH}", index.stored(terms)]}
    return {**{f"metadata.{name}": 1 for name in _METADATA}, "found": found}


def _best_first(match: Match) -> tuple[Any, ...]:
    return -match.score, -match.created.timestamp(), str(match.key)


def _with_closeness(match: Match, required: Sequence[Word], found: Sequence[tuple[int, int, int]]) -> Match:
    """Add the score for words that are close to each other in the text, from their positions (see `finder`)."""
    window = _smallest_window([(start, word) for start, _end, word in found], len(required))
    if not window:
        return match
    closeness = 1 / (1 + window / (_LETTERS_PER_WORD * len(required)))
    return replace(match, score=match.score + 1.5 * closeness * sum(word.rarity for word in required))


def _smallest_window(found: Sequence[tuple[int, int]], number: int) -> int:
    """Return the smallest distance in characters within which all words occur, or 0 if they don't all occur."""
    last: dict[int, int] = {}
    best = 0
    for start, word in found:
        last[word] = start
        if len(last) == number:
            window = max(start - min(last.values()), 1)
            best = min(best or window, window)
    return best
