"""Predict how mongos handles a command: whether it can target one shard, and whether it accepts the command at all.

Unlike a read, a write to a single document needs the whole shard key or the `_id`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from marginalia.mongo.collections import Collection, Keys
from marginalia.mongo.sharding.targeting import Broadcast, conditions, is_exact, is_targeted


@dataclass(frozen=True)
class Operation:
    """A read from or write to a collection, as part of a command.

    Attributes:
        is_single: Whether the operation writes at most one document.
        needs_key: Whether mongos requires the whole shard key.
    """

    collection: str
    command: str
    filter: Mapping[str, Any]
    is_single: bool = False
    needs_key: bool = False

    @property
    def paths(self) -> frozenset[str]:
        """Return the fields in the filter, including the fields in $or."""
        parts = (self.filter, *self.filter.get("$or", ()))
        return frozenset(path for part in parts for path, _condition in conditions(part))


def operations(name: str, command: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield the operations in a command sent by the driver. Inserts have none, because documents contain the key."""
    if name == "update":
        for part in command["updates"]:
            is_single = not part.get("multi", False)
            yield Operation(command[name], name, part["q"], is_single, is_single and bool(part.get("upsert")))
    elif name == "delete":
        for part in command["deletes"]:
            yield Operation(command[name], name, part["q"], part["limit"] == 1)
    elif name == "findAndModify":
        yield Operation(command[name], name, command["query"], is_single=True, needs_key=True)
    elif name == "find":
        yield Operation(command[name], name, command.get("filter", {}))
    elif name in ("count", "distinct"):
        yield Operation(command[name], name, command.get("query", {}))
    elif name == "aggregate" and isinstance(command[name], str):
        first: Mapping[str, Any] = next(iter(command["pipeline"]), {})
        yield Operation(command[name], name, first.get("$match", {}))


def is_routed(operation: Operation, collection: Collection) -> bool:
    """Return whether mongos sends an operation only to necessary shards. An unsharded collection is on one shard."""
    if collection.shard_key is None:
        return True
    key = collection.shard_key.keys
    return _has_whole_key(operation.filter, key) if operation.needs_key else is_targeted(operation.filter, key)


def is_allowed(operation: Operation, collection: Collection) -> bool:
    """Return whether mongos (6.0) accepts an operation. A write to one document needs the whole shard key or _id."""
    if collection.shard_key is None or not operation.is_single:
        return True
    key = collection.shard_key.keys
    return _has_whole_key(operation.filter, key) or (
        not operation.needs_key and _has_whole_key(operation.filter, (("_id", 1),))
    )


def find_exception(operation: Operation, broadcasts: Iterable[Broadcast]) -> Broadcast | None:
    """Return the declared exception that allows an operation to be sent to all shards, or None if there is none."""
    for broadcast in broadcasts:
        if (
            broadcast.collection == operation.collection
            and set(broadcast.paths) <= operation.paths
            and (broadcast.paths or not operation.paths)
        ):
            return broadcast
    return None


def _has_whole_key(filter: Mapping[str, Any], key: Keys) -> bool:
    exact = {path for path, condition in conditions(filter) if is_exact(condition)}
    return exact >= {path for path, _direction in key}
