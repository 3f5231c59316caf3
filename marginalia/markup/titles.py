"""Words of titles, for suggestions while an editor types."""

import re
import unicodedata

from marginalia.markup import scripts
from marginalia.markup.characters import normalize_for_search

# Maximum words of a title that are stored, and maximum words of a query that are searched.
MAX_STORED = 100
MAX_SEARCHED = 5
# Maximum characters of a stored word.
MAX_WORD_LENGTH = 40
# Length of the pieces of scripts without spaces, in which a word can begin at every character.
_PIECE_LENGTH = 8
_WORD = re.compile(r"[^\W_]+")
# This character sorts after all words that begin with the text before it.
LAST_CHARACTER = "\U0010ffff"


def title_words(title: str) -> list[str]:
    """Return the words of `title` as they are stored: sorted, without duplicates, case and accents."""
    title = normalize_for_search(title)
    spaced = [word[:MAX_WORD_LENGTH] for word in _WORD.findall(_fold(scripts.without_unspaced(title)))]
    pieces = [_fold(piece) for piece in scripts.unspaced_pieces(title, _PIECE_LENGTH)]
    return sorted(dict.fromkeys([*spaced, *pieces][:MAX_STORED]))


def query_prefixes(query: str) -> list[str]:
    """Return the beginnings of words that a title must contain to match `query`, longest first."""
    query = normalize_for_search(query)
    spaced = [word[:MAX_WORD_LENGTH] for word in _WORD.findall(_fold(scripts.without_unspaced(query)))]
    runs = [_fold(run[:_PIECE_LENGTH]) for run in scripts.unspaced_runs(query)]
    return sorted(dict.fromkeys([*spaced, *runs]), key=len, reverse=True)[:MAX_SEARCHED]


def _fold(text: str) -> str:
    """Return `text` without case, accents and widths, so that "zur" finds "Zürich"."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
