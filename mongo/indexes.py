"""Declared against existing: what to create, rebuild or change so that each collection is as its app declares it.

A plan is data; applying it is idempotent, builds a changed index before it drops the old one wherever the server lets both
stand beside each other, and never drops what no app declares unless told to. An index is known by what it does (keys and
options), not by its name.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import connections
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError, OperationFailure

from mongo import validators
from mongo.changes import Change, Work
from mongo.collections import Collection, Index, declared
from mongo.connection import Document, database, unhurried

__all__ = ["CannotBuild", "Change", "describe", "ensure", "plan", "same"]

# Options that the server lists beside those that were asked for.
_OWN = {"v", "key", "name", "ns", "background"}
# A text index is listed with these, each at its default unless declared.
_TEXT_DEFAULTS = {"weights", "default_language", "language_override", "textIndexVersion"}
# Two indexes that differ in these alone cannot stand beside each other (error 85, tried on 6.0); all else they can differ in.
_NOT_TELLING = {"expireAfterSeconds", "hidden"}
# As many offending documents are named where a unique index cannot be built.
_OFFENDERS = 5
_NAMESPACE_EXISTS = 48
_UNAUTHORIZED = 13


class CannotBuild(Exception):
    """An index cannot be built; the message names the documents that stand in its way."""


def plan(collections: Iterable[str] = (), alias: str = "") -> list[Change]:
    """Return what separates the databases (or that of one connection) from what the apps declare, for the named collections
    or for all. Drops of indexes that no app declares are in it as `optional` changes.
    """
    wanted = set(collections)
    changes: list[Change] = []
    for item in declared():
        if connections[item.alias].vendor != "mongodb" or (alias and item.alias != alias):
            continue
        if not wanted or item.collection.name in wanted:
            changes += changes_of(item.alias, item.collection, database(item.alias))
    return changes


def ensure(report: Callable[[str], None] = lambda line: None, *, alias: str = "") -> int:
    """Apply the whole plan, optional drops apart; return how many steps were taken. Raises CannotBuild."""
    done = 0
    for change in plan(alias=alias):
        if not change.optional:
            report(str(change))
            take(change)
            done += 1
    return done


def take(change: Change) -> None:
    """Take one step of a plan. Raises CannotBuild: for what is stored, or for want of rights."""
    try:
        change.apply(database(change.alias))
    except OperationFailure as error:
        if error.code != _UNAUTHORIZED:
            raise
        raise CannotBuild(f"{change}: the database's user may not do this; grant it the role dbAdmin.") from error


def changes_of(alias: str, collection: Collection, db: Database[Document]) -> list[Change]:
    """Return what separates one collection of `db` from its declaration."""
    name = collection.name
    found = next(iter(db.list_collections(filter={"name": name})), None)
    changes = []
    if found is None:
        changes.append(Change("+", alias, name, "collection", lambda db: _create_collection(db, name)))
    existing = db[name].index_information() if found else {}
    matched: set[str] = set()
    for index in collection.indexes:
        changes += _index_changes(alias, name, index, existing, matched)
    changes += validators.changes_of(alias, collection, (found or {}).get("options", {}))
    if not collection.shared:
        changes += [
            Change("-", alias, name, f"index {stray}, which nobody declares", _dropping(name, stray), True)
            for stray in existing
            if stray != "_id_" and stray not in matched and not _serves_shard_key(collection, existing[stray])
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
    for name, details in existing.items():
        if _are_twins(index, details):
            matched.add(name)
            return [_change_of_twin(alias, collection, index, name, details)]
    build, obstacles = _building(collection, index, index.name), _obstacles(collection, index)
    if index.name not in existing:
        return [Change("+", alias, collection, describe(index), build, obstacles=obstacles)]
    # The name is taken by another index of ours, as it was declared before: build first, then drop.
    matched.add(index.name)
    number = 2
    while f"{index.name}_{number}" in existing:
        number += 1
    new_name = f"{index.name}_{number}"

    def rebuild(db: Database[Document]) -> None:
        _building(collection, index, new_name)(db)
        _dropping(collection, index.name)(db)

    before = describe(_listed(index.name, existing[index.name]))
    what = f"{before} → {_spell(index)}, built as {new_name} before the old one goes"
    return [Change("~", alias, collection, what, rebuild, obstacles=obstacles)]


def _change_of_twin(alias: str, collection: str, index: Index, name: str, details: Mapping[str, Any]) -> Change:
    """Return the change of an index into one that the server would not let stand beside it."""
    before = describe(_listed(name, details))
    wanted = index.settings()
    if not index.is_text and (index.expire_after_seconds is not None or "expireAfterSeconds" not in details):
        modified = {"name": name, "hidden": bool(wanted.get("hidden", False))}
        if index.expire_after_seconds is not None:
            modified["expireAfterSeconds"] = index.expire_after_seconds

        def modify(db: Database[Document]) -> None:
            db.command("collMod", collection, index=modified)

        return Change("~", alias, collection, f"{before} → {_spell(index)}, changed in place", modify)

    def replace(db: Database[Document]) -> None:
        _dropping(collection, name)(db)
        _building(collection, index, index.name)(db)

    what = f"{before} → {_spell(index)}; the old one goes first: the server takes the two for one"
    return Change("~", alias, collection, what, replace, obstacles=_obstacles(collection, index))


def same(index: Index, details: Mapping[str, Any]) -> bool:
    """Return whether an index that the server lists does what a declared one asks for."""
    if _keys(index) != _listed_keys(details):
        return False
    return _comparable(index.settings(), index) == _comparable(details, index)


def _are_twins(index: Index, details: Mapping[str, Any]) -> bool:
    """Return whether the server refuses to have both: two text indexes of one collection, or two that differ too little."""
    if index.is_text:
        return ("_fts", "text") in _pairs(details)
    if _keys(index) != _listed_keys(details):
        return False
    one, other = _comparable(index.settings(), index), _comparable(details, index)
    return {k: v for k, v in one.items() if k not in _NOT_TELLING} == {
        k: v for k, v in other.items() if k not in _NOT_TELLING
    }


def describe(index: Index) -> str:
    """Return an index as one readable phrase: "unique index by_place (metadata.parent_id, metadata.slug)"."""
    return f"{'unique ' if index.unique else ''}index {index.name} {_in_brackets(index)}"


def _spell(index: Index) -> str:
    return f"{'unique ' if index.unique else ''}{_in_brackets(index)}"


def _in_brackets(index: Index) -> str:
    keys = ", ".join(f"{path}{'' if way == 1 else f' {way}'}" for path, way in index.keys)
    options = "".join(f", {name}: {value}" for name, value in index.settings().items() if name != "unique")
    return f"({keys}{options})"


def _listed(name: str, details: Mapping[str, Any]) -> Index:
    """Return an index that the server lists as one that could be declared."""
    keys = tuple(_listed_keys(details))
    options = {k: v for k, v in details.items() if k not in _OWN and v is not False}
    if ("_fts", "text") in _pairs(details):
        options = {k: v for k, v in options.items() if k in ("weights", "default_language")}
    unique = bool(options.pop("unique", False))
    return Index(name, keys, unique=unique, options=options)


def _keys(index: Index) -> list[tuple[str, Any]]:
    if not index.is_text:
        return list(index.keys)
    return sorted((path, way) for path, way in index.keys if way == "text")


def _pairs(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(path, int(way) if isinstance(way, float) else way) for path, way in details["key"]]


def _listed_keys(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    keys = _pairs(details)
    if ("_fts", "text") not in keys:
        return keys
    # The server lists the fields of a text index as its weights.
    return sorted((path, "text") for path in details["weights"])


def _comparable(options: Mapping[str, Any], index: Index) -> dict[str, Any]:
    ignored = _OWN | (_TEXT_DEFAULTS - set(index.options) if index.is_text else set())
    return {name: value for name, value in options.items() if name not in ignored and value is not False}


def _create_collection(db: Database[Document], name: str) -> None:
    try:
        db.create_collection(name)
    except OperationFailure as error:
        if error.code != _NAMESPACE_EXISTS:  # else a concurrent process was first
            raise


def _building(collection: str, index: Index, name: str) -> Work:
    def build(db: Database[Document]) -> None:
        with unhurried():
            try:
                db[collection].create_index(list(index.keys), name=name, **index.settings())
            except DuplicateKeyError as error:
                named = _offenders(db, collection, index) or f"  {error.details and error.details.get('keyValue')}"
                raise CannotBuild(_cannot(collection, index, named)) from error

    return build


def _dropping(collection: str, name: str) -> Work:
    def drop(db: Database[Document]) -> None:
        db[collection].drop_index(name)

    return drop


def _obstacles(collection: str, index: Index) -> Callable[[Database[Document]], str]:
    def look(db: Database[Document]) -> str:
        if not index.unique:
            return ""
        with unhurried():
            named = _offenders(db, collection, index)
        return _cannot(collection, index, named) if named else ""

    return look


def _cannot(collection: str, index: Index, named: str) -> str:
    return f"{collection}: {describe(index)} cannot be built, these are there more than once:\n{named}"


def _offenders(db: Database[Document], collection: str, index: Index) -> str:
    """Return the first documents, a line for each key, that a unique index forbids; "" if there are none."""
    paths = [path for path, _way in index.keys]
    key = {str(n): {"$ifNull": [f"${path}", None]} for n, path in enumerate(paths)}
    matches: list[Document] = [{"$match": index.partial}] if index.partial else []
    if index.sparse:
        matches.append({"$match": {"$or": [{path: {"$exists": True}} for path in paths]}})
    groups = db[collection].aggregate(
        [
            *matches,
            {"$group": {"_id": key, "ids": {"$firstN": {"input": "$_id", "n": 3}}, "n": {"$sum": 1}}},
            {"$match": {"n": {"$gt": 1}}},
            {"$limit": _OFFENDERS},
        ],
        allowDiskUse=True,
    )
    return "\n".join(
        f"  ({', '.join(repr(v) for v in g['_id'].values())}): {g['n']} documents, " + ", ".join(map(str, g["ids"]))
        for g in groups
    )
