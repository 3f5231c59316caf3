"""Functions that check declared shard keys, plan and run commands for mongos, and report how collections are sharded.

Only mongos can shard a collection. Checks and plans work with any server, so that you can review a plan on a single
machine.
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
from marginalia.mongo.connection import Document, client, database, is_mongos, no_time_limit


class CannotShard(Exception):
    """A collection can't be sharded as planned. The message contains the collection's name and the server's error."""


@dataclass(frozen=True)
class Statement:
    """A command for mongos. `command` is run on the admin database. `index` must exist before the command is run."""

    alias: str
    collection: str
    command: dict[str, Any]
    index: Index | None
    reason: str

    def __str__(self) -> str:
        key = ", ".join(f"{path}{'' if kind == 1 else f' {kind}'}" for path, kind in self.command["key"].items())
        return f"+ {self.collection}: shard by {'unique ' if self.command['unique'] else ''}({key})  {self.reason}"

    def mongosh(self) -> list[str]:
        """Return the equivalent mongosh commands, one per line. The commands require a connection to a mongos."""
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
    """The distribution of a sharded collection: the number of chunks and bytes per shard."""

    collection: str
    key: dict[str, Any]
    unique: bool
    chunks: Mapping[str, int]
    size: dict[str, int]


def shard_key_problems(collection: Collection) -> list[str]:
    """Return the reasons why `collection` can't be sharded by its key, or [] if it can.

    Each shard can enforce uniqueness only among its own documents, so every unique index must begin with the key.
    """
    if collection.shard_key is None:
        return []
    key = collection.shard_key.keys
    hashed = any(kind == "hashed" for _path, kind in key)
    key_problems = [
        f"{collection.name}: the unique index {index.name} doesn't begin with the shard key ({_join_paths(key)})"
        for index in collection.indexes
        if index.unique and not index.unsharded_only and (hashed or not _starts_with(index.keys, key))
    ]
    if collection.shard_key.unique and not any(i.unique and _starts_with(i.keys, key) for i in collection.indexes):
        key_problems.append(f"{collection.name}: the shard key is declared unique, but there is no such unique index")
    return key_problems


def plan() -> list[Statement]:
    """Return the commands that shard the collections that aren't sharded yet, in order.

    Raises:
        CannotShard: A declared key can't be used.
    """
    statements: list[Statement] = []
    for alias in mongodb_aliases():
        db = database(alias)
        done = set(sharded(alias)) if is_mongos(alias) else set()
        wanted = [item.collection for item in mongodb_collections(alias) if item.collection.shard_key]
        if problems := [problem for collection in wanted for problem in shard_key_problems(collection)]:
            raise CannotShard("; ".join(problems))
        unsharded_collections = [collection for collection in wanted if f"{db.name}.{collection.name}" not in done]
        statements += [_statement(alias, db, collection) for collection in unsharded_collections]
    return statements


def apply(statement: Statement) -> None:
    """Apply one statement on mongos.

    Raises:
        CannotShard: The server rejected the statement, so nothing has changed. The message contains the server's error.
    """
    db = database(statement.alias)
    created_index = ""
    if statement.index is not None:
        with _cannot_shard_if_refused(statement.collection):
            existing = set(db[statement.collection].index_information())
            name = db[statement.collection].create_index(list(statement.index.keys), **statement.index.settings())
        created_index = "" if name in existing else name
    try:
        run_on_mongos(statement.alias, statement.command, statement.collection)
    except CannotShard:
        if created_index:
            db[statement.collection].drop_index(created_index)
        raise


def run_on_mongos(alias: str, command: dict[str, Any], subject: str) -> None:
    """Run a command on the admin database of mongos.

    Raises:
        CannotShard: The server rejected the command. The message contains `subject` and the server's error.
    """
    with _cannot_shard_if_refused(subject):
        client(alias).admin.command(command)


@contextmanager
def _cannot_shard_if_refused(subject: str) -> Iterator[None]:
    """Run the block without a time limit. If the server rejects a command, raise CannotShard."""
    try:
        with no_time_limit():
            yield
    except OperationFailure as error:
        raise CannotShard(f"{subject}: {error.details and error.details.get('errmsg')}") from error


def unsharded() -> list[tuple[str, str]]:
    """Return (name, reason) for each collection that isn't sharded."""
    return [
        (item.collection.name, item.collection.unsharded_because)
        for item in declared_collections()
        if item.collection.shard_key is None
    ]


def distribution(alias: str) -> list[Distribution]:
    """Return the distribution of each sharded collection in a connection's database."""
    db = database(alias)
    rows = []
    for namespace, entry in sorted(sharded(alias).items()):
        name = namespace.removeprefix(f"{db.name}.")
        chunk_counts = Counter(chunk["shard"] for chunk in chunks(alias, entry))
        stats = db.command("collStats", name).get("shards", {})
        size = {shard: int(shard_stats["size"]) for shard, shard_stats in stats.items()}
        rows.append(Distribution(name, dict(entry["key"]), bool(entry.get("unique")), chunk_counts, size))
    return rows


def chunks(alias: str, entry: Document) -> list[Document]:
    """Return the chunks of a sharded collection, in order."""
    return list(client(alias)["config"]["chunks"].find({"uuid": entry["uuid"]}).sort("min", 1))


def shards(alias: str) -> tuple[str, ...]:
    """Return the names of the shards. The connection must be to a mongos."""
    return tuple(shard["_id"] for shard in client(alias).admin.command("listShards")["shards"])


def sharded(alias: str) -> dict[str, Document]:
    """Return the config servers' entries for the sharded collections in a database, keyed by namespace."""
    prefix = f"{database(alias).name}."
    entries: Iterable[Document] = client(alias)["config"]["collections"].find({"dropped": {"$ne": True}})
    return {
        entry["_id"]: entry for entry in entries if entry["_id"].startswith(prefix) and not entry.get("unsplittable")
    }


def _statement(alias: str, db: Database[Document], collection: Collection) -> Statement:
    shard_key = collection.shard_key
    assert shard_key is not None
    has_index = any(_starts_with(index.keys, shard_key.keys) for index in collection.indexes)
    command = {
        "shardCollection": f"{db.name}.{collection.name}",
        "key": dict(shard_key.keys),
        "unique": shard_key.unique,
    }
    index = None if has_index else Index("shard_key", shard_key.keys)
    return Statement(alias, collection.name, command, index, shard_key.reason)


def _starts_with(keys: Keys, prefix: Keys) -> bool:
    return keys[: len(prefix)] == prefix


def _join_paths(keys: Keys) -> str:
    return ", ".join(path for path, _way in keys)
