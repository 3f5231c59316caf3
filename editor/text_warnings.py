"""Warnings about a text before readers see it.

They list references whose targets readers can't see, and pictures without alternative text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import Any

from marginalia.markup import tags
from nodes import access, rendering
from nodes.content import MARKDOWN
from photos import texts
from photos.texts import MAX_BROKEN, BrokenReference


@dataclass(frozen=True)
class UndescribedPicture:
    """A picture from another site without alternative text. The line number is 0 if it is unknown."""

    address: str
    line: int
    column: int


@dataclass(frozen=True)
class TextWarnings:
    """The warnings about a text, sorted by line."""

    broken: Sequence[BrokenReference] = ()
    undescribed: Sequence[UndescribedPicture] = ()

    def __bool__(self) -> bool:
        return bool(self.broken or self.undescribed)

    def since(self, earlier: "TextWarnings") -> "TextWarnings":
        """Return the warnings about references and pictures about which there were no `earlier` warnings."""
        known_names = {(reference.name, reference.reason) for reference in earlier.broken}
        known_addresses = {picture.address for picture in earlier.undescribed}
        return TextWarnings(
            [reference for reference in self.broken if (reference.name, reference.reason) not in known_names],
            [picture for picture in self.undescribed if picture.address not in known_addresses],
        )


def find(source: str, format: str, user: Any) -> TextWarnings:
    """Return the warnings about a text in Markdown or HTML, with the titles and reasons that `user` can see."""
    return find_rendered(source, partial(rendering.to_html, source, format), user)


def find_rendered(source: str, render: Callable[[], str], user: Any) -> TextWarnings:
    """Return the warnings about a text. `render` returns it as clean HTML, and is called only if necessary."""
    render_once = cache(render)
    sees_photos = access.may_see_photos(user)
    sees_all = access.sees_all(user)
    broken = texts.find_broken(source, render_once, sees_photos=sees_photos, sees_all=sees_all)
    # Markdown pictures contain "![", and HTML pictures contain "<img".
    may_have_pictures = "![" in source or "<img" in source.lower()
    undescribed = islice(_undescribed(source, render_once()), MAX_BROKEN) if may_have_pictures else ()
    return TextWarnings(broken, tuple(undescribed))


def in_version(fields: Mapping[str, Any], user: Any) -> TextWarnings:
    """Return the warnings about the text in a version's fields, which are keyed by path."""
    return find(fields.get("detail.text") or "", fields.get("detail.format") or MARKDOWN, user)


def _undescribed(source: str, html: str) -> Iterator[UndescribedPicture]:
    """Yield the pictures without alternative text in clean HTML. Photos in the library have their own."""
    lines = source.split("\n")
    for token in tags.tokens(html):
        attributes = tags.attributes(token.text) if token.name == "img" else {}
        address = attributes.get("src", "")
        if not address or address.lower().startswith("photo:") or attributes.get("alt", "").strip():
            continue
        places = ((number, line.find(address)) for number, line in enumerate(lines, 1))
        line, column = next((place for place in places if place[1] >= 0), (0, 0))
        yield UndescribedPicture(address, line, column)
