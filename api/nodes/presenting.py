"""Convert nodes to JSON, using the schemas in api/schemas/shapes.py."""

from collections.abc import Collection, Mapping
from typing import Any

from django.http import HttpRequest

from api.problems import Problem
from api.schemas.fields import serialize_value
from api.schemas.shapes import BODY, COMPUTED, DETAIL, editable_fields
from nodes import links
from nodes.models import BaseNode, File, Photo
from nodes.models.dependencies import note_texts
from nodes.selectors.editable_nodes import Editable
from nodes.types import NEVER
from photos import addresses, labels, texts
from photos.assets import renditions

# Fields that identify a node and its version. They are always returned.
ALWAYS_INCLUDED = frozenset({"id", "type", "nonce"})


def parse_names(value: str, known: Collection[str], name: str) -> frozenset[str]:
    """Return the names in the comma-separated parameter `name`.

    Raises:
        Problem: 422 if a name is unknown.
    """
    names = frozenset(filter(None, (part.strip(" ") for part in value.split(","))))
    if unknown := sorted(names - frozenset(known)):
        errors = [
            (f"query.{name}", f"“{part[:100]}” doesn't exist. Use one of: {', '.join(sorted(known))}.")
            for part in unknown[:5]
        ]
        raise Problem("invalid", errors=errors)
    return names


def serialize_node(
    request: HttpRequest,
    node: BaseNode,
    *,
    include: Collection[str] = (),
    picked: Collection[str] = (),
    draft: Editable | None = None,
    computed: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a node's data.

    Args:
        request: The request.
        node: The node.
        include: Names from INCLUDED to add to the data.
        picked: The names of the fields to return. If there are none, all fields are returned.
        draft: The node with its draft, if it has a draft that the principal has permission to view.
        computed: The values of the node's computed fields, if they are requested and the type has any.
    """
    # The response contains the nonce and the time of the last change, so record that the response also depends on the
    # `texts` version.
    note_texts()
    data = _common(request, node)
    if DETAIL in include:
        data[DETAIL] = _detail(node)
    if computed is not None:
        data[COMPUTED] = computed
    if BODY in include:
        data[BODY] = str(texts.body(node))
    if isinstance(node, Photo):
        data["file"] = _file(request, node)
    elif isinstance(node, File):
        url = links.origin(request) + node.get_absolute_url()
        data["file"] = {
            "content_type": node.metadata.detail.content_type,
            "size": node.metadata.detail.size,
            "url": url,
        }
    if draft is not None and draft.draft is not None:
        data["draft"] = {
            "nonce": draft.draft.nonce,
            "base_nonce": draft.draft.base_nonce,
            "saved_at": draft.draft.saved_at,
            "saved_by": draft.draft.saved_by,
            "due": draft.draft.due,
        }
    return {name: value for name, value in data.items() if not picked or name in picked or name in ALWAYS_INCLUDED}


def _common(request: HttpRequest, node: BaseNode) -> dict[str, Any]:
    metadata = node.metadata
    path = node.get_absolute_url()
    return {
        "id": node.pk,
        "type": metadata.type,
        "nonce": metadata.nonce,
        "path": path,
        "url": links.origin(request) + path if path else "",
        "section": metadata.parent_id,
        "slug": metadata.slug,
        "title": metadata.title,
        "summary": metadata.summary or "",
        "excerpt": node.excerpt,
        "language": node.language,
        "author": _author(metadata.author),
        "tags": list(metadata.tags or ()),
        "created": metadata.created,
        "updated": metadata.updated,
        "published": metadata.published,
        "expires": None if metadata.expires == NEVER else metadata.expires,
        "minutes": node.minutes,
        "picture": node.picture_id,
    }


def _author(author: Any) -> dict[str, Any] | None:
    return {"name": author.name, "path": author.get_absolute_url() or None} if author and author.name else None


def _detail(node: BaseNode) -> dict[str, Any] | None:
    detail = node.metadata.detail
    if detail is None or not node.content_type.is_installed:
        return None
    return {
        name: serialize_value(getattr(detail, field.attname))
        for name, field in editable_fields(node.metadata.type).items()
    }


def _file(request: HttpRequest, photo: Photo) -> dict[str, Any]:
    width, height = addresses.size(photo)
    origin = links.origin(request)
    copies = {
        str(size): origin + addresses.copy_path(photo, size) for size in renditions.widths((width, height), "jpg")
    }
    return {
        "content_type": photo.metadata.detail.content_type if addresses.is_whole(photo) else "image/jpeg",
        "width": width,
        "height": height,
        "url": origin + addresses.original_path(photo),
        "copies": copies,
        "camera": {entry["n"]: entry["v"] for entry in photo.metadata.detail.exif or () if entry["n"] in labels.LABELS},
    }
