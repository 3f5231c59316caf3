"""What WordPress makes of an address, a gallery or a button becomes an insert of this site, where there is one for it."""

import re
from collections.abc import Iterator, Sequence
from html import unescape

from markup import directives
from markup.html import inserts
from nodes.texts.inserts import players

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
    """Return `html`, a converted body, with inserts in place of lone addresses of videos and posts, and of buttons."""
    html = _BLOCK.sub(_embed, html)
    html = _ALONE.sub(_embed, html)
    return _BUTTON.sub(_button, html)


def gallery(sources: Sequence[str]) -> str:
    """Return galleries of photos by their addresses (`photo:ID`); "" where one of them is none of this site."""
    if not sources or not all(source.startswith(PHOTO) for source in sources):
        return ""
    return "\n".join(_placeholder("gallery", photos=",".join(some)) for some in _some(sources))


def _some(sources: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(sources), MOST_PHOTOS):
        yield tuple(sources[start : start + MOST_PHOTOS])


def _embed(found: re.Match[str]) -> str:
    url, words = unescape(found[1]), unescape(found[2]).strip()
    # Other words are an author's link.
    if players.find(url) is None or words != url:
        return found[0]
    caption = " ".join(unescape(found[3] or "").split()) if found.re is _BLOCK else ""
    return _placeholder("embed", url=url, **({"title": caption[:200]} if caption else {}))


def _button(found: re.Match[str]) -> str:
    href, words = _HREF.search(found[1]), " ".join(unescape(found[2]).split())
    return _placeholder("button", link=unescape(href[1]), text=words[:200]) if href and words else found[0]


def _placeholder(name: str, **attributes: str) -> str:
    spelled = directives.write(name, attributes).removeprefix("::")
    return f"{inserts.start(spelled, 0)}{inserts.END}"
