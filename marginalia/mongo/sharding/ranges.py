"""Ranges of the collections whose ids are spread: cut, and dealt out to the shards in turn, before anything is in them.

Left to itself the balancer moves ranges only once a shard has much more than another: until then all lies on the first.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bson import Int64, MaxKey, MinKey, ObjectId

from marginalia.mongo.collections import DeclaredCollection, mongodb_aliases, mongodb_collections
from marginalia.mongo.connection import Document, database
from marginalia.mongo.sharding import keys
from marginalia.mongo.sharding.keys import CannotShard

# Four hexadecimal digits tell more apart, and more than a few a shard serve nothing.
MAX_RANGES = 4_096


@dataclass(frozen=True)
class Step:
    """A command for the admin database of mongos that cuts, moves or binds a range."""

    alias: str
    command: dict[str, Any]

    def mongosh(self) -> str:
        """Return what to type into mongosh, connected to a mongos, in its place."""
        return f"db.adminCommand({to_mongosh(self.command)})"


@dataclass(frozen=True)
class Presplit:
    """What mongos is to be told, in order; and of how many ranges, by collection, what lies in them stays where it is."""

    steps: tuple[Step, ...]
    not_moved: Mapping[str, int]


def presplit(count: int, *, zones: bool = False, shards: Sequence[str] = ()) -> Presplit:
    """Return what cuts each spread collection into `count` ranges of equal width, and moves those that are empty so that the
    shards have them in turn. With `zones` each shard is a zone of its own name, and the balancer keeps, or brings, its ranges
    there, also those that hold something.

    What is so already is left out; so is what is hashed and was empty when it was sharded, which the server has dealt out.
    `shards`: their names, which only a mongos knows. Raises CannotShard without them.
    """
    steps: list[Step] = []
    left: dict[str, int] = {}
    for alias in mongodb_aliases():
        entries = keys.sharded(alias) if keys.is_mongos(alias) else {}
        names = shards or (keys.shards(alias) if keys.is_mongos(alias) else ())
        if not names:
            raise CannotShard("Only a mongos knows which shards there are: name each by --shard.")
        spread = [item for item in mongodb_collections(alias) if _first_field(item)[1]]
        if spread and zones:
            steps += [Step(alias, {"addShardToZone": name, "zone": name}) for name in names]
        for item in spread:
            entry = entries.get(_namespace(item))
            whole: list[Document] = [{"min": _edge(item, MinKey()), "shard": ""}]
            chunks = keys.chunks(alias, entry) if entry else whole
            edges = [_edge(item, value) for value in _boundary_values(item, count)]
            there = [chunk["min"] for chunk in chunks]
            if _is_hashed(item) and _is_cut_by_server(item, entry, chunks, edges):
                continue
            steps += [_step(item, "split", middle=edge) for edge in edges[1:-1] if edge not in there]
            for number, (low, high) in enumerate(pairwise(edges)):
                name = names[number % len(names)]
                if zones:
                    steps.append(_step(item, "updateZoneKeyRange", min=low, max=high, zone=name))
                if _shard_of(chunks, low) == name:
                    continue
                if not _is_hashed(item) and _is_unsplit(there, low, high) and _is_empty(item, low, high):
                    steps.append(_step(item, "moveRange", min=low, max=high, toShard=name))
                else:
                    left[item.collection.name] = left.get(item.collection.name, 0) + 1
    return Presplit(tuple(steps), left)


def apply(step: Step) -> None:
    """Tell mongos one step. Raises CannotShard with what the server said."""
    keys.run_on_mongos(step.alias, step.command, about=next(iter(step.command.values())))


def _boundary_values(item: DeclaredCollection, count: int) -> Iterator[Any]:
    """Yield where ranges begin, and the end of the last."""
    _path, least = _first_field(item)
    yield MinKey()
    for number in range(1, count):
        yield least(f"{number * 0x10000 // count:04x}")
    yield MaxKey()


def _first_field(item: DeclaredCollection) -> tuple[str, Any]:
    """Return the first field of a collection's key, and what makes the least of its values, None where they are not spread."""
    key = item.collection.shard_key
    return (key.keys[0][0], key.least) if key else ("", None)


def _edge(item: DeclaredCollection, value: Any) -> Document:
    """Return the place in a collection's key before which all lower values of its first field are, and no other."""
    assert item.collection.shard_key is not None
    rest = MaxKey() if isinstance(value, MaxKey) else MinKey()
    return {**{path: rest for path, _way in item.collection.shard_key.keys}, _first_field(item)[0]: value}


def _shard_of(chunks: Sequence[Document], low: Document) -> str:
    """Return the shard that has what follows `low`."""
    return str([chunk["shard"] for chunk in chunks if _sort_key(chunk["min"]) <= _sort_key(low)][-1])


def _is_unsplit(there: Sequence[Document], low: Document, high: Document) -> bool:
    return not any(_sort_key(low) < _sort_key(edge) < _sort_key(high) for edge in there)


def _sort_key(edge: Document) -> tuple[Any, ...]:
    return tuple(edge.values())


def _is_hashed(item: DeclaredCollection) -> bool:
    return item.collection.shard_key is not None and item.collection.shard_key.keys[0][1] == "hashed"


def _is_cut_by_server(
    item: DeclaredCollection, entry: Document | None, chunks: Sequence[Document], edges: Sequence[Document]
) -> bool:
    """Return whether the server has cut a hashed collection, or will: it does where there is nothing in it yet, into two chunks
    a shard, and from MongoDB 8.0 into one."""
    if entry is None:
        return database(item.alias)[item.collection.name].find_one({}, {"_id": 1}) is None
    is_one_a_shard = 1 < len(chunks) == len({chunk["shard"] for chunk in chunks})
    return is_one_a_shard or any(chunk["min"] not in edges for chunk in chunks)


def _is_empty(item: DeclaredCollection, low: Document, high: Document) -> bool:
    path, _least = _first_field(item)
    inside = {path: {"$gte": low[path], "$lt": high[path]}}
    return database(item.alias)[item.collection.name].find_one(inside, {"_id": 1}) is None


def _step(item: DeclaredCollection, command: str, **more: Any) -> Step:
    return Step(item.alias, {command: _namespace(item), **more})


def _namespace(item: DeclaredCollection) -> str:
    return f"{database(item.alias).name}.{item.collection.name}"


def to_mongosh(value: Any) -> str:
    """Return a command as mongosh takes it."""
    match value:
        case Mapping():
            return f"{{{', '.join(f'{json.dumps(key)}: {to_mongosh(one)}' for key, one in value.items())}}}"
        case MinKey() | MaxKey():
            return f"{type(value).__name__}()"
        case Int64():
            return f'NumberLong("{value}")'
        case ObjectId():
            return f"ObjectId({json.dumps(str(value))})"
    return json.dumps(value)
