"""Facets: strings that lists use to filter nodes.

They contain the values of the fields that a type lists in `facets`.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bson.decimal128 import Decimal128
from django.db import models
from django.utils.translation import gettext
from django_mongodb_backend.fields import ArrayField

from nodes.content import registry, values

# Maximum number of facets per node, and maximum length of a value. Additional facets aren't stored, and longer values
# are truncated.
MOST, LONGEST = 50, 100


def from_detail(type: str, detail: Mapping[str, Any]) -> list[str]:
    """Return the facets of a stored `detail`, sorted and without duplicates, such as ["recipe.course=dessert", …]."""
    facets = {
        format_facet(type, field.name, value)
        for field in fields(type)
        for value in _texts(detail.get(field.column))
        if value != ""
    }
    return sorted(facets)[:MOST]


def fields(type: str) -> Iterator[models.Field]:
    """Yield the fields of `type` by which lists can be filtered, in the order of its `facets` attribute."""
    content_type = registry.get(type)
    for name in content_type.facets:
        yield content_type._meta.get_field(name)


def is_list(field: models.Field) -> bool:
    """Return whether a node can have several values of `field`."""
    return isinstance(field, ArrayField)


def labels(field: models.Field) -> dict[str, str]:
    """Return the labels of a field's choices, keyed by stored value. If the field has no choices, return {}."""
    inner = field.base_field if isinstance(field, ArrayField) else field
    if isinstance(inner, models.BooleanField):
        return {"true": gettext("Yes"), "false": gettext("No")}
    return {value: str(label) for choice, label in inner.flatchoices for value in _texts(choice)}


def format_facet(type: str, name: str, value: str) -> str:
    """Return the stored facet for `value` in the field `name`, such as "recipe.course=dessert"."""
    return f"{owner(type, name)}.{name}={normalize(value)}"


def owner(type: str, name: str) -> str:
    """Return the name of the type that introduced the facet `name`: `type` itself, or a type that it extends."""
    with_facet = [above.type_name for above in registry.get(type).lineage() if name in above.facets]
    return with_facet[-1] if with_facet else type


def normalize(value: str) -> str:
    """Normalize a value for stored facets and queries: at most LONGEST characters, without surrounding whitespace."""
    return value.strip()[:LONGEST].rstrip()


def query_text(field: models.Field, value: Any) -> str:
    """Convert a value in a query to its form in stored facets. Strings, as in the URL of a list, are only normalized.

    Raises:
        ValidationError: The field doesn't accept the value.
    """
    if isinstance(value, str):
        return normalize(value)
    return next(_texts(values.queried(field.base_field if isinstance(field, ArrayField) else field, value)))


def parse_facet(stored: str) -> tuple[str, str]:
    """Return the field name and the value in a stored facet."""
    name, _equals, value = stored.partition(".")[2].partition("=")
    return name, value


def _texts(value: Any) -> Iterator[str]:
    """Yield a stored value as a string. For a list, yield each item separately."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, datetime):
        yield value.date().isoformat()
    elif isinstance(value, Decimal128):
        yield f"{value.to_decimal().normalize():f}"
    elif value is not None:
        yield normalize(str(value))
