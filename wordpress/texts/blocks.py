"""Blocks of WordPress's editor: comments in a body that name a block and its attributes.

What a block shows stands between its markers. Those that WordPress fills when it shows the post are resolved here, if the
export has what goes there: synced patterns and footnotes. The others are named.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wordpress.texts.tokens import Token, attributes

__all__ = [
    "LOST_BLOCK",
    "LOST_PATTERN",
    "Block",
    "Footnote",
    "footnote_list",
    "parse",
    "read_footnotes",
    "with_marks",
    "with_patterns",
]

# Synced patterns in one text, and how far they may be within each other.
MOST_PATTERNS = 200
DEEPEST = 5
# How a text's list of what it lost names blocks and synced patterns.
LOST_BLOCK, LOST_PATTERN = "the block ", "the synced pattern "
# More than this (characters) is no post.
LONGEST = 16 * 1024 * 1024

_PATTERN = re.compile(r"<!--\s*wp:block\s+(\{[^<>]{0,20000}\})\s*/?-->")
_BLOCK = re.compile(r"<!--\s*(/?)wp:([a-z][a-z0-9/_-]*)(?:\s*(\{.*\}))?\s*(/?)-->\Z", re.DOTALL)
_MARK = re.compile(r"<sup\b([^<>]*)>\s*<a\b[^<>]*>([^<>]*)</a>\s*</sup>", re.IGNORECASE)
_BACK = "\u21a9\ufe0e"


@dataclass(frozen=True, slots=True)
class Block:
    """A marker of a block. `is_empty`: nothing stands in the block."""

    name: str
    attributes: dict[str, Any]
    is_end: bool
    is_empty: bool

    @property
    def picture(self) -> int:
        """The number of the picture that the block shows; 0 for none."""
        number = self.attributes.get("mediaId" if self.name == "media-text" else "id")
        shows = self.name in ("image", "cover", "media-text") and not self.is_end
        return number if shows and isinstance(number, int) else 0


@dataclass(frozen=True, slots=True)
class Footnote:
    """A footnote of a post: the id by which its mark in the text names it, and its HTML."""

    id: str
    html: str


def parse(token: Token) -> Block | None:
    """Return the block whose marker a comment is; None for other comments."""
    found = _BLOCK.match(token.source)
    if not found:
        return None
    try:
        values = json.loads(found[3] or "{}")
    except (ValueError, RecursionError):
        values = {}
    return Block(found[2].removeprefix("core/"), values, bool(found[1]), bool(found[4]))


def with_patterns(source: str, pattern: Callable[[int], str | None], lost: dict[str, None]) -> str:
    """Return a body with the contents of synced patterns where they are used; what is not there is added to `lost`."""
    left = MOST_PATTERNS
    room = LONGEST

    def content(found: re.Match[str], above: tuple[int, ...]) -> str:
        nonlocal left, room
        try:
            values = json.loads(found[1])
        except (ValueError, RecursionError):
            values = {}
        number = values.get("ref")
        body = pattern(number) if isinstance(number, int) else None
        left -= 1
        room -= len(body or "")
        if body is None or number in above or len(above) >= DEEPEST or left < 0 or room < 0:
            lost.setdefault(f"{LOST_PATTERN}{number}")
            return ""
        if values.get("content"):
            lost.setdefault(f"what the post changed in the synced pattern {number}")
        return _PATTERN.sub(lambda inner: content(inner, (*above, number)), body)

    return _PATTERN.sub(lambda found: content(found, ()), source)


def read_footnotes(stored: str) -> list[Footnote] | None:
    """Return the footnotes that WordPress stored beside a post, as JSON; None if they cannot be read."""
    try:
        values = json.loads(stored or "[]")
        return [Footnote(str(value["id"]), str(value["content"])) for value in values]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None


def with_marks(text: str, notes: list[Footnote], lost: dict[str, None]) -> str:
    """Return a text whose marks lead to the footnotes; the mark of one that is not there stays as a number."""
    numbers = {note.id: number for number, note in enumerate(notes, 1)}
    seen: set[int] = set()

    def mark(found: re.Match[str]) -> str:
        name = attributes(found[1]).get("data-fn")
        if name is None:
            return found[0]
        number = numbers.get(name)
        if number is None:
            lost.setdefault(f"the footnote {found[2]}")
            return f"<sup>{found[2]}</sup>"
        again = "" if number not in seen else ".2"
        seen.add(number)
        return f'<sup class="footnote-ref"><a id="fnref.{number}{again}" href="#fn.{number}">{number}</a></sup>'

    return _MARK.sub(mark, text)


def footnote_list(notes: list[str]) -> str:
    """Return the list of the footnotes, from the HTML of each."""
    items = "".join(
        f'<li id="fn.{number}"><p>{note} <a class="footnote-back" href="#fnref.{number}">{_BACK}</a></p></li>\n'
        for number, note in enumerate(notes, 1)
    )
    return f'<div class="footnotes">\n<ol>\n{items}</ol>\n</div>'
