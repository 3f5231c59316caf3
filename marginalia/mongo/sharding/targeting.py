"""Whether a query can be sent to the shards that hold what it is about, or must ask every one.

mongos goes by the filter: one that says of the first field of the shard key what it is, or between what it lies, is sent
only to the shards with such values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from marginalia.mongo.collections import Keys, app_modules

# What says nothing of where a value lies.
_SCATTERED = {"$ne", "$nin", "$not", "$exists", "$type", "$regex", "$mod", "$all", "$elemMatch", "$size"}


@dataclass(frozen=True)
class Broadcast:
    """Commands that ask every shard, known by the fields of their filter, and why that is right (one sentence)."""

    collection: str
    paths: tuple[str, ...]
    reason: str


def broadcasts() -> list[Broadcast]:
    """Return the exceptions that the installed apps declare in BROADCASTS of their `doctor` modules."""
    return [broadcast for module in app_modules("doctor") for broadcast in getattr(module, "BROADCASTS", ())]


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


def is_exact(condition: Any) -> bool:
    """Return whether a condition says what a value is."""
    return (
        not isinstance(condition, Mapping) or not any(name.startswith("$") for name in condition) or "$eq" in condition
    )


def _is_value(condition: Any) -> bool:
    return is_exact(condition) or "$in" in condition


def _is_bounded(condition: Mapping[str, Any]) -> bool:
    return bool({name for name in condition if name.startswith("$")} - _SCATTERED)
