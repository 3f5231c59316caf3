"""Convert between stored field values and Python values. Writes also validate the values."""

import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import bson
from bson import ObjectId
from bson.decimal128 import Decimal128
from bson.errors import InvalidDocument, InvalidId
from django.core.exceptions import ValidationError
from django.db import connection, models
from django.utils import timezone
from django.utils.translation import gettext as _
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from marginalia.markup.characters import is_blank, normalize_newlines
from marginalia.mongo.reading import Malformed
from nodes.content.messages import invalid_value, unknown_field

# Maximum number of parts in the value of a field, including parts in other parts.
MOST_PARTS = 500
# Exceptions that Django's validation raises for values of an unexpected type.
_WRONG_TYPE = (TypeError, ValueError, AttributeError, ArithmeticError, InvalidId, InvalidDocument)


def stored_fields(model: type[models.Model]) -> Iterator[models.Field]:
    """Yield the stored fields of a type or part. Django's automatic primary key isn't stored."""
    for field in model._meta.fields:
        if not isinstance(field, models.AutoField) and not field.get_internal_type().endswith("AutoField"):
            yield field


@cache
def _readers(model: Any) -> tuple[tuple[str, str, type, Callable[[Any], Any] | None, Any], ...]:
    """Return (attribute, stored name, class of stored values, conversion or None, field) for each stored field."""
    return tuple((f.attname, f.column, _stored_as(f), _from_stored(f), f) for f in stored_fields(model))


def _stored_as(field: models.Field) -> type:
    """Return the required class of stored values: list for list fields, str for text fields, and object for others."""
    if isinstance(field, ArrayField):
        return list
    return str if isinstance(field, models.CharField | models.TextField) else object


def attributes(model: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for constructing a type or part from a stored document. Missing fields get their defaults.

    Raises:
        Malformed: A value has the wrong type.
    """
    arguments = {}
    for name, column, stored_as, convert, field in _readers(model):
        value = document.get(column)
        if column not in document or (value is None and not field.null):
            arguments[name] = field.get_default()
        elif value is not None and not isinstance(value, stored_as):
            raise Malformed(f"{column} has another type")
        else:
            arguments[name] = value if convert is None or value is None else convert(value)
    return arguments


def valid_values(model: type[models.Model], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in `document` that the fields of `model` accept.

    Use this function for documents that may have been stored by a newer release.
    """
    valid = {}
    for field in stored_fields(model):
        if field.column in document:
            try:
                cleaned(field, from_stored(field, document[field.column]))
            except (ValidationError, *_WRONG_TYPE):
                continue
            valid[field.column] = document[field.column]
    return valid


def from_stored(field: models.Field, value: Any) -> Any:
    """Convert a stored value to a Python value. A value that is already converted is returned unchanged."""
    convert = _from_stored(field)
    return value if convert is None or value is None else convert(value)


@cache
def _from_stored(field: models.Field) -> Callable[[Any], Any] | None:
    """Return the function that converts stored values of `field`, or None if the driver's values need no conversion."""
    if isinstance(field, EmbeddedModelArrayField):
        part = field.embedded_model
        return lambda value: [_part(part, item) for item in value]
    if isinstance(field, EmbeddedModelField):
        return lambda value: _part(field.embedded_model, value)
    if isinstance(field, ArrayField):
        inner = _from_stored(field.base_field)
        return None if inner is None else lambda value: [inner(item) for item in value]
    return next((convert for kind, convert in _CONVERSIONS if isinstance(field, kind)), None)


def _part(model: Any, value: Any) -> Any:
    return model.from_document(value) if isinstance(value, Mapping) else value


_CONVERSIONS: tuple[tuple[type[models.Field], Callable[[Any], Any]], ...] = (
    # The ORM's connection returns times in UTC, but without a time zone, so add the time zone.
    (models.DateTimeField, lambda v: v.replace(tzinfo=UTC) if isinstance(v, datetime) and v.tzinfo is None else v),
    (models.DateField, lambda moment: moment.date() if isinstance(moment, datetime) else moment),
    (models.TimeField, lambda moment: moment.time() if isinstance(moment, datetime) else moment),
    (models.DecimalField, lambda number: number.to_decimal() if isinstance(number, Decimal128) else number),
    (models.UUIDField, lambda key: uuid.UUID(key) if isinstance(key, str) else key),
    (models.DurationField, lambda span: timedelta(milliseconds=span) if isinstance(span, int) else span),
)


def cleaned(field: models.Field, value: Any) -> Any:
    """Validate a value, and return it in its stored form.

    Raises:
        ValidationError: The field doesn't accept the value.
    """
    try:
        if _count_parts(field, value) > MOST_PARTS:
            raise ValidationError(_("Too many rows. Use at most %(most)d."), params={"most": MOST_PARTS})
        return _cleaned(field, value)
    except _WRONG_TYPE as error:
        raise ValidationError(invalid_value()) from error


def queried(field: models.Field, value: Any) -> Any:
    """Convert a value in a query to the form in which `field` stores it. The field's validators don't run.

    The result is never a document or a list, so it can't contain an operator.

    Raises:
        ValidationError: The field doesn't accept the value.
    """
    if value is None or isinstance(value, Mapping | list | tuple | set | frozenset):
        raise ValidationError(invalid_value())
    try:
        if isinstance(field, models.DateTimeField) and isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time.min)
        value = field.to_python(value)
        if isinstance(value, datetime) and timezone.is_naive(value):
            value = timezone.make_aware(value)
        # Numbers are compared by value, so they don't need the decimal places of stored numbers.
        stored = Decimal128(value) if isinstance(value, Decimal) else _to_stored(field, value)
        # bson.encode raises the same exceptions as the driver, for example for numbers with more than 64 bits.
        bson.encode({"value": stored})
    except _WRONG_TYPE as error:
        raise ValidationError(invalid_value()) from error
    return stored


def _count_parts(field: models.Field, value: Any) -> int:
    """Return the number of parts in a value, including parts in other parts."""
    if isinstance(field, EmbeddedModelArrayField):
        parts = value if isinstance(value, list | tuple) else ()
    else:
        parts = [value] if isinstance(field, EmbeddedModelField) and value is not None else ()
    nested = [inner for inner in stored_fields(field.embedded_model) if is_parts(inner)] if parts else ()
    return len(parts) + sum(_count_parts(inner, attribute(part, inner)) for part in parts for inner in nested)


def is_parts(field: models.Field) -> bool:
    """Return whether the values of `field` are parts."""
    return isinstance(field, EmbeddedModelField | EmbeddedModelArrayField)


def attribute(container: Any, field: models.Field) -> Any:
    """Return the value of `field` in an instance of its model, in a stored document, or in a dict of attributes."""
    if isinstance(container, Mapping):
        return container.get(field.column, container.get(field.attname))
    return getattr(container, field.attname, None)


def _cleaned(field: models.Field, value: Any) -> Any:
    if isinstance(field, ArrayField) and value is not None:
        if not isinstance(value, list | tuple):
            raise ValidationError(_("This value must be a list."))
        if isinstance(field, EmbeddedModelArrayField):
            items = [_cleaned_part(field.embedded_model, part, number) for number, part in enumerate(value, 1)]
            _ensure_unique_ids(items)
        else:
            items = [_cleaned_item(field.base_field, item, number) for number, item in enumerate(value, 1)]
        # In a field for lists of a fixed size, such as points or crops, an empty list means that there is no value.
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
        # Check that the value can be stored: bson.encode raises the same exceptions as the driver.
        bson.encode({"value": value})
        return value
    if isinstance(value, Mapping | list | tuple):
        raise ValidationError(invalid_value())
    # The value can be a stored value from an older version of the type, so convert it first.
    value = from_stored(field, value)
    # An empty value in a nullable field becomes null. Only text fields store "".
    if value == "" and field.null and not field.empty_strings_allowed:
        value = None
    if value is None and field.null:
        return None
    # A blank value of a required field is replaced with "", which the field rejects as missing.
    if isinstance(value, str) and not field.blank and is_blank(value):
        value = ""
    return _to_stored(field, field.clean(value, None))


def _ensure_unique_ids(parts: list[dict[str, Any]]) -> None:
    """Give a new id to each part that has no id, or has the same id as an earlier part in the list."""
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
    """Validate a part, and return it in its stored form.

    Args:
        model: The class of the part.
        value: An instance of the class, or a dict of its fields, keyed by name.
        number: The part's position, with which error messages begin, or 0 to leave it out of the messages.

    Raises:
        ValidationError: The value of a field is invalid.
    """
    if isinstance(value, model):
        fields = {field.attname: getattr(value, field.attname) for field in stored_fields(model)}
    elif isinstance(value, Mapping):
        fields = {"id" if name == "_id" else name: part for name, part in value.items()}
    else:
        raise _numbered(ValidationError(invalid_value()), number)
    stored: dict[str, Any] = {}
    for field in stored_fields(model):
        if field.primary_key:
            key = fields.pop(field.attname, None)
            if key is not None:
                stored[field.column] = key if isinstance(key, ObjectId) else ObjectId(str(key))
            continue
        try:
            stored[field.column] = _cleaned(field, fields.pop(field.attname, field.get_default()))
        except ValidationError as error:
            named = ValidationError([f"{field.verbose_name}: {message}" for message in error.messages])
            raise _numbered(named, number) from error
    if fields:
        raise _numbered(ValidationError(unknown_field(next(iter(fields)))), number)
    return stored


def _numbered(error: ValidationError, number: int) -> ValidationError:
    """Return the error with `number` at the beginning of its messages. If `number` is 0, return the error unchanged."""
    if not number:
        return error
    messages = [_("%(number)d: %(problem)s") % {"number": number, "problem": message} for message in error.messages]
    return ValidationError(messages)


def _to_stored(field: models.Field, value: Any) -> Any:
    if isinstance(value, str):
        # The driver can't encode lone surrogates, and forms reject null characters, so this function rejects both.
        value.encode()
        if "\x00" in value:
            raise ValueError(value)
        return normalize_newlines(str(value))
    if isinstance(value, float):
        _check_number(value)
    if isinstance(value, datetime):
        # The server stores times with millisecond precision, so drop the microseconds.
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    if isinstance(value, Decimal):
        # All numbers are stored with the same number of decimal places, so that equal numbers have equal stored values.
        return Decimal128(value.quantize(Decimal(1).scaleb(-field.decimal_places)))
    stored = field.get_db_prep_save(value, connection)
    return stored.replace(tzinfo=UTC) if isinstance(stored, datetime) else stored


def _check_number(value: float) -> None:
    """Raise ValidationError for infinity and NaN. NaN doesn't equal itself, so every save would cause a conflict."""
    if not math.isfinite(value):
        raise ValidationError(invalid_value())


def _check_keys(value: Any) -> None:
    """Raise ValidationError if a JSON value contains a key that has a special meaning in queries and updates."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str) or name.startswith("$") or "." in name or "\x00" in name:
                raise ValidationError(
                    _("“%(name)s” can't be a field name. Names can't contain dots or begin with $.") % {"name": name}
                )
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)
    elif isinstance(value, float):
        _check_number(value)


def search_texts(field: models.Field, value: Any) -> Iterator[tuple[models.Field, str]]:
    """Yield (field, text) for each searchable string in a stored value. For a choice, yield its label."""
    if isinstance(value, list):
        inner = field if isinstance(field, EmbeddedModelArrayField) else getattr(field, "base_field", field)
        for item in value:
            yield from search_texts(inner, item)
    elif isinstance(value, Mapping):
        if isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
            for part in stored_fields(field.embedded_model):
                if part.editable:
                    yield from search_texts(part, value.get(part.column))
    elif isinstance(value, str) and value:
        yield field, str(dict(field.flatchoices).get(value, value))
