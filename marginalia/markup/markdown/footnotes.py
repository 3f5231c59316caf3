"""Footnotes: `[^name]` in the text refers to the note `[^name]: …`. The notes become a list at the end of the text.

In clean HTML, each reference is a link to a list item, and the item has links back to the references, so notes can also
be shown elsewhere. Ids are derived from names, so they don't change when another note is added.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def, footnote_ref

_MAX_NAME_LENGTH: Final = 60  # characters; without a limit, the plugin would search the entire text for a name's end
_PLAIN: Final = re.compile(r"[\w-]+")
_BACK: Final = "\u21a9\ufe0e"  # an arrow; without the variation selector, some devices would show it as an emoji


def install(lines: MarkdownIt, blocks: MarkdownIt) -> None:
    """Add footnote support to the parser `blocks`, and to `lines`, the parser for the inline content of blocks."""
    # Inline notes (`^[…]`) are disabled, because the plugin parses them recursively.
    for md in (lines, blocks):
        footnote_plugin(md, inline=False)
    lines.inline.ruler.at("footnote_ref", _reference)
    blocks.block.ruler.at("footnote_def", _definition, {"alt": ["paragraph", "reference"]})
    for written in (_ref, _block_open, _block_close, _open, _anchor):
        blocks.add_render_rule(f"footnote{written.__name__}", written)


def _has_name(text: str, start: int) -> bool:
    return text.startswith("[^", start) and text.find("]", start, start + _MAX_NAME_LENGTH) > 0


def _reference(state: StateInline, silent: bool) -> bool:
    return _has_name(state.src, state.pos) and footnote_ref(state, silent)


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    # Notes are accepted only at the top level, because the plugin would break up notes inside other notes, lists or
    # quotations. A note ends where the next note starts.
    is_next = silent and state.sCount[start] < state.blkIndent
    is_at_top = (state.level == 0 or is_next) and _has_name(state.src, state.bMarks[start] + state.tShift[start])
    return is_at_top and footnote_def(state, start, end, silent)


def _id(token: Token) -> str:
    """Return the part of an id that identifies a note.

    It begins with ":" or ".", so that a note's id can't be the same as the id of a heading.
    """
    label = token.meta["label"]
    return f":{label}" if _PLAIN.fullmatch(label) else f".{token.meta['id'] + 1}"


def _id_of_reference(token: Token) -> str:
    count = token.meta["subId"] + 1
    return f"fnref{_id(token)}" + (f".{count}" if count > 1 else "")


def _ref(_self: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    token = tokens[at]
    number = token.meta["id"] + 1
    return f'<sup class="footnote-ref"><a id="{_id_of_reference(token)}" href="#fn{_id(token)}">{number}</a></sup>'


def _block_open(_self: RendererHTML, _tokens: Sequence[Token], _at: int, _options: Any, _env: Any) -> str:
    return '<div class="footnotes">\n<ol>\n'


def _block_close(_self: RendererHTML, _tokens: Sequence[Token], _at: int, _options: Any, _env: Any) -> str:
    return "</ol>\n</div>\n"


def _open(_self: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    return f'<li id="fn{_id(tokens[at])}">'


def _anchor(_self: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    token = tokens[at]
    count = token.meta["subId"] + 1
    number = f"<sup>{count}</sup>" if count > 1 else ""
    return f' <a class="footnote-back" href="#{_id_of_reference(token)}">{_BACK}{number}</a>'
