"""What keeps a Markdown parser linear on hostile texts.

markdown-it-py itself takes about 10 µs a mark, whatever the marks; a link counts for several. Four things could still
multiply the work or the result; each has its limit here.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.image import image

DEEPEST: Final = 60  # levels of quotations and lists (a list takes two a level)
MOST_MARKS: Final = 150_000
_IMAGES_IN_ALTS: Final = 3
_SMALL_TABLE: Final = 200  # cells
# Where a link may begin without brackets: it takes as long as so many marks.
LINK_MARKS: Final = 5
_MARKS: Final = re.compile(r"[\n!&*\[\]_`<\\~|:]")
_LINKS: Final = re.compile(r"@|://|www\.", re.IGNORECASE)


def marks(source: str) -> int:
    """Return about how many steps, of some 10 µs each, it takes to parse `source`: lines, brackets and links take several."""
    counted = len(_MARKS.findall(source)) + source.count("\n") + 2 * source.count("[")
    return counted + LINK_MARKS * len(_LINKS.findall(source))


def excessive(source: str) -> bool:
    """Tell whether `source` has so many marks that parsing it would take more than a few seconds.

    No text that an author wrote by hand has.
    """
    # No character counts for more than a link.
    return len(source) > MOST_MARKS // LINK_MARKS and marks(source) > MOST_MARKS


class References(dict[str, Any]):
    """The link definitions of one text, which stop to resolve when what they gave exceeds `budget` characters.

    One long address named 100,000 times would else make gigabytes (cmark has the same limit).
    """

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._left = budget

    def get(self, key: str, default: Any = None) -> Any:
        """Return the definition of `key` while the budget lasts, then `default`."""
        found = super().get(key)
        if found is None or self._left < 0:
            return default
        self._left -= len(found["href"]) + len(found["title"])
        return found


def limit(md: MarkdownIt) -> None:
    """Install the limits on nesting, on tables and on images within images in `md`."""
    md.block.ruler.at("table", _sane_table, {"alt": ["paragraph", "reference"]})
    md.block.ruler.before("table", "deep", _deep)
    md.inline.ruler.at("image", _shallow(image))


def _deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take what is nested too deep as one paragraph. The parser would leave it out: nothing typed may vanish."""
    if silent or state.level < DEEPEST:
        return False
    state.push("paragraph_open", "p", 1)
    token = state.push("inline", "", 0)
    token.content = state.getLines(start, end, state.blkIndent, False).strip()
    token.children = []
    state.push("paragraph_close", "p", -1)
    state.line = end
    return True


def _sane_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Refuse a table of many more cells than its source has characters.

    18 KB of "|" and short lines made 6 MB of empty cells.
    """
    if start + 2 > end:
        return False
    columns = state.src.count("|", state.bMarks[start + 1], state.eMarks[start + 1]) + 1
    last = _paragraph_ends(state)[start]
    if columns * (last - start) > _SMALL_TABLE + state.eMarks[last - 1] - state.bMarks[start]:
        return False
    return table(state, start, end, silent)


def _paragraph_ends(state: StateBlock) -> list[int]:
    """Return for each line the number of the next empty one.

    Computed once a text: a table is looked for at every line.
    """
    known = state.env.get("paragraph_ends")
    if known is None:
        lines = len(state.bMarks) - 1  # the last entry is a sentinel
        known = [lines] * (lines + 1)
        for line in range(lines - 1, -1, -1):
            empty = not state.src[state.bMarks[line] : state.eMarks[line]].strip()
            known[line] = line if empty else known[line + 1]
        state.env["paragraph_ends"] = known
    return known


def _shallow(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return `rule`, but not for an image in the description of an image in ...: each would be parsed by recursion."""

    def limited(state: StateInline, silent: bool) -> bool:
        depth = state.env.get("images", 0)
        if depth >= _IMAGES_IN_ALTS:
            return False
        state.env["images"] = depth + 1
        try:
            return rule(state, silent)
        finally:
            state.env["images"] = depth

    return limited
