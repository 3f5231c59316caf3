"""The words on the site, for finding words with similar spelling.

Each save stores the words that aren't stored yet (nodes.services.vocabulary). Words aren't removed, and words of hidden
pages are stored, too. Therefore, callers must check that a word finds something before they show it to anyone.

To find similar words quickly, each word is stored with all spellings that result from leaving out one or two of its
first letters (`near`). If two words have such a spelling in common, they are similar.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

from rapidfuzz.distance import DamerauLevenshtein

from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import WORDS
from nodes.models import version_cache
from nodes.search import languages, words

# The words that are stored, and for which similar words are found, by their length.
MIN_LENGTH, MAX_LENGTH = 3, 30
# Documents with this prefix are the languages of the texts, such as "=en".
LANGUAGE: Final = "="
# Words of at least this length can have two wrong letters. Shorter words can have one.
_LONG: Final = 6
# Letters are left out only among the first letters of a word.
_FIRST_LETTERS: Final = 7
# Maximum number of words to compare, and maximum number of similar words to return.
_COMPARED: Final = 2_000
_MOST_SIMILAR: Final = 12
_LAST: Final = "\U0010ffff"


def words_of(metadata: Mapping[str, Any], language: str, body: Iterable[str]) -> set[str]:
    """Return the words of a node that belong in the vocabulary, and its language.

    Args:
        metadata: The node's metadata.
        language: The code of the node's language.
        body: The words in the node's text, from words.split.
    """
    author = (metadata.get("author") or {}).get("name") or ""
    sources = (metadata["title"], metadata.get("summary") or "", author, *metadata.get("tags", ()))
    found = {*words.split(" \n ".join(sources)), *body}
    return known_words(found) | {LANGUAGE + languages.main_code(language)}


def known_words(found: Iterable[str]) -> set[str]:
    """Return the lower-case words that belong in the vocabulary, without accents."""
    folded = {words.fold(word) for word in found}
    return {word for word in folded if MIN_LENGTH <= len(word) <= MAX_LENGTH and word.isalpha()}


@lru_cache(maxsize=10_000)
def near(word: str) -> tuple[str, ...]:
    """Return `word`, and its spellings with up to `max_distance` of the first letters left out."""
    if is_language(word):
        return ()
    first = word[:_FIRST_LETTERS]
    spellings = {first}
    for number in range(1, max_distance(word) + 1):
        spellings.update("".join(kept) for kept in combinations(first, len(first) - number))
    return tuple(sorted(spellings))


def is_language(word: str) -> bool:
    """Return whether a stored word stands for the language of a text."""
    return word.startswith(LANGUAGE)


def max_distance(word: str) -> int:
    """Return how many letters of a misspelled word can be wrong, missing, swapped or superfluous."""
    return 1 if len(word) < _LONG else 2


def similar(word: str) -> list[tuple[int, str]]:
    """Return the stored words whose spelling is similar to a folded `word`, as (distance, word), nearest first."""
    if not (MIN_LENGTH <= len(word) <= MAX_LENGTH and word.isalpha()):
        return []
    collection = database()[WORDS]
    query = {"near": {"$in": list(near(word))}}
    documents = read_with_hint({"near": 1}, lambda hint: collection.find(query, {"_id": 1}).hint(hint).limit(_COMPARED))
    most = max_distance(word)
    distances = (
        (DamerauLevenshtein.distance(word, other["_id"], score_cutoff=most), other["_id"]) for other in documents
    )
    # The first letter is rarely wrong.
    close = sorted((distance, other[0] != word[0], other) for distance, other in distances if 0 < distance <= most)
    return [(distance, other) for distance, _is_other_letter, other in close[:_MOST_SIMILAR]]


def beginning_with(prefix: str, most: int) -> list[str]:
    """Return up to `most` stored words that begin with a folded prefix, in alphabetical order."""
    if len(prefix) < MIN_LENGTH or not prefix.isalpha():
        return []
    query = {"_id": {"$gt": prefix, "$lt": prefix + _LAST}}
    return [document["_id"] for document in database()[WORDS].find(query, {"_id": 1}).sort("_id", 1).limit(most)]


def splits(word: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to write a folded word as two stored words, such as ("book", "binding")."""
    pairs = [(word[:end], word[end:]) for end in range(MIN_LENGTH, len(word) - MIN_LENGTH + 1)]
    if pairs and len(word) <= MAX_LENGTH:
        query = {"_id": {"$in": [part for pair in pairs for part in pair]}}
        known = {document["_id"] for document in database()[WORDS].find(query, {"_id": 1})}
        yield from (pair for pair in pairs if known.issuperset(pair))


def languages_in_use(moment: datetime) -> tuple[str, ...]:
    """Return the codes of the languages of all texts. The result is cached in memory."""

    def read() -> tuple[tuple[str, ...], None]:
        query = {"_id": {"$gte": LANGUAGE, "$lt": LANGUAGE + _LAST}}
        documents = database()[WORDS].find(query, {"_id": 1}).sort("_id", 1)
        return tuple(document["_id"].removeprefix(LANGUAGE) for document in documents), None

    return version_cache.get_or_set("languages of texts", moment, read)
