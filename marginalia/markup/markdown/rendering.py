"""The function that renders Markdown as clean HTML."""

import re
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from mdit_py_plugins.deflist import deflist_plugin

from marginalia.markup.characters import normalize_newlines, scrub
from marginalia.markup.html import Profile, clean, links
from marginalia.markup.markdown import abbreviations, footnotes, limits, placeholders, signs
from marginalia.markup.markdown.autolink import autolink

_SCHEMES: Final = links.ARTICLE_SCHEMES | links.IMAGE_SCHEMES
_ALIGNMENT: Final = re.compile("text-align:(left|right|center)")
_EMPTY_LINES: Final = re.compile(r"\n[ \t]*\n\s*")


class _Markdown(MarkdownIt):
    """CommonMark with tables and strikethrough. Links are limited to known schemes."""

    def __init__(self, *, html: bool, breaks: bool, nesting: int) -> None:
        super().__init__("commonmark", {"html": html, "breaks": breaks, "maxNesting": nesting, "xhtmlOut": False})
        self.enable(["table", "strikethrough"])
        limits.install_limits(self)

    def validateLink(self, url: str) -> bool:
        """Return whether `url` can become a link. If it can't, the link is shown as typed."""
        return links.is_allowed(url, _SCHEMES)


def _parser(*, html: bool, breaks: bool, article: bool) -> MarkdownIt:
    """Return a parser that allows deeply nested blocks, but only 20 levels of inline content.

    The time for parsing "[[[[…" grows with the number of levels of inline content.
    """
    blocks = _Markdown(html=html, breaks=breaks, nesting=2 * limits.MAX_DEPTH)
    lines = _Markdown(html=html, breaks=breaks, nesting=20)

    def inline(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.children = lines.inline.parse(token.content, lines, state.env, [])

    blocks.core.ruler.at("inline", inline)
    autolink(lines, blocks, mail=article)
    if article:
        deflist_plugin(blocks)
        footnotes.install(lines, blocks)
        abbreviations.install(blocks)
        signs.install(lines, blocks)
        placeholders.install(blocks)
    blocks.core.ruler.push("alignment", _align)
    return blocks


def _align(state: StateCore) -> None:
    """Write the alignment of table columns as `align`, because the sanitizer doesn't allow `style` attributes."""
    for token in state.tokens:
        if token.type in {"th_open", "td_open"} and (found := _ALIGNMENT.fullmatch(str(token.attrGet("style")))):
            token.attrs = {"align": found[1]}


# The parser for each profile. Editors can use HTML in Markdown, and most text imported from WordPress contains HTML.
# Comments show HTML as it was typed, including line breaks.
_PARSERS: Final[dict[str, MarkdownIt]] = {
    "article": _parser(html=True, breaks=False, article=True),
    "comment": _parser(html=False, breaks=True, article=False),
}


def render(source: str, profile: Profile = "comment") -> str:
    """Return the Markdown `source` as HTML that `markup.html.clean` has cleaned for `profile`.

    In an article, `![alt](photo:slug)` becomes <img src="photo:slug">, and `[words](node:id)` becomes <a
    href="node:id">. A directive (`markup.directives`) becomes <div data-insert="…">. All of these are resolved when the
    text is shown (`markup.html.references`, `markup.html.inserts`). Maths becomes a code element with the language
    "math".

    Comments support none of these, nor footnotes, definition lists, abbreviations or the syntax in
    `markup.markdown.signs`. For example, the ids of footnotes in several comments on the same page would collide.

    The function never raises an exception. Rendering takes about 10 µs per mark (a character that can begin or end an
    element). In the worst case, the result has 30 characters for each character of `source`, plus 50,000.
    """
    return clean(_html(normalize_newlines(scrub(source)), profile), profile)


def _html(source: str, profile: Profile) -> str:
    if limits.is_excessive(source):
        return _as_typed(source)
    env = {"references": limits.LimitedReferences(budget=2_000 + 4 * len(source))}
    try:
        return str(_PARSERS[profile].render(source, env))
    except RecursionError:
        # Nesting is limited, but the parser can still run out of stack if the caller's stack is already deep.
        return _as_typed(source)


def _as_typed(source: str) -> str:
    paragraphs = _EMPTY_LINES.split(source.strip("\n"))
    return "\n".join(f"<p>{escape(paragraph, quote=False)}</p>" for paragraph in paragraphs)
