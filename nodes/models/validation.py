"""Validate stored metadata when it is read. A document with invalid metadata is damaged, and lists omit it."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.reading import Malformed
from nodes.content import upgrading
from nodes.types import NEVER

# The fields that every stored node must have, and the classes of their values.
REQUIRED_FIELDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("type", "slug", "title"), (str,)),
    **dict.fromkeys(("created", "updated", "expires"), (datetime,)),
    "nonce": (ObjectId,),
    "parent_id": (ObjectId, type(None)),
    "published": (datetime, type(None)),
}
# The fields that determine whether readers can see a node.
VISIBILITY_FIELDS = ("type", "parent_id", "published", "expires")
_OPTIONAL: dict[str, tuple[type, ...]] = {
    "author": (Mapping, type(None)),
    "tags": (list, type(None)),
    "summary": (str, type(None)),
    "detail": (Mapping, type(None)),
    upgrading.VERSION: (int, type(None)),
}
# The range of valid times. Python supports the years 1 to 9999, but a time on the first or last day can be outside
# these years in another time zone.
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_LAST = NEVER


def check_metadata(metadata: Any, fields: Collection[str] = REQUIRED_FIELDS) -> None:
    """Raise Malformed if stored metadata lacks one of `fields`, or if one of their values has the wrong type."""
    if not isinstance(metadata, Mapping):
        raise Malformed("metadata is missing or has another type")
    for name in fields:
        if not isinstance(metadata.get(name, ...), REQUIRED_FIELDS[name]):
            raise Malformed(f"{name} is missing or has another type")
        if isinstance(metadata[name], datetime) and not _FIRST <= _aware(metadata[name]) <= _LAST:
            raise Malformed(f"{name} is before the year 1 or after 9999")
    for name, classes in _OPTIONAL.items():
        if not isinstance(metadata.get(name), classes):
            raise Malformed(f"{name} has another type")
    if not all(isinstance(tag, str) for tag in metadata.get("tags") or ()):
        raise Malformed("tags contains a value that is not text")


def _aware(moment: datetime) -> datetime:
    """Return `moment` with a time zone. The ORM's connection returns times without a time zone."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
