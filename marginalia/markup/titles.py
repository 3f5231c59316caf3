"""Functions that split titles into words, so that pages can be suggested while an editor types."""

import re
import unicodedata
from collections.abc import Sequence

from marginalia.markup import scripts
from marginalia.markup.characters import normalize_for_search

# Maximum number of words stored per title, and maximum number of words searched per query.
MAX_STORED = 100
MAX_SEARCHED = 5
# Maximum length of a stored word, in characters.
MAX_WORD_LENGTH = 40
# Text in scripts without spaces is split into pieces of this length, because a word can begin at any character.
_PIECE_LENGTH = 8
_WORD = re.compile(r"[^\W_]+")
# Appended to a prefix, this character gives an upper bound for all words that begin with the prefix.
LAST_CHARACTER = "\U0010ffff"


def title_words(title: str) -> list[str]:
    """Return the words in `title` as they are stored: sorted, case-folded, and without accents or duplicates."""
    title = normalize_for_search(title)
    spaced = [word[:MAX_WORD_LENGTH] for word in _WORD.findall(_fold(scripts.without_unspaced(title)))]
    pieces = [_fold(piece) for piece in scripts.unspaced_pieces(title, _PIECE_LENGTH)]
    return sorted(dict.fromkeys([*spaced, *pieces][:MAX_STORED]))


def query_prefixes(query: str) -> list[str]:
    """Return the word prefixes that a title must contain to match `query`, longest first."""
    query = normalize_for_search(query)
    spaced = [word[:MAX_WORD_LENGTH] for word in _WORD.findall(_fold(scripts.without_unspaced(query)))]
    runs = [_fold(run[:_PIECE_LENGTH]) for run in scripts.unspaced_runs(query)]
    return sorted(dict.fromkeys([*spaced, *runs]), key=len, reverse=True)[:MAX_SEARCHED]


def has_prefixes(title: str, prefixes: Sequence[str]) -> bool:
    """Return whether each of `prefixes`, from `query_prefixes`, begins a word in `title`."""
    words = title_words(title)
    return all(any(word.startswith(prefix) for word in words) for prefix in prefixes)


def _fold(text: str) -> str:
    """Return `text` without differences in case, accents and character width, so that "zur" finds "Zürich"."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
