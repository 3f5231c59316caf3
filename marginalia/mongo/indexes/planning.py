"""Plans with the steps that make each collection match its declaration.

A plan is data, and applying a plan twice has no further effect. If the keys of an index change, the new index is built
alongside the old index, because processes that still run the old version may specify the old index as a hint. If the
options of an index change, the new index is built before the old index is dropped, provided that the server allows
both. Undeclared indexes are dropped only on request. Indexes are identified by their keys and options, not by their
names.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pymongo.database import Database
from pymongo.errors import DuplicateKeyError, OperationFailure

from marginalia.mongo.collections import Collection, Index, mongodb_collections
from marginalia.mongo.connection import UNAUTHORIZED, Document, database, is_mongos, no_time_limit
from marginalia.mongo.indexes import validators
from marginalia.mongo.indexes.changes import COLLECTION, Change, Work
from marginalia.mongo.indexes.matching import (
    are_twins,
    describe_index,
    describe_keys,
    enforces,
    from_listing,
    is_same,
    listed_keys,
)

# Maximum number of duplicate keys to list if a unique index can't be built.
_MAX_OFFENDERS = 5
_NAMESPACE_EXISTS = 48


class CannotBuild(Exception):
    """An index can't be built. The message lists the documents that prevent it."""


class FormerFormat(CannotBuild):
    """The stored documents were written by an older release and can't be read. The message explains what to do."""


def require_present_format(alias: str = "") -> None:
    """Check that this release can read the documents in all databases, or only in the database of `alias`.

    Raises:
        FormerFormat: All documents in a collection have an old format.
    """
    for item in mongodb_collections(alias):
        if not item.collection.former:
            continue
        db = database(item.alias)
        name = item.collection.name
        # If only some documents in a collection seem to have the old format, they must be damaged. Other checks report
        # damaged documents.
        present = {"$nor": [item.collection.former]}
        if db[name].find_one(item.collection.former, {"_id": 1}) and not db[name].find_one(present, {"_id": 1}):
            raise FormerFormat(
                f"The database {db.name} was written by an older version in another format ({name}), "
                "which this version can't read. Nothing was changed. Use an empty database, or "
                "continue with the older version."
            )


def plan(collections: Iterable[str] = (), alias: str = "") -> list[Change]:
    """Return the changes that make collections match their declarations.

    Dropping an undeclared index is an `optional` change.

    Args:
        collections: If not empty, only collections with these names are included.
        alias: If set, only collections of this connection are included.

    Raises:
        FormerFormat: The stored documents were written by an older release and can't be read.
    """
    require_present_format(alias)
    return [
        change
        for item in mongodb_collections(alias, collections)
        for change in changes_of(item.alias, item.collection, database(item.alias))
    ]


def ensure(report: Callable[[Change], None] = lambda change: None, *, alias: str = "") -> int:
    """Apply the whole plan except optional changes. Return the number of changes applied.

    Args:
        report: A function that is called with each change.
        alias: If set, only collections of this connection are changed.

    Raises:
        CannotBuild: An index can't be built.
    """
    done = 0
    for change in plan(alias=alias):
        if not change.optional:
            report(change)
            apply_change(change)
            done += 1
    return done


def apply_change(change: Change) -> None:
    """Apply one change.

    Raises:
        CannotBuild: Stored documents prevent the change, or the database user lacks a permission.
    """
    try:
        change.apply(database(change.alias))
    except OperationFailure as error:
        if error.code != UNAUTHORIZED:
            raise
        raise CannotBuild(f"{change}: the database user doesn't have permission. Grant it the role dbAdmin.") from error


def changes_of(alias: str, collection: Collection, db: Database[Document]) -> list[Change]:
    """Return the changes that make one collection in `db` match its declaration."""
    name = collection.name
    listing = next(iter(db.list_collections(filter={"name": name})), None)
    changes = []
    if listing is None:
        changes.append(Change("+", alias, name, COLLECTION, lambda db: _create_collection(db, name)))
    existing = db[name].index_information() if listing else {}
    matched: set[str] = set()
    for index in _planned_indexes(alias, collection):
        changes += _index_changes(alias, name, index, existing, matched, lists_strays=not collection.shared)
    changes += validators.changes_of(alias, collection, (listing or {}).get("options", {}))
    if not collection.shared:
        # An interrupted rebuild leaves the old index behind, with the declared name and keys. This old index must be
        # dropped.
        former = {index.name: list(index.keys) for index in collection.indexes}
        changes += [
            Change(
                "-",
                alias,
                name,
                f"index {stray}, which no app declares",
                _drop_index(name, stray),
                optional=former.get(stray) != listed_keys(details),
            )
            for stray, details in existing.items()
            if stray != "_id_" and stray not in matched and not _serves_shard_key(collection, details)
        ]
    return changes


def _planned_indexes(alias: str, collection: Collection) -> list[Index]:
    """Return a collection's declared indexes. On a sharded cluster, leave out indexes that are `unsharded_only`."""
    left_out = [index for index in collection.indexes if index.unsharded_only]
    if left_out and is_mongos(alias):
        return [index for index in collection.indexes if index not in left_out]
    return list(collection.indexes)


def _serves_shard_key(collection: Collection, details: Mapping[str, Any]) -> bool:
    return collection.shard_key is not None and listed_keys(details) == list(collection.shard_key.keys)


def _index_changes(
    alias: str,
    collection: str,
    index: Index,
    existing: Mapping[str, Mapping[str, Any]],
    matched: set[str],
    *,
    lists_strays: bool,
) -> list[Change]:
    for name, details in existing.items():
        if is_same(index, details):
            matched.add(name)
            return []
    for name, details in existing.items():
        if are_twins(index, details):
            matched.add(name)
            return [_change_of_twin(alias, collection, index, name, details)]
    build = _build_index(collection, index, index.name)
    obstacles = _find_obstacles(collection, index)
    if index.name not in existing:
        return [Change("+", alias, collection, describe_index(index), build, obstacles=obstacles)]
    # An index from an earlier declaration already has this name, so the new index gets a different one.
    number = 2
    while f"{index.name}_{number}" in existing:
        number += 1
    new_name = f"{index.name}_{number}"
    former = existing[index.name]
    build = _build_index(collection, index, new_name)
    if lists_strays and listed_keys(former) != list(index.keys) and not enforces(former):
        # The old index is kept as an undeclared index, because processes that still run the old version specify it as a
        # hint.
        return [
            Change("+", alias, collection, f"{describe_index(index)}, built as {new_name}", build, obstacles=obstacles)
        ]
    matched.add(index.name)

    def rebuild(db: Database[Document]) -> None:
        build(db)
        _drop_index(collection, index.name)(db)

    before = describe_index(from_listing(index.name, former))
    description = f"{before} → {describe_keys(index)}, built as {new_name} before the old index is dropped"
    return [Change("~", alias, collection, description, rebuild, obstacles=obstacles)]


def _change_of_twin(alias: str, collection: str, index: Index, name: str, details: Mapping[str, Any]) -> Change:
    """Return the change that replaces an existing index with `index`, because the server doesn't allow both at once."""
    before = describe_index(from_listing(name, details))
    wanted = index.settings()
    if not index.is_text and (index.expire_after_seconds is not None or "expireAfterSeconds" not in details):
        modified = {"name": name, "hidden": bool(wanted.get("hidden", False))}
        if index.expire_after_seconds is not None:
            modified["expireAfterSeconds"] = index.expire_after_seconds

        def modify(db: Database[Document]) -> None:
            db.command("collMod", collection, index=modified)

        return Change("~", alias, collection, f"{before} → {describe_keys(index)}, changed in place", modify)

    def replace(db: Database[Document]) -> None:
        _drop_index(collection, name)(db)
        _build_index(collection, index, index.name)(db)

    description = (
        f"{before} → {describe_keys(index)}, built after the old index is dropped, because the server can't have both"
    )
    return Change("~", alias, collection, description, replace, obstacles=_find_obstacles(collection, index))


def _create_collection(db: Database[Document], name: str) -> None:
    try:
        db.create_collection(name)
    except OperationFailure as error:
        if error.code != _NAMESPACE_EXISTS:  # otherwise, another process has just created it
            raise


def _build_index(collection: str, index: Index, name: str) -> Work:
    def build(db: Database[Document]) -> None:
        with no_time_limit():
            try:
                db[collection].create_index(list(index.keys), name=name, **index.settings())
            except DuplicateKeyError as error:
                offenders = (
                    _find_offenders(db, collection, index) or f"  {error.details and error.details.get('keyValue')}"
                )
                raise CannotBuild(_cannot_build_message(collection, index, offenders)) from error

    return build


def _drop_index(collection: str, name: str) -> Work:
    def drop(db: Database[Document]) -> None:
        db[collection].drop_index(name)

    return drop


def _find_obstacles(collection: str, index: Index) -> Callable[[Database[Document]], str]:
    def find(db: Database[Document]) -> str:
        if not index.unique:
            return ""
        with no_time_limit():
            offenders = _find_offenders(db, collection, index)
        return _cannot_build_message(collection, index, offenders) if offenders else ""

    return find


def _cannot_build_message(collection: str, index: Index, offenders: str) -> str:
    return (
        f"{collection}: {describe_index(index)} can't be built, because these values are not "
        f"unique. Remove the duplicates:\n{offenders}"
    )


def _find_offenders(db: Database[Document], collection: str, index: Index) -> str:
    """Describe the first documents that violate a unique index, one line per key. Return "" if there are none."""
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
            {"$limit": _MAX_OFFENDERS},
        ],
        allowDiskUse=True,
    )
    return "\n".join(
        f"  ({', '.join(repr(v) for v in g['_id'].values())}): {g['n']} documents, " + ", ".join(map(str, g["ids"]))
        for g in groups
    )
