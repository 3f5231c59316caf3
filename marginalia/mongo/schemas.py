"""Building blocks for validators ($jsonSchema).

A validator lists the required fields of a document, and the types of the fields that the code reads. A validator never
forbids other fields, so that an older version of the code can run alongside a newer version.
"""

from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any]

ANYTHING: Schema = {}
TEXT: Schema = {"bsonType": "string"}
ID: Schema = {"bsonType": "objectId"}
DATE: Schema = {"bsonType": "date"}
BOOLEAN: Schema = {"bsonType": "bool"}
# The driver stores an int as 32 bits if the value fits, and as 64 bits otherwise, so both types are allowed.
INTEGER: Schema = {"bsonType": ["int", "long"]}
NUMBER: Schema = {"bsonType": ["int", "long", "double", "decimal"]}
BYTES: Schema = {"bsonType": "binData"}


def either(*schemas: Schema) -> Schema:
    """Return the schema for values that match one of `schemas`."""
    kinds: list[str] = []
    for schema in schemas:
        kind = schema["bsonType"]
        kinds += [kind] if isinstance(kind, str) else kind
    return {**schemas[0], "bsonType": list(dict.fromkeys(kinds))}


def optional(schema: Schema) -> Schema:
    """Return `schema` extended to allow null."""
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return either(schema, {"bsonType": "null"})


def one_of(*values: str) -> Schema:
    """Return the schema for a string that is one of `values`."""
    return {"enum": list(values)}


def array_of(items: Schema) -> Schema:
    """Return the schema for an array of `items`."""
    return {"bsonType": "array", "items": items} if items else {"bsonType": "array"}


def document(fields: dict[str, Schema], also: dict[str, Schema] | None = None) -> Schema:
    """Return the schema for a document with required `fields` and optional fields (`also`).

    The schema also allows any other fields.
    """
    known = {name: schema for name, schema in (fields | (also or {})).items() if schema}
    # Leave out `required` if it would be empty, because the server rejects an empty list.
    required = {"required": list(fields)} if fields else {}
    return {"bsonType": "object", **required, "properties": known}


def several_types(schema: Schema, path: str) -> bool:
    """Return whether a schema allows several non-null types at a path such as "exif[].v".

    Return False if this is unknown.
    """
    found = _parts(schema)
    for name in path.replace("[]", ".[]").split("."):
        below = [part.get("items") if name == "[]" else part.get("properties", {}).get(name) for part in found]
        found = [inner for part in below if part for inner in _parts(part)]
    kinds = {kind for part in found for kind in _as_list(part.get("bsonType", ()))}
    return len(kinds - {"null"} - _NUMBERS_BUT_INT) > 1


# MongoDB compares numbers of different types by value, so all of these types count as "int".
_NUMBERS_BUT_INT = {"long", "double", "decimal"}


def _parts(schema: Schema) -> list[Schema]:
    """Return a schema and all schemas nested in its allOf and anyOf."""
    parts = (*schema.get("allOf", ()), *schema.get("anyOf", ()))
    return [schema, *(inner for part in parts for inner in _parts(part))]


def _as_list(kinds: str | Iterable[str]) -> Iterable[str]:
    return [kinds] if isinstance(kinds, str) else kinds
