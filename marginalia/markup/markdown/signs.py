"""Inline syntax for ==marked==, H~2~O, x^2^, `$maths$` and task list boxes, and blocks of maths between lines of `$$`.

Maths is stored as a code element with the language "math", which contains the TeX as typed. The site converts it to
formulas when it shows the text. The module doesn't use the rules of mdit-py-plugins, because they take seconds for runs
of backslashes or dollar signs. Each rule here examines a limited number of characters.
"""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline

MAX_MATHS_LENGTH: Final = 2_000  # characters
_MAX_LINES: Final = 50  # lines per block of maths
# Matches a subscript or superscript, which contains no unescaped white space and no other markup.
_SCRIPT: Final = re.compile(r"\^((?:\\.|[^\s\\^]){1,100}+)\^|~((?:\\.|[^\s\\~]){1,100}+)~(?!~)")
_SCRIPTS: Final = {"^": "sup", "~": "sub"}
_ESCAPED: Final = re.compile(r"\\([ \\!\"#$%&'()*+,./:;<=>?@[\]^_`{|}~-])")
# Matches a number that is followed by words, as in a price. Prices such as "from $5 to $10" and "$10, US$" aren't
# maths. To exclude prices, there must be no space directly inside the dollar signs, no letter or digit directly after
# them, and no words after a leading number.
_PRICE: Final = r"\d[^$]{0,200}?\s[a-zA-Z]{2}"
_MATHS: Final = re.compile(rf"\$(?![\s$]|{_PRICE})((?:[^$\\\n]|\\.){{1,{MAX_MATHS_LENGTH}}}+)(?<!\s)\$(?![\w$])")
_TASK: Final = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_INTERRUPTS: Final = ["paragraph", "reference", "blockquote", "list"]


def install(lines: MarkdownIt, blocks: MarkdownIt) -> None:
    """Add this syntax to the parser `blocks`, and to `lines`, the parser for the inline content of blocks."""
    lines.inline.ruler.before("escape", "maths", _maths)
    lines.inline.ruler.before("strikethrough", "mark", _mark)
    lines.inline.ruler.before("strikethrough", "script", _script)
    blocks.block.ruler.before("fence", "maths", _maths_block, {"alt": _INTERRUPTS})
    blocks.core.ruler.before("inline", "tasks", _tasks)


def _mark(state: StateInline, silent: bool) -> bool:
    start = state.pos + 2
    most = state.posMax
    if not state.src.startswith("==", state.pos):
        return False
    end = state.src.find("==", start, most)
    words = state.src[start:end]
    if end < 0 or not words or words != words.strip():
        return False
    if not silent:
        state.push("mark_open", "mark", 1)
        state.pos = start
        state.posMax = end
        state.md.inline.tokenize(state)
        state.posMax = most
        state.push("mark_close", "mark", -1)
    state.pos = end + 2
    return True


def _script(state: StateInline, silent: bool) -> bool:
    found = _SCRIPT.match(state.src, state.pos, state.posMax)
    if not found or state.src[state.pos - 1 : state.pos] == "~":
        return False
    if not silent:
        tag = _SCRIPTS[found[0][0]]
        state.push(f"{tag}_open", tag, 1)
        state.push("text", "", 0).content = _ESCAPED.sub(r"\1", found[1] or found[2])
        state.push(f"{tag}_close", tag, -1)
    state.pos = found.end()
    return True


def _maths(state: StateInline, silent: bool) -> bool:
    found = _MATHS.match(state.src, state.pos, state.posMax)
    before = state.src[state.pos - 1 : state.pos]
    if not found or before.isalnum() or before == "$":
        return False
    if not silent:
        token = state.push("code_inline", "code", 0)
        token.content = found[1]
        token.attrs = {"class": "language-math"}
    state.pos = found.end()
    return True


def _maths_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a block from a line that begins with `$$` to a line that ends with `$$`, with no empty line in between."""
    begin = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("$$", begin) or state.is_code_block(start):
        return False
    last = start
    text = state.src[begin + 2 : state.eMarks[start]].rstrip()
    while not text.endswith("$$"):
        last += 1
        if last >= min(end, start + _MAX_LINES) or state.isEmpty(last) or state.sCount[last] < state.blkIndent:
            return False
        text += "\n" + state.getLines(last, last + 1, state.blkIndent, False).rstrip()
        if len(text) > MAX_MATHS_LENGTH:
            return False
    text = text[:-2].strip()
    if not text or "$$" in text:
        return False
    if not silent:
        token = state.push("fence", "code", 0)
        token.info = "math"
        token.content = text + "\n"
        token.map = [start, last + 1]
        state.line = last + 1
    return True


def _tasks(state: StateCore) -> None:
    """Write the boxes in task lists as characters, so that screen readers, feeds and excerpts include them."""
    for item, paragraph, words in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open" or words.type != "inline":
            continue
        if found := _TASK.match(words.content):
            words.content = ("☐ " if found[1] == " " else "☑ ") + words.content[found.end() :]
            item.attrSet("class", "task")
