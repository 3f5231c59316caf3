"""What WordPress makes of an address, a gallery or a button becomes an insert of this site, where there is one for it."""

import re
from collections.abc import Callable, Sequence
from html import unescape

from marginalia.markup import directives
from marginalia.markup.html import inserts
from marginalia.markup.inserts import players
from marginalia.markup.inserts.shipped import Button, Embed

# Photos in one gallery, as many as it takes.
MOST_PHOTOS = 48
PHOTO = "photo:"

_LINK = r'<a href="([^"<>]*+)">([^<>]*+)</a>'
# An address alone in its paragraph, and a block of one: a figure with perhaps a caption.
_ALONE = re.compile(rf"<p>\s*+{_LINK}\s*+</p>")
_BLOCK = re.compile(
    rf"<figure(?: [^<>]*+)?>\s*+<div(?: [^<>]*+)?>\s*+{_LINK}\s*+</div>\s*+"
    r"(?:<figcaption(?: [^<>]*+)?>([^<>]*+)</figcaption>\s*+)?</figure>"
)
_BUTTON = re.compile(
    r'<div class="[^"<>]*\bwp-block-button\b[^"<>]*"[^<>]*>\s*+<a ([^<>]*+)>([^<>]*+)</a>\s*+</div>', re.IGNORECASE
)
_HREF = re.compile(r'(?:^|\s)href="([^"<>]*+)"')


def placed(html: str) -> str:
    """Return `html`, a converted body, with inserts in place of lone addresses of videos and posts, and of buttons: as many as
    a text may have."""
    embed = _at_most(Embed.most, _embed)
    html = _ALONE.sub(embed, _BLOCK.sub(embed, html))
    return _BUTTON.sub(_at_most(Button.most, _button), html)


def galleries(sources: Sequence[str]) -> list[str]:
    """Return galleries of photos by their addresses (`photo:ID`); none where one of them is none of this site."""
    if not all(source.startswith(PHOTO) for source in sources):
        return []
    starts = range(0, len(sources), MOST_PHOTOS)
    return [_placeholder("gallery", photos=",".join(sources[start : start + MOST_PHOTOS])) for start in starts]


def _at_most(most: int, make: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """Return what replaces a match by the insert that `make` gives ("" for none), the first `most` times."""
    left = most

    def replace(found: re.Match[str]) -> str:
        nonlocal left
        made = make(found) if left else ""
        left -= bool(made)
        return made or found[0]

    return replace


def _embed(found: re.Match[str]) -> str:
    url = unescape(found[1])
    words = unescape(found[2]).strip()
    # Other words are an author's link.
    if players.find(url) is None or words != url:
        return ""
    caption = " ".join(unescape(found[3] or "").split()) if found.re is _BLOCK else ""
    return _placeholder("embed", url=url, **({"title": caption[:200]} if caption else {}))


def _button(found: re.Match[str]) -> str:
    href = _HREF.search(found[1])
    words = " ".join(unescape(found[2]).split())
    return _placeholder("button", link=unescape(href[1]), text=words[:200]) if href and words else ""


def _placeholder(name: str, **attributes: str) -> str:
    spelled = directives.write(name, attributes).removeprefix("::")
    return f"{inserts.start(spelled, 0)}{inserts.END}"
