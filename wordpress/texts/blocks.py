"""Blocks from WordPress's editor. A block marker is an HTML comment that contains a block's name and attributes.

The content of a block is usually between its markers. However, WordPress generates the content of some blocks only when
it shows the post. If the export contains the content of two kinds of such blocks, synced patterns and footnotes, this
module inserts it. All other blocks without content are reported.
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
    "expand_patterns",
    "link_footnotes",
    "parse",
    "read_footnotes",
    "render_footnotes",
]

# Maximum number of synced patterns that are inserted into one post, and maximum depth of patterns in patterns.
MAX_PATTERNS = 200
MAX_DEPTH = 5
# Prefixes in the list of lost parts, for blocks and for synced patterns.
LOST_BLOCK, LOST_PATTERN = "the block ", "the synced pattern "
# The inserted patterns can have at most this many characters in one post. No real post is longer.
MAX_LENGTH = 16 * 1024 * 1024

_PATTERN = re.compile(r"<!--\s*wp:block\s+(\{[^<>]{0,20000}\})\s*/?-->")
_BLOCK = re.compile(r"<!--\s*(/?)wp:([a-z][a-z0-9/_-]*)(?:\s*(\{.*\}))?\s*(/?)-->\Z", re.DOTALL)
_MARK = re.compile(r"<sup\b([^<>]*)>\s*<a\b[^<>]*>([^<>]*)</a>\s*</sup>", re.IGNORECASE)
_BACK_LINK = "\u21a9\ufe0e"


@dataclass(frozen=True, slots=True)
class Block:
    """A block marker.

    Attributes:
        is_empty: Whether the block consists of only one marker, without content.
    """

    name: str
    attributes: dict[str, Any]
    is_end: bool
    is_empty: bool

    @property
    def picture(self) -> int:
        """Return the id of the picture that the block shows, or 0 if there is none."""
        number = self.attributes.get("mediaId" if self.name == "media-text" else "id")
        shows = self.name in ("image", "cover", "media-text") and not self.is_end
        return number if shows and isinstance(number, int) else 0


@dataclass(frozen=True, slots=True)
class Footnote:
    """A footnote of a post: the id to which its mark in the text refers, and its HTML."""

    id: str
    html: str


def parse(token: Token) -> Block | None:
    """Return the block that a block marker describes, or None if the HTML comment isn't a block marker."""
    match = _BLOCK.match(token.source)
    if not match:
        return None
    try:
        values = json.loads(match[3] or "{}")
    except (ValueError, RecursionError):
        values = {}
    return Block(match[2].removeprefix("core/"), values, bool(match[1]), bool(match[4]))


def expand_patterns(source: str, pattern: Callable[[int], str | None], lost: dict[str, None]) -> str:
    """Insert the content of synced patterns into the body of a post.

    If a pattern can't be inserted, add it to `lost`.
    """
    patterns_left = MAX_PATTERNS
    characters_left = MAX_LENGTH

    def replace_pattern(match: re.Match[str], ancestors: tuple[int, ...]) -> str:
        nonlocal patterns_left, characters_left
        try:
            values = json.loads(match[1])
        except (ValueError, RecursionError):
            values = {}
        number = values.get("ref")
        body = pattern(number) if isinstance(number, int) else None
        patterns_left -= 1
        characters_left -= len(body or "")
        if (
            body is None
            or number in ancestors
            or len(ancestors) >= MAX_DEPTH
            or patterns_left < 0
            or characters_left < 0
        ):
            lost.setdefault(f"{LOST_PATTERN}{number}")
            return ""
        if values.get("content"):
            lost.setdefault(f"the post's changes to the synced pattern {number}")
        return _PATTERN.sub(lambda inner_match: replace_pattern(inner_match, (*ancestors, number)), body)

    return _PATTERN.sub(lambda match: replace_pattern(match, ()), source)


def read_footnotes(stored: str) -> list[Footnote] | None:
    """Return the footnotes that WordPress stored with a post as JSON, or None if they can't be parsed."""
    try:
        values = json.loads(stored or "[]")
        return [Footnote(str(value["id"]), str(value["content"])) for value in values]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None


def link_footnotes(text: str, notes: list[Footnote], lost: dict[str, None]) -> str:
    """Link the footnote marks in `text` to the footnotes. If a footnote is missing, its mark becomes a plain number."""
    numbers = {note.id: number for number, note in enumerate(notes, 1)}
    seen: set[int] = set()

    def replace_mark(match: re.Match[str]) -> str:
        name = attributes(match[1]).get("data-fn")
        if name is None:
            return match[0]
        number = numbers.get(name)
        if number is None:
            lost.setdefault(f"the footnote {match[2]}")
            return f"<sup>{match[2]}</sup>"
        suffix = "" if number not in seen else ".2"
        seen.add(number)
        return f'<sup class="footnote-ref"><a id="fnref.{number}{suffix}" href="#fn.{number}">{number}</a></sup>'

    return _MARK.sub(replace_mark, text)


def render_footnotes(notes: list[str]) -> str:
    """Return the HTML of a list of footnotes. `notes` contains the HTML of each footnote."""
    items = "".join(
        f'<li id="fn.{number}"><p>{note} <a class="footnote-back" href="#fnref.{number}">{_BACK_LINK}</a></p></li>\n'
        for number, note in enumerate(notes, 1)
    )
    return f'<div class="footnotes">\n<ol>\n{items}</ol>\n</div>'
