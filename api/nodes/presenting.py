"""Nodes as JSON, in the shapes of api/schemas/shapes.py."""

from collections.abc import Collection
from typing import Any

from django.http import HttpRequest

from api.problems import Problem
from api.schemas.shapes import BODY, DETAIL, shown_fields
from nodes import links
from nodes.content import values
from nodes.content.base import Part
from nodes.models import BaseNode, Photo
from nodes.models.dependencies import note_texts
from nodes.selectors.editable_nodes import Editable
from nodes.types import NEVER
from photos import addresses, labels, texts
from photos.assets import renditions

# Always there: what a node is known by.
KNOWN_BY = frozenset({"id", "type", "nonce"})


def asked(value: str, known: Collection[str], name: str) -> frozenset[str]:
    """Return the names that a parameter lists, separated by commas. Raises Problem (422) for one that is not known."""
    names = frozenset(filter(None, (one.strip(" ") for one in value.split(","))))
    if other := sorted(names - frozenset(known)):
        told = [
            (f"query.{name}", f"There is no “{one[:100]}”; there are {', '.join(sorted(known))}.") for one in other[:5]
        ]
        raise Problem("invalid", errors=told)
    return names


def node(
    request: HttpRequest,
    shown: BaseNode,
    *,
    include: Collection[str] = (),
    picked: Collection[str] = (),
    draft: Editable | None = None,
) -> dict[str, Any]:
    """Return a node as JSON has it. `include`: of INCLUDED; `picked`: the names that it is cut to, all if none; `draft`: the
    node with the draft beside it, for who may see that."""
    # The nonce and the time of the last change, of all that a list has.
    note_texts()
    said = _common(request, shown)
    if DETAIL in include:
        said[DETAIL] = _detail(shown)
    if BODY in include:
        said[BODY] = str(texts.body(shown))
    if isinstance(shown, Photo):
        said["file"] = _file(request, shown)
    if draft is not None and draft.draft is not None:
        said["draft"] = {
            "nonce": draft.draft.nonce,
            "base_nonce": draft.draft.base_nonce,
            "saved_at": draft.draft.saved_at,
            "saved_by": draft.draft.saved_by,
            "due": draft.draft.due,
        }
    return {name: value for name, value in said.items() if not picked or name in picked or name in KNOWN_BY}


def _common(request: HttpRequest, shown: BaseNode) -> dict[str, Any]:
    said = shown.metadata
    path = shown.get_absolute_url()
    return {
        "id": shown.pk,
        "type": said.type,
        "nonce": said.nonce,
        "path": path,
        "url": links.origin(request) + path if path else "",
        "section": said.parent_id,
        "slug": said.slug,
        "title": said.title,
        "summary": said.summary or "",
        "excerpt": shown.excerpt,
        "author": _author(said.author),
        "tags": list(said.tags or ()),
        "created": said.created,
        "updated": said.updated,
        "published": said.published,
        "expires": None if said.expires == NEVER else said.expires,
        "minutes": shown.minutes,
        "picture": shown.picture_id,
    }


def _author(author: Any) -> dict[str, Any] | None:
    return {"name": author.name, "path": author.get_absolute_url() or None} if author and author.name else None


def _detail(shown: BaseNode) -> dict[str, Any] | None:
    detail = shown.metadata.detail
    if detail is None or not shown.content_type.is_installed:
        return None
    return {name: value(getattr(detail, field.attname)) for name, field in shown_fields(shown.metadata.type).items()}


def value(said: Any) -> Any:
    """Return the value of a declared field, as Python has it, as JSON has it: parts as objects."""
    if isinstance(said, list | tuple):
        return [value(one) for one in said]
    if isinstance(said, Part):
        return {field.name: value(getattr(said, field.attname)) for field in values.stored_fields(type(said))}
    return said


def _file(request: HttpRequest, photo: Photo) -> dict[str, Any]:
    across, down = addresses.size(photo)
    origin = links.origin(request)
    copies = {
        str(width): origin + addresses.copy_path(photo, width) for width in renditions.widths((across, down), "jpg")
    }
    return {
        "content_type": photo.metadata.detail.content_type if addresses.is_whole(photo) else "image/jpeg",
        "width": across,
        "height": down,
        "url": origin + addresses.original_path(photo),
        "copies": copies,
        "camera": {one["n"]: one["v"] for one in photo.metadata.detail.exif or () if one["n"] in labels.LABELS},
    }
