"""Cuts a WordPress body into tokens: text, tags, comments, shortcodes. Forgiving, linear, and nothing is lost: the
sources of the tokens, joined, are the text that was cut."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape

__all__ = ["BLOCKS", "TAG", "WHOLE", "Token", "attributes", "close_of", "is_block", "link", "tokens", "visible"]


def words(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())


BLOCKS = words(
    "address article aside blockquote caption center col colgroup dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre script section style "
    "summary table tbody td tfoot th thead tr ul"
)
VOID = words("area base br col embed hr img input link meta param source track wbr")
# Taken whole: what is inside is no text of ours to look into.
WHOLE = words("audio canvas code iframe math noscript object pre script style svg template textarea video xmp")

TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:[^<>"']|"[^"]*+"|'[^']*+')*+)>""")
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
# A quoted value may hold tags, but no bracket: as in WordPress, that ends the shortcode.
SHORTCODE = re.compile(
    r"""(\[?)\[(/?)([a-zA-Z][\w-]*)((?:[\s=/](?:"[^"\[\]]*+"|'[^'\[\]]*+'|[^\[\]<>])*+)?)\](\]?)""", re.ASCII
)
TEXT = re.compile(r"[^<\[]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a body. `kind` is "text", "comment", "open", "close", "void", "whole" (an element with all that is in
    it) or "shortcode"; `name` is the element's in lower case, or the shortcode's; `rest` is what stands behind it.
    Of a shortcode `closing` says that it is [/name], `escaped` that a bracket is doubled in front, behind or both."""

    kind: str
    source: str
    name: str = ""
    rest: str = ""
    closing: bool = False
    escaped: bool = False


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of `source`. A "<" or "[" that begins nothing is text."""
    at = 0
    # Names whose end tag was looked for to the end of the text in vain: looking once is enough.
    unclosed: set[str] = set()
    while at < len(source):
        token = _token(source, at, unclosed)
        at += len(token.source)
        yield token


def _token(source: str, at: int, unclosed: set[str]) -> Token:
    if found := TEXT.match(source, at):
        return Token("text", found[0])
    if source[at] == "[":
        if found := SHORTCODE.match(source, at):
            doubled = bool(found[1] or found[5])
            if not (found[5] and not found[1]) or found[2]:
                return Token("shortcode", found[0], found[3], found[4], bool(found[2]), doubled)
            # "[name]]": the second bracket is text.
            return Token("shortcode", found[0][:-1], found[3], found[4], False, False)
        return Token("text", "[")
    if source.startswith("<!--", at):
        end = source.find("-->", at + 4)
        return Token("comment", source[at:] if end < 0 else source[at : end + 3])
    found = TAG.match(source, at)
    if not found:
        return Token("text", "<")
    slash = found[1]
    name = found[2].lower()
    rest = found[3]
    if slash:
        return Token("close", found[0], name)
    if name in VOID:
        return Token("void", found[0], name, rest)
    if name in WHOLE and name not in unclosed:
        end = _end_of(source, found.end(), name)
        if end >= 0:
            return Token("whole", source[at:end], name, rest)
        unclosed.add(name)
    return Token("open", found[0], name, rest)


def _end_of(source: str, at: int, name: str) -> int:
    """Where the end tag of `name` that follows `at` ends, or -1."""
    found = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(source, at)
    return found.end() if found else -1


def visible(token: Token) -> str:
    """The token as HTML: a "<" that begins no tag would be read as one further on, so it is escaped."""
    return token.source.replace("<", "&lt;") if token.kind == "text" else token.source


def is_block(token: Token) -> bool:
    """True for the tag of an element that ends a paragraph."""
    return token.kind in ("open", "close", "void", "whole") and token.name in BLOCKS


def attributes(rest: str, *, decode: bool = True) -> dict[str, str]:
    """The attributes of a tag or shortcode by lower-case name, without quotes; the first wins. `decode` resolves
    character references."""
    found: dict[str, str] = {}
    for name, value in ATTRIBUTE.findall(rest):
        if value[:1] in ("'", '"'):
            value = value[1:-1]
        found.setdefault(name.lower(), unescape(value) if decode else value)
    return found


def close_of(name: str) -> str:
    """The end tag of an element."""
    return f"</{name}>"


def link(url: str, text: str) -> str:
    """A link, both parts escaped."""
    return f'<a href="{escape(url)}">{escape(text, quote=False)}</a>'
