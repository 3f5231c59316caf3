"""The declared fields of a type, by their path under `metadata`, and how edits of each merge."""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bson import ObjectId
from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from nodes.content import registry, values
from nodes.content.base import NodeField

# How two edits of a field merge: by paragraph, by item, by the ids of parts, by the names of a part's fields, or not at all.
TEXT = "text"
ITEMS = "items"
PARTS = "parts"
PART = "part"
VALUE = "value"
PREFIX = "detail."
# What search finds nothing by: words that readers of a page do not see, or that it looks through by itself.
_UNSEARCHED = frozenset({"detail.alt", "detail.seo_title", "detail.seo_description"})
# What forms over nodes send besides the fields that a type declares.
RESERVED = frozenset(
    {"title", "slug", "section", "parent_id", "summary", "tags", "tags_seen", "author", "published", "expires", "nonce"}
    | {
        "form",
        "schema_version",
        "type",
        "version",
        "publishing",
        "conflict",
        "choice",
        "mine",
        "theirs",
        "id",
        "save",
        "draft",
        "preview",
    }
)


class MarkdownField(models.TextField):
    """A text with Markdown and inserts, besides the one that every page has. Templates show it by the filter `markdown`."""


def declared(type: str) -> Mapping[str, models.Field]:
    """Return the fields of a type by path: {"detail.servings": …}; none of a type that is not installed."""
    return _declared(registry.get(type))


@cache
def _declared(model: type[models.Model]) -> Mapping[str, models.Field]:
    return {f"{PREFIX}{field.column}": field for field in values.stored_fields(model)}


def own(type: str) -> Iterator[tuple[str, models.Field]]:
    """Yield (path, field) of what editors fill in of a type beside its text, in the order of the declaration."""
    for path, field in declared(type).items():
        if field.editable and field.name not in ("text", "format", "comments"):
            yield path, field


def known(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some fields by path that a type has (still): an older version may have more."""
    return {path: value for path, value in fields.items() if not path.startswith(PREFIX) or path in declared(type)}


def way(type: str, path: str) -> str:
    """Return how two edits of a field merge: TEXT, ITEMS, PARTS, PART or VALUE."""
    if path == "summary":
        return TEXT
    field = declared(type).get(path)
    return VALUE if field is None else _way(field)


def _way(field: models.Field) -> str:
    if isinstance(field, models.TextField):
        return TEXT
    if isinstance(field, EmbeddedModelArrayField):
        return PARTS
    if isinstance(field, EmbeddedModelField):
        return PART
    # Of a list with a fixed size the items belong together: a point, a size.
    return ITEMS if isinstance(field, ArrayField) and not field.size else VALUE


class FieldText(NamedTuple):
    """What a MarkdownField says. `path`: of the type's field; `number`: of the part, from 1 on, in a list of parts, else 0."""

    path: str
    number: int
    text: str


def markdown(type: str, detail: Any) -> Iterator[FieldText]:
    """Yield what the fields of Markdown of a type say beside its text, those of its parts too. `detail`: as it is stored, or
    an object."""
    for path, field in own(type):
        value = _of(detail, field)
        if isinstance(field, EmbeddedModelArrayField) and isinstance(value, list):
            for number, part in enumerate(value, 1):
                yield from _written_in(path, number, field.embedded_model, part)
        elif isinstance(field, EmbeddedModelField):
            yield from _written_in(path, 0, field.embedded_model, value)
        elif isinstance(field, MarkdownField) and isinstance(value, str) and value:
            yield FieldText(path, 0, value)


def _written_in(path: str, number: int, model: Any, part: Any) -> Iterator[FieldText]:
    for field in values.stored_fields(model):
        value = _of(part, field)
        if isinstance(field, MarkdownField) and isinstance(value, str) and value:
            yield FieldText(path, number, value)


def _of(holder: Any, field: models.Field) -> Any:
    return holder.get(field.column) if isinstance(holder, Mapping) else getattr(holder, field.attname, None)


def words(
    type: str, detail: Mapping[str, Any], names: Collection[str] | None = None
) -> Iterator[tuple[models.Field, str]]:
    """Yield (field, text) of the texts, beside the one that every page has, that search looks through in a stored detail;
    `names`: of the fields of these names alone."""
    for path, field in own(type):
        if path not in _UNSEARCHED and (names is None or field.name in names):
            yield from values.words(field, detail.get(field.column))


def references(type: str, detail: Mapping[str, Any]) -> Iterator[ObjectId]:
    """Yield the ids of nodes and photos that the fields of a stored detail name, those of its parts too."""
    for field in declared(type).values():
        yield from named_by(field, detail.get(field.column))


def named_by(field: models.Field, value: Any) -> Iterator[ObjectId]:
    """Yield the ids of nodes and photos that a stored value of a field names."""
    if isinstance(field, NodeField) and isinstance(value, ObjectId):
        yield value
    elif isinstance(value, list):
        inner = field if isinstance(field, EmbeddedModelArrayField) else getattr(field, "base_field", field)
        for one in value:
            yield from named_by(inner, one)
    elif isinstance(value, Mapping) and isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
        for part in values.stored_fields(field.embedded_model):
            yield from named_by(part, value.get(part.column))


def defaults(type: str) -> dict[str, Any]:
    """Return the detail of a new node of a type, as it is stored: the default of each field that has one."""
    given = {field: field.get_default() for field in declared(type).values() if field.has_default()}
    return {field.column: values.cleaned(field, value) if value else value for field, value in given.items()}
