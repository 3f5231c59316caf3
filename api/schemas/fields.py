"""Node fields: their names in JSON, and the conversion of stored values to JSON."""

from collections.abc import Mapping
from typing import Any

from api.schemas.shapes import editable_fields
from nodes.content import values
from nodes.content.base import Part
from nodes.content.declared_fields import PREFIX
from nodes.types import NEVER

# Paths in the stored document, keyed by JSON name, for the fields that all nodes have.
PATHS = {
    "title": "title",
    "slug": "slug",
    "section": "parent_id",
    "summary": "summary",
    "published": "published",
    "expires": "expires",
    "author": "author",
}
NAMES = {path: name for name, path in PATHS.items()}


def body_path(path: str) -> str:
    """Return a field's path in a request body: "parent_id" becomes "body.section", and "" becomes "body"."""
    return f"body.{NAMES.get(path, path)}" if path else "body"


def serialize_fields(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert stored fields, keyed by path, to JSON with the NodeChange schema.

    Fields that aren't in the schema are omitted.
    """
    known = {f"{PREFIX}{field.column}": field for field in editable_fields(type).values()}
    data: dict[str, Any] = {}
    for path, value in fields.items():
        if field := known.get(path):
            data.setdefault("detail", {})[field.name] = serialize_value(values.from_stored(field, value))
        elif path in NAMES:
            data[NAMES[path]] = _serialize_common(path, value)
    return data


def serialize_value(value: Any) -> Any:
    """Convert the Python value of a declared field to JSON. Parts become objects."""
    if isinstance(value, list | tuple):
        return [serialize_value(item) for item in value]
    if isinstance(value, Part):
        return {
            field.name: serialize_value(getattr(value, field.attname)) for field in values.stored_fields(type(value))
        }
    return value


def _serialize_common(path: str, value: Any) -> Any:
    if path == "author" and value:
        return {"name": value["name"], "account": value["_id"]}
    return None if value == NEVER else value
