"""Generate valid values for the fields of a content type from the type's declaration.

With these values, tests automatically cover every registered content type.
"""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.db import connection, models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField
from hypothesis import find, settings
from hypothesis import strategies as st

from cms.testing.build import node
from marginalia.markup.characters import is_blank
from nodes import content
from nodes.content import NodeField, declared_fields, values
from nodes.services.editing import empty_required_fields

# Pieces for building texts: words, markup and query characters, other scripts, and all kinds of line breaks and spaces.
PIECES = [
    *(
        "word",
        "and",
        "Äh",
        "日本語",
        "שלום",
        "😀",
        "$set",
        "a.b",
        "<b>",
        "&amp;",
        "*x*",
        "{{ x }}",
        "%s",
        '"',
        "'",
        "\\",
        ",",
    ),
    *(" ", "  ", "\t", "\u2028", "\x0b", "\x85", "\xa0", "\u200b", "#", "-", "|"),
]
LINES = ["\n", "\n\n", "\n\n", " \n"]
# The earliest and latest times that forms accept in every time zone.
FIRST = datetime(1000, 1, 2)
LAST = datetime(9998, 12, 30)
# Maximum number of items in generated lists.
MAX_ITEMS = 4


def field_values(type: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the values that editors can enter for a type, keyed by path: {"detail.servings": 2}."""
    strategies = {path: value(field) for path, field in declared_fields.own_fields(type)}
    if "detail.text" in declared_fields.declared(type):
        strategies["detail.text"] = _texts(1_000, blank=True, lines=True)
    return st.fixed_dictionaries(strategies)


def minimal_values(type: str) -> dict[str, Any]:
    """Return the simplest values for a type's required fields without a default, keyed by path."""
    declared = declared_fields.declared(type)
    return {
        path: find(value(declared[path]), lambda _value: True, settings=_SIMPLEST)
        for path in empty_required_fields(type, {})
    }


_SIMPLEST = settings(database=None, derandomize=True, max_examples=200)


def value(field: models.Field) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a declared field.

    Fail if _CLASSES contains no strategy for the field's class.
    """
    values = _value(field)
    return st.none() | values if field.null else values


def _value(field: models.Field) -> st.SearchStrategy[Any]:
    if isinstance(field, EmbeddedModelArrayField):
        return st.lists(_part(field.embedded_model), min_size=not field.blank, max_size=MAX_ITEMS)
    if isinstance(field, EmbeddedModelField):
        return _part(field.embedded_model)
    if isinstance(field, ArrayField):
        smallest, largest = (
            (field.size, field.size) if field.size else (int(not field.blank), field.max_size or MAX_ITEMS)
        )
        # Saving a list removes empty items.
        items = _value(field.base_field).filter(lambda item: item != "")
        return st.lists(items, min_size=smallest, max_size=largest)
    return _plain(field).filter(lambda candidate: is_valid(field, candidate))


def _part(model: type[models.Model]) -> st.SearchStrategy[dict[str, Any]]:
    fields = [field for field in values.stored_fields(model) if not field.primary_key]
    return st.fixed_dictionaries({field.attname: value(field) for field in fields})


def _plain(field: models.Field) -> st.SearchStrategy[Any]:
    if field.flatchoices:
        return st.sampled_from([key for key, _name in field.flatchoices])
    strategy = next((strategy for field_class, strategy in _CLASSES if isinstance(field, field_class)), None)
    assert strategy, f"Add a strategy for {type(field).__name__} to _CLASSES in {__name__}."
    return strategy(field)


def is_valid(field: models.Field, candidate: Any) -> bool:
    """Return whether a Django field and its validators accept the value `candidate`."""
    try:
        field.clean(candidate, None)
    except ValidationError:
        return False
    return True


def _texts(length: int, *, blank: bool, lines: bool) -> st.SearchStrategy[str]:
    pieces = st.lists(st.sampled_from(PIECES + LINES if lines else PIECES), max_size=8)
    texts = pieces.map(lambda parts: "".join(parts)[:length])
    # Text without visible characters counts as empty.
    return texts if blank else texts.filter(lambda text: not is_blank(text))


def _string(field: models.Field) -> st.SearchStrategy[str]:
    # Saving a single-line field removes the spaces around its value.
    return _texts(field.max_length or 1_000, blank=field.blank, lines=False).map(str.strip)


def _integer(field: models.Field) -> st.SearchStrategy[int]:
    smallest, largest = connection.ops.integer_field_range(field.get_internal_type())
    return st.integers(smallest, largest)


def _decimal(field: models.Field) -> st.SearchStrategy[Decimal]:
    largest = Decimal(10) ** (field.max_digits - field.decimal_places) - 1
    return st.decimals(-largest, largest, places=field.decimal_places, allow_nan=False)


def _moment(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)


_CLASSES: list[tuple[type[models.Field], Any]] = [
    (models.BooleanField, lambda field: st.booleans()),
    (models.DecimalField, _decimal),
    (models.FloatField, lambda field: st.floats(allow_nan=False, allow_infinity=False)),
    (models.IntegerField, _integer),
    (models.DateTimeField, lambda field: st.datetimes(FIRST, LAST).map(_moment)),
    (models.DateField, lambda field: st.dates(date(1, 1, 1), date(9999, 12, 31))),
    (models.TimeField, lambda field: st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    (models.DurationField, lambda field: st.integers(0, 10**9).map(lambda ms: timedelta(milliseconds=ms))),
    (NodeField, lambda field: st.binary(min_size=12, max_size=12).map(ObjectId)),
    (models.UUIDField, lambda field: st.uuids()),
    (models.EmailField, lambda field: st.sampled_from(["ann@example.org", "a.b+c@example.com"])),
    (models.URLField, lambda field: st.sampled_from(["https://example.org/a?b=c&d=%20", "http://a.example"])),
    (models.SlugField, lambda field: st.from_regex(r"[a-z0-9_-]{1,20}", fullmatch=True)),
    (models.CharField, _string),
    (models.TextField, lambda field: _texts(1_000, blank=field.blank, lines=True)),
]


def create_parent(type: str) -> ObjectId | None:
    """Create a section that can contain nodes of a type, and return its id. Return None if no section is needed."""
    if content.may_hold(None, type):
        return None
    for section in content.types():
        if content.may_hold(section.type_name, type) and content.may_hold(None, section.type_name):
            return node(section.type_name, f"home-{ObjectId()}")
    raise AssertionError(f"{type} stands in nothing that stands at the top level.")
