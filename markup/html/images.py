"""Photos of the site in a text: written `![alt](photo:slug)`, kept as <img src="photo:slug">, shown as the site does.

The address survives the sanitizer as it is, so that a text can be cleaned when it is saved and its photos looked up
then or when it is shown.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from markup.tags import attributes, quote

_SCHEME: Final = "photo:"
# In the sanitizer's output no value holds "<" or ">". Alone in its paragraph, a photo takes the paragraph's place.
_IMAGE: Final = re.compile(r'(<p>)?<img((?: [^<>]*)? src="(?i:photo):[^<>]*)>(?(1)</p>)')


@dataclass(frozen=True)
class ImageRef:
    """What a text says about one of its photos. Its author typed all fields: escape them."""

    slug: str
    alt: str
    title: str
    block: bool  # it stands alone, so that a <figure> may take its place; else it is part of a line


Resolver = Callable[[ImageRef], str | None]


def references(html: str) -> tuple[str, ...]:
    """Return the slugs of the photos in clean `html`, each once, in the order of the text."""
    return tuple(dict.fromkeys(_reference(match).slug for match in _IMAGE.finditer(html)))


def resolve(html: str, resolver: Resolver) -> str:
    """Return clean `html` with its photos replaced by what `resolver` returns for each.

    Only hand over what `markup.html.clean` or `markup.markdown.render` returned: what `resolver` returns is put in as
    it is, so it must be trusted HTML in which the fields of the ImageRef are escaped. For None, the photo's
    alternative text stands there instead.
    """

    def replaced(match: re.Match[str]) -> str:
        ref = _reference(match)
        shown = resolver(ref)
        if shown is not None:
            return shown
        return f"<p>{quote(ref.alt)}</p>" if ref.block else quote(ref.alt)

    return _IMAGE.sub(replaced, html)


def _reference(match: re.Match[str]) -> ImageRef:
    found = attributes(match[2])
    slug = unquote(found["src"][len(_SCHEME) :]).strip()
    return ImageRef(slug, found.get("alt", ""), found.get("title", ""), block=match[1] is not None)
