"""Conversion of any HTML to balanced HTML, which the sanitizer parses in linear time without changing its structure.

HTML parsers repair bad nesting according to rules that can multiply the tags, so parsing 1 MB of unclosed tags can take
minutes or use gigabytes of memory. To avoid this, the balancer closes each tag properly and limits the nesting to
MAX_DEPTH levels. The balancer drops unknown tags but keeps their text, and replaces obsolete tags with current ones.
Balancing doesn't make HTML safe. The sanitizer then decides what is allowed.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from marginalia.markup import tags
from marginalia.markup.html import links

MAX_DEPTH: Final = 100
# Maximum number of start tags in the output, including the tags that the balancer adds. Later tags are dropped, but
# their text is kept.
MAX_TAGS: Final = 100_000
# In characters. If the attributes of a tag are longer than this, only the first 50 attributes are kept.
MAX_ATTRIBUTES: Final = 200

_CELLS: Final = frozenset({"td", "th", "caption"})
_SECTIONS: Final = frozenset({"thead", "tbody", "tfoot"})
# Elements that can contain rows, cells or similar elements, but no text.
_TABLE_FRAMES: Final = _SECTIONS | {"table", "tr", "colgroup"}
_TABLE_PARTS: Final = _TABLE_FRAMES | _CELLS | {"col"}
_LISTS: Final = frozenset({"ul", "ol"})
_TABLE_WALLS: Final = _CELLS | {"table"}
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Start tags that end an open paragraph (HTML standard §13.2.6.4.7).
_BLOCKS: Final = _HEADINGS | tags.tag_set(
    "blockquote details div dl dd dt figcaption figure hr li ol p pre summary table ul"
)
# For each element: a set of tags to close, and a set of barriers. The element's start tag closes the nearest open tag
# from the first set, unless a barrier was opened after that tag.
_ENDS: Final = {
    "li": (frozenset({"li"}), _TABLE_WALLS | _LISTS | {"blockquote", "dl", "figure", "details"}),
    "dt": (frozenset({"dt", "dd"}), _TABLE_WALLS | _LISTS | {"blockquote", "dl", "figure", "details"}),
    "dd": (frozenset({"dt", "dd"}), _TABLE_WALLS | _LISTS | {"blockquote", "dl", "figure", "details"}),
    "a": (frozenset({"a"}), _TABLE_WALLS),
    "rp": (frozenset({"rp", "rt"}), _TABLE_WALLS | {"ruby"}),
    "rt": (frozenset({"rp", "rt"}), _TABLE_WALLS | {"ruby"}),
}
# The barriers for each element. When the element's end tag is read, the balancer searches the open tags for the tag to
# close, and the search stops at a barrier.
_BARRIERS: Final = {
    "li": _TABLE_WALLS | _LISTS,
    "dt": _TABLE_WALLS | {"dl"},
    "dd": _TABLE_WALLS | {"dl"},
    "table": frozenset[str](),
} | {part: frozenset({"table"}) for part in _TABLE_PARTS - {"table"}}


class Balancer:
    """A writer that balances the tags in one piece of HTML. Each tag is closed once and in the right order."""

    def __init__(self, allowed: frozenset[str], renamed: Mapping[str, tuple[str, ...]], *, images: bool) -> None:
        """Create a balancer.

        Args:
            allowed: The names of the tags to keep.
            renamed: Maps tags to their replacements, outermost first.
            images: Whether to keep images. Otherwise, each image is replaced with a link to the image.
        """
        self._allowed = allowed
        self._renamed = renamed
        self._images = images
        self._open: list[str] = []
        self._opened: Counter[str] = Counter()
        # The number of open tags examined so far. Tests use it to check that balancing takes linear time.
        self.steps = 0
        self._started = 0
        self._dropped: Counter[str] = Counter()
        # The searches in which _close_nearest has found nothing since the last tag was opened or closed. These searches
        # aren't repeated.
        self._missing: set[tuple[frozenset[str], frozenset[str]]] = set()
        self._written: list[str] = []

    def balance(self, html: str) -> str:
        """Return `html` with its tags balanced."""
        for token in tags.tokens(html):
            if not token.name:
                self._text(token.text)
            elif token.name == "img" and not self._images:
                self._image_link(token.text)
            else:
                self._tag(token)
        self._close_down_to(0)
        return "".join(self._written)

    def _tag(self, token: tags.Token) -> None:
        names = self._renamed.get(token.name) or (token.name,)
        if names[0] not in self._allowed:
            return
        if not token.closing:
            for name in names:
                self._start(name, token.text)
        elif self._dropped[names[0]]:
            self._dropped[names[0]] -= 1
        else:
            self._end(names[0])

    def _text(self, text: str) -> None:
        self._written.append(text.replace("<", "&lt;"))

    def _image_link(self, text: str) -> None:
        image = tags.attributes(text)
        source = image.get("src", "")
        label = image.get("alt", "").strip()
        if "a" in self._open or not links.is_allowed(source, links.COMMENT_SCHEMES) or not source:
            self._text(tags.quote(label))
            return
        self._start("a", f' href="{tags.quote(source)}"')
        self._text(tags.quote(label or source))
        self._end("a")

    def _start(self, name: str, text: str) -> None:
        if self._started >= MAX_TAGS:
            if name not in tags.VOID:
                self._dropped[name] += 1
            return
        if name in _TABLE_PARTS and name != "table":
            if not self._enter_frame(name):
                return
        elif self._open and self._open[-1] in _TABLE_FRAMES:
            return
        if name in _BLOCKS:
            self._close_nearest(frozenset({"p"}), _TABLE_WALLS)
            if name in _HEADINGS and self._open and self._open[-1] in _HEADINGS:
                self._close_down_to(len(self._open) - 1)
        if name in _ENDS:
            self._close_nearest(*_ENDS[name])
        if name in tags.VOID:
            self._write(name, text)
        elif len(self._open) >= MAX_DEPTH:
            self._dropped[name] += 1
        else:
            self._write(name, text)
            self._open.append(name)
            self._opened[name] += 1
            self._missing.clear()

    def _enter_frame(self, name: str) -> bool:
        """Prepare for an element inside a table, such as a cell or a row.

        Close open tags, and open the row or section that the element needs. Return False if no table is open.
        """
        if "table" not in self._open:
            return False
        parents = _CELLS - {"caption"}
        if name in parents:
            self._close_down_to(self._last_of({"table", "tr"} | _SECTIONS) + 1)
            if self._open[-1] != "tr":
                self._start("tr", "")
        elif name == "tr":
            self._close_down_to(self._last_of({"table"} | _SECTIONS) + 1)
            if self._open[-1] == "table":
                self._start("tbody", "")
        elif name == "col":
            self._close_down_to(self._last_of({"table", "colgroup"}) + 1)
            if self._open[-1] == "table":
                self._start("colgroup", "")
        else:
            self._close_down_to(self._last_of({"table"}) + 1)
        return True

    def _last_of(self, names: set[str]) -> int:
        return next(index for index in range(len(self._open) - 1, -1, -1) if self._open[index] in names)

    def _end(self, name: str) -> None:
        if name == "br":  # browsers treat "</br>" as a line break
            self._start("br", "")
            return
        self._close_nearest(_HEADINGS if name in _HEADINGS else frozenset({name}), _BARRIERS.get(name, _TABLE_WALLS))

    def _close_nearest(self, names: frozenset[str], barriers: frozenset[str]) -> None:
        if (names, barriers) in self._missing or not any(self._opened[name] for name in names):
            return
        for index in range(len(self._open) - 1, -1, -1):
            self.steps += 1
            if self._open[index] in names:
                self._close_down_to(index)
                return
            if self._open[index] in barriers:
                break
        self._missing.add((names, barriers))

    def _close_down_to(self, depth: int) -> None:
        if len(self._open) > depth:
            self._missing.clear()
        while len(self._open) > depth:
            name = self._open.pop()
            self._opened[name] -= 1
            self._written.append(f"</{name}>")

    def _write(self, name: str, text: str) -> None:
        self._started += 1
        if len(text) > MAX_ATTRIBUTES:
            text = "".join(
                f' {key}="{tags.quote(value)}"' for key, value in tags.attributes(text).items() if _NAME.fullmatch(key)
            )
        self._written.append(f"<{name}{text}>")


_NAME = re.compile("[a-z][a-z-]*")
