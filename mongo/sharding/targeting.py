"""Whether a command can be sent to the shards that hold what it is about, or must ask every one.

mongos goes by the filter: one that says of the first field of the shard key what it is, or between what it lies, is sent
only to the shards with such values. A write of one document needs more: the whole key, or its `_id`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from mongo.collections import Collection, Keys

# What says nothing of where a value lies.
_SCATTERED = {"$ne", "$nin", "$not", "$exists", "$type", "$regex", "$mod", "$all", "$elemMatch", "$size"}


@dataclass(frozen=True)
class Broadcast:
    """Commands that ask every shard, known by the fields of their filter, and why that is right (one sentence)."""

    collection: str
    paths: tuple[str, ...]
    why: str


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
        """The fields that the filter names."""
        return frozenset(path for path, _condition in conditions(self.filter))


def broadcasts() -> list[Broadcast]:
    """Return the exceptions that the installed apps declare in BROADCASTS of their `doctor` modules."""
    return [
        broadcast
        for app in apps.get_app_configs()
        if app.name != "mongo" and module_has_submodule(app.module, "doctor")
        for broadcast in getattr(import_module(f"{app.name}.doctor"), "BROADCASTS", ())
    ]


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


def conditions(filter: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (path, condition) of all that must hold: of the filter, and of what it joins by $and."""
    for path, condition in filter.items():
        if path == "$and":
            for part in condition:
                yield from conditions(part)
        elif not path.startswith("$"):
            yield path, condition


def is_targeted(filter: Mapping[str, Any], key: Keys) -> bool:
    """Return whether a filter says where the first field of a shard key lies. Of a hashed one only a value tells that."""
    (first, way), *_rest = key
    found = [condition for path, condition in conditions(filter) if path == first]
    if not found and "$or" in filter:
        return all(is_targeted(part, key) for part in filter["$or"])
    return any(_is_value(condition) or (way != "hashed" and _is_bounded(condition)) for condition in found)


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
    exact = {path for path, condition in conditions(filter) if _is_one(condition)}
    return exact >= {path for path, _way in key}


def _is_one(condition: Any) -> bool:
    return (
        not isinstance(condition, Mapping) or not any(name.startswith("$") for name in condition) or "$eq" in condition
    )


def _is_value(condition: Any) -> bool:
    return _is_one(condition) or "$in" in condition


def _is_bounded(condition: Mapping[str, Any]) -> bool:
    return bool({name for name in condition if name.startswith("$")} - _SCATTERED)
