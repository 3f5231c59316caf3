"""Declared against existing indexes: the difference, and building what is missing."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connections
from pymongo.database import Database

from mongo.collections import Collection, Index, declared
from mongo.connection import Document, database


@dataclass(frozen=True)
class MissingIndex:
    """An index that is declared and does not exist."""

    collection: str
    index: Index


def missing(db: Database[Document], collections: Iterable[Collection]) -> list[MissingIndex]:
    """Return the declared indexes that `db` lacks, by name."""
    lacking = []
    for collection in collections:
        existing = set(db[collection.name].index_information())
        lacking += [MissingIndex(collection.name, i) for i in collection.indexes if i.name not in existing]
    return lacking


def ensure() -> int:
    """Build every declared index that is missing, in every database; return how many were built.

    Collections that do not exist yet are made, also those without indexes: in a transaction that would be slow.
    """
    built = 0
    for alias, collections in _by_alias().items():
        db = database(alias)
        existing = set(db.list_collection_names())
        for collection in collections:
            if collection.name not in existing:
                db.create_collection(collection.name, check_exists=False)
        for lack in missing(db, collections):
            db[lack.collection].create_indexes([lack.index.model()])
            built += 1
    return built


def _by_alias() -> dict[str, list[Collection]]:
    grouped: dict[str, list[Collection]] = {}
    for item in declared():
        if connections[item.alias].vendor == "mongodb":
            grouped.setdefault(item.alias, []).append(item.collection)
    return grouped
