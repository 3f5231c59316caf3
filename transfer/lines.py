"""Documents as lines of canonical extended JSON. Only types of values that nodes and comments contain are accepted."""

from datetime import UTC, datetime
from typing import Any

import bson
from bson import Decimal128, ObjectId, json_util
from bson.errors import BSONError
from bson.int64 import Int64

_WRITE_OPTIONS = json_util.CANONICAL_JSON_OPTIONS
_READ_OPTIONS = _WRITE_OPTIONS.with_options(tz_aware=True, tzinfo=UTC)
# MongoDB's own limits: bytes of a document, and levels of nested documents.
LARGEST = 16 << 20
DEEPEST = 90
# Each value except the first follows one of these characters. A document of LARGEST bytes can contain up to 2,600,000 of them.
# A real document contains few, apart from those in its texts. A decoded value needs up to forty times the memory of its
# character.
_SIGNS = (b"{", b"[", b",")
MOST_SIGNS = 1_000_000
# The accepted types. Subclasses are refused, because bson.Code is a subclass of str.
_VALUES = frozenset({str, bool, int, Int64, float, datetime, ObjectId, Decimal128, type(None)})


class BadLine(Exception):
    """The line is not a document that an export contains."""


def encode(record: dict[str, Any]) -> bytes:
    """Return a document as a line."""
    return (
        json_util.dumps(record, json_options=_WRITE_OPTIONS, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    )


def decode(line: bytes) -> dict[str, Any]:
    """Return the document of a line. Raises BadLine."""
    if sum(map(line.count, _SIGNS)) > MOST_SIGNS:
        raise BadLine("it has too many values")
    try:
        record = json_util.loads(line.decode(), json_options=_READ_OPTIONS)
        _check(record)
        # Encoding also refuses numbers of more than eight bytes and lone surrogates.
        if len(bson.encode(record)) > LARGEST:
            raise ValueError("it is too large")
    except (ValueError, TypeError, OverflowError, RecursionError, BSONError) as error:
        raise BadLine(str(error)) from error
    if not isinstance(record, dict):
        raise BadLine(f"it is {type(record).__name__}")
    return record


def _check(value: Any, depth: int = 0) -> None:
    """Raise TypeError for a type, and ValueError for a field name or a depth, that no document of the site has."""
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
