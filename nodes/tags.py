"""Tags as editors type them: separated by commas."""

import unicodedata
from collections.abc import Iterable

from marginalia.markup.characters import is_blank

LONGEST = 100
MOST = 200


def normalized(tag: str) -> str:
    """Return a tag in the one form in which it is stored: NFC, single spaces, no comma, which separates them, and no slash at
    either end, which its address cannot have."""
    plain = "".join(" " if unicodedata.category(c)[0] in "CZ" or c == "," else c for c in tag)
    whole = unicodedata.normalize("NFC", " ".join(plain.split())).strip(" /")[:LONGEST].strip(" /")
    return "" if is_blank(whole) else whole


def has_no_address(tag: str) -> bool:
    """Return whether a part of a tag is "." or "..", which browsers remove from addresses."""
    return bool({".", ".."} & set(tag.split("/")))


def parse(typed: str) -> tuple[str, ...]:
    """Return the tags of a text such as "spring, news", each once, in their order."""
    return unique(part for part in typed.split(","))


def unique(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags normalized, each once: "News" and "news" are one, spelled as it came first."""
    found: dict[str, str] = {}
    for tag in tags:
        if plain := normalized(tag):
            found.setdefault(plain.casefold(), plain)
    return tuple(found.values())[:MOST]
