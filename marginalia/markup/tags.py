"""A tokenizer that splits HTML into tags and text in one linear pass, following the HTML standard (§13.2.5).

The tokenizer doesn't build a tree. If a closing ">" or "-->" is missing, a parser that follows the standard hides the
rest of the input. This tokenizer treats the rest as text, so everything that the author typed remains visible and no
input is read twice.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from marginalia.markup.characters import unescape


def tag_set(text: str) -> frozenset[str]:
    """Return the set of tag names in `text`, which are separated by spaces."""
    return frozenset(text.split())


VOID: Final = tag_set("area base br col embed hr img input link meta param source track wbr")
# Elements whose content isn't markup and isn't meant for readers.
RAW: Final = tag_set("iframe noembed noframes script style textarea title xmp")

_SPACE = r"[\t\n\f\r ]"
_ATTRIBUTE = re.compile(
    rf"""
    ( =?[^\t\n\f\r />=]++ | = )
    (?: {_SPACE}*+ = {_SPACE}*+ (?: "([^"]*+)(?:"|\Z) | '([^']*+)(?:'|\Z) | ([^\t\n\f\r >"'][^\t\n\f\r >]*+) )? )?
    """,
    re.VERBOSE,
)
_TAG = re.compile(
    rf"""
    < (/?) ([a-zA-Z][^\t\n\f\r />]*+)
    ( (?: [\t\n\f\r /]++
        | (?: =?[^\t\n\f\r />=]++ | = )
          (?: {_SPACE}*+ = {_SPACE}*+ (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) | [^\t\n\f\r >"'][^\t\n\f\r >]*+ )? )?
      )*+ )
    (>?)
    """,
    re.VERBOSE,
)
_COMMENT_END = re.compile("--!?>")


class Token(NamedTuple):
    """A piece of HTML. For text, `name` is "" and `text` isn't decoded. For a tag, `name` is in lower case."""

    name: str
    text: str
    closing: bool = False


def tokens(html: str) -> Iterator[Token]:
    """Yield the text and tags of `html` in order.

    Comments, declarations and the content of RAW elements are omitted.
    """
    position = text_from = 0
    unclosed: set[str] = set()
    while (start := html.find("<", position)) >= 0:
        following = html[start + 1 : start + 2]
        if following in {"!", "?"} or (following == "/" and not _is_letter(html[start + 2 : start + 3])):
            end = _declaration_end(html, start)
            if end < 0:
                break
            yield from _text(html[text_from:start])
            position = text_from = end
            continue
        match = _TAG.match(html, start)
        if not match:
            position = start + 1
            continue
        if not match[4]:
            break
        yield from _text(html[text_from:start])
        name = match[2].lower()
        closing = bool(match[1])
        position = text_from = match.end()
        yield Token(name, match[3], closing)
        if name in RAW and not closing and name not in unclosed:
            end = _raw_end(html, name, position)
            if end < 0:
                unclosed.add(name)
            else:
                position = text_from = end
    yield from _text(html[text_from:])


def attributes(text: str, limit: int = 50) -> dict[str, str]:
    """Return the first `limit` attributes of a tag, with names in lower case and decoded values.

    If several attributes have the same name, only the first counts.
    """
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        value = match[2] or match[3] or match[4] or ""
        values.setdefault(match[1].lower(), unescape(value))
        if len(values) >= limit:
            break
    return values


def quote(value: str) -> str:
    """Return `value` escaped for use in double quotes, exactly as the sanitizer writes it."""
    value = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return value.replace('"', "&quot;").replace("\xa0", "&nbsp;")


def _text(text: str) -> Iterator[Token]:
    if text:
        yield Token("", text)


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _declaration_end(html: str, start: int) -> int:
    """Return the index after the comment (or bogus comment) that begins at `start`, or -1 if it is never closed."""
    if not html.startswith("<!--", start):
        return html.find(">", start) + 1 or -1
    for empty in ("<!-->", "<!--->"):
        if html.startswith(empty, start):
            return start + len(empty)
    end = _COMMENT_END.search(html, start + 4)
    return end.end() if end else -1


def _raw_end(html: str, name: str, start: int) -> int:
    """Return the index of the end tag of the RAW element whose content begins at `start`, or -1 if there is none."""
    end_tag = re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search(html, start)
    return end_tag.start() if end_tag else -1
