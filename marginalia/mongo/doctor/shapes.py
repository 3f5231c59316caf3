"""Checks of stored documents for structures that slow down MongoDB or prevent sharding."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from marginalia.mongo.collections import Collection
from marginalia.mongo.connection import Document
from marginalia.mongo.doctor.findings import WARNING, Examination, Finding, check, collection_check
from marginalia.mongo.indexes import validators
from marginalia.mongo.schemas import several_types

MAX_DOCUMENT_BYTES = 100 * 1024
MAX_DEPTH = 4
MAX_ARRAY_LENGTH = 1_000
# Maximum number of array elements to examine.
_MAX_ELEMENTS = 20
# If at least this many collections have names with the same pattern, there may be one collection per user.
MAX_ALIKE_COLLECTIONS = 20
# In a large collection, the server checks the size and validity of at most this many documents.
MAX_SAMPLED = 5_000
_MAX_REPORTED = 3
_NUMBERS = {"int", "Int64", "float", "Decimal128"}


@dataclass
class Shapes:
    """Statistics on the structure of a collection's documents, updated document by document."""

    types: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    kinds: Counter[frozenset[str]] = field(default_factory=Counter)
    deepest: tuple[int, Any] = (0, None)
    longest: tuple[int, str, Any] = (0, "", None)

    def add(self, document: Document) -> None:
        """Add a document to the statistics."""
        self.kinds[frozenset(document) - {"_id"}] += 1
        for path, value in _leaves(document):
            self.types[path][_type_of(value)] += 1
        self.deepest = max(self.deepest, (_depth(document), document["_id"]), key=lambda entry: entry[0])
        for path, length in _arrays(document):
            self.longest = max(self.longest, (length, path, document["_id"]), key=lambda entry: entry[0])


@collection_check
def shapes(examination: Examination, collection: Collection) -> Iterator[Finding]:
    """Check for mixed types, several kinds of entity in one collection, deep nesting, and long arrays."""
    name = collection.name
    statistics = Shapes()
    for document in examination.db[name].aggregate(examination.sample_stages(name), batchSize=100):
        statistics.add(document)
    yield from _mixed_types(collection, statistics)
    yield from _several_entities(name, statistics)
    depth, deepest = statistics.deepest
    if depth > MAX_DEPTH:
        message = f"{deepest} is nested {depth} levels deep."
        yield Finding(WARNING, "deep-nesting", name, message, "Flatten it. Use a path instead of nesting.")
    length, path, longest = statistics.longest
    if length > MAX_ARRAY_LENGTH:
        message = f"{path} of {longest} has {length:,} elements."
        fix = "Limit its length, or store the elements as separate documents."
        yield Finding(WARNING, "array-unbounded", name, message, fix)


@collection_check
def big_documents(examination: Examination, collection: Collection) -> Iterator[Finding]:
    """Check for documents larger than 100 KB. The server computes the sizes."""
    name = collection.name
    too_big: list[Document] = [
        *examination.sample_stages(name, MAX_SAMPLED),
        {"$project": {"size": {"$bsonSize": "$$ROOT"}}},
        {"$match": {"size": {"$gt": MAX_DOCUMENT_BYTES}}},
        {"$limit": _MAX_REPORTED},
    ]
    for document in examination.db[name].aggregate(too_big):
        message = f"{document['_id']} is {document['size'] / 1024:,.0f} KiB in size."
        yield Finding(WARNING, "document-big", name, message, "Move the growing part into separate documents.")


@collection_check
def valid_documents(examination: Examination, collection: Collection) -> Iterator[Finding]:
    """Check that stored documents match their collection's validator."""
    if collection.validator is None:
        return
    part = examination.sample_stages(collection.name, MAX_SAMPLED)
    for violation in islice(validators.violations_in(examination.db, collection, part), _MAX_REPORTED):
        yield Finding(
            WARNING,
            "invalid-document",
            collection.name,
            f"The document {violation.id} violates the validator.",
            f"Run manage.py setup_indexes --check --collection {collection.name} to list them all.",
        )


@check
def collections_by_user(examination: Examination) -> Iterator[Finding]:
    """Check for many collections whose names differ only in a number or an id."""
    patterns = Counter(re.sub(r"[0-9a-f]{24}|\d+", "#", name) for name in examination.existing)
    for pattern, count in patterns.items():
        if count >= MAX_ALIKE_COLLECTIONS:
            yield Finding(
                WARNING,
                "collection-a-user",
                pattern,
                f"{count} collections have names like this, perhaps one per user or day.",
                "Use one collection with a field instead.",
            )


def _mixed_types(collection: Collection, statistics: Shapes) -> Iterator[Finding]:
    for path, type_counts in statistics.types.items():
        if len(type_counts) > 1 and not several_types(collection.validator or {}, path):
            formatted = ", ".join(f"{kind} {count}×" for kind, count in type_counts.most_common())
            message = f"{path} has several types: {formatted}."
            yield Finding(WARNING, "mixed-type", collection.name, message, "Convert the values of the rarer types.")


def _several_entities(name: str, statistics: Shapes) -> Iterator[Finding]:
    kinds = [kind for kind in statistics.kinds if kind]
    for number, kind in enumerate(kinds):
        if any(not kind & other for other in kinds[:number]):
            yield Finding(
                WARNING,
                "several-entities",
                name,
                f"Some documents have no fields in common with others: {sorted(kind)}.",
                "Store each kind of entity in its own collection.",
            )
            return


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value[:_MAX_ELEMENTS]:
            yield from _leaves(inner, f"{path}[]")
    elif value is not None:
        yield path, value


def _type_of(value: Any) -> str:
    kind = type(value).__name__
    return "number" if kind in _NUMBERS else kind


def _depth(value: Any) -> int:
    """Return how many levels of nested documents there are below the top level. Arrays don't count as levels."""
    if isinstance(value, dict):
        return max((_depth(inner) + isinstance(inner, dict | list) for inner in value.values()), default=0)
    if isinstance(value, list):
        return max((_depth(inner) for inner in value), default=0)
    return 0


def _arrays(value: Any, path: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _arrays(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield path, len(value)
        for inner in value[:_MAX_ELEMENTS]:
            yield from _arrays(inner, f"{path}[]")
