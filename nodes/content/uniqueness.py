"""Combinations of field values that must be unique among the nodes of a type in a section.

A content type declares them in `unique_together_in_section`. Nodes in which one of the fields is empty aren't compared.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import models
from django_mongodb_backend.fields import ObjectIdField

from nodes.content import registry, values
from nodes.content.declared_fields import MarkdownField

# For each class of fields, the condition that matches all stored values except empty ones. The first class that matches
# a field determines its condition. Fields of other classes can't be unique.
_FILLED: tuple[tuple[type[models.Field], dict[str, Any]], ...] = (
    (models.BooleanField, {"$type": "bool"}),
    (models.DecimalField, {"$type": "number"}),
    (models.FloatField, {"$type": "number"}),
    (models.IntegerField, {"$type": "number"}),
    (models.DurationField, {"$type": "number"}),
    (models.DateField, {"$type": "date"}),
    (models.TimeField, {"$type": "date"}),
    (ObjectIdField, {"$type": "objectId"}),
    (models.UUIDField, {"$gt": ""}),
    (models.CharField, {"$gt": ""}),
)

# Fields of a type whose combined values must be unique.
Combination = tuple[models.Field, ...]


def filled(field: models.Field) -> dict[str, Any] | None:
    """Return the condition for stored values of `field` that aren't empty, or None if the field can't be unique."""
    if isinstance(field, MarkdownField):
        return None
    return next((condition for known, condition in _FILLED if isinstance(field, known)), None)


def combinations(type: str) -> Iterator[Combination]:
    """Yield the declared combinations of `type`. Invalid ones, which a system check reports, are left out."""
    content_type = registry.get(type)
    known = {field.name: field for field in values.stored_fields(content_type)}
    for names in content_type.unique_together_in_section:
        fields = tuple(known[name] for name in names if name in known and filled(known[name]))
        if fields and len(fields) == len(names):
            yield fields


def partial_filter(type: str, fields: Combination) -> dict[str, Any]:
    """Return the filter for the nodes of a type in which none of the fields is empty."""
    return {"metadata.type": type} | {f"metadata.detail.{field.column}": filled(field) for field in fields}


def same_values(fields: Combination, detail: Mapping[str, Any], path: str = "metadata") -> dict[str, Any] | None:
    """Return the filter for versions with the same values as `detail`, or None if one of the values is empty.

    `path` is the path of the versions' metadata in the stored documents.
    """
    stored = {field: detail.get(field.column) for field in fields}
    if any(value is None or value == "" for value in stored.values()):
        return None
    return {f"{path}.detail.{field.column}": {"$eq": value, **(filled(field) or {})} for field, value in stored.items()}
