"""Conversion of directives to elements that the sanitizer keeps.

The elements are resolved when the text is shown (`markup.html.inserts`).

A quotation that begins with `[!NOTE]` (an "alert" in GitHub's Markdown) is converted to a `note` insert.

The first and last lines of a container become separate tokens, which are paired after the text has been parsed. The
content is therefore parsed like any other text, at any depth, and no line is parsed twice.
"""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from marginalia.markup import directives
from marginalia.markup.html import inserts

MAX_DEPTH: Final = 4  # levels of nested containers
_CALLOUT: Final = re.compile(
    r"\[!(note|tip|important|warning|caution)\](?:[ \t]+([^\n]{1,200}))?[ \t]*(?:\n|\Z)", re.IGNORECASE
)
_END: Final = inserts.END_TAG + "\n"
_TYPE: Final = "html_block"
_INTERRUPTS: Final[RuleOptionsType] = {"alt": ["paragraph", "reference", "blockquote", "list"]}


def install(md: MarkdownIt) -> None:
    """Install the rules that convert directives to placeholders in `md`."""
    md.block.ruler.before("fence", "directive", _directive, _INTERRUPTS)
    md.core.ruler.after("block", "containers", _pair_containers)
    md.core.ruler.after("containers", "callouts", _callouts)


def _directive(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    begin = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("::", begin):
        return False
    directive = directives.parse_line(state.src[begin : state.eMarks[start]])
    if directive is None:
        return False
    if not silent:
        token = state.push(_TYPE, "", 0)
        token.map = [start, start + 1]
        token.meta["directive"] = directive
        if not directive.is_container:
            token.content = inserts.start_tag(directive.source, start + 1) + _END
    state.line = start + 1
    return True


def _pair_containers(state: StateCore) -> None:
    """Pair the first and last lines of containers.

    A container becomes an element if both lines are in the same block. Otherwise, each of the two lines is an error.
    """
    frames: list[list[Token]] = [[]]
    for token in state.tokens:
        if token.nesting > 0:
            frames.append([])
        elif token.nesting < 0:
            _mark_unclosed(frames.pop())
        elif (directive := token.meta.get("directive")) and directive.is_container:
            if directive.source:
                frames[-1].append(token)
            else:
                _close_container(token, frames[-1], sum(map(len, frames)))
    for opened in frames:
        _mark_unclosed(opened)


def _close_container(token: Token, opened: list[Token], depth: int) -> None:
    if not opened:
        token.content = inserts.start_tag("", _line_number(token), "closes nothing") + _END
        return
    first = opened.pop()
    if depth > MAX_DEPTH:
        first.content = inserts.start_tag(first.meta["directive"].source, _line_number(first), "too deep") + _END
        return
    first.content = inserts.start_tag(first.meta["directive"].source, _line_number(first)) + "\n"
    token.content = _END


def _mark_unclosed(opened: list[Token]) -> None:
    for token in opened:
        token.content = inserts.start_tag(token.meta["directive"].source, _line_number(token), "not closed") + _END


def _line_number(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0


def _callouts(state: StateCore) -> None:
    """Convert quotations to notes if their first line is one of the five alert markers, optionally with a title."""
    opened: list[Token | None] = []
    for at, token in enumerate(state.tokens):
        if token.type == "blockquote_open":
            opened.append(token if _begin_note(state.tokens, at) else None)
        elif token.type == "blockquote_close" and opened.pop():
            token.type = _TYPE
            token.content = _END


def _begin_note(tokens: list[Token], at: int) -> bool:
    if [token.type for token in tokens[at + 1 : at + 3]] != ["paragraph_open", "inline"]:
        return False
    words = tokens[at + 2]
    match = _CALLOUT.match(words.content)
    if not match:
        return False
    attributes = {"kind": match[1].lower()} | ({"title": match[2].strip()} if match[2] else {})
    quotation = tokens[at]
    quotation.type = _TYPE
    quotation.content = (
        inserts.start_tag(directives.format_directive("note", attributes), _line_number(quotation)) + "\n"
    )
    words.content = words.content[match.end() :]
    if not words.content:
        for token in tokens[at + 1 : at + 4]:
            token.hidden = True
    return True
