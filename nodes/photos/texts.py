"""Photos in texts: `![alt](photo:…)` with a photo's id, its slug, or "gallery/slug", shown as the site shows photos."""

from collections.abc import Mapping
from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from markup.html import images
from mongo.clock import now
from nodes.models import Photo, Placed, tree, version_cache
from nodes.photos import links as photo_links
from nodes.selectors import due
from nodes.selectors import photos as selectors
from nodes.selectors.listing import is_public
from nodes.texts import rendering


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
    """Return a clean text with its photos, those that are not public as their alternative texts. Kept in process."""
    references = images.references(html)[: selectors.MOST_NAMED]
    if not references:
        return SafeString(html)
    public = _public(references)
    return SafeString(images.resolve(html, lambda reference: _html(reference, public)))


def first(html: str) -> Photo | None:
    """Return the first photo that a clean text shows to readers; None if it shows none. Kept in process."""
    references = images.references(html)[: selectors.MOST_NAMED]
    public = _public(references) if references else {}
    return next((public[name] for name in references if name in public), None)


def _public(references: tuple[str, ...]) -> dict[str, Photo]:
    moment, sections = now(), tree.current()

    def read() -> tuple[dict[str, Photo], datetime | None]:
        found = selectors.named(references)
        public = {name: photo for name, photo in found.items() if is_public(photo, sections, moment)}
        return public, due.next_due(moment)

    return version_cache.under_version(("photos", references), moment, read)


def previewed(html: str) -> SafeString:
    """Return a clean text with all of its photos, also those that readers do not see yet."""
    found = selectors.named(images.references(html)[: selectors.MOST_NAMED])
    return SafeString(images.resolve(html, lambda reference: _html(reference, found)))


def _html(reference: images.ImageRef, photos: Mapping[str, Photo]) -> str | None:
    photo = photos.get(reference.slug)
    if photo is None:
        return None
    alt = reference.alt or photo.metadata.detail.alt
    picture = format_html('<a href="{}">{}</a>', photo.get_absolute_url(), photo_links.picture(photo, alt=alt))
    if not reference.block:
        return picture
    caption = format_html("<figcaption>{}</figcaption>", reference.title) if reference.title else ""
    return format_html('<figure class="photo">{}{}</figure>', picture, caption)
