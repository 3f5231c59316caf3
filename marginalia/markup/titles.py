"""Words of titles, for suggestions while an editor types."""

import re
import unicodedata

from marginalia.markup import scripts
from marginalia.markup.characters import normalize_for_search

# Words of a title that are stored, and words of a query that are searched.
MAX_STORED = 100
MAX_SEARCHED = 5
# Characters of a word that are stored.
MAX_WORD_LENGTH = 40
# Of a script without spaces a word begins at every character, and is so long.
_PIECE_LENGTH = 8
_WORD = re.compile(r"[^\W_]+")
# Follows every word that begins with what stands before it.
LAST_CHARACTER = "\U0010ffff"


def title_words(title: str) -> list[str]:
    """Return the words of a title as they are stored: each once, sorted, without case and accents."""
    title = normalize_for_search(title)
    spaced = [word[:MAX_WORD_LENGTH] for word in _WORD.findall(_fold(scripts.without_unspaced(title)))]
    pieces = [_fold(piece) for piece in scripts.unspaced_pieces(title, _PIECE_LENGTH)]
    return sorted(dict.fromkeys([*spaced, *pieces][:MAX_STORED]))


def query_prefixes(query: str) -> list[str]:
    """Return the beginnings of words that a title must have to match `query`, the longest first."""
    query = normalize_for_search(query)
    spaced = [word[:MAX_WORD_LENGTH] for word in _WORD.findall(_fold(scripts.without_unspaced(query)))]
    runs = [_fold(run[:_PIECE_LENGTH]) for run in scripts.unspaced_runs(query)]
    return sorted(dict.fromkeys([*spaced, *runs]), key=len, reverse=True)[:MAX_SEARCHED]


def _fold(text: str) -> str:
    """Return a text without case, accents and widths: "Zürich" is found by "zur"."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
