"""The declared fields of each content type, keyed by path under `metadata`, and the strategies for merging edits."""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bson import ObjectId
from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from nodes.content import registry, values
from nodes.content.base import NodeField

# Strategies for merging two edits of a field.
TEXT = "text"  # Merge paragraph by paragraph.
ITEMS = "items"  # Merge item by item.
PARTS = "parts"  # Match the parts by their ids.
PART = "part"  # Merge field by field.
VALUE = "value"  # Don't merge.
PREFIX = "detail."
# Fields that search ignores. Pages don't show the language, the theme and the SEO fields, and search handles alternative text
# separately.
_UNSEARCHED = frozenset({"detail.alt", "detail.language", "detail.theme", "detail.seo_title", "detail.seo_description"})
# Names that node forms submit in addition to the declared fields of a type.
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
        "node",
        "save",
        "draft",
        "preview",
    }
)


class MarkdownField(models.TextField):
    """A text field for Markdown with inserts, in addition to the page's body text.

    Templates display its value with the `markdown` filter.
    """


def declared(type: str) -> Mapping[str, models.Field]:
    """Return the fields of `type`, keyed by path, such as {"detail.servings": …}. Unknown types have no fields."""
    return _declared(registry.get(type))


@cache
def _declared(model: type[models.Model]) -> Mapping[str, models.Field]:
    return {f"{PREFIX}{field.column}": field for field in values.stored_fields(model)}


def own_fields(type: str) -> Iterator[tuple[str, models.Field]]:
    """Yield (path, field) for the fields that editors fill in, except the page's text, format and comment policy.

    The fields are in order of declaration.
    """
    for path, field in declared(type).items():
        if field.editable and field.name not in ("text", "format", "comments"):
            yield path, field


def internal_fields(type: str) -> frozenset[str]:
    """Return the paths of fields that aren't in any form, such as the source of an import or the size of a photo."""
    return frozenset(path for path, field in declared(type).items() if not field.editable)


def keep_declared(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `fields` whose paths `type` declares.

    Documents stored with older versions can have different fields.
    """
    return {path: value for path, value in fields.items() if not path.startswith(PREFIX) or path in declared(type)}


def merge_strategy(type: str, path: str) -> str:
    """Return the strategy for merging two edits of the field at `path`: TEXT, ITEMS, PARTS, PART or VALUE."""
    if path == "summary":
        return TEXT
    field = declared(type).get(path)
    return VALUE if field is None else _strategy(field)


def _strategy(field: models.Field) -> str:
    if isinstance(field, models.TextField):
        return TEXT
    if isinstance(field, EmbeddedModelArrayField):
        return PARTS
    if isinstance(field, EmbeddedModelField):
        return PART
    # In a list with a fixed size, such as a point or a resolution, the items belong together and aren't merged.
    return ITEMS if isinstance(field, ArrayField) and not field.size else VALUE


class FieldText(NamedTuple):
    """The text in a MarkdownField.

    Attributes:
        path: The path of the type's field.
        number: If the field belongs to a part in a list, the part's position, starting at 1. Otherwise, 0. For a part
            in another part, this is the position of the outer part.
        text: The text as typed.
    """

    path: str
    number: int
    text: str


def markdown_texts(type: str, detail: Any) -> Iterator[FieldText]:
    """Yield the text in the Markdown fields of a type and its parts, excluding the page's body text.

    Args:
        type: The content type.
        detail: The stored `detail`, or an instance of the type.
    """
    for path, field in own_fields(type):
        value = values.attribute(detail, field)
        if isinstance(field, EmbeddedModelArrayField) and isinstance(value, list):
            for number, part in enumerate(value, 1):
                yield from _part_texts(path, number, field.embedded_model, part)
        elif isinstance(field, EmbeddedModelField):
            yield from _part_texts(path, 0, field.embedded_model, value)
        elif isinstance(field, MarkdownField) and isinstance(value, str) and value:
            yield FieldText(path, 0, value)


def _part_texts(path: str, number: int, model: Any, part: Any) -> Iterator[FieldText]:
    for field in values.stored_fields(model):
        value = values.attribute(part, field)
        if values.is_parts(field):
            for inner in value if isinstance(value, list) else [value]:
                yield from _part_texts(path, number, field.embedded_model, inner)
        elif isinstance(field, MarkdownField) and isinstance(value, str) and value:
            yield FieldText(path, number, value)


def search_texts(
    type: str, detail: Mapping[str, Any], names: Collection[str] | None = None
) -> Iterator[tuple[models.Field, str]]:
    """Yield (field, text) for all searchable text in a stored `detail`, except the page's body text.

    Args:
        type: The content type.
        detail: The stored `detail`.
        names: The names of the fields to include, or None to include all fields.
    """
    for path, field in own_fields(type):
        if path not in _UNSEARCHED and (names is None or field.name in names):
            yield from values.search_texts(field, detail.get(field.column))


def references(type: str, detail: Mapping[str, Any]) -> Iterator[ObjectId]:
    """Yield the ids of the nodes and photos to which the fields and parts of a stored `detail` refer."""
    for field in declared(type).values():
        yield from referenced_ids(field, detail.get(field.column))


def referenced_ids(field: models.Field, value: Any) -> Iterator[ObjectId]:
    """Yield the ids of the nodes and photos to which a stored value of `field` refers."""
    if isinstance(field, NodeField) and isinstance(value, ObjectId):
        yield value
    elif isinstance(value, list):
        inner = field if isinstance(field, EmbeddedModelArrayField) else getattr(field, "base_field", field)
        for item in value:
            yield from referenced_ids(inner, item)
    elif isinstance(value, Mapping) and isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
        for part in values.stored_fields(field.embedded_model):
            yield from referenced_ids(part, value.get(part.column))


def defaults(type: str) -> dict[str, Any]:
    """Return the `detail` to store for a new node of `type`. It contains the fields that have a default."""
    by_field = {field: field.get_default() for field in declared(type).values() if field.has_default()}
    return {field.column: values.cleaned(field, value) if value else value for field, value in by_field.items()}
