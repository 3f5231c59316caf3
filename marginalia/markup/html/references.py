"""What a text refers to on its own site: photos that it shows (`photo:`), and links to nodes and photos (`node:`, `photo:`).

These addresses survive the sanitizer as they are, so that a text can be cleaned when it is saved, and what it refers to
be looked up then or when it is shown.
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
# In the sanitizer's output no value holds "<" or ">". Alone in its paragraph, a photo takes the paragraph's place.
_TOKEN: Final = re.compile(
    r'(<p>)?<img((?: [^<>]*)? src="(?i:photo):[^<>]*)>(?(1)</p>)'
    r'|<a((?: [^<>]*)?) href="((?i:node|photo):[^<>"]*)"([^<>]*)>'
    r"|<a(?: [^<>]*)?>|</a>"
)


@dataclass(frozen=True)
class ImageRef:
    """What a text says about a photo that it shows. Its author typed all fields: escape them."""

    slug: str
    alt: str
    title: str
    block: bool  # it stands alone, so that a <figure> may take its place; else it is part of a line
    linked: bool = False  # it stands inside a link, and so can be none itself


@dataclass(frozen=True)
class LinkRef:
    """Where a link of a text leads. `scheme` is NODE or PHOTO; its author typed `name` and `anchor`."""

    scheme: str
    name: str
    anchor: str
    _before: str = ""
    _after: str = ""

    def to(self, address: str) -> tuple[str, str]:
        """Return the tags of this link around its words, leading to the anchor at `address`."""
        href = f"{address}#{self.anchor}" if self.anchor else address
        return f'<a{self._before} href="{quote(href)}"{self._after}>', "</a>"


# Returns what takes the photo's place, as trusted HTML; None leaves its alternative text.
ImageResolver = Callable[[ImageRef], str | None]
# Returns what stands before and after the link's words, as trusted HTML; two empty strings leave the words alone.
LinkResolver = Callable[[LinkRef], tuple[str, str]]
NO_TAGS: Final = ("", "")


@dataclass(frozen=True)
class ReferencedNames:
    """What a text refers to: names of photos (shown or linked to), ids of nodes, as typed, each once, in order."""

    photos: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    # Those of the photos that it shows.
    shown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.photos or self.nodes)


@dataclass(frozen=True)
class Mention:
    """One place where a text refers to something, and its words there: those of a link, the alternative text of a photo."""

    scheme: str
    name: str
    words: str


def find_names(html: str, most: int) -> ReferencedNames:
    """Return what clean `html` refers to, at most the first `most` names of nodes and as many of photos."""
    photos: dict[str, bool] = {}
    nodes: dict[str, None] = {}
    for found in _TOKEN.finditer(html):
        if found[2] is not None:
            photos[_image(found).slug] = True
        elif found[4] is not None:
            link = _link(found)
            if link.scheme == NODE:
                nodes[link.name] = None
            else:
                photos.setdefault(link.name, False)
    first = tuple(photos)[:most]
    return ReferencedNames(first, tuple(nodes)[:most], tuple(name for name in first if photos[name]))


def find_mentions(html: str) -> Iterator[Mention]:
    """Yield each place where clean `html` refers to something."""
    opened: list[tuple[LinkRef | None, int]] = []
    for found in _TOKEN.finditer(html):
        if found[2] is not None:
            image = _image(found)
            yield Mention(PHOTO, image.slug, image.alt)
        elif found[0] != "</a>":
            opened.append((_link(found) if found[4] is not None else None, found.end()))
        elif opened:
            link, start = opened.pop()
            if link:
                yield Mention(link.scheme, link.name, text.html_to_text(html[start : found.start()]))


def resolve_references(html: str, image: ImageResolver, link: LinkResolver) -> str:
    """Return clean `html` with what it refers to replaced by what `image` and `link` return.

    Only hand over what `marginalia.markup.html.clean` or `marginalia.markup.markdown.render` returned: what the
    resolvers return is put in as it is, so it must be trusted HTML in which the fields of ImageRef and LinkRef are
    escaped.
    """
    ends: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        if found[2] is not None:
            ref = _image(found, linked=any(ends))
            shown = image(ref)
            if shown is not None:
                return shown
            return f"<p>{quote(ref.alt)}</p>" if ref.block and ref.alt else quote(ref.alt)
        if found[0] == "</a>":
            return ends.pop() if ends else ""
        start, end = link(_link(found)) if found[4] is not None else (found[0], "</a>")
        ends.append(end)
        return start

    return _TOKEN.sub(replaced, html)


def _image(found: re.Match[str], *, linked: bool = False) -> ImageRef:
    said = attributes(found[2])
    name = _unquoted(said["src"].partition(":")[2])
    return ImageRef(name, said.get("alt", ""), said.get("title", ""), block=found[1] is not None, linked=linked)


def _link(found: re.Match[str]) -> LinkRef:
    scheme, _colon, rest = attributes(f' href="{found[4]}"')["href"].partition(":")
    name, _hash, anchor = rest.partition("#")
    return LinkRef(scheme.lower(), _unquoted(name), anchor, found[3], found[5])


def _unquoted(name: str) -> str:
    return unquote(name).strip()
