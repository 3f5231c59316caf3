"""Ids, internal links and external links in sanitized HTML."""

import re
from html import unescape
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import unquote

from marginalia.markup.characters import truncate
from marginalia.markup.html import links
from marginalia.markup.tags import attributes, quote
from marginalia.markup.text import html_to_text, slugify

# All ids in sanitized text have this prefix, so that they can't shadow a script's variable ("DOM clobbering") or an id
# that the surrounding page uses.
ID_PREFIX: Final = "s-"

# The following patterns match tags in the sanitizer's output, in which all names are in lower case, all values are in
# double quotes, and values contain no "<" or ">".
_WITH_ID: Final = re.compile(r'<(h[1-6](?=[ >])|[a-z][a-z0-9]*(?= [^<>]*\bid="))([^<>]*)>')
_LINK: Final = re.compile(r"<a( [^<>]*)>")
# Matches the attributes before a given attribute. They are matched as a whole, because an attribute's value can contain
# text that looks like an attribute.
_BEFORE: Final = r'(?: [a-z-]+="[^"]*")*?'
_ID: Final = re.compile(rf'({_BEFORE})( id="[^"]*")')
_HREF: Final = re.compile(rf'({_BEFORE})( href="[^"]*")')
_NOT_IN_IDS: Final = re.compile(r"[^\w.:-]+")
_MAX_ID_LENGTH: Final = 100
_MAX_HEADING_LENGTH: Final = 2_000  # characters of HTML that are examined


# How many headings a table of contents lists, and how many headings get a link to themselves.
MAX_HEADINGS: Final = 200
_HEADING: Final = re.compile(rf'<h([1-6]){_BEFORE} id="([^"]*)"[^<>]*>')
_LINK_OR_HEADING: Final = re.compile(rf'<(/?)a(?=[ >])|<h([2-4]){_BEFORE} id="([^"]*)"[^<>]*>')


class Heading(NamedTuple):
    """A heading: its level (1 to 6), its unescaped id, and its plain text."""

    level: int
    id: str
    text: str


def find_headings(html: str) -> list[Heading]:
    """Return the non-empty headings in the clean `html`, up to MAX_HEADINGS."""
    found: list[Heading] = []
    for match in islice(_HEADING.finditer(html), MAX_HEADINGS):
        end = html.find(f"</h{match[1]}>", match.end(), match.end() + _MAX_HEADING_LENGTH)
        if end >= 0 and (text := " ".join(html_to_text(html[match.end() : end]).split())):
            found.append(Heading(int(match[1]), unescape(match[2]), text))
    return found


def outline(html: str, levels: int) -> list[tuple[Heading, int]]:
    """Return the headings in the clean `html` that are in its highest `levels` levels, each with its level from 1."""
    headings = find_headings(html)
    top = min((heading.level for heading in headings), default=0)
    return [(heading, heading.level - top + 1) for heading in headings if heading.level - top < levels]


def link_headings(html: str, name: str) -> str:
    """Return the clean `html` with a self-link, labelled `name`, at the end of each heading of level 2 to 4.

    Only the first MAX_HEADINGS headings get a link. The link has no text, so it doesn't change the heading's text.
    Headings inside another link don't get a link.
    """
    pieces = list[str]()
    position = 0
    links_around = 0
    for found in _LINK_OR_HEADING.finditer(html):
        closes, level, identifier = found.groups()
        if not level:
            links_around += -1 if closes else 1
            continue
        end = html.find(f"</h{level}>", found.end(), found.end() + _MAX_HEADING_LENGTH)
        if end <= position or links_around:
            continue
        pieces.append(f'{html[position:end]}<a class="anchor" href="#{identifier}" aria-label="{quote(name)}"></a>')
        position = end
        if len(pieces) == MAX_HEADINGS:
            break
    return "".join(pieces) + html[position:]


def add_anchors(html: str) -> str:
    """Return sanitized `html` with prefixed, unique ids, an id on every heading, and rel="noopener" on external links.

    If the text contains the prefixed id for a link to "#name", the link is changed to that id. Otherwise the link is
    kept unchanged, because it may refer to an id outside the text.
    """
    used: dict[str, int] = {}
    html = _WITH_ID.sub(lambda found: _with_prefixed_id(found, used), html)
    return _LINK.sub(lambda found: _with_resolved_link(found, used), html)


def _with_prefixed_id(found: re.Match[str], used: dict[str, int]) -> str:
    """Return a start tag with a prefixed id. A heading without an id gets one.

    If the id is already in use, a heading gets a number at the end of its id, and any other element loses its id.
    """
    name = found[1]
    text = found[2]
    heading = name[0] == "h" and name[1:].isdigit()
    id_attribute = _ID.match(text)
    wanted = prefix_id(attributes(id_attribute[2])["id"]) if id_attribute else ""
    if not wanted and heading:
        end = found.string.find(f"</{name}>", found.end(), found.end() + _MAX_HEADING_LENGTH)
        wanted = prefix_id(slugify(html_to_text(found.string[found.end() : end]))) if end >= 0 else ""
        wanted = wanted or f"{ID_PREFIX}section"
    if heading:
        wanted = _unique_id(wanted, used)
    new_attribute = "" if not wanted or wanted in used else f' id="{quote(wanted)}"'
    if new_attribute:
        used[wanted] = 1
    before, after = (id_attribute[1], text[id_attribute.end() :]) if id_attribute else (text, "")
    return f"<{name}{before}{new_attribute}{after}>"


def _unique_id(wanted: str, used: dict[str, int]) -> str:
    """Return `wanted`, or if it is in use, the first unused id among wanted-2, wanted-3 and so on."""
    candidate = wanted
    while candidate in used:
        used[wanted] += 1
        candidate = f"{wanted}-{used[wanted]}"
    return candidate


def prefix_id(identifier: str) -> str:
    """Return `identifier` with the prefix and without invalid characters, or "" if nothing is left."""
    valid = _NOT_IN_IDS.sub("-", identifier.removeprefix(ID_PREFIX)).strip("-")
    return ID_PREFIX + truncate(valid, _MAX_ID_LENGTH) if valid else ""


def _with_resolved_link(found: re.Match[str], used: dict[str, int]) -> str:
    href = _HREF.match(found[1])
    if not href:
        return found[0]
    url = attributes(href[2])["href"]
    if links.is_external(url):
        return f'<a{found[1]} rel="noopener">'
    if url.startswith("#") and (fragment := unquote(url[1:])) not in used and (target := prefix_id(fragment)) in used:
        return f'<a{href[1]} href="#{quote(target)}"{found[1][href.end() :]}>'
    return found[0]
