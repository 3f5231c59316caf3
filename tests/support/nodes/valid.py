"""Values that the fields of a content type take, made from its declaration: what is registered is covered by itself."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.db import connection, models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField
from hypothesis import find, settings
from hypothesis import strategies as st

from marginalia.markup.characters import is_blank
from nodes import content
from nodes.content import NodeField, declared_fields, values
from nodes.services.editing import empty_required_fields
from tests.support.nodes.build import node

# What is in texts: words, what markup and queries are written with, other scripts, line ends of every kind, spaces of others.
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
# Every time that a form can tell, in every zone, to what the server keeps of it.
FIRST, LAST = datetime(1000, 1, 2), datetime(9998, 12, 30)
MOST = 4


def of(type: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of everything that editors fill in of a type: {"detail.servings": 2, …}."""
    given = {path: value(field) for path, field in declared_fields.own_fields(type)}
    if "detail.text" in declared_fields.declared(type):
        given["detail.text"] = _texts(1_000, blank=True, lines=True)
    return st.fixed_dictionaries(given)


def least(type: str) -> dict[str, Any]:
    """Return the simplest values of the fields that a type needs and has no default for, by path."""
    known = declared_fields.declared(type)
    return {
        path: find(value(known[path]), lambda _value: True, settings=_SIMPLEST)
        for path in empty_required_fields(type, {})
    }


_SIMPLEST = settings(database=None, derandomize=True, max_examples=200)


def value(field: models.Field) -> st.SearchStrategy[Any]:
    """Return a strategy of the values of a declared field, as services take them; none of a class that is not known here."""
    made = _value(field)
    return st.none() | made if field.null else made


def _value(field: models.Field) -> st.SearchStrategy[Any]:
    if isinstance(field, EmbeddedModelArrayField):
        return st.lists(_part(field.embedded_model), min_size=not field.blank, max_size=MOST)
    if isinstance(field, EmbeddedModelField):
        return _part(field.embedded_model)
    if isinstance(field, ArrayField):
        least, most = (field.size, field.size) if field.size else (int(not field.blank), field.max_size or MOST)
        # An empty item of a list is none.
        return st.lists(_value(field.base_field).filter(lambda one: one != ""), min_size=least, max_size=most)
    return _plain(field).filter(lambda made: takes(field, made))


def _part(model: type[models.Model]) -> st.SearchStrategy[dict[str, Any]]:
    known = [field for field in values.stored_fields(model) if not field.primary_key]
    return st.fixed_dictionaries({field.attname: value(field) for field in known})


def _plain(field: models.Field) -> st.SearchStrategy[Any]:
    if field.flatchoices:
        return st.sampled_from([key for key, _name in field.flatchoices])
    known = next((made for kind, made in _CLASSES if isinstance(field, kind)), None)
    assert known, f"Say in {__name__} which values a {type(field).__name__} takes."
    return known(field)


def takes(field: models.Field, made: Any) -> bool:
    """Return whether Django's own field takes a value, with its validators."""
    try:
        field.clean(made, None)
    except ValidationError:
        return False
    return True


def _texts(length: int, *, blank: bool, lines: bool) -> st.SearchStrategy[str]:
    pieces = st.lists(st.sampled_from(PIECES + LINES if lines else PIECES), max_size=8)
    found = pieces.map(lambda found: "".join(found)[:length])
    # A text that shows nothing is empty.
    return found if blank else found.filter(lambda text: not is_blank(text))


def _string(field: models.Field) -> st.SearchStrategy[str]:
    # Of one line what stands around it is no part of it.
    return _texts(field.max_length or 1_000, blank=field.blank, lines=False).map(str.strip)


def _integer(field: models.Field) -> st.SearchStrategy[int]:
    least, most = connection.ops.integer_field_range(field.get_internal_type())
    return st.integers(least, most)


def _decimal(field: models.Field) -> st.SearchStrategy[Decimal]:
    most = Decimal(10) ** (field.max_digits - field.decimal_places) - 1
    return st.decimals(-most, most, places=field.decimal_places, allow_nan=False)


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


def home(type: str) -> ObjectId | None:
    """Return where a node of a type may stand: the top level, else a section that is made."""
    if content.may_hold(None, type):
        return None
    for section in content.types():
        if content.may_hold(section.type_name, type) and content.may_hold(None, section.type_name):
            return node(section.type_name, f"home-{ObjectId()}")
    raise AssertionError(f"{type} stands in nothing that stands at the top level.")
