"""Conversion of lone URLs, galleries and buttons from WordPress to inserts."""

import re
from collections.abc import Callable, Sequence
from html import unescape

from marginalia.markup import directives
from marginalia.markup.html import inserts
from marginalia.markup.inserts import players
from marginalia.markup.inserts.shipped import Button, Embed

# How many photos a gallery insert can show.
MAX_PHOTOS = 48
PHOTO = "photo:"

_LINK = r'<a href="([^"<>]*+)">([^<>]*+)</a>'
# Match a link that is the only content of a paragraph, or of a block (a figure with an optional caption).
_LONE_LINK = re.compile(rf"<p>\s*+{_LINK}\s*+</p>")
_BLOCK = re.compile(
    rf"<figure(?: [^<>]*+)?>\s*+<div(?: [^<>]*+)?>\s*+{_LINK}\s*+</div>\s*+"
    r"(?:<figcaption(?: [^<>]*+)?>([^<>]*+)</figcaption>\s*+)?</figure>"
)
_BUTTON = re.compile(
    r'<div class="[^"<>]*\bwp-block-button\b[^"<>]*"[^<>]*>\s*+<a ([^<>]*+)>([^<>]*+)</a>\s*+</div>', re.IGNORECASE
)
_HREF = re.compile(r'(?:^|\s)href="([^"<>]*+)"')


def place_inserts(html: str) -> str:
    """Replace buttons and embedded URLs with inserts.

    A URL is embedded if it is the only content of a paragraph or block and refers to a video or post that can be
    embedded.

    Inserts of each type are added only up to the maximum number that is allowed in one body text.
    """
    embed = _at_most(Embed.most, _embed)
    html = _LONE_LINK.sub(embed, _BLOCK.sub(embed, html))
    return _BUTTON.sub(_at_most(Button.most, _button), html)


def gallery_inserts(sources: Sequence[str]) -> list[str]:
    """Return gallery inserts that show the photos in `sources`.

    The result is empty if any of `sources` is not a photo on this site (`photo:ID`).
    """
    if not all(source.startswith(PHOTO) for source in sources):
        return []
    starts = range(0, len(sources), MAX_PHOTOS)
    return [_placeholder("gallery", photos=",".join(sources[start : start + MAX_PHOTOS])) for start in starts]


def _at_most(limit: int, make: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces matches with inserts, but not more than `limit` matches.

    `make` returns the insert for a match, or "" if this match must not be replaced.
    """
    remaining = limit

    def replace(match: re.Match[str]) -> str:
        nonlocal remaining
        insert = make(match) if remaining else ""
        remaining -= bool(insert)
        return insert or match[0]

    return replace


def _embed(match: re.Match[str]) -> str:
    url = unescape(match[1])
    label = unescape(match[2]).strip()
    # If the text of a link isn't its URL, the author wrote an ordinary link, so keep it.
    if players.find_player(url) is None or label != url:
        return ""
    caption = " ".join(unescape(match[3] or "").split()) if match.re is _BLOCK else ""
    return _placeholder("embed", url=url, **({"title": caption[:200]} if caption else {}))


def _button(match: re.Match[str]) -> str:
    href = _HREF.search(match[1])
    label = " ".join(unescape(match[2]).split())
    return _placeholder("button", link=unescape(href[1]), text=label[:200]) if href and label else ""


def _placeholder(name: str, **attributes: str) -> str:
    directive = directives.to_markdown(name, attributes).removeprefix("::")
    return f"{inserts.start_tag(directive, 0)}{inserts.END_TAG}"
