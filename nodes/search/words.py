"""Split text into words, and reduce words to terms. A page is found if it has the same terms as the query.

A term is the stem of a word without differences in case, accents and character width. In scripts without spaces,
single characters and pairs of adjacent characters are terms.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from marginalia.markup import scripts, text
from marginalia.markup.characters import normalize_for_search
from nodes.search import languages

MAX_LENGTH: Final = 60
# Characters that continue a word: combining marks, zero-width characters, and apostrophes before another letter.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f"
    "\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0abc-\u0acd\u0b3c-\u0b57"
    "\u0b82\u0bbe-\u0bcd\u0c3e-\u0c56\u0cbc-\u0cd6\u0d3e-\u0d4d\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
)
_APOSTROPHES: Final = "'\u2018\u2019\u201b\u02bb\u02bc\uff07"
_WORD: Final = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*|[{_APOSTROPHES}][{_MARKS}]*[^\W_]+)*")
HYPHENS: Final = "\u2010\u2011\u00ad-"
# Letters that are often typed as other letters, although Unicode doesn't decompose them.
_PLAIN: Final = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ħ": "h", "ŧ": "t"}
)


class Token(NamedTuple):
    """A word in a text, and its position."""

    start: int
    end: int
    word: str


def tokens(source: str) -> Iterator[Token]:
    """Yield the words in `source` that have spaces between them. For other scripts, see `unspaced`."""
    for match in find(source):
        yield Token(match.start(), match.end(), match[0])


def find(source: str) -> Iterator[re.Match[str]]:
    """Return an iterator over the matches for the words in `source`, like `tokens`, but faster."""
    return _WORD.finditer(source if source.isascii() else scripts.blank_unspaced(source))


def unspaced(source: str) -> set[str]:
    """Return the terms for the scripts without spaces in `source`: characters, and pairs of adjacent characters."""
    return set() if source.isascii() else scripts.character_pairs(normalize_for_search(source))


@lru_cache(maxsize=100_000)
def spellings(word: str) -> tuple[str, ...]:
    """Return the words that a token consists of, in lower case. These are several if it contains an apostrophe.

    The last one is the token without apostrophes: "l’arbre" consists of "arbre" and "larbre".
    """
    whole = normalize_for_search(word).lower()[:MAX_LENGTH]
    if "\u2019" not in whole:
        return (whole,)
    parts = [part for part in whole.split("\u2019") if len(part) > 1]
    return (*parts, whole.replace("\u2019", ""))


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """Return a lower-case `word` without accents and other differences that readers don't type."""
    return word if word.isascii() else fold_text(word)


def fold_text(source: str) -> str:
    """Return a text in lower case, folded in the same way as words, and with one kind of apostrophe."""
    return text.fold(source).translate(_PLAIN)


@lru_cache(maxsize=100_000)
def terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms for a lower-case word in a language.

    Stemmers need accents, but readers often omit them, so there can be a second term, the stem of the word without
    accents.
    """
    folded = fold(word)
    if word == folded:
        return (languages.stem(word, language),)
    return tuple(dict.fromkeys((fold(languages.stem(word, language)), languages.stem(folded, language))))


def all_terms(source: str, language: str, *, exact: bool = False) -> set[str]:
    """Return the terms for all words in `source`.

    Args:
        source: Plain text.
        language: The code of the language.
        exact: Whether to include the words themselves, for names and titles that can be in another language.
    """
    found = unspaced(source)
    for word in split(source):
        found.update(terms(word, language))
        if exact:
            found.add(fold(word))
    return found


def split(source: str) -> Iterator[str]:
    """Yield the words in `source` in lower case. Compounds such as "e-mail" also yield "email"."""
    before = ""
    end = -2
    for match in find(source):
        word = match[0]
        yield from spellings(word)
        if is_compound(source, end, match.start()):
            yield spellings(before + word)[-1]
        before = word
        end = match.end()


def is_compound(source: str, end: int, start: int) -> bool:
    """Return whether only a hyphen separates a word that ends at `end` and a word that starts at `start`."""
    return start == end + 1 and source[end] in HYPHENS
