"""The values of fields, as they are stored and as Python has them: what is read is converted, what is written is checked."""

import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import bson
from bson import ObjectId
from bson.decimal128 import Decimal128
from bson.errors import InvalidDocument, InvalidId
from django.core.exceptions import ValidationError
from django.db import connection, models
from django.utils.translation import gettext as _
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from marginalia.markup.characters import is_blank
from marginalia.mongo.reading import Malformed

# What checking a value raises that is of another type altogether.
_NO_VALUE = (TypeError, ValueError, AttributeError, ArithmeticError, InvalidId, InvalidDocument)


def stored_fields(model: type[models.Model]) -> Iterator[models.Field]:
    """Yield the fields of a type or part that are stored; Django's own key of a type is none of them."""
    for field in model._meta.fields:
        if not isinstance(field, models.AutoField) and not field.get_internal_type().endswith("AutoField"):
            yield field


@cache
def _readers(model: Any) -> tuple[tuple[str, str, type, Callable[[Any], Any] | None, Any], ...]:
    """Return (attribute, stored name, class of stored values, conversion or None, field) of each field."""
    return tuple((f.attname, f.column, _stored_as(f), _from_stored(f), f) for f in stored_fields(model))


def _stored_as(field: models.Field) -> type:
    """Return the class of a field's values that nothing works without: of texts, which are rendered, and of lists."""
    if isinstance(field, ArrayField):
        return list
    return str if isinstance(field, models.CharField | models.TextField) else object


def attributes(model: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the constructor of a type or part takes, of a stored document; what it lacks has its default.

    Raises Malformed for a value of another type.
    """
    found = {}
    for name, column, stored_as, convert, field in _readers(model):
        value = document.get(column)
        if column not in document or (value is None and not field.null):
            found[name] = field.get_default()
        elif value is not None and not isinstance(value, stored_as):
            raise Malformed(f"{column} has another type")
        else:
            found[name] = value if convert is None or value is None else convert(value)
    return found


def fitting(model: type[models.Model], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return those values of a stored document that the fields of a type take: of one that a newer version wrote, say."""
    found = {}
    for field in stored_fields(model):
        if field.column in document:
            try:
                cleaned(field, from_stored(field, document[field.column]))
            except (ValidationError, *_NO_VALUE):
                continue
            found[field.column] = document[field.column]
    return found


def from_stored(field: models.Field, value: Any) -> Any:
    """Return a stored value as Python has it; a value that Python has stays."""
    convert = _from_stored(field)
    return value if convert is None or value is None else convert(value)


@cache
def _from_stored(field: models.Field) -> Callable[[Any], Any] | None:
    """Return what converts a stored value of a field; None where the driver does."""
    if isinstance(field, EmbeddedModelArrayField):
        part = field.embedded_model
        return lambda value: [_part(part, one) for one in value]
    if isinstance(field, EmbeddedModelField):
        return lambda value: _part(field.embedded_model, value)
    if isinstance(field, ArrayField):
        inner = _from_stored(field.base_field)
        return None if inner is None else lambda value: [inner(one) for one in value]
    return next((convert for kind, convert in _CONVERSIONS if isinstance(field, kind)), None)


def _part(model: Any, value: Any) -> Any:
    return model.from_document(value) if isinstance(value, Mapping) else value


_CONVERSIONS: tuple[tuple[type[models.Field], Callable[[Any], Any]], ...] = (
    # Of the ORM's connection times come without a zone.
    (models.DateTimeField, lambda at: at.replace(tzinfo=UTC) if isinstance(at, datetime) and at.tzinfo is None else at),
    (models.DateField, lambda at: at.date() if isinstance(at, datetime) else at),
    (models.TimeField, lambda at: at.time() if isinstance(at, datetime) else at),
    (models.DecimalField, lambda number: number.to_decimal() if isinstance(number, Decimal128) else number),
    (models.UUIDField, lambda key: uuid.UUID(key) if isinstance(key, str) else key),
    (models.DurationField, lambda span: timedelta(milliseconds=span) if isinstance(span, int) else span),
)


def cleaned(field: models.Field, value: Any) -> Any:
    """Return a value as it is stored, if the field takes it. Raises ValidationError."""
    try:
        return _cleaned(field, value)
    except _NO_VALUE as error:
        raise ValidationError(_("The field does not take this value.")) from error


def _cleaned(field: models.Field, value: Any) -> Any:
    if isinstance(field, ArrayField) and value is not None:
        if not isinstance(value, list | tuple):
            raise ValidationError(_("This is not a list."))
        if isinstance(field, EmbeddedModelArrayField):
            items = [_cleaned_part(field.embedded_model, one, number) for number, one in enumerate(value, 1)]
            _identify(items)
        else:
            items = [_cleaned_item(field.base_field, one, number) for number, one in enumerate(value, 1)]
        # Of a point, or a part of a picture, nothing of it is none.
        if not items and field.size and field.null:
            return None
        if not items and not field.blank:
            raise ValidationError(field.error_messages["blank"], code="blank")
        models.Field.run_validators(field, items)
        return items
    if isinstance(field, EmbeddedModelField) and value is not None:
        return _cleaned_part(field.embedded_model, value)
    if isinstance(field, models.JSONField):
        _check_keys(value)
        # Raises what the driver would raise.
        bson.encode({"value": value})
        return value
    if isinstance(value, Mapping | list | tuple):
        raise ValidationError(_("The field does not take this value."))
    # It may come from an older version, as it was stored.
    value = from_stored(field, value)
    # A field that may be null is, without a value: "" stands for that in texts alone.
    if value == "" and field.null and not field.empty_strings_allowed:
        value = None
    if value is None and field.null:
        return None
    # A field that needs a value refuses "".
    if isinstance(value, str) and not field.blank and is_blank(value):
        value = ""
    return _to_stored(field, field.clean(value, None))


def _identify(parts: list[dict[str, Any]]) -> None:
    """Give each part an id that no other of the list has."""
    seen: set[Any] = set()
    for part in parts:
        if part.setdefault("_id", ObjectId()) in seen:
            part["_id"] = ObjectId()
        seen.add(part["_id"])


def _cleaned_item(field: models.Field, value: Any, number: int) -> Any:
    try:
        return _cleaned(field, value)
    except ValidationError as error:
        raise _numbered(error, number) from error


def _cleaned_part(model: Any, value: Any, number: int = 0) -> dict[str, Any]:
    """Return a part (an object of its class, or its fields by name) as it is stored. Raises ValidationError by field."""
    if isinstance(value, model):
        given = {field.attname: getattr(value, field.attname) for field in stored_fields(model)}
    elif isinstance(value, Mapping):
        given = {"id" if name == "_id" else name: part for name, part in value.items()}
    else:
        raise ValidationError(_("The field does not take this value."))
    found: dict[str, Any] = {}
    for field in stored_fields(model):
        if field.primary_key:
            key = given.pop(field.attname, None)
            if key is not None:
                found[field.column] = key if isinstance(key, ObjectId) else ObjectId(str(key))
            continue
        try:
            found[field.column] = _cleaned(field, given.pop(field.attname, field.get_default()))
        except ValidationError as error:
            named = ValidationError([f"{field.verbose_name}: {message}" for message in error.messages])
            raise _numbered(named, number) if number else named from error
    if given:
        raise ValidationError(_("There is no field “%(name)s”.") % {"name": next(iter(given))})
    return found


def _numbered(error: ValidationError, number: int) -> ValidationError:
    told = [_("%(number)d: %(problem)s") % {"number": number, "problem": message} for message in error.messages]
    return ValidationError(told)


def _to_stored(field: models.Field, value: Any) -> Any:
    if isinstance(value, str):
        # What no encoding has, the server cannot be sent; and no form, what ends a text for other programs.
        value.encode()
        if "\x00" in value:
            raise ValueError(value)
        return str(value).replace("\r\n", "\n")
    if isinstance(value, float):
        _check_number(value)
    if isinstance(value, datetime):
        # The server keeps milliseconds.
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    if isinstance(value, Decimal):
        # With as many places each time: what is equal is stored alike.
        return Decimal128(value.quantize(Decimal(1).scaleb(-field.decimal_places)))
    stored = field.get_db_prep_save(value, connection)
    return stored.replace(tzinfo=UTC) if isinstance(stored, datetime) else stored


def _check_number(value: float) -> None:
    """Raise ValidationError of what is no number: it equals nothing, not even itself, and so would conflict at every save."""
    if not math.isfinite(value):
        raise ValidationError(_("The field does not take this value."))


def _check_keys(value: Any) -> None:
    """Raise ValidationError where a document has a name that a query or an update would read as something else."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str) or name.startswith("$") or "." in name or "\x00" in name:
                raise ValidationError(_("“%(name)s” cannot be the name of a field.") % {"name": name})
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)
    elif isinstance(value, float):
        _check_number(value)


def words(field: models.Field, value: Any) -> Iterator[tuple[models.Field, str]]:
    """Yield (field, text) of the texts in a stored value that search looks through: of a choice, what it is called."""
    if isinstance(value, list):
        inner = field if isinstance(field, EmbeddedModelArrayField) else getattr(field, "base_field", field)
        for one in value:
            yield from words(inner, one)
    elif isinstance(value, Mapping):
        if isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
            for part in stored_fields(field.embedded_model):
                if part.editable:
                    yield from words(part, value.get(part.column))
    elif isinstance(value, str) and value:
        yield field, str(dict(field.flatchoices).get(value, value))
