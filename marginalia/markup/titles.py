"""The words of titles, as they are found while an editor types their beginnings."""

import re
import unicodedata

from marginalia.markup import scripts
from marginalia.markup.characters import searchable

# Words of one title that are kept, and of what is typed that are looked for.
MOST_KEPT = 100
MOST_TYPED = 5
# Characters of one word that tell it from others.
LONGEST = 40
# Of a script without spaces a word begins at every character, and is so long.
_PIECE = 8
_WORD = re.compile(r"[^\W_]+")
# Follows every word that begins with what stands before it.
LAST = "\U0010ffff"


def words(title: str) -> list[str]:
    """Return the words of a title as they are kept: each once, sorted, without case and accents."""
    title = searchable(title)
    spaced = [word[:LONGEST] for word in _WORD.findall(_folded(scripts.spaced(title)))]
    pieces = [_folded(piece) for piece in scripts.pieces(title, _PIECE)]
    return sorted(dict.fromkeys([*spaced, *pieces][:MOST_KEPT]))


def typed(query: str) -> list[str]:
    """Return the beginnings of words that a title must have for what is typed, the longest first."""
    query = searchable(query)
    spaced = [word[:LONGEST] for word in _WORD.findall(_folded(scripts.spaced(query)))]
    runs = [_folded(run[:_PIECE]) for run in scripts.runs(query)]
    return sorted(dict.fromkeys([*spaced, *runs]), key=len, reverse=True)[:MOST_TYPED]


def _folded(text: str) -> str:
    """Return a text without case, accents and widths: "Zürich" is found by "zur"."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
