"""Limits that keep the Markdown parser's time linear, even for malicious input.

Parsing and cleaning together take about 10 µs per mark (a character that can begin or end an element). Syntax that
creates several elements counts as several marks. Four kinds of syntax could still multiply the work or the output, so
each of these kinds has its own limit.
"""

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.image import image

MAX_DEPTH: Final = 60  # levels of quotations and lists; a list counts as two levels
MAX_MARKS: Final = 150_000
_MAX_NESTED_IMAGES: Final = 3
_MAX_PADDING: Final = 2_000  # maximum number of cells missing from table rows, in all tables together
# The cost, in marks, of a position where a bare link may begin.
LINK_MARKS: Final = 5
# The cost, in marks, of a list item or definition (which may begin its own list), and of a table cell (which may have
# an empty cell before or after it).
_ITEM_MARKS: Final = 6
_CELL_MARKS: Final = 6
# The cost, in marks, of a footnote reference and its back link.
_NOTE_MARKS: Final = 6
_MARKS: Final = re.compile(r"[&!\]\\:]")
# Matches line breaks, and the characters that mark emphasis, code, tags, headings and maths. They cost two marks each,
# because most of these elements have a start tag and an end tag.
_DOUBLE: Final = re.compile(r"[\n*_~`<#^$]|==")
_QUOTES: Final = re.compile(r"(?<![^\s>])>")
_ITEMS: Final = re.compile(r"(?<![^\s>])(?:[-+*:~]|\d{1,9}[.)])(?=\s)")
_LINKS: Final = re.compile(r"@|://|www\.", re.IGNORECASE)


def count_marks(source: str) -> int:
    """Return the approximate cost of rendering `source`, in marks (about 10 µs each).

    The cost is about the number of HTML tokens in the output.
    """
    return (
        len(_MARKS.findall(source))
        + 2 * len(_DOUBLE.findall(source))
        + 3 * (source.count("[") + len(_QUOTES.findall(source)))
        + _CELL_MARKS * source.count("|")
        + _NOTE_MARKS * source.count("[^")
        + _ITEM_MARKS * len(_ITEMS.findall(source))
        + LINK_MARKS * len(_LINKS.findall(source))
    )


def is_excessive(source: str) -> bool:
    """Return whether parsing `source` would take more than about two seconds.

    Text that was written by hand never comes close to this limit.
    """
    # Text that is too short to exceed the limit isn't counted. No character costs more marks than the asterisk of a
    # list item. Even a footnote reference costs less per character.
    return len(source) > MAX_MARKS // (_ITEM_MARKS + 2) and count_marks(source) > MAX_MARKS


class LimitedReferences(dict[str, Any]):
    """Link definitions with a limit. Once the resolved links exceed `budget` characters, no more links are resolved.

    Without a budget, 100,000 references to one long URL would create gigabytes of output. cmark has the same limit.
    """

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._left = budget

    def get(self, key: str, default: Any = None) -> Any:
        """Return the definition of `key`, or `default` once the budget is used up."""
        found = super().get(key)
        if found is None or self._left < 0:
            return default
        self._left -= len(found["href"]) + len(found["title"])
        return found


def install_limits(md: MarkdownIt) -> None:
    """Install the limits on nesting, tables and nested images in `md`."""
    md.block.ruler.at("table", _limited_table, {"alt": ["paragraph", "reference"]})
    md.block.ruler.before("table", "deep", _flatten_deep_block)
    md.inline.ruler.at("image", _limit_nesting(image))


def _flatten_deep_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Treat blocks that are nested too deeply as a single paragraph.

    The parser would drop these blocks, but the text must not disappear.
    """
    if silent or state.level < MAX_DEPTH:
        return False
    state.push("paragraph_open", "p", 1)
    token = state.push("inline", "", 0)
    token.content = state.getLines(start, end, state.blkIndent, False).strip()
    token.children = []
    state.push("paragraph_close", "p", -1)
    state.line = end
    return True


def _limited_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Reject a table if the tables in the text have many more cells than vertical bars.

    Short rows are padded with empty cells, which `count_marks` doesn't count. Without this limit, 18 KB of "|" and
    short lines created 6 MB of empty cells.
    """
    if start + 2 > end:
        return False
    last, bars = _lines(state)
    cells = (bars[start + 2] - bars[start + 1] + 1) * (last[start] - start)
    padding = state.env.get("padding", 0) + max(cells - 2 * (bars[last[start]] - bars[start]), 0)
    if padding > _MAX_PADDING or not table(state, start, end, silent):
        return False
    if not silent:
        state.env["padding"] = padding
    return True


def _lines(state: StateBlock) -> tuple[list[int], list[int]]:
    """Return, for each line, the line number of the next empty line, and the number of vertical bars before the line.

    The result is computed only once per Markdown source, because the parser looks for a table at every line.
    """
    known = state.env.get("lines")
    if known is None:
        # The last entry of bMarks and eMarks is a sentinel, not a line, so leave it out.
        lines = [state.src[begin:end] for begin, end in zip(state.bMarks[:-1], state.eMarks[:-1], strict=True)]
        empty = [len(lines)] * (len(lines) + 1)
        for number in range(len(lines) - 1, -1, -1):
            empty[number] = empty[number + 1] if lines[number].strip() else number
        known = empty, list(accumulate((line.count("|") for line in lines), initial=0))
        state.env["lines"] = known
    return known


def _limit_nesting(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Wrap `rule` to limit how deeply images are nested in image descriptions, which are parsed recursively."""

    def limited(state: StateInline, silent: bool) -> bool:
        depth = state.env.get("images", 0)
        if depth >= _MAX_NESTED_IMAGES:
            return False
        state.env["images"] = depth + 1
        try:
            return rule(state, silent)
        finally:
            state.env["images"] = depth

    return limited
