"""Ranges of the collections whose ids are spread: cut, and dealt out to the shards in turn, before anything is in them.

Left to itself the balancer moves ranges only once a shard has much more than another: until then all lies on the first.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bson import Int64, MaxKey, MinKey, ObjectId

from marginalia.mongo.collections import Declared, aliases, stored
from marginalia.mongo.connection import Document, database
from marginalia.mongo.sharding import keys
from marginalia.mongo.sharding.keys import CannotShard

# Four hexadecimal digits tell more apart, and more than a few a shard serve nothing.
MOST = 4_096


@dataclass(frozen=True)
class Step:
    """A command for the admin database of mongos that cuts, moves or binds a range."""

    alias: str
    command: dict[str, Any]

    def mongosh(self) -> str:
        """Return what to type into mongosh, connected to a mongos, in its place."""
        return f"db.adminCommand({spelled(self.command)})"


@dataclass(frozen=True)
class Presplit:
    """What mongos is to be told, in order; and of how many ranges, by collection, what lies in them stays where it is."""

    steps: tuple[Step, ...]
    left: Mapping[str, int]


def presplit(count: int, *, zones: bool = False, shards: Sequence[str] = ()) -> Presplit:
    """Return what cuts each spread collection into `count` ranges of equal width, and moves those that are empty so that the
    shards have them in turn. With `zones` each shard is a zone of its own name, and the balancer keeps, or brings, its ranges
    there, also those that hold something.

    What is so already is left out; so is what is hashed and was empty when it was sharded, which the server has dealt out.
    `shards`: their names, which only a mongos knows. Raises CannotShard without them.
    """
    steps: list[Step] = []
    left: dict[str, int] = {}
    for alias in aliases():
        entries = keys.sharded(alias) if keys.is_mongos(alias) else {}
        names = shards or (keys.shards(alias) if keys.is_mongos(alias) else ())
        if not names:
            raise CannotShard("Only a mongos knows which shards there are: name each by --shard.")
        spread = [item for item in stored(alias) if _first(item)[1]]
        if spread and zones:
            steps += [Step(alias, {"addShardToZone": name, "zone": name}) for name in names]
        for item in spread:
            entry = entries.get(_namespace(item))
            whole: list[Document] = [{"min": _edge(item, MinKey()), "shard": ""}]
            chunks = keys.chunks(alias, entry) if entry else whole
            edges = [_edge(item, value) for value in _values(item, count)]
            there = [chunk["min"] for chunk in chunks]
            if _is_hashed(item) and _is_cut_by_server(item, entry, chunks, edges):
                continue
            steps += [_step(item, "split", middle=edge) for edge in edges[1:-1] if edge not in there]
            for number, (low, high) in enumerate(pairwise(edges)):
                name = names[number % len(names)]
                if zones:
                    steps.append(_step(item, "updateZoneKeyRange", min=low, max=high, zone=name))
                if _holder(chunks, low) == name:
                    continue
                if not _is_hashed(item) and _is_whole(there, low, high) and _is_empty(item, low, high):
                    steps.append(_step(item, "moveRange", min=low, max=high, toShard=name))
                else:
                    left[item.collection.name] = left.get(item.collection.name, 0) + 1
    return Presplit(tuple(steps), left)


def apply(step: Step) -> None:
    """Tell mongos one step. Raises CannotShard with what the server said."""
    keys.tell(step.alias, step.command, about=next(iter(step.command.values())))


def _values(item: Declared, count: int) -> Iterator[Any]:
    """Yield where ranges begin, and the end of the last."""
    _path, least = _first(item)
    yield MinKey()
    for number in range(1, count):
        yield least(f"{number * 0x10000 // count:04x}")
    yield MaxKey()


def _first(item: Declared) -> tuple[str, Any]:
    """Return the first field of a collection's key, and what makes the least of its values, None where they are not spread."""
    key = item.collection.shard_key
    return (key.keys[0][0], key.least) if key else ("", None)


def _edge(item: Declared, value: Any) -> Document:
    """Return the place in a collection's key before which all lower values of its first field are, and no other."""
    assert item.collection.shard_key is not None
    rest = MaxKey() if isinstance(value, MaxKey) else MinKey()
    return {**{path: rest for path, _way in item.collection.shard_key.keys}, _first(item)[0]: value}


def _holder(chunks: Sequence[Document], low: Document) -> str:
    """Return the shard that has what follows `low`."""
    return str([chunk["shard"] for chunk in chunks if _order(chunk["min"]) <= _order(low)][-1])


def _is_whole(there: Sequence[Document], low: Document, high: Document) -> bool:
    return not any(_order(low) < _order(edge) < _order(high) for edge in there)


def _order(edge: Document) -> tuple[Any, ...]:
    return tuple(edge.values())


def _is_hashed(item: Declared) -> bool:
    return item.collection.shard_key is not None and item.collection.shard_key.keys[0][1] == "hashed"


def _is_cut_by_server(
    item: Declared, entry: Document | None, chunks: Sequence[Document], edges: Sequence[Document]
) -> bool:
    """Return whether the server has cut a hashed collection, or will: it does where there is nothing in it yet, into two chunks
    a shard, and from MongoDB 8.0 into one."""
    if entry is None:
        return database(item.alias)[item.collection.name].find_one({}, {"_id": 1}) is None
    is_one_a_shard = 1 < len(chunks) == len({chunk["shard"] for chunk in chunks})
    return is_one_a_shard or any(chunk["min"] not in edges for chunk in chunks)


def _is_empty(item: Declared, low: Document, high: Document) -> bool:
    path, _least = _first(item)
    inside = {path: {"$gte": low[path], "$lt": high[path]}}
    return database(item.alias)[item.collection.name].find_one(inside, {"_id": 1}) is None


def _step(item: Declared, command: str, **more: Any) -> Step:
    return Step(item.alias, {command: _namespace(item), **more})


def _namespace(item: Declared) -> str:
    return f"{database(item.alias).name}.{item.collection.name}"


def spelled(value: Any) -> str:
    """Return a command as mongosh takes it."""
    match value:
        case Mapping():
            return f"{{{', '.join(f'{json.dumps(key)}: {spelled(one)}' for key, one in value.items())}}}"
        case MinKey() | MaxKey():
            return f"{type(value).__name__}()"
        case Int64():
            return f'NumberLong("{value}")'
        case ObjectId():
            return f"ObjectId({json.dumps(str(value))})"
    return json.dumps(value)
