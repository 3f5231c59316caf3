"""Computed fields: the values of the properties and methods that a content type lists in `api_fields`.

The API returns these values in `computed`. Their JSON types come from the annotations. If the code of a field fails, its
value is None.
"""

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from bson import ObjectId
from pydantic import PydanticUserError, TypeAdapter

from marginalia.mongo.engine.read_tracking import note_read
from marginalia.mongo.servers import is_outage
from nodes.content import Content
from nodes.models import BaseNode

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class InvalidComputedField(Exception):
    """A name in `api_fields` can't be a computed field. The message contains the name and the reason."""


@dataclass(frozen=True)
class ComputedField:
    """A computed field of a content type.

    Attributes:
        name: The name of the property or method.
        kind: The type of the field's values. It includes None, because the code can fail.
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

    Each class method is called only once for all nodes of its type, so that it can read its data with one query. If a
    property or method raises an exception, the exception is logged, and the value is None.
    """
    by_type: dict[type[Content], list[BaseNode]] = {}
    for node in nodes:
        if node.content_type.api_fields and node.metadata.detail is not None:
            by_type.setdefault(node.content_type, []).append(node)
    values: dict[ObjectId, dict[str, Any]] = {node.pk: {} for group in by_type.values() for node in group}
    for content_type, group in by_type.items():
        for field in computed_fields(content_type):
            name = f"{content_type.__module__}.{content_type.__name__}.{field.name}"
            batch = _run(name, getattr(content_type, field.name), group) or {} if field.is_batched else None
            for node in group:
                values[node.pk][field.name] = _run(name, _value, node, field, batch)
    return values


def _run(name: str, function: Callable[..., Result], *args: Any) -> Result | None:
    """Return the result of the code of a computed field, or None if the code fails.

    A mistake in one field must not prevent clients from reading the rest of the response. The response isn't cached,
    because the code can succeed the next time.

    Raises:
        PyMongoError, DatabaseError: The database is unavailable.
    """
    try:
        return function(*args)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("The computed field %s failed.", name)
        note_read()
        return None


def _value(node: BaseNode, field: ComputedField, batch: Mapping[ObjectId, Any] | None) -> Any:
    """Return a node's value as JSON. `batch` contains the values of all nodes, if a class method returns them."""
    if batch is not None:
        value = batch.get(node.pk)
    else:
        attribute = getattr(node.metadata.detail, field.name)
        value = attribute() if callable(attribute) else attribute
    return field.adapter.dump_python(value, mode="json")


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
    field = ComputedField(name, kind | None, (inspect.getdoc(function) or "").partition("\n")[0], is_batched)
    try:
        field.adapter.json_schema(mode="serialization")
    except PydanticUserError as error:
        raise InvalidComputedField("has a return annotation that JSON can't represent") from error
    return field


def _kind_of_batch(kind: Any) -> Any:
    arguments = get_args(kind)
    if get_origin(kind) not in (dict, Mapping) or arguments[0] is not ObjectId:
        raise InvalidComputedField("is a class method that doesn't return dict[ObjectId, …]")
    return arguments[1]
