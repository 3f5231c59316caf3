"""Shard keys declared as data: checked, planned as what mongos is told, applied, shown.

Only mongos shards. Everything before that (the checks, the plan) works anywhere, so that a plan can be read on one machine.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pymongo.database import Database
from pymongo.errors import OperationFailure

from marginalia.mongo.collections import (
    Collection,
    Index,
    Keys,
    declared_collections,
    mongodb_aliases,
    mongodb_collections,
)
from marginalia.mongo.connection import Document, client, database, no_time_limit


class CannotShard(Exception):
    """A collection cannot be sharded as planned; the message says which, and what the server said."""


@dataclass(frozen=True)
class Statement:
    """One command for mongos: `command` goes to the admin database, `index` must exist before it."""

    alias: str
    collection: str
    command: dict[str, Any]
    index: Index | None
    reason: str

    def __str__(self) -> str:
        key = ", ".join(f"{path}{'' if way == 1 else f' {way}'}" for path, way in self.command["key"].items())
        return f"+ {self.collection}: shard by {'unique ' if self.command['unique'] else ''}({key})  {self.reason}"

    def mongosh(self) -> list[str]:
        """Return what to type into mongosh, connected to a mongos, in place of this statement: a line for each command."""
        lines = []
        if self.index is not None:
            name = json.dumps(database(self.alias).name)
            keys = dict(self.index.keys)
            options = {"name": self.index.name, **self.index.settings()}
            make = f"createIndex({json.dumps(keys)}, {json.dumps(options)})"
            lines.append(f"db.getSiblingDB({name}).getCollection({json.dumps(self.collection)}).{make}")
        arguments = (self.command["shardCollection"], self.command["key"], self.command["unique"])
        return [*lines, f"sh.shardCollection({', '.join(map(json.dumps, arguments))})"]


@dataclass(frozen=True)
class Distribution:
    """A sharded collection as it lies: chunks and bytes by shard."""

    collection: str
    key: dict[str, Any]
    unique: bool
    chunks: Mapping[str, int]
    size: dict[str, int]


def shard_key_problems(collection: Collection) -> list[str]:
    """Return why the collection cannot be sharded by its key: the unique indexes that the key is no prefix of.

    A shard can keep only that unique which it holds alone, so the server refuses any other unique index.
    """
    if collection.shard_key is None:
        return []
    key = collection.shard_key.keys
    hashed = any(way == "hashed" for _path, way in key)
    found = [
        f"{collection.name}: the unique index {index.name} does not begin with the shard key ({_join_paths(key)})"
        for index in collection.indexes
        if index.unique and (hashed or not _starts_with(index.keys, key))
    ]
    if collection.shard_key.unique and not any(i.unique and _starts_with(i.keys, key) for i in collection.indexes):
        found.append(f"{collection.name}: its shard key is to be unique, and no unique index declares that")
    return found


def plan() -> list[Statement]:
    """Return what mongos is to be told for the collections that are not sharded yet, in order.

    Raises CannotShard if a declared key is impossible.
    """
    statements: list[Statement] = []
    for alias in mongodb_aliases():
        db = database(alias)
        done = set(sharded(alias)) if is_mongos(alias) else set()
        wanted = [item.collection for item in mongodb_collections(alias) if item.collection.shard_key]
        if problems := [problem for collection in wanted for problem in shard_key_problems(collection)]:
            raise CannotShard("; ".join(problems))
        lacking = [collection for collection in wanted if f"{db.name}.{collection.name}" not in done]
        statements += [_statement(alias, db, collection) for collection in lacking]
    return statements


def apply(statement: Statement) -> None:
    """Tell mongos one statement. Raises CannotShard with what the server said; then nothing of it remains."""
    db = database(statement.alias)
    made = ""
    if statement.index is not None:
        with _cannot_shard_if_refused(statement.collection):
            there = set(db[statement.collection].index_information())
            name = db[statement.collection].create_index(list(statement.index.keys), **statement.index.settings())
        made = "" if name in there else name
    try:
        run_on_mongos(statement.alias, statement.command, statement.collection)
    except CannotShard:
        if made:
            db[statement.collection].drop_index(made)
        raise


def run_on_mongos(alias: str, command: dict[str, Any], about: str) -> None:
    """Tell mongos a command of its admin database. Raises CannotShard with what it is about and what the server said."""
    with _cannot_shard_if_refused(about):
        client(alias).admin.command(command)


@contextmanager
def _cannot_shard_if_refused(about: str) -> Iterator[None]:
    """Let the block take as long as it takes. Raises CannotShard where the server refuses what it is told there."""
    try:
        with no_time_limit():
            yield
    except OperationFailure as error:
        raise CannotShard(f"{about}: {error.details and error.details.get('errmsg')}") from error


def is_mongos(alias: str) -> bool:
    """Return whether a connection leads to a mongos."""
    return client(alias).admin.command("hello").get("msg") == "isdbgrid"


def unsharded() -> list[tuple[str, str]]:
    """Return (name, reason) of the collections that stay on one shard."""
    return [
        (item.collection.name, item.collection.unsharded_because)
        for item in declared_collections()
        if item.collection.shard_key is None
    ]


def distribution(alias: str) -> list[Distribution]:
    """Return how the sharded collections of a connection's database lie on the shards."""
    db = database(alias)
    rows = []
    for namespace, entry in sorted(sharded(alias).items()):
        name = namespace.removeprefix(f"{db.name}.")
        counted = Counter(chunk["shard"] for chunk in chunks(alias, entry))
        stats = db.command("collStats", name).get("shards", {})
        size = {shard: int(one["size"]) for shard, one in stats.items()}
        rows.append(Distribution(name, dict(entry["key"]), bool(entry.get("unique")), counted, size))
    return rows


def chunks(alias: str, entry: Document) -> list[Document]:
    """Return the chunks of a sharded collection, in order."""
    return list(client(alias)["config"]["chunks"].find({"uuid": entry["uuid"]}).sort("min", 1))


def shards(alias: str) -> tuple[str, ...]:
    """Return the names of the shards, of a connection that leads to a mongos."""
    return tuple(shard["_id"] for shard in client(alias).admin.command("listShards")["shards"])


def sharded(alias: str) -> dict[str, Document]:
    """Return what the config servers know of the sharded collections of a connection's database, by namespace."""
    prefix = f"{database(alias).name}."
    entries: Iterable[Document] = client(alias)["config"]["collections"].find({"dropped": {"$ne": True}})
    return {
        entry["_id"]: entry for entry in entries if entry["_id"].startswith(prefix) and not entry.get("unsplittable")
    }


def _statement(alias: str, db: Database[Document], collection: Collection) -> Statement:
    shard_key = collection.shard_key
    assert shard_key is not None
    served = any(_starts_with(index.keys, shard_key.keys) for index in collection.indexes)
    command = {
        "shardCollection": f"{db.name}.{collection.name}",
        "key": dict(shard_key.keys),
        "unique": shard_key.unique,
    }
    index = None if served else Index("shard_key", shard_key.keys)
    return Statement(alias, collection.name, command, index, shard_key.reason)


def _starts_with(keys: Keys, prefix: Keys) -> bool:
    return keys[: len(prefix)] == prefix


def _join_paths(keys: Keys) -> str:
    return ", ".join(path for path, _way in keys)
