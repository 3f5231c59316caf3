"""Links for bare URLs in running text, as in GitHub Flavored Markdown: http://, https:// and www.

In articles, email addresses also become links. The module doesn't use linkify-it-py, because linkify-it-py takes
quadratic time (16 s for 80 KB of "http://(") and treats "README.md" as a host. Each pattern here examines a limited
number of characters.
"""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from marginalia.markup.html import links

_MAX_LENGTH: Final = 2_000
# Characters that end a URL: white space, Markdown and HTML delimiters, quotation marks, and the punctuation of scripts
# that don't put a space after a URL.
_STOP: Final = (
    '\\s<>"`|\\[\\]{}\\\\^\u00ab\u00bb\u2018-\u201f\u2026\u2039\u203a\u3000-\u3003\u3008-\u3011\u3014-\u301f'
    "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_URL: Final = re.compile(rf"//[^\W_][^{_STOP}]{{0,{_MAX_LENGTH}}}")
_SCHEME: Final = re.compile(r"(?<![a-zA-Z0-9+.-])https?$", re.IGNORECASE)
_WWW: Final = rf"(?<![\w@./-])www\.[^\W_][^{_STOP}]{{1,250}}"
_MAIL: Final = r"(?<![\w.+/-])[a-zA-Z0-9_.+-]{1,64}@(?:[a-zA-Z0-9-]{1,63}\.){1,8}[a-zA-Z]{2,24}(?![\w@])"
_ANGLE: Final = re.compile("&(?:lt|gt|quot);")
_TRAILING: Final = re.compile(r"(?:[?!.,:;*_~'\"]|&[a-zA-Z0-9]+;)\Z")


def autolink(lines: MarkdownIt, texts: MarkdownIt, *, mail: bool) -> None:
    """Link bare URLs in running text.

    Args:
        lines: The parser for inline content.
        texts: The parser for the entire Markdown source.
        mail: Whether to link email addresses as well.
    """
    lines.inline.ruler.before("linkify", "http", _link_http)
    bare = re.compile(f"{_WWW}|{_MAIL}" if mail else _WWW, re.IGNORECASE)
    texts.core.ruler.after("inline", "bare_addresses", lambda state: _link_bare_addresses(state, bare))


def _link_http(state: StateInline, silent: bool) -> bool:
    """Link "http://…" when the parser reaches the colon, before emphasis can split the URL."""
    if state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme = _SCHEME.search(state.src, max(state.pos - 6, 0), state.pos)
    found = _URL.match(state.src, state.pos + 1, state.posMax)
    if not scheme or not found or not (silent or state.pending.endswith(scheme[0])):
        return False
    rest = _trim_punctuation(found[0])
    if len(rest) <= 2 or len(rest) > _MAX_LENGTH:
        return False
    # Character references haven't been decoded yet in inline text. Only `&amp;` is decoded here, because other
    # references are rare in URLs.
    url = f"{scheme[0]}:{rest.replace('&amp;', '&')}"
    if not silent:
        state.pending = state.pending[: -len(scheme[0])]
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(url)}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos += 1 + len(rest)
    return True


def _link_bare_addresses(state: StateCore, pattern: re.Pattern[str]) -> None:
    for token in state.tokens:
        if token.children and ("www." in token.content.lower() or "@" in token.content):
            token.children = _link_tokens(token.children, pattern, state.md)


def _link_tokens(children: list[Token], pattern: re.Pattern[str], md: MarkdownIt) -> list[Token]:
    written: list[Token] = []
    inside = 0
    for token in children:
        if token.type == "link_open" or (
            token.type == "html_inline" and re.match(r"<a[\s>]", token.content, re.IGNORECASE)
        ):
            inside += 1
        elif token.type == "link_close" or (
            token.type == "html_inline" and re.match(r"</a\s*>", token.content, re.IGNORECASE)
        ):
            inside -= 1
        if token.type == "text" and inside <= 0:
            written.extend(_link_text(token, pattern, md))
        else:
            written.append(token)
    return written


def _link_text(token: Token, pattern: re.Pattern[str], md: MarkdownIt) -> list[Token]:
    pieces: list[Token] = []
    position = 0
    for found in pattern.finditer(token.content):
        shown = _trim_punctuation(found[0])
        url = md.normalizeLink(
            f"mailto:{shown}" if "@" in shown and not shown.lower().startswith("www.") else f"http://{shown}"
        )
        if "." not in shown.lower().removeprefix("www.") or not links.is_allowed(url):
            continue
        pieces.append(Token("text", "", 0, content=token.content[position : found.start()]))
        pieces.append(Token("link_open", "a", 1, attrs={"href": url}))
        pieces.append(Token("text", "", 0, content=shown))
        pieces.append(Token("link_close", "a", -1))
        position = found.start() + len(shown)
    if not pieces:
        return [token]
    return [*pieces, Token("text", "", 0, content=token.content[position:])]


def _trim_punctuation(url: str) -> str:
    """Return `url` without the punctuation that belongs to the surrounding sentence.

    For example, "http://a.example/b_(c).)" becomes "http://a.example/b_(c)".
    """
    url = _ANGLE.split(url, maxsplit=1)[0]
    surplus = url.count(")") - url.count("(")
    while True:
        if url.endswith(")") and surplus > 0:
            surplus -= 1
            url = url[:-1]
        elif trailing := _TRAILING.search(url, max(len(url) - 40, 0)):
            url = url[: trailing.start()]
        else:
            return url
