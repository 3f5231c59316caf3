"""Validators: the declared $jsonSchema, compared with the validator on the server and with stored documents.

Validators of this site have a title. A validator without one was created elsewhere, and is replaced only on request.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pymongo.database import Database

from marginalia.mongo.collections import Collection, mongodb_collections
from marginalia.mongo.connection import Document, database, no_time_limit
from marginalia.mongo.indexes.changes import Change

TITLE = "declared by the application"
# "moderate" allows changes to documents that already violate the schema, so that old faults don't stop the site.
SETTINGS: dict[str, Any] = {"validationLevel": "moderate", "validationAction": "error"}
# The server's defaults, which it doesn't list.
DEFAULTS: dict[str, Any] = {"validationLevel": "strict", "validationAction": "error"}
# Maximum differences of two schemas to list.
MAX_DIFFERENCES = 3


@dataclass(frozen=True)
class Violation:
    """A stored document that its collection's validator would refuse."""

    collection: str
    id: Any


def declared_validator(collection: Collection) -> Document:
    """Return the validator of `collection` for collMod, or {} if none is declared."""
    return {"$jsonSchema": {"title": TITLE, **collection.validator}} if collection.validator else {}


def changes_of(alias: str, collection: Collection, options: Mapping[str, Any]) -> list[Change]:
    """Return the changes from the `options` that the server lists for a collection to its declared validator."""
    existing = options.get("validator", {})
    schema = declared_validator(collection)
    if (existing == schema and _settings(options) == SETTINGS) or not (existing or schema):
        return []
    is_ours = not existing or existing.get("$jsonSchema", {}).get("title") == TITLE
    if not schema and (not is_ours or collection.shared):
        return []

    def modify(db: Database[Document]) -> None:
        db.command("collMod", collection.name, validator=schema, **SETTINGS)

    if not existing:
        return [Change("+", alias, collection.name, "validator", modify)]
    if not is_ours:
        what = "the validator is not one of ours; it would be replaced"
        return [Change("~", alias, collection.name, what, modify, optional=True)]
    differences = list(_differences(existing, schema, "")) + list(_differences(_settings(options), SETTINGS, ""))
    more = f" and {len(differences) - MAX_DIFFERENCES} more" if len(differences) > MAX_DIFFERENCES else ""
    what = (
        f"validator: {'; '.join(differences[:MAX_DIFFERENCES])}{more}" if schema else "validator goes: none is declared"
    )
    return [Change("~", alias, collection.name, what, modify)]


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options.get(name, default) for name, default in DEFAULTS.items()}


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            # Keywords of JSON Schema mean nothing to operators.
            below = (
                path
                if name in ("$jsonSchema", "properties", "items", "bsonType", "enum")
                else f"{path}.{name}".strip(".")
            )
            if before.get(name) != after.get(name):
                yield from _differences(before.get(name), after.get(name), below)
    elif before is None:
        yield f"+ {path}"
    elif after is None:
        yield f"- {path}"
    else:
        yield f"{path}: {before} → {after}"


def violations(collections: Iterable[str] = ()) -> Iterator[Violation]:
    """Yield stored documents that violate the declared validators. This scans every collection."""
    for item in mongodb_collections(names=collections):
        if item.collection.validator is None:
            continue
        with no_time_limit():
            documents = list(violations_in(database(item.alias), item.collection))
        yield from documents


def violations_in(db: Database[Document], collection: Collection, part: Iterable[Document] = ()) -> Iterator[Violation]:
    """Yield documents of one collection that violate its validator. The stages `part` can select a sample."""
    stages: list[Document] = [
        *part,
        {"$match": {"$nor": [{"$jsonSchema": collection.validator}]}},
        {"$project": {"_id": 1}},
    ]
    for document in db[collection.name].aggregate(stages):
        yield Violation(collection.name, document["_id"])
