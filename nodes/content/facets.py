"""What lists filter nodes of a type by: the values of the fields that its `facets` names, as one text each."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bson.decimal128 import Decimal128
from django.db import models
from django.utils.translation import gettext
from django_mongodb_backend.fields import ArrayField

from nodes.content import registry

# Values of one node, and characters of one: what is beyond is not filtered by.
MOST, LONGEST = 50, 100


def of(type: str, detail: Mapping[str, Any]) -> list[str]:
    """Return what a stored detail is filtered by, sorted and once each: ["recipe.course=dessert", …]."""
    found = {
        key(type, field.name, value)
        for field in fields(type)
        for value in _each(detail.get(field.column))
        if value != ""
    }
    return sorted(found)[:MOST]


def fields(type: str) -> Iterator[models.Field]:
    """Yield the fields of a type that lists filter by, in the order of `facets`; none of a type that is not installed."""
    content_type = registry.get(type)
    for name in content_type.facets:
        yield content_type._meta.get_field(name)


def is_list(field: models.Field) -> bool:
    """Return whether one node can have several values of a field."""
    return isinstance(field, ArrayField)


def labels(field: models.Field) -> dict[str, str]:
    """Return what the values of a field are called that it names itself, by value, in its order."""
    inner = field.base_field if isinstance(field, ArrayField) else field
    if isinstance(inner, models.BooleanField):
        return {"true": gettext("Yes"), "false": gettext("No")}
    return {value: str(name) for stored, name in inner.flatchoices for value in _each(stored)}


def key(type: str, name: str, value: str) -> str:
    """Return how a value of a field is stored among the facets of a node."""
    return f"{type}.{name}={normal(value)}"


def normal(value: str) -> str:
    """Return a value as it is stored and asked for: without space around it, also where it is cut."""
    return value.strip()[:LONGEST].rstrip()


def read(stored: str) -> tuple[str, str]:
    """Return the name of the field and the value that a stored facet spells."""
    name, _equals, value = stored.partition(".")[2].partition("=")
    return name, value


def _each(value: Any) -> Iterator[str]:
    """Yield a stored value as text, of a list each of its own."""
    if isinstance(value, list):
        for one in value:
            yield from _each(one)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, datetime):
        yield value.date().isoformat()
    elif isinstance(value, Decimal128):
        yield f"{value.to_decimal().normalize():f}"
    elif value is not None:
        yield normal(str(value))
