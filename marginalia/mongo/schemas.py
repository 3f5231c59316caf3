"""The parts that validators ($jsonSchema) are written with.

A validator here says which fields a document must have and of which type those are that the code reads; it never forbids
further ones, so that an older version of the code can write beside a newer one.
"""

from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any]

ANYTHING: Schema = {}
TEXT: Schema = {"bsonType": "string"}
ID: Schema = {"bsonType": "objectId"}
DATE: Schema = {"bsonType": "date"}
BOOLEAN: Schema = {"bsonType": "bool"}
# The driver stores an int in 32 bits where it fits in.
INTEGER: Schema = {"bsonType": ["int", "long"]}
NUMBER: Schema = {"bsonType": ["int", "long", "double", "decimal"]}
BYTES: Schema = {"bsonType": "binData"}


def either(*schemas: Schema) -> Schema:
    """Return the schema of a value of one of these types."""
    kinds: list[str] = []
    for schema in schemas:
        kind = schema["bsonType"]
        kinds += [kind] if isinstance(kind, str) else kind
    return {**schemas[0], "bsonType": list(dict.fromkeys(kinds))}


def optional(schema: Schema) -> Schema:
    """Return a schema that null meets too."""
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return either(schema, {"bsonType": "null"})


def one_of(*values: str) -> Schema:
    """Return the schema of one of these texts."""
    return {"enum": list(values)}


def array_of(items: Schema) -> Schema:
    """Return the schema of an array of such items."""
    return {"bsonType": "array", "items": items} if items else {"bsonType": "array"}


def document(fields: dict[str, Schema], also: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of a document with all of `fields`, and with those of `also` that it has; any other field is free."""
    known = {name: schema for name, schema in (fields | (also or {})).items() if schema}
    # The server refuses an empty list.
    required = {"required": list(fields)} if fields else {}
    return {"bsonType": "object", **required, "properties": known}


def several_types(schema: Schema, path: str) -> bool:
    """Return whether a schema allows values of several types (null apart) at a path such as "exif[].v"; False if unknown."""
    found = _parts(schema)
    for name in path.replace("[]", ".[]").split("."):
        below = [part.get("items") if name == "[]" else part.get("properties", {}).get(name) for part in found]
        found = [inner for part in below if part for inner in _parts(part)]
    kinds = {kind for part in found for kind in _as_list(part.get("bsonType", ()))}
    return len(kinds - {"null"} - _NUMBERS_BUT_INT) > 1


# All numbers are one type in comparisons.
_NUMBERS_BUT_INT = {"long", "double", "decimal"}


def _parts(schema: Schema) -> list[Schema]:
    """Return a schema and all that it is put together of."""
    parts = (*schema.get("allOf", ()), *schema.get("anyOf", ()))
    return [schema, *(inner for part in parts for inner in _parts(part))]


def _as_list(kinds: str | Iterable[str]) -> Iterable[str]:
    return [kinds] if isinstance(kinds, str) else kinds
