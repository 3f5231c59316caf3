"""A tokenizer for the bodies of WordPress posts, which yields text, tags, comments and shortcodes.

The tokenizer accepts any input, and runs in linear time. Nothing is lost: if the sources of all tokens are joined, the
result is the original text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape

__all__ = ["BLOCKS", "TAG", "WHOLE", "Token", "attributes", "end_tag", "is_block", "link", "tokens", "to_html"]


def words(text: str) -> frozenset[str]:
    """Return the words of `text` as a set."""
    return frozenset(text.split())


BLOCKS = words(
    "address article aside blockquote caption center col colgroup dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre script section style "
    "summary table tbody td tfoot th thead tr ul"
)
VOID = words("area base br col embed hr img input link meta param source track wbr")
# Elements that become a single token, including their content, because the content is not ordinary text.
WHOLE = words("audio canvas code iframe math noscript object pre script style svg template textarea video xmp")

TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:[^<>"']|"[^"]*+"|'[^']*+')*+)>""")
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
# Matches a shortcode. A quoted value can contain tags, but no brackets: as in WordPress, a bracket always ends the
# shortcode.
SHORTCODE = re.compile(
    r"""(\[?)\[(/?)([a-zA-Z][\w-]*)((?:[\s=/](?:"[^"\[\]]*+"|'[^'\[\]]*+'|[^\[\]<>])*+)?)\](\]?)""", re.ASCII
)
TEXT = re.compile(r"[^<\[]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A token in the body of a post.

    Attributes:
        kind: "text", "comment", "open", "close", "void", "whole" (an element with its content) or "shortcode".
        name: The name of the element, in lowercase, or of the shortcode.
        rest: The part of the source that follows the name.
        closing: Whether the token is the end tag of a shortcode, [/name].
        escaped: Whether the opening bracket or the closing bracket of the shortcode is doubled, or both are.
    """

    kind: str
    source: str
    name: str = ""
    rest: str = ""
    closing: bool = False
    escaped: bool = False


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of `source`. If a "<" or "[" doesn't begin a token, it is text."""
    position = 0
    # Names of elements for which the rest of the text contains no end tag. They are remembered, so that the text is
    # searched only once for each name.
    unclosed: set[str] = set()
    while position < len(source):
        token = _token(source, position, unclosed)
        position += len(token.source)
        yield token


def _token(source: str, position: int, unclosed: set[str]) -> Token:
    if match := TEXT.match(source, position):
        return Token("text", match[0])
    if source[position] == "[":
        if match := SHORTCODE.match(source, position):
            doubled = bool(match[1] or match[5])
            if not (match[5] and not match[1]) or match[2]:
                return Token("shortcode", match[0], match[3], match[4], bool(match[2]), doubled)
            # In "[name]]", the second closing bracket is text, not part of the shortcode.
            return Token("shortcode", match[0][:-1], match[3], match[4], False, False)
        return Token("text", "[")
    if source.startswith("<!--", position):
        end = source.find("-->", position + 4)
        return Token("comment", source[position:] if end < 0 else source[position : end + 3])
    match = TAG.match(source, position)
    if not match:
        return Token("text", "<")
    slash = match[1]
    name = match[2].lower()
    rest = match[3]
    if slash:
        return Token("close", match[0], name)
    if name in VOID:
        return Token("void", match[0], name, rest)
    if name in WHOLE and name not in unclosed:
        end = _end_of(source, match.end(), name)
        if end >= 0:
            return Token("whole", source[position:end], name, rest)
        unclosed.add(name)
    return Token("open", match[0], name, rest)


def _end_of(source: str, position: int, name: str) -> int:
    """Return where the next end tag of `name` after `position` ends, or -1 if there is no such end tag."""
    match = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(source, position)
    return match.end() if match else -1


def to_html(token: Token) -> str:
    """Return a token as HTML. In text, escape each "<", because another parser might take it for the start of a tag."""
    return token.source.replace("<", "&lt;") if token.kind == "text" else token.source


def is_block(token: Token) -> bool:
    """Return whether a token ends a paragraph, because it is a tag of a block element or a whole block element."""
    return token.kind in ("open", "close", "void", "whole") and token.name in BLOCKS


def attributes(rest: str, *, decode: bool = True) -> dict[str, str]:
    """Return the attributes of a tag or shortcode as a dict, with names in lowercase and values without quotes.

    If there are several attributes with the same name, the first is used. If `decode` is true, character references in
    the values are resolved.
    """
    values: dict[str, str] = {}
    for name, value in ATTRIBUTE.findall(rest):
        if value[:1] in ("'", '"'):
            value = value[1:-1]
        values.setdefault(name.lower(), unescape(value) if decode else value)
    return values


def end_tag(name: str) -> str:
    """Return the end tag of an element."""
    return f"</{name}>"


def link(url: str, text: str) -> str:
    """Return a link as HTML. Escape the URL and the text."""
    return f'<a href="{escape(url)}">{escape(text, quote=False)}</a>'
