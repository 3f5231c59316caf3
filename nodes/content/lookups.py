"""The fields, lookups and orders of queries for content types, and the indexes that types declare for these queries.

Field names and lookups come from code, never from a request. The field converts each value, so a value from a request
can't become an operator of the database.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.exceptions import FieldError, ValidationError
from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField, ObjectIdField

from nodes.content import registry, values
from nodes.content.base import Content
from nodes.content.messages import invalid_value

DETAIL = "metadata.detail."
_COMPARISONS = {"gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte"}
_OF_VALUES = ("exact", "in", *_COMPARISONS, "range", "isnull")
_OF_LISTS = ("contains", "isnull")
# The fields that all types have, with their stored paths.
_COMMON: dict[str, tuple[str, models.Field]] = {
    "id": ("_id", ObjectIdField()),
    "title": ("metadata.title", models.CharField()),
    "slug": ("metadata.slug", models.CharField()),
    "published": ("metadata.published", models.DateTimeField()),
    "created": ("metadata.created", models.DateTimeField()),
    "updated": ("metadata.updated", models.DateTimeField()),
}
# Names that only indexes can contain. Queries use `in_section`, `tagged` and `with_facets` instead.
_INDEXED = {"section": "metadata.parent_id", "tags": "metadata.tags", "facets": "derived.facets"}
# Pages that were published at the same time are sorted by creation, as in all lists.
_TIE_BREAKERS = {"metadata.published": ("metadata.created", _COMMON["created"][1])}
# The order of queries without order_by().
NEWEST_FIRST = ("-published",)
# The lists that indexes can contain. MongoDB allows only one list per index.
_LISTS = ("tags", "facets")


class Condition(NamedTuple):
    """A condition of a query.

    Attributes:
        filter: The filter for the database.
        name: The name of the field in `indexes`.
        is_exact: Whether the condition allows only certain values. Otherwise, it allows a range.
    """

    filter: dict[str, Any]
    name: str
    is_exact: bool = True


class SortKey(NamedTuple):
    """A path by which a query sorts: in ascending order (1) or in descending order (-1)."""

    path: str
    direction: int
    field: models.Field


def types_of(model: type[Content]) -> tuple[type[Content], ...]:
    """Return the registered types that are `model` or extend it. Subtypes for files are left out.

    Raises:
        TypeError: Neither `model` nor a type that extends it is registered.
    """
    found = tuple(type for type in registry.types() if issubclass(type, model) and (type is model or not type.is_file))
    if not found:
        raise TypeError(f"{model.__name__} isn't a registered content type. Add the decorator @register to the class.")
    return found


def condition(model: type[Content], lookup: str, value: Any) -> Condition:
    """Return the condition for a keyword of `filter`, such as `starts__gte=now`.

    Raises:
        FieldError: The type has no such field, or the field doesn't support the lookup.
        ValidationError: The field doesn't accept the value.
    """
    path, field, operator = _resolve(model, lookup)
    name = lookup.removesuffix(f"__{operator}")
    operator = operator or "exact"
    supported = supported_lookups(field)
    if operator not in supported:
        raise FieldError(f"“{lookup}” isn't supported. Lookups for “{name}”: {', '.join(supported)}.")
    if operator == "isnull" or (operator == "exact" and value is None):
        is_null = operator == "exact" or _is_true(value)
        return Condition({path: None if is_null else {"$ne": None}}, name, is_null)
    match operator:
        case "exact" | "in":
            allowed = [_stored(field, item) for item in (_items(value) if operator == "in" else [value])]
            # Pages that were saved before the field was added have its default value, but don't store it. None matches
            # missing values.
            is_declared = path.startswith(DETAIL) and "." not in path.removeprefix(DETAIL)
            if is_declared and _stored_default(field) in allowed:
                allowed.append(None)
            wanted = {"$in": allowed} if operator == "in" or len(allowed) > 1 else {"$eq": allowed[0]}
        case "range":
            first, last = _pair(value)
            wanted = {"$gte": _stored(field, first), "$lte": _stored(field, last)}
        case "contains":
            items = value if isinstance(value, list | tuple) else [value]
            wanted = {"$all": [_stored(field.base_field, item) for item in items]}
        case _:
            wanted = {_COMPARISONS[operator]: _stored(field, value)}
    return Condition({path: wanted}, name, operator in ("exact", "in", "contains"))


def supported_lookups(field: models.Field) -> tuple[str, ...]:
    """Return the lookups that queries support for a field."""
    if isinstance(field, EmbeddedModelArrayField | EmbeddedModelField | models.JSONField):
        return ("isnull",)
    return _OF_LISTS if isinstance(field, ArrayField) else _OF_VALUES


def order(model: type[Content], names: Iterable[str]) -> list[SortKey]:
    """Return the keys by which a query is sorted. The id is always the last key, so that the order is unambiguous.

    Raises:
        FieldError: Queries can't be sorted by one of the fields.
    """
    keys: list[SortKey] = []
    for name in names:
        path, field, rest = _resolve(model, name.removeprefix("-"))
        if rest or supported_lookups(field) != _OF_VALUES:
            raise FieldError(f"Queries can't be sorted by “{name}”, because it isn't a field with a single value.")
        direction = -1 if name.startswith("-") else 1
        keys.append(SortKey(path, direction, field))
        if path in _TIE_BREAKERS:
            tie_breaker, field = _TIE_BREAKERS[path]
            keys.append(SortKey(tie_breaker, direction, field))
    path, field = _COMMON["id"]
    return keys if path in {key.path for key in keys} else [*keys, SortKey(path, keys[-1].direction, field)]


def index_keys(model: type[Content], names: str | Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the keys of an index that a type declares in `indexes`.

    The last keys let the server skip hidden pages without reading them.

    Raises:
        FieldError: An index can't contain one of the fields, or can't contain all of them together.
    """
    keys: dict[str, int] = {}
    lists = 0
    direction = 1
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise FieldError("An index is the name of a field, or a list of names.")
    for name in listed:
        direction = -1 if name.startswith("-") else 1
        name = name.removeprefix("-")
        if name in _INDEXED:
            keys[_INDEXED[name]] = direction
            lists += name in _LISTS
            continue
        path, field, rest = _resolve(model, name)
        if rest or supported_lookups(field) == ("isnull",):
            raise FieldError(f"Indexes can't contain “{name}”.")
        lists += isinstance(field, ArrayField)
        keys[path] = direction
        if path in _TIE_BREAKERS:
            keys[_TIE_BREAKERS[path][0]] = direction
    if not keys or lists > 1:
        raise FieldError("An index needs at least one field, and can contain at most one list.")
    keys.setdefault("_id", direction)
    for path in ("metadata.expires", "metadata.published", "metadata.parent_id", "metadata.type"):
        keys.setdefault(path, 1)
    return tuple(keys.items())


def id_of(value: Any) -> Any:
    """Return the id of a node, or of the node to which an instance of a content type belongs. Return ids unchanged."""
    if isinstance(value, Content):
        value = value.node
    return value.pk if isinstance(value, models.Model) else value


def _resolve(model: type[Content], name: str) -> tuple[str, models.Field, str]:
    """Return the path of the field that `name` begins with, the field, and the rest of `name`, such as "gte"."""
    first, *rest = name.split("__")
    declared = {field.name: field for field in values.stored_fields(model)}
    if first in declared:
        field = declared[first]
        path = f"{DETAIL}{field.column}"
    elif first in _COMMON or first == "pk":
        path, field = _COMMON["id" if first == "pk" else first]
    else:
        known = ", ".join([*declared, *(name for name in _COMMON if name not in declared)])
        raise FieldError(f"{model.__name__} has no field “{first}”. Fields: {known}.")
    while rest and isinstance(field, EmbeddedModelField):
        inner = {field.name: field for field in values.stored_fields(field.embedded_model)}
        if rest[0] not in inner:
            break
        field = inner[rest.pop(0)]
        path = f"{path}.{field.column}"
    return path, field, "__".join(rest)


def _stored(field: models.Field, value: Any) -> Any:
    return values.queried(field, id_of(value) if isinstance(field, ObjectIdField) else value)


def _stored_default(field: models.Field) -> Any:
    """Return the default of a field as it is stored, or None if there is no constant default or the field can be null."""
    if field.null or (field.has_default() and callable(field.default)):
        return None
    default = field.get_default()  # "" for texts without a declared default
    return None if default is None else values.queried(field, default)


def _items(value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValidationError(invalid_value())
    return list(value)


def _pair(value: Any) -> tuple[Any, Any]:
    items = _items(value)
    if len(items) != 2:
        raise ValidationError(invalid_value())
    return items[0], items[1]


def _is_true(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(invalid_value())
    return value
