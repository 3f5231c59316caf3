"""Computed fields: the values of the properties and methods that a content type lists in `api_fields`.

The API returns these values in `computed`. Their JSON types come from the annotations.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, get_args, get_origin, get_type_hints

from bson import ObjectId
from pydantic import PydanticUserError, TypeAdapter

from nodes.content import Content
from nodes.models import BaseNode


class InvalidComputedField(Exception):
    """A name in `api_fields` can't be a computed field. The message contains the name and the reason."""


@dataclass(frozen=True)
class ComputedField:
    """A computed field of a content type.

    Attributes:
        name: The name of the property or method.
        kind: The type of the field's values.
        description: The first line of the docstring.
        is_batched: Whether a class method returns the values for all nodes in a response at once.
    """

    name: str
    kind: Any
    description: str
    is_batched: bool

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """The pydantic adapter for `kind`."""
        return TypeAdapter(self.kind)


@cache
def computed_fields(content_type: type[Content]) -> tuple[ComputedField, ...]:
    """Return the computed fields of a type, in the order of `api_fields`.

    Raises:
        InvalidComputedField: A name in `api_fields` can't be a computed field.
    """
    fields: list[ComputedField] = []
    for name in content_type.api_fields:
        try:
            fields.append(_computed_field(content_type, name))
        except InvalidComputedField as error:
            raise InvalidComputedField(f"“{name}”, which {error}") from error
    return tuple(fields)


def compute(nodes: Iterable[BaseNode]) -> dict[ObjectId, dict[str, Any]]:
    """Return the computed fields of nodes, keyed by id. Types without computed fields are omitted.

    Each class method is called only once for all nodes of its type, so that it can read its data with one query.
    """
    by_type: dict[type[Content], list[BaseNode]] = {}
    for node in nodes:
        if node.content_type.api_fields and node.metadata.detail is not None:
            by_type.setdefault(node.content_type, []).append(node)
    values: dict[ObjectId, dict[str, Any]] = {node.pk: {} for group in by_type.values() for node in group}
    for content_type, group in by_type.items():
        for field in computed_fields(content_type):
            batch = getattr(content_type, field.name)(group) if field.is_batched else None
            for node in group:
                value = _value(node, field) if batch is None else batch.get(node.pk)
                values[node.pk][field.name] = field.adapter.dump_python(value, mode="json")
    return values


def _value(node: BaseNode, field: ComputedField) -> Any:
    value = getattr(node.metadata.detail, field.name)
    return value() if callable(value) else value


def _computed_field(content_type: type[Content], name: str) -> ComputedField:
    attribute = inspect.getattr_static(content_type, name, None)
    is_batched = isinstance(attribute, classmethod)
    function: Any = attribute
    if isinstance(attribute, property):
        function = attribute.fget
    elif isinstance(attribute, cached_property):
        function = attribute.func
    elif isinstance(attribute, classmethod):
        function = attribute.__func__
    if not inspect.isfunction(function) or name.startswith("_"):
        raise InvalidComputedField("is not a public property or method of the type")
    try:
        kind = get_type_hints(function, include_extras=True).get("return")
    except NameError as error:
        raise InvalidComputedField(f"has an annotation with an unknown name: {error}") from error
    if kind is None:
        raise InvalidComputedField("has no return annotation")
    if is_batched:
        kind = _kind_of_batch(kind)
    field = ComputedField(name, kind, (inspect.getdoc(function) or "").partition("\n")[0], is_batched)
    try:
        field.adapter.json_schema(mode="serialization")
    except PydanticUserError as error:
        raise InvalidComputedField("has a return annotation that JSON can't represent") from error
    return field


def _kind_of_batch(kind: Any) -> Any:
    arguments = get_args(kind)
    if get_origin(kind) not in (dict, Mapping) or arguments[0] is not ObjectId:
        raise InvalidComputedField("is a class method that doesn't return dict[ObjectId, …]")
    return arguments[1] | None
