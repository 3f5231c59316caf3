"""Functions that compare a declared $jsonSchema with the validator on the server and with stored documents.

This site's validators have a title. A validator without a title was created elsewhere, and is replaced only on request.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pymongo.database import Database

from marginalia.mongo.collections import Collection, mongodb_collections
from marginalia.mongo.connection import Document, database, no_time_limit
from marginalia.mongo.indexes.changes import Change

TITLE = "declared by the application"
# "moderate" allows changes to documents that already violate the schema, so old errors don't prevent the site from
# saving these documents.
SETTINGS: dict[str, Any] = {"validationLevel": "moderate", "validationAction": "error"}
# The server's defaults. The server doesn't list options that have these values.
DEFAULTS: dict[str, Any] = {"validationLevel": "strict", "validationAction": "error"}
# Maximum number of differences between two schemas to list.
MAX_DIFFERENCES = 10
FOREIGN = "the validator was not declared by an app; it would be replaced"


@dataclass(frozen=True)
class Violation:
    """A stored document that its collection's validator would reject."""

    collection: str
    id: Any


def declared_validator(collection: Collection) -> Document:
    """Return the validator of `collection` as a collMod argument, or {} if none is declared."""
    return {"$jsonSchema": {"title": TITLE, **collection.validator}} if collection.validator else {}


def changes_of(alias: str, collection: Collection, options: Mapping[str, Any]) -> list[Change]:
    """Return the changes that turn a collection's validator, as listed in `options`, into the declared validator."""
    existing = options.get("validator", {})
    schema = declared_validator(collection)
    if (existing == schema and _settings(options) == SETTINGS) or not (existing or schema):
        return []
    is_ours = not existing or existing.get("$jsonSchema", {}).get("title") == TITLE
    if not schema and (not is_ours or collection.shared):
        return []

    def modify(db: Database[Document]) -> None:
        db.command("collMod", collection.name, validator=schema, **SETTINGS)

    sign = "~" if existing else "+"
    what = _describe(existing, schema, _settings(options)) if is_ours else FOREIGN
    return [
        Change(sign, alias, collection.name, what, modify, optional=not is_ours, before=existing, after=schema or None)
    ]


def _describe(existing: Document, schema: Document, settings: dict[str, Any]) -> str:
    """Return a description of the change to a validator, with the paths of the fields that differ."""
    if not existing:
        return "validator"
    if not schema:
        return "validator is removed, because none is declared"
    differences = list(_differences(settings, SETTINGS))
    differences += _differences(dict(_fields(existing["$jsonSchema"])), dict(_fields(schema["$jsonSchema"])))
    more = f" and {len(differences) - MAX_DIFFERENCES} more" if len(differences) > MAX_DIFFERENCES else ""
    return f"validator: {'; '.join(differences[:MAX_DIFFERENCES]) or 'other rules'}{more}"


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options.get(name, default) for name, default in DEFAULTS.items()}


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield "+ path", "- path" or "path: before → after" for each value that differs.

    Fields below an added or removed field are omitted.
    """
    known = {*before, *after}
    for path in dict.fromkeys((*before, *after)):
        if path not in before or path not in after:
            other = before if path not in before else after
            if (parent := _parent(path)) not in known or parent in other:
                yield f"{'+' if other is before else '-'} {path}"
        elif before[path] != after[path]:
            yield f"{path}: {before[path]} → {after[path]}"


def _parent(path: str) -> str:
    """Return the parent path of "a.b" or "a.b (label)", with the same label, or "" for a top-level path."""
    name, space, label = path.partition(" ")
    above = name.rpartition(".")[0]
    return f"{above}{space}{label}" if above else ""


def _fields(
    schema: Mapping[str, Any], path: str = "", label: str = "", *, is_alternative: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield (path, description of the types) for each field in a schema.

    A path is, for example, "metadata.detail.doors (event)". Array items have the path of the array. Alternatives are
    labelled with the value that selects them. Conditions that select among alternatives aren't fields.
    """
    for name, field in schema.get("properties", {}).items():
        below = f"{path}.{name}".strip(".")
        if not (is_alternative and "enum" in field):
            yield f"{below}{label}", _format_types(field, is_required=name in schema.get("required", ()))
        yield from _fields(field, below, label)
    if "items" in schema:
        yield from _fields(schema["items"], path, label)
    for part in schema.get("allOf", ()):
        yield from _fields(part, path, label, is_alternative=is_alternative)
    for part in schema.get("anyOf", ()):
        if "not" not in part and (part_label := _label(part)):
            yield from _fields(part, path, f" ({part_label})", is_alternative=True)


def _label(alternative: Mapping[str, Any]) -> str:
    """Return the value that identifies an alternative, such as the content type, or "" if there is none.

    The value comes from the field for which the alternative allows only one value.
    """
    values = [field["enum"] for field in alternative.get("properties", {}).values() if "enum" in field]
    return next((str(only[0]) for only in values if len(only) == 1), "")


def _format_types(field: Mapping[str, Any], *, is_required: bool) -> str:
    """Return a description of the types that a field can have, such as "string or null, required"."""
    types = field.get("bsonType", "any")
    names = [types] if isinstance(types, str) else types
    if "enum" in field:
        names = [json.dumps(value) for value in field["enum"]]
    items = f" of {_format_types(field['items'], is_required=False)}" if "items" in field else ""
    return " or ".join(names) + items + (", required" if is_required else "")


def violations(collections: Iterable[str] = ()) -> Iterator[Violation]:
    """Yield stored documents that violate the declared validators. This scans every collection."""
    for item in mongodb_collections(names=collections):
        if item.collection.validator is None:
            continue
        with no_time_limit():
            documents = list(violations_in(database(item.alias), item.collection))
        yield from documents


def violations_in(db: Database[Document], collection: Collection, part: Iterable[Document] = ()) -> Iterator[Violation]:
    """Yield documents of one collection that violate its validator.

    `part` contains pipeline stages that can select a sample.
    """
    stages: list[Document] = [
        *part,
        {"$match": {"$nor": [{"$jsonSchema": collection.validator}]}},
        {"$project": {"_id": 1}},
    ]
    for document in db[collection.name].aggregate(stages):
        yield Violation(collection.name, document["_id"])
