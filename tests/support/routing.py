"""What mongos makes of the commands that were sent: whether it can route them, and whether it carries them out at all.

A write of one document needs more than a read: the whole shard key, or its `_id`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from marginalia.mongo.collections import Collection, Keys
from marginalia.mongo.sharding.targeting import Broadcast, conditions, is_exact, is_targeted


@dataclass(frozen=True)
class Operation:
    """What a command asks of a collection. `one`: it writes at most one document; `key_needed`: mongos wants its whole key."""

    collection: str
    command: str
    filter: Mapping[str, Any]
    one: bool = False
    key_needed: bool = False

    @property
    def paths(self) -> frozenset[str]:
        """The fields that the filter names, in its alternatives too."""
        parts = (self.filter, *self.filter.get("$or", ()))
        return frozenset(path for part in parts for path, _condition in conditions(part))


def operations(name: str, command: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield what a command, as the driver sends it, asks of its collection. Inserts carry their key in the document."""
    if name == "update":
        for part in command["updates"]:
            one = not part.get("multi", False)
            yield Operation(command[name], name, part["q"], one, one and bool(part.get("upsert")))
    elif name == "delete":
        for part in command["deletes"]:
            yield Operation(command[name], name, part["q"], part["limit"] == 1)
    elif name == "findAndModify":
        yield Operation(command[name], name, command["query"], one=True, key_needed=True)
    elif name == "find":
        yield Operation(command[name], name, command.get("filter", {}))
    elif name in ("count", "distinct"):
        yield Operation(command[name], name, command.get("query", {}))
    elif name == "aggregate" and isinstance(command[name], str):
        first: Mapping[str, Any] = next(iter(command["pipeline"]), {})
        yield Operation(command[name], name, first.get("$match", {}))


def is_routed(operation: Operation, collection: Collection) -> bool:
    """Return whether mongos can carry out a command without asking shards in vain. What is not sharded lies on one."""
    if collection.shard_key is None:
        return True
    key = collection.shard_key.keys
    return _names_all(operation.filter, key) if operation.key_needed else is_targeted(operation.filter, key)


def is_allowed(operation: Operation, collection: Collection) -> bool:
    """Return whether mongos (6.0) carries out a command at all: a write of one document needs its whole key, or its _id."""
    if collection.shard_key is None or not operation.one:
        return True
    key = collection.shard_key.keys
    return _names_all(operation.filter, key) or (
        not operation.key_needed and _names_all(operation.filter, (("_id", 1),))
    )


def excuse(operation: Operation, known: Iterable[Broadcast]) -> Broadcast | None:
    """Return the exception that covers a command, None if there is none."""
    for broadcast in known:
        if (
            broadcast.collection == operation.collection
            and set(broadcast.paths) <= operation.paths
            and (broadcast.paths or not operation.paths)
        ):
            return broadcast
    return None


def _names_all(filter: Mapping[str, Any], key: Keys) -> bool:
    exact = {path for path, condition in conditions(filter) if is_exact(condition)}
    return exact >= {path for path, _way in key}
