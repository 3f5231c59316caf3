"""References in body text to content of the same site: embedded photos (`photo:`) and links (`node:`, `photo:`).

The sanitizer keeps these URLs, so text can be cleaned when it is saved, and its references can be resolved when the
text is shown.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from marginalia.markup import text
from marginalia.markup.tags import attributes, quote

NODE: Final = "node"
PHOTO: Final = "photo"
# Matches tags in the sanitizer's output, in which values don't contain "<" or ">". If a photo is the only content of a
# paragraph, the photo replaces the paragraph.
_TOKEN: Final = re.compile(
    r'(<p>)?<img((?: [^<>]*)? src="(?i:photo):[^<>]*)>(?(1)</p>)'
    r'|<a((?: [^<>]*)?) href="((?i:node|photo):[^<>"]*)"([^<>]*)>'
    r"|<a(?: [^<>]*)?>|</a>"
)


@dataclass(frozen=True)
class ImageRef:
    """A photo that is embedded in body text. The author typed all fields, so escape them."""

    slug: str
    alt: str
    title: str
    block: bool  # whether the paragraph contains only the photo, so that a <figure> can replace the paragraph
    linked: bool = False  # whether the photo is inside a link, and therefore can't be a link itself


@dataclass(frozen=True)
class LinkRef:
    """The target of a link. `scheme` is NODE or PHOTO. `name` and `anchor` are as the author typed them."""

    scheme: str
    name: str
    anchor: str
    _before: str = ""
    _after: str = ""

    def to(self, address: str) -> tuple[str, str]:
        """Return the start and end tags of a link to `anchor` on the page with the URL `address`."""
        href = f"{address}#{self.anchor}" if self.anchor else address
        return f'<a{self._before} href="{quote(href)}"{self._after}>', "</a>"


# A function that returns trusted HTML with which to replace the photo, or None to show only its alternative text.
ImageResolver = Callable[[ImageRef], str | None]
# A function that returns trusted HTML to put before and after the link text, or two empty strings to show only the link
# text.
LinkResolver = Callable[[LinkRef], tuple[str, str]]
NO_TAGS: Final = ("", "")


@dataclass(frozen=True)
class ReferencedNames:
    """Names of photos (shown or linked) and ids of nodes in body text, as typed, in order and without duplicates."""

    photos: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    # The names of the photos that are embedded in the text. They are a subset of `photos`.
    shown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.photos or self.nodes)


@dataclass(frozen=True)
class Mention:
    """A reference, with its link text or the photo's alternative text."""

    scheme: str
    name: str
    words: str


def find_names(html: str, limit: int) -> ReferencedNames:
    """Return the first `limit` node ids and the first `limit` photo names in the clean `html`."""
    photos: dict[str, bool] = {}
    nodes: dict[str, None] = {}
    for match in _TOKEN.finditer(html):
        if match[2] is not None:
            photos[_image(match).slug] = True
        elif match[4] is not None:
            link = _link(match)
            if link.scheme == NODE:
                nodes[link.name] = None
            else:
                photos.setdefault(link.name, False)
    first = tuple(photos)[:limit]
    return ReferencedNames(first, tuple(nodes)[:limit], tuple(name for name in first if photos[name]))


def find_mentions(html: str) -> Iterator[Mention]:
    """Yield each reference in the clean `html`."""
    open_links: list[tuple[LinkRef | None, int]] = []
    for match in _TOKEN.finditer(html):
        if match[2] is not None:
            image = _image(match)
            yield Mention(PHOTO, image.slug, image.alt)
        elif match[0] != "</a>":
            open_links.append((_link(match) if match[4] is not None else None, match.end()))
        elif open_links:
            link, start = open_links.pop()
            if link:
                yield Mention(link.scheme, link.name, text.html_to_text(html[start : match.start()]))


def resolve_references(html: str, image: ImageResolver, link: LinkResolver) -> str:
    """Return the clean `html` with each reference replaced by the result of `image` or `link`.

    Pass only HTML from `marginalia.markup.html.clean` or `marginalia.markup.markdown.render`. The results are inserted
    unescaped, so they must be trusted HTML in which the fields of ImageRef and LinkRef are escaped.
    """
    end_tags: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        if match[2] is not None:
            ref = _image(match, linked=any(end_tags))
            shown = image(ref)
            if shown is not None:
                return shown
            return f"<p>{quote(ref.alt)}</p>" if ref.block and ref.alt else quote(ref.alt)
        if match[0] == "</a>":
            return end_tags.pop() if end_tags else ""
        start, end = link(_link(match)) if match[4] is not None else (match[0], "</a>")
        end_tags.append(end)
        return start

    return _TOKEN.sub(replaced, html)


def _image(match: re.Match[str], *, linked: bool = False) -> ImageRef:
    values = attributes(match[2])
    name = _unquoted(values["src"].partition(":")[2])
    return ImageRef(name, values.get("alt", ""), values.get("title", ""), block=match[1] is not None, linked=linked)


def _link(match: re.Match[str]) -> LinkRef:
    scheme, _colon, rest = attributes(f' href="{match[4]}"')["href"].partition(":")
    name, _hash, anchor = rest.partition("#")
    return LinkRef(scheme.lower(), _unquoted(name), anchor, match[3], match[5])


def _unquoted(name: str) -> str:
    return unquote(name).strip()
