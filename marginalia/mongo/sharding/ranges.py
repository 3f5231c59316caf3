"""Presplitting: split collections with evenly distributed ids into ranges, and distribute the ranges across the shards.

The balancer doesn't move ranges until one shard has much more data than another. Until then, all data is on the first
shard.
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

# Maximum number of ranges. Four hexadecimal digits would allow more, but a shard doesn't need more than a few ranges.
MAX_RANGES = 4_096


@dataclass(frozen=True)
class Step:
    """A command that splits a range, moves it or assigns it to a zone. It is run on the admin database of mongos."""

    alias: str
    command: dict[str, Any]

    def mongosh(self) -> str:
        """Return the equivalent mongosh command, which requires a connection to a mongos."""
        return f"db.adminCommand({to_mongosh(self.command)})"


@dataclass(frozen=True)
class Presplit:
    """A plan for splitting and moving ranges.

    Attributes:
        steps: The steps for mongos, in order.
        not_moved: For each collection, the number of ranges that aren't moved because they contain data.
    """

    steps: tuple[Step, ...]
    not_moved: Mapping[str, int]


def presplit(count: int, *, zones: bool = False, shards: Sequence[str] = ()) -> Presplit:
    """Return the steps that split collections with evenly distributed ids into ranges and distribute the ranges.

    Steps that have already been done are omitted. Hashed collections that were empty when they were sharded are also
    omitted, because the server has already distributed them.

    Args:
        count: The number of ranges. All have the same width.
        zones: Whether each shard becomes a zone with the shard's name. If so, the balancer moves all ranges to their
            zones, even ranges that contain data. Otherwise, only empty ranges are moved, to each shard in turn.
        shards: The names of the shards. If empty, they are read from mongos.

    Raises:
        CannotShard: There is no mongos from which to read the names of the shards.
    """
    steps: list[Step] = []
    left: dict[str, int] = {}
    for alias in mongodb_aliases():
        entries = keys.sharded(alias) if keys.is_mongos(alias) else {}
        names = shards or (keys.shards(alias) if keys.is_mongos(alias) else ())
        if not names:
            raise CannotShard("Only a mongos knows the shards. Specify each with --shard.")
        spread_collections = [item for item in mongodb_collections(alias) if _first_field(item)[1]]
        if spread_collections and zones:
            steps += [Step(alias, {"addShardToZone": name, "zone": name}) for name in names]
        for item in spread_collections:
            entry = entries.get(_namespace(item))
            unsplit: list[Document] = [{"min": _edge(item, MinKey()), "shard": ""}]
            chunks = keys.chunks(alias, entry) if entry else unsplit
            boundaries = [_edge(item, value) for value in _boundary_values(item, count)]
            starts = [chunk["min"] for chunk in chunks]
            if _is_hashed(item) and _is_cut_by_server(item, entry, chunks, boundaries):
                continue
            steps += [_step(item, "split", middle=boundary) for boundary in boundaries[1:-1] if boundary not in starts]
            for number, (low, high) in enumerate(pairwise(boundaries)):
                name = names[number % len(names)]
                if zones:
                    steps.append(_step(item, "updateZoneKeyRange", min=low, max=high, zone=name))
                if _shard_of(chunks, low) == name:
                    continue
                if not _is_hashed(item) and _is_unsplit(starts, low, high) and _is_empty(item, low, high):
                    steps.append(_step(item, "moveRange", min=low, max=high, toShard=name))
                else:
                    left[item.collection.name] = left.get(item.collection.name, 0) + 1
    return Presplit(tuple(steps), left)


def apply(step: Step) -> None:
    """Apply one step on mongos.

    Raises:
        CannotShard: The server rejected the step. The message contains the server's error.
    """
    keys.run_on_mongos(step.alias, step.command, subject=next(iter(step.command.values())))


def _boundary_values(item: DeclaredCollection, count: int) -> Iterator[Any]:
    """Yield the first value of each range, and the end of the last range."""
    _path, least = _first_field(item)
    yield MinKey()
    for number in range(1, count):
        yield least(f"{number * 0x10000 // count:04x}")
    yield MaxKey()


def _first_field(item: DeclaredCollection) -> tuple[str, Any]:
    """Return the first field of a collection's shard key, and the key's `least` function (None if it has none)."""
    key = item.collection.shard_key
    return (key.keys[0][0], key.least) if key else ("", None)


def _edge(item: DeclaredCollection, value: Any) -> Document:
    """Return the shard key at the start of a range in which the key's first field is `value` or higher."""
    assert item.collection.shard_key is not None
    rest = MaxKey() if isinstance(value, MaxKey) else MinKey()
    return {**{path: rest for path, _way in item.collection.shard_key.keys}, _first_field(item)[0]: value}


def _shard_of(chunks: Sequence[Document], low: Document) -> str:
    """Return the shard that contains the range that begins at `low`."""
    return str([chunk["shard"] for chunk in chunks if _sort_key(chunk["min"]) <= _sort_key(low)][-1])


def _is_unsplit(starts: Sequence[Document], low: Document, high: Document) -> bool:
    return not any(_sort_key(low) < _sort_key(boundary) < _sort_key(high) for boundary in starts)


def _sort_key(boundary: Document) -> tuple[Any, ...]:
    return tuple(boundary.values())


def _is_hashed(item: DeclaredCollection) -> bool:
    return item.collection.shard_key is not None and item.collection.shard_key.keys[0][1] == "hashed"


def _is_cut_by_server(
    item: DeclaredCollection, entry: Document | None, chunks: Sequence[Document], boundaries: Sequence[Document]
) -> bool:
    """Return whether the server has split a hashed collection itself, or will do so.

    The server splits an empty hashed collection into two chunks per shard, or one chunk per shard since MongoDB 8.0.
    """
    if entry is None:
        return database(item.alias)[item.collection.name].find_one({}, {"_id": 1}) is None
    is_one_a_shard = 1 < len(chunks) == len({chunk["shard"] for chunk in chunks})
    return is_one_a_shard or any(chunk["min"] not in boundaries for chunk in chunks)


def _is_empty(item: DeclaredCollection, low: Document, high: Document) -> bool:
    path, _least = _first_field(item)
    inside = {path: {"$gte": low[path], "$lt": high[path]}}
    return database(item.alias)[item.collection.name].find_one(inside, {"_id": 1}) is None


def _step(item: DeclaredCollection, command: str, **arguments: Any) -> Step:
    return Step(item.alias, {command: _namespace(item), **arguments})


def _namespace(item: DeclaredCollection) -> str:
    return f"{database(item.alias).name}.{item.collection.name}"


def to_mongosh(value: Any) -> str:
    """Return a command as an expression for mongosh."""
    match value:
        case Mapping():
            return f"{{{', '.join(f'{json.dumps(key)}: {to_mongosh(item)}' for key, item in value.items())}}}"
        case MinKey() | MaxKey():
            return f"{type(value).__name__}()"
        case Int64():
            return f'NumberLong("{value}")'
        case ObjectId():
            return f"ObjectId({json.dumps(str(value))})"
    return json.dumps(value)
