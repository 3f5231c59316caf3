"""Targeting: whether mongos can send a query to only some of the shards, or must send it to all shards.

mongos decides this based on the filter. If the filter specifies a value or a range for the first field of the shard
key, mongos sends the query only to shards with such values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from marginalia.mongo.collections import Keys, app_modules

# Operators that don't limit a field to a range.
_SCATTERED = {"$ne", "$nin", "$not", "$exists", "$type", "$regex", "$mod", "$all", "$elemMatch", "$size"}


@dataclass(frozen=True)
class Broadcast:
    """A kind of command that is sent to every shard.

    `paths` contains the fields in the command's filter, and `reason` explains why it is acceptable to send the command
    to every shard.
    """

    collection: str
    paths: tuple[str, ...]
    reason: str


def broadcasts() -> list[Broadcast]:
    """Return the broadcasts that the installed apps declare as BROADCASTS in their `doctor` modules."""
    return [broadcast for module in app_modules("doctor") for broadcast in getattr(module, "BROADCASTS", ())]


def conditions(filter: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (path, condition) for every condition that must be true, in the filter itself and in its $and clauses."""
    for path, condition in filter.items():
        if path == "$and":
            for part in condition:
                yield from conditions(part)
        elif not path.startswith("$"):
            yield path, condition


def is_targeted(filter: Mapping[str, Any], key: Keys) -> bool:
    """Return whether a filter limits the first field of a shard key. For a hashed field, a range isn't enough."""
    (first, kind), *_rest = key
    limits = [condition for path, condition in conditions(filter) if path == first]
    if not limits and "$or" in filter:
        return all(is_targeted(part, key) for part in filter["$or"])
    return any(_is_value(condition) or (kind != "hashed" and _is_bounded(condition)) for condition in limits)


def is_exact(condition: Any) -> bool:
    """Return whether a condition requires one exact value."""
    return (
        not isinstance(condition, Mapping) or not any(name.startswith("$") for name in condition) or "$eq" in condition
    )


def _is_value(condition: Any) -> bool:
    return is_exact(condition) or "$in" in condition


def _is_bounded(condition: Mapping[str, Any]) -> bool:
    return bool({name for name in condition if name.startswith("$")} - _SCATTERED)
