"""Parse and normalize tags. Editors type tags separated by commas."""

import unicodedata
from collections.abc import Iterable

from marginalia.markup.characters import is_blank

LONGEST = 100
MOST = 200
LONGEST_DESCRIPTION = 1_000


def normalized(tag: str) -> str:
    """Return `tag` in its stored form: NFC, single spaces, no commas, and at most LONGEST characters.

    Commas are removed because they separate tags. Leading and trailing slashes are removed because the URL of a tag
    can't contain them.
    """
    spaced = "".join(" " if unicodedata.category(c)[0] in "CZ" or c == "," else c for c in tag)
    normal = unicodedata.normalize("NFC", " ".join(spaced.split())).strip(" /")[:LONGEST].strip(" /")
    return "" if is_blank(normal) else normal


def has_no_address(tag: str) -> bool:
    """Return whether a part of `tag` between slashes is "." or "..", which browsers remove from URLs."""
    return bool({".", ".."} & set(tag.split("/")))


def parse(typed: str) -> tuple[str, ...]:
    """Return the tags in a string such as "spring, news", in the same order and without duplicates."""
    return unique(part for part in typed.split(","))


def unique(tags: Iterable[str]) -> tuple[str, ...]:
    """Return up to MOST normalized tags without duplicates. If tags differ only in case, keep only the first."""
    spellings: dict[str, str] = {}
    for tag in tags:
        if normal := normalized(tag):
            spellings.setdefault(normal.casefold(), normal)
    return tuple(spellings.values())[:MOST]
