"""Declared against existing: what to create, rebuild or change so that each collection is as its app declares it.

A plan is data; applying it is idempotent, builds a changed index before it drops the old one, and never drops what nobody here
declared unless told to. An index is known by what it does (keys and options), not by its name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connections
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError, OperationFailure

from mongo.collections import Collection, Index, declared
from mongo.connection import Document, database

# Options that the server lists beside those that were asked for.
_OWN = {"v", "key", "name", "ns", "background"}
# A text index is listed with these, each at its default unless declared.
_TEXT_DEFAULTS = {"weights", "default_language", "language_override", "textIndexVersion"}
# As many offending documents are named where a unique index cannot be built.
_OFFENDERS = 5


class CannotBuild(Exception):
    """An index cannot be built; the message names the documents that stand in its way."""


@dataclass(frozen=True)
class Change:
    """One step of a plan. `sign` is + (make), ~ (change) or - (drop, `optional`: only when told to)."""

    sign: str
    alias: str
    collection: str
    what: str
    apply: Callable[[Database[Document]], None]
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.sign} {self.collection}: {self.what}"


def plan(collections: Iterable[str] = ()) -> list[Change]:
    """Return what separates the databases from what the apps declare, for the named collections or for all.

    Drops of indexes that nobody declared are in it as `optional` changes.
    """
    wanted = set(collections)
    changes: list[Change] = []
    for item in declared():
        if connections[item.alias].vendor == "mongodb" and (not wanted or item.collection.name in wanted):
            changes += _changes(item.alias, item.collection, database(item.alias))
    return changes


def ensure(report: Callable[[str], None] = lambda line: None) -> int:
    """Apply the whole plan, optional drops apart; return how many steps were taken. Raises CannotBuild."""
    done = 0
    for change in plan():
        if not change.optional:
            report(str(change))
            change.apply(database(change.alias))
            done += 1
    return done


def _changes(alias: str, collection: Collection, db: Database[Document]) -> list[Change]:
    listed = next(iter(db.list_collections(filter={"name": collection.name})), None)
    changes = []
    if listed is None:
        changes.append(
            Change("+", alias, collection.name, "collection", lambda db: _create_collection(db, collection.name))
        )
    existing = db[collection.name].index_information() if listed else {}
    matched: set[str] = set()
    for index in collection.indexes:
        changes += _index_changes(alias, collection.name, index, existing, matched)
    changes += _validator_changes(alias, collection, (listed or {}).get("options", {}))
    if not collection.shared:
        changes += [
            Change(
                "-",
                alias,
                collection.name,
                f"index {name}, which nobody declares",
                _dropping(collection.name, name),
                True,
            )
            for name in existing
            if name != "_id_" and name not in matched and not _serves_shard_key(collection, existing[name])
        ]
    return changes


def _serves_shard_key(collection: Collection, details: Mapping[str, Any]) -> bool:
    return collection.shard_key is not None and _listed_keys(details) == list(collection.shard_key.keys)


def _index_changes(
    alias: str, collection: str, index: Index, existing: Mapping[str, Mapping[str, Any]], matched: set[str]
) -> list[Change]:
    for name, details in existing.items():
        if same(index, details):
            matched.add(name)
            return []
        if _differs_in_expiry_alone(index, details):
            matched.add(name)
            what = f"index {name}: documents expire after {index.expire_after_seconds} s"
            return [Change("~", alias, collection, what, _expiring(collection, name, index))]
    if index.name not in existing:
        return [Change("+", alias, collection, describe(index), _building(collection, index, index.name))]
    # The name is taken by another index of ours, as it was declared before: build first, then drop.
    matched.add(index.name)
    number = 2
    while f"{index.name}_{number}" in existing:
        number += 1

    def rebuild(db: Database[Document]) -> None:
        _building(collection, index, f"{index.name}_{number}")(db)
        _dropping(collection, index.name)(db)

    return [
        Change("~", alias, collection, f"{describe(index)}, as {index.name}_{number}, then drop the old one", rebuild)
    ]


def same(index: Index, details: Mapping[str, Any]) -> bool:
    """Return whether an index that the server lists does what a declared one asks for."""
    if _keys(index) != _listed_keys(details):
        return False
    return _comparable(index.settings(), index) == _comparable(details, index)


def describe(index: Index) -> str:
    """Return an index as one readable phrase: "unique index by_place (metadata.parent_id, metadata.slug)"."""
    keys = ", ".join(f"{path}{'' if way == 1 else f' {way}'}" for path, way in index.keys)
    options = "".join(
        f", {name}: {value}"
        for name, value in index.settings().items()
        if name not in ("unique", "partialFilterExpression")
    )
    partial = ", partial" if index.partial else ""
    return f"{'unique ' if index.unique else ''}index {index.name} ({keys}{options}{partial})"


def _keys(index: Index) -> list[tuple[str, Any]]:
    if not index.is_text:
        return list(index.keys)
    return sorted((path, way) for path, way in index.keys if way == "text")


def _listed_keys(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    keys = [(path, int(way) if isinstance(way, float) else way) for path, way in details["key"]]
    if ("_fts", "text") not in keys:
        return keys
    # The server lists the fields of a text index as its weights.
    return sorted((path, "text") for path in details["weights"])


def _comparable(options: Mapping[str, Any], index: Index) -> dict[str, Any]:
    ignored = _OWN | (_TEXT_DEFAULTS - set(index.options) if index.is_text else set())
    return {name: value for name, value in options.items() if name not in ignored and value is not False}


def _differs_in_expiry_alone(index: Index, details: Mapping[str, Any]) -> bool:
    if index.expire_after_seconds is None or "expireAfterSeconds" not in details:
        return False
    return same(index, {**details, "expireAfterSeconds": index.expire_after_seconds})


def _validator_changes(alias: str, collection: Collection, options: Mapping[str, Any]) -> list[Change]:
    wanted = {"$jsonSchema": collection.validator} if collection.validator else {}
    if options.get("validator", {}) == wanted or (collection.shared and not wanted):
        return []

    def modify(db: Database[Document]) -> None:
        db.command("collMod", collection.name, validator=wanted, validationLevel="moderate", validationAction="error")

    return [Change("~" if options.get("validator") else "+", alias, collection.name, "validator", modify)]


def _create_collection(db: Database[Document], name: str) -> None:
    try:
        db.create_collection(name)
    except OperationFailure as error:
        if error.code != 48:  # NamespaceExists: somebody else was first
            raise


def _building(collection: str, index: Index, name: str) -> Callable[[Database[Document]], None]:
    def build(db: Database[Document]) -> None:
        try:
            db[collection].create_index(list(index.keys), name=name, **index.settings())
        except DuplicateKeyError as error:
            raise CannotBuild(_offenders(db, collection, index)) from error

    return build


def _dropping(collection: str, name: str) -> Callable[[Database[Document]], None]:
    def drop(db: Database[Document]) -> None:
        db[collection].drop_index(name)

    return drop


def _expiring(collection: str, name: str, index: Index) -> Callable[[Database[Document]], None]:
    def modify(db: Database[Document]) -> None:
        db.command("collMod", collection, index={"name": name, "expireAfterSeconds": index.expire_after_seconds})

    return modify


def _offenders(db: Database[Document], collection: str, index: Index) -> str:
    paths = [path for path, _way in index.keys]
    key = {str(n): {"$ifNull": [f"${path}", None]} for n, path in enumerate(paths)}
    groups = db[collection].aggregate(
        [
            *([{"$match": index.partial}] if index.partial else []),
            {"$group": {"_id": key, "ids": {"$push": "$_id"}, "n": {"$sum": 1}}},
            {"$match": {"n": {"$gt": 1}}},
            {"$limit": _OFFENDERS},
        ],
        allowDiskUse=True,
    )
    lines = [
        f"  ({', '.join(repr(v) for v in g['_id'].values())}): {g['n']} documents, " + ", ".join(map(str, g["ids"][:3]))
        for g in groups
    ]
    return f"{collection}: {describe(index)} cannot be built, these are there more than once:\n" + "\n".join(lines)
