"""Texts as they are shown: photos where they are named, `![alt](photo:…)`, and links to where nodes and photos stand now.

A photo is named by its id, its slug, or "gallery/slug"; a node by its id: `[words](node:…)`. All that a text names is looked
up by one query of nodes and one of photos (one more where it names slugs), and kept under the site's version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from markup.html import references
from markup.html.references import WORDS_ALONE, ImageRef, LinkRef, Names
from mongo.clock import now
from nodes.models import Photo, Placed, tree, version_cache
from nodes.photos import links as photo_links
from nodes.selectors import due
from nodes.selectors import photos as selectors
from nodes.selectors import references as reference_selectors
from nodes.selectors.listing import is_public
from nodes.texts import rendering


@dataclass(frozen=True)
class Targets:
    """What a text names, by name: photos, and the paths of nodes. What is not in it stays words."""

    photos: Mapping[str, Photo]
    nodes: Mapping[str, str]


def body(node: Placed) -> SafeString:
    """Return the node's text as clean HTML, with the photos that readers may see now."""
    return shown(_saved(node))


def picture(node: Placed) -> Photo | None:
    """Return the photo that stands for a node where it is linked to: itself, or the first that its text shows readers."""
    return node if isinstance(node, Photo) else first(_saved(node))


def _saved(node: Placed) -> str:
    detail = node.metadata.detail
    text = getattr(detail, "text", "")
    return rendering.saved(node.metadata.nonce, text, detail.format) if text else ""


def shown(html: str) -> SafeString:
    """Return a clean text as readers see it: of what is not public, its words alone. Kept in process."""
    names = named(html)
    return SafeString(_resolved(html, _public(names)) if names else html)


def first(html: str) -> Photo | None:
    """Return the first photo that a clean text shows to readers; None if it shows none. Kept in process."""
    names = named(html)
    public = _public(names).photos if names.shown else {}
    return next((public[name] for name in names.shown if name in public), None)


def named(html: str) -> Names:
    """Return what a clean text names, as far as it is looked up."""
    return references.names(html, reference_selectors.MOST_NAMED)


def _public(names: Names) -> Targets:
    moment, sections = now(), tree.current()

    def read() -> tuple[Targets, datetime | None]:
        photos = selectors.named(names.photos)
        public = {name: photo for name, photo in photos.items() if is_public(photo, sections, moment)}
        return Targets(public, reference_selectors.addresses(sections, names.nodes, moment)), due.next_due(moment)

    return version_cache.under_version(("references", names), moment, read)


def previewed(html: str) -> SafeString:
    """Return a clean text with all of its photos, also those that readers do not see yet."""
    names = named(html)
    photos = selectors.named(names.photos)
    return SafeString(_resolved(html, Targets(photos, _public(names).nodes if names else {})))


def _resolved(html: str, targets: Targets) -> str:
    def image(ref: ImageRef) -> str | None:
        photo = targets.photos.get(ref.slug)
        return None if photo is None else _picture(ref, photo)

    def link(ref: LinkRef) -> tuple[str, str]:
        address = _address(ref, targets)
        return ref.to(address) if address else WORDS_ALONE

    return references.resolve(html, image, link)


def _address(ref: LinkRef, targets: Targets) -> str:
    if ref.scheme == references.NODE:
        return targets.nodes.get(ref.name, "")
    photo = targets.photos.get(ref.name)
    return photo.get_absolute_url() if photo else ""


def _picture(ref: ImageRef, photo: Photo) -> str:
    picture = photo_links.picture(photo, alt=ref.alt or photo.metadata.detail.alt)
    if not ref.linked:
        picture = format_html('<a href="{}">{}</a>', photo.get_absolute_url(), picture)
    if not ref.block:
        return picture
    caption = format_html("<figcaption>{}</figcaption>", ref.title) if ref.title else ""
    return format_html('<figure class="photo">{}{}</figure>', picture, caption)
