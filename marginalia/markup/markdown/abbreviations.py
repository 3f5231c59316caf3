"""Abbreviations: a line such as `*[HTML]: HyperText Markup Language` defines the meaning of a word in the text."""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

MAX_ABBREVIATIONS: Final = 100  # maximum number of definitions
# Maximum number of marked occurrences. Each occurrence becomes an element that repeats the meaning.
MAX_MARKED: Final = 200
_DEFINITION: Final = re.compile(r"\*\[([^\]\\]{1,60})\]:[ \t]+(\S.{0,199})")
# Matches words that can be defined. Each word in the text is looked up, so that one pass suffices for any number of
# definitions.
_WORD: Final = re.compile(r"[^\W_]+(?:[.&/-][^\W_]+)*")


def install(blocks: MarkdownIt) -> None:
    """Add support for abbreviations to the parser `blocks`."""
    blocks.block.ruler.before("reference", "abbreviation", _define, {"alt": ["paragraph", "reference"]})
    blocks.core.ruler.after("inline", "abbreviations", _mark)


def _define(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    begin = state.bMarks[start] + state.tShift[start]
    found = _DEFINITION.fullmatch(state.src, begin, state.eMarks[start])
    if not found or not _WORD.fullmatch(found[1]):
        return False
    known = state.env.setdefault("abbreviations", {})
    if len(known) >= MAX_ABBREVIATIONS:
        return False
    if not silent:
        known.setdefault(found[1], found[2].strip())
        state.line = start + 1
    return True


def _mark(state: StateCore) -> None:
    known = state.env.get("abbreviations")
    if not known:
        return
    left = MAX_MARKED
    for token in state.tokens:
        if left <= 0:
            return
        if token.type == "inline" and token.children:
            children: list[Token] = []
            for child in token.children:
                pieces = _mark_words(child, known, left) if child.type == "text" else [child]
                left -= len(pieces) // 4
                children += pieces
            token.children = children


def _mark_words(token: Token, known: dict[str, str], most: int) -> list[Token]:
    """Return the tokens that replace a text token. Up to `most` abbreviations are marked, with four tokens for each."""
    pieces: list[Token] = []
    position = 0
    for found in _WORD.finditer(token.content):
        if found[0] not in known or len(pieces) >= 4 * most:
            continue
        pieces += (
            Token("text", "", 0, content=token.content[position : found.start()]),
            Token("abbr_open", "abbr", 1, attrs={"title": known[found[0]]}),
            Token("text", "", 0, content=found[0]),
            Token("abbr_close", "abbr", -1),
        )
        position = found.end()
    return [*pieces, Token("text", "", 0, content=token.content[position:])] if pieces else [token]
