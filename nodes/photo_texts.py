"""Photos in texts: `![alt](photo:…)` with a photo's id, its slug, or "gallery/slug", shown as the site shows photos."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bson import ObjectId
from django.utils.html import format_html
from django.utils.safestring import SafeString

from markup import images
from mongo.connection import now
from nodes import kept, photo_addresses, tree
from nodes.models import Photo
from nodes.selectors import due
from nodes.selectors import photos as selectors

# Different photos that one text shows; more stay alternative texts.
MOST = 200


def ids(html: str) -> list[ObjectId]:
    """Return the photos that a clean text shows, live or not; a name that several photos have stands for the newest."""
    found = _found(images.references(html)[:MOST])
    return sorted({photo.pk for photo in found.values()})


def shown(html: str) -> SafeString:
    """Return a clean text with its photos, those that are not public as their alternative texts. Kept in process."""
    references = images.references(html)[:MOST]
    if not references:
        return SafeString(html)
    public = _public(references)
    return SafeString(images.resolve(html, lambda reference: _html(reference, public)))


def first(html: str) -> Photo | None:
    """Return the first photo that a clean text shows to readers; None if it shows none. Kept in process."""
    references = images.references(html)[:MOST]
    public = _public(references) if references else {}
    return next((public[name] for name in references if name in public), None)


def _public(references: tuple[str, ...]) -> dict[str, Photo]:
    moment, sections = now(), tree.current()

    def read() -> tuple[dict[str, Photo], datetime | None]:
        found = _found(references)
        public = {name: photo for name, photo in found.items() if selectors.is_public(photo, sections, moment)}
        return public, due.next_due(moment)

    return kept.under_version(("photos", references), moment, read)


def previewed(html: str) -> SafeString:
    """Return a clean text with all of its photos, also those that readers do not see yet."""
    found = _found(images.references(html)[:MOST])
    return SafeString(images.resolve(html, lambda reference: _html(reference, found)))


def _html(reference: images.ImageRef, photos: Mapping[str, Photo]) -> str | None:
    photo = photos.get(reference.slug)
    if photo is None:
        return None
    alt = reference.alt or photo.metadata.detail.alt
    picture = format_html('<a href="{}">{}</a>', photo.get_absolute_url(), photo_addresses.picture(photo, alt=alt))
    if not reference.block:
        return picture
    caption = format_html("<figcaption>{}</figcaption>", reference.title) if reference.title else ""
    return format_html('<figure class="photo">{}{}</figure>', picture, caption)


def _found(references: Sequence[str]) -> dict[str, Photo]:
    """Return the photos by what the text calls them: one query for all ids, one for all names."""
    if not references:
        return {}
    by_id = {name: ObjectId(name) for name in references if ObjectId.is_valid(name)}
    named = {name: name.rpartition("/") for name in references if name not in by_id}
    galleries = {section.id: section.slug for section in tree.current().sections.values()}
    photos = {photo.pk: photo for photo in selectors.by_ids(list(by_id.values()))}
    found = {name: photos[photo_id] for name, photo_id in by_id.items() if photo_id in photos}
    slugs = sorted({slug for _gallery, _slash, slug in named.values()})
    for photo in selectors.by_slugs(list(galleries), slugs) if slugs else ():
        for name, (gallery, _slash, slug) in named.items():
            here = slug == photo.metadata.slug and gallery.rpartition("/")[2] in (
                "",
                galleries[photo.metadata.parent_id],
            )
            if here and (name not in found or found[name].pk < photo.pk):
                found[name] = photo
    return found
