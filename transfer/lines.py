"""A document as one line of canonical extended JSON. No values are taken but those that nodes and comments hold."""

from datetime import UTC, datetime
from typing import Any

import bson
from bson import Decimal128, ObjectId, json_util
from bson.errors import BSONError
from bson.int64 import Int64

_WRITTEN = json_util.CANONICAL_JSON_OPTIONS
_READ = _WRITTEN.with_options(tz_aware=True, tzinfo=UTC)
# The server's own bounds, of bytes and of documents in documents.
LARGEST = 16 << 20
DEEPEST = 90
# Each value beyond the first has one of these signs before it. A document of LARGEST has room for at most 2,600,000 of them,
# one of a site for a few, but for what its texts have; read, a value takes up to forty times the memory of its sign.
_SIGNS = (b"{", b"[", b",")
MOST_SIGNS = 1_000_000
# These alone, none made of them: code is a str too.
_VALUES = frozenset({str, bool, int, Int64, float, datetime, ObjectId, Decimal128, type(None)})


class BadLine(Exception):
    """The line is no document that an export holds."""


def encoded(record: dict[str, Any]) -> bytes:
    """Return a document as a line."""
    return json_util.dumps(record, json_options=_WRITTEN, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def decoded(line: bytes) -> dict[str, Any]:
    """Return the document of a line. Raises BadLine."""
    if sum(map(line.count, _SIGNS)) > MOST_SIGNS:
        raise BadLine("it has too many values")
    try:
        record = json_util.loads(line.decode(), json_options=_READ)
        _check(record)
        # What else no document can hold: numbers of more than eight bytes, halves of characters.
        if len(bson.encode(record)) > LARGEST:
            raise ValueError("it is too large")
    except (ValueError, TypeError, OverflowError, RecursionError, BSONError) as error:
        raise BadLine(str(error)) from error
    if not isinstance(record, dict):
        raise BadLine(f"it is {type(record).__name__}")
    return record


def _check(value: Any, depth: int = 0) -> None:
    """Raise TypeError for a value, ValueError for the name of a field or a depth, that no document of the site has."""
    if depth > DEEPEST:
        raise ValueError("its parts stand too deep in each other")
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.startswith("$") or "." in name or "\0" in name:
                raise ValueError(f"a field cannot be called {name[:40]!r}")
            _check(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, depth + 1)
    elif type(value) not in _VALUES:
        raise TypeError(f"it holds a value of the type {type(value).__name__}")
