"""The picture that stands for a node: in lists, above its text, and where it is shared. Of what is not public it is none.

Editors choose it (`detail.picture`); none is required.
"""

from collections.abc import Iterable, Sequence

from bson import ObjectId

from marginalia.markup.html.references import Names
from marginalia.markup.inserts.reading import Inserts
from nodes.content import PhotoField, declared_fields
from nodes.models import BaseNode, Photo, stored_site
from photos import texts


def read(nodes: Iterable[BaseNode]) -> None:
    """Give the rows of a list their pictures, as `node.picture`: one query for all of them, kept in process."""
    rows = list(nodes)
    found = _public([row.picture_id for row in rows if row.picture_id])
    for row in rows:
        row.picture = row if isinstance(row, Photo) else found.get(row.picture_id)


def chosen(node: BaseNode) -> Photo | None:
    """Return the picture that editors chose for a node, if readers may see it."""
    named = getattr(node.metadata.detail, "picture", None)
    return _public([named]).get(named) if isinstance(named, ObjectId) else None


def lead(node: BaseNode) -> Photo | None:
    """Return the picture to show above a node's text: the chosen one, unless the text shows it too."""
    photo = chosen(node)
    if photo is None or not (html := texts.saved(node)):
        return photo
    names = texts.named(Inserts(html))
    found = texts.readable(names).photos if names.shown else {}
    return None if any(found[name].pk == photo.pk for name in names.shown if name in found) else photo


def shared(node: BaseNode, listed: Sequence[Photo] = ()) -> Photo | None:
    """Return the photo that stands for a node where it is linked to: itself, the one that editors chose, the first of those
    that it lists, the first that another field of its type names, or the first that its text shows readers."""
    if isinstance(node, Photo):
        return node
    return chosen(node) or next(iter(listed), None) or usual(node)


def usual(node: BaseNode) -> Photo | None:
    """Return the photo that stands for a node for which editors chose none: of another field of its type, or of its text."""
    detail = node.metadata.detail
    fields = (field for _path, field in declared_fields.own_fields(node.metadata.type))
    named = [getattr(detail, one.attname, None) for one in fields if isinstance(one, PhotoField)]
    ids = [one for one in named if one and one != getattr(detail, "picture", None)]
    found = _public(ids)
    return next((found[one] for one in ids if one in found), None) or texts.first(texts.saved(node))


def of_site() -> Photo | None:
    """Return the picture that the settings name for pages without one, if readers may see it."""
    named = stored_site.current().settings.share_picture
    return _public([named]).get(named) if named else None


def logos() -> tuple[Photo | None, Photo | None]:
    """Return the logos that the settings name for light and for dark colours, as far as readers may see them."""
    named = stored_site.current().settings
    wanted = [one for one in (named.logo, named.logo_dark) if one]
    found = _public(wanted) if wanted else {}
    light = found.get(named.logo) if named.logo else None
    return light, (found.get(named.logo_dark) if named.logo_dark and light else None)


def _public(ids: Sequence[ObjectId]) -> dict[ObjectId | None, Photo]:
    names = tuple(sorted({str(one) for one in ids}))
    photos = texts.readable(Names(names, (), ())).photos if names else {}
    return {photo.pk: photo for photo in photos.values()}
