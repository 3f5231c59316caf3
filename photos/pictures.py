"""The photo that represents a node in lists, above its text, and in link previews. Only public photos are used.

Editors can choose a photo (`detail.picture`), but they don't have to.
"""

from collections.abc import Iterable, Sequence

from bson import ObjectId

from marginalia.markup.html.references import ReferencedNames
from marginalia.markup.inserts.reading import TextInserts
from nodes.content import PhotoField, declared_fields
from nodes.models import BaseNode, Photo, stored_site
from photos import texts


def attach(nodes: Iterable[BaseNode]) -> None:
    """Set `node.picture` on all nodes in a list. All photos are read with one query, and cached in memory."""
    rows = list(nodes)
    photos = _public_photos([row.picture_id for row in rows if row.picture_id])
    for row in rows:
        row.picture = row if isinstance(row, Photo) else photos.get(row.picture_id)


def chosen(node: BaseNode) -> Photo | None:
    """Return the photo that an editor chose for a node, or None if there is none or readers can't see it."""
    photo_id = getattr(node.metadata.detail, "picture", None)
    return _public_photos([photo_id]).get(photo_id) if isinstance(photo_id, ObjectId) else None


def lead(node: BaseNode) -> Photo | None:
    """Return the photo to show above a node's text: the chosen photo, or None if the text also contains it."""
    photo = chosen(node)
    if photo is None or not (html := texts.clean_html(node)):
        return photo
    names = texts.find_names(TextInserts(html))
    photos = texts.public_targets(names).photos if names.shown else {}
    return None if any(photos[name].pk == photo.pk for name in names.shown if name in photos) else photo


def share_photo(node: BaseNode, listed: Sequence[Photo] = ()) -> Photo | None:
    """Return the photo that represents a node in link previews, or None if there is none.

    It is the first of these photos that exists: the node itself if it is a photo, the chosen photo, the first of the
    `listed` photos, or the default photo.
    """
    if isinstance(node, Photo):
        return node
    return chosen(node) or next(iter(listed), None) or default(node)


def default(node: BaseNode) -> Photo | None:
    """Return the default photo for a node without a chosen photo, or None if there is none.

    It is the first photo in another field or in the body text.
    """
    detail = node.metadata.detail
    fields = (field for _path, field in declared_fields.own_fields(node.metadata.type))
    values = [getattr(detail, field.attname, None) for field in fields if isinstance(field, PhotoField)]
    ids = [photo_id for photo_id in values if photo_id and photo_id != getattr(detail, "picture", None)]
    photos = _public_photos(ids)
    from_field = next((photos[photo_id] for photo_id in ids if photo_id in photos), None)
    return from_field or texts.first_photo(texts.clean_html(node))


def site_default() -> Photo | None:
    """Return the site's photo for link previews of pages without a photo, or None if it isn't set or isn't public."""
    photo_id = stored_site.current().settings.share_picture
    return _public_photos([photo_id]).get(photo_id) if photo_id else None


def logos() -> tuple[Photo | None, Photo | None]:
    """Return the site's logos for light and dark mode. Each logo is None if it isn't set or readers can't see it.

    If there is no logo for light mode, the logo for dark mode is also None.
    """
    settings = stored_site.current().settings
    ids = [photo_id for photo_id in (settings.logo, settings.logo_dark) if photo_id]
    photos = _public_photos(ids) if ids else {}
    light = photos.get(settings.logo) if settings.logo else None
    return light, (photos.get(settings.logo_dark) if settings.logo_dark and light else None)


def _public_photos(ids: Sequence[ObjectId]) -> dict[ObjectId | None, Photo]:
    names = tuple(sorted({str(photo_id) for photo_id in ids}))
    photos = texts.public_targets(ReferencedNames(names, (), ())).photos if names else {}
    return {photo.pk: photo for photo in photos.values()}
