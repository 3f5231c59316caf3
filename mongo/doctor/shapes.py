"""The shape of stored documents: the anti-patterns that make a MongoDB system slow or unshardable."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from bson import BSON

from mongo.connection import Document
from mongo.doctor.findings import WARNING, Examination, Finding, check

BIG = 100 * 1024
DEEP = 4
LONG_ARRAY = 1_000
# A pattern of names shared by as many collections looks like one collection for each user.
MANY_COLLECTIONS = 20
_NUMBERS = {"int", "Int64", "float", "Decimal128"}


@check
def sampled_shapes(examination: Examination) -> Iterator[Finding]:
    """Mixed types, several kinds of entity, deep nesting, long arrays: seen in a sample of each declared collection."""
    for collection in examination.collections:
        name = collection.name
        if name not in examination.existing or name.endswith(".chunks"):
            continue
        sample = list(examination.db[name].aggregate([{"$sample": {"size": examination.sample}}]))
        yield from _mixed_types(name, sample)
        yield from _several_entities(name, sample)
        yield from _deep_or_long(name, sample)


@check
def big_documents(examination: Examination) -> Iterator[Finding]:
    """Documents over 100 KB, found by size over the whole collection."""
    for collection in examination.collections:
        name = collection.name
        if name not in examination.existing or name.endswith(".chunks"):
            continue
        too_big: list[dict[str, Any]] = [
            {"$match": {"$expr": {"$gt": [{"$bsonSize": "$$ROOT"}, BIG]}}},
            {"$limit": 3},
            {"$project": {"_id": 1}},
        ]
        for document in examination.db[name].aggregate(too_big):
            size = len(BSON.encode(examination.db[name].find_one({"_id": document["_id"]}) or {}))
            yield Finding(
                WARNING,
                "document-big",
                name,
                f"{document['_id']} has {size / 1024:,.0f} KiB.",
                "Move what grows into documents of its own.",
            )


@check
def collections_by_user(examination: Examination) -> Iterator[Finding]:
    """Many collections whose names differ in a number or an id alone."""
    patterns = Counter(re.sub(r"[0-9a-f]{24}|\d+", "#", name) for name in examination.existing)
    for pattern, count in patterns.items():
        if count >= MANY_COLLECTIONS:
            yield Finding(
                WARNING,
                "collection-a-user",
                pattern,
                f"{count} collections are named like this: one for each user or day?",
                "Keep them in one collection, with the user as a field.",
            )


def _mixed_types(name: str, sample: list[Document]) -> Iterator[Finding]:
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for document in sample:
        for path, value in _leaves(document):
            types[path][_type_of(value)] += 1
    for path, counted in types.items():
        if len(counted) > 1:
            spelled = ", ".join(f"{kind} {count}×" for kind, count in counted.most_common())
            yield Finding(
                WARNING, "mixed-type", name, f"{path} has several types: {spelled}.", "Convert the rarer ones."
            )


def _several_entities(name: str, sample: list[Document]) -> Iterator[Finding]:
    shapes = Counter(frozenset(document) - {"_id"} for document in sample)
    kinds = [shape for shape in shapes if shape]
    for number, shape in enumerate(kinds):
        if any(not shape & other for other in kinds[:number]):
            yield Finding(
                WARNING,
                "several-entities",
                name,
                f"Some documents have nothing in common with others: {sorted(shape)}.",
                "Keep each kind of entity in a collection of its own.",
            )
            return


def _deep_or_long(name: str, sample: list[Document]) -> Iterator[Finding]:
    deepest = max(sample, key=_depth, default={})
    if _depth(deepest) > DEEP:
        message = f"{deepest['_id']} is nested {_depth(deepest)} levels deep."
        yield Finding(WARNING, "deep-nesting", name, message, "Flatten it: a path in place of nesting.")
    for document in sample:
        for path, length in _arrays(document):
            if length > LONG_ARRAY:
                message = f"{path} of {document['_id']} has {length:,} elements."
                yield Finding(
                    WARNING, "array-unbounded", name, message, "Bound it, or give the elements documents of their own."
                )
                return


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value[:20]:
            yield from _leaves(inner, f"{path}[]")
    elif value is not None:
        yield path, value


def _type_of(value: Any) -> str:
    kind = type(value).__name__
    return "number" if kind in _NUMBERS else kind


def _depth(value: Any) -> int:
    """How many documents lie in one another below the top one; arrays do not count by themselves."""
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
        for inner in value[:20]:
            yield from _arrays(inner, f"{path}[]")
