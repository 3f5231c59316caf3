"""Stored documents against the $jsonSchema that their collection declares."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connections

from mongo.collections import declared
from mongo.connection import database


@dataclass(frozen=True)
class Violation:
    """A stored document that its collection's validator would refuse."""

    collection: str
    id: Any


def violations(collections: Iterable[str] = (), most: int = 100) -> Iterator[Violation]:
    """Yield stored documents that violate the declared validators, at most `most` a collection. Scans each collection."""
    wanted = set(collections)
    for item in declared():
        collection = item.collection
        if connections[item.alias].vendor != "mongodb" or collection.validator is None:
            continue
        if wanted and collection.name not in wanted:
            continue
        bad = {"$nor": [{"$jsonSchema": collection.validator}]}
        for document in database(item.alias)[collection.name].find(bad, {"_id": 1}).limit(most):
            yield Violation(collection.name, document["_id"])
