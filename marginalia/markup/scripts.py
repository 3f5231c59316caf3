"""Functions that split text in scripts without spaces, so that a text index can find words in it."""

import re
from collections.abc import Iterator
from itertools import pairwise

# The scripts without spaces between words. A text index would treat a whole clause in these scripts as one word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)


def character_pairs(words: str) -> set[str]:
    """Return the characters in `words` that belong to scripts without spaces, and their pairs of adjacent characters.

    A search for 红楼梦 then searches for 红楼 and 楼梦, regardless of the surrounding text.
    """
    found: set[str] = set()
    for run in unspaced_runs(words):
        found.update(run, map("".join, pairwise(run)))
    return found


def find_unspaced(words: str) -> Iterator[re.Match[str]]:
    """Yield a match for each run of characters in `words` that belong to scripts without spaces."""
    return _UNSPACED.finditer(words)


def unspaced_runs(words: str) -> list[str]:
    """Return the runs of characters in `words` that belong to scripts without spaces."""
    return _UNSPACED.findall(words)


def unspaced_pieces(words: str, size: int) -> list[str]:
    """For each character in the unspaced runs of `words`, return the piece of its run that starts there.

    A piece has up to `size` characters.
    """
    return [run[start : start + size] for run in unspaced_runs(words) for start in range(len(run))]


def without_unspaced(words: str) -> str:
    """Return `words` without the characters that `character_pairs` covers."""
    return _UNSPACED.sub(" ", words)


def blank_unspaced(words: str) -> str:
    """Return `words` with a space instead of each character that `character_pairs` covers."""
    return _UNSPACED.sub(lambda run: " " * len(run[0]), words)
