"""Conversion of documents to lines of canonical extended JSON, and back.

Only types that occur in nodes and comments are accepted.
"""

from datetime import UTC, datetime
from typing import Any

import bson
from bson import Decimal128, ObjectId, json_util
from bson.errors import BSONError
from bson.int64 import Int64

_WRITE_OPTIONS = json_util.CANONICAL_JSON_OPTIONS
_READ_OPTIONS = _WRITE_OPTIONS.with_options(tz_aware=True, tzinfo=UTC)
# The maximum size of a document in bytes, which is MongoDB's own limit, and the maximum nesting depth of its values.
LARGEST = 16 << 20
DEEPEST = 90
# Signs that begin or separate values in JSON, and how many of them a line can contain. The limit protects against lines
# with very many small values, which need up to forty times as much memory when they are decoded. A document of LARGEST
# bytes could contain up to 2,600,000 signs, but real documents contain few of them outside their body text.
_SIGNS = (b"{", b"[", b",")
MOST_SIGNS = 1_000_000
# The accepted types. Subclasses of these types are rejected, because bson.Code, for example, is a subclass of str.
_VALUES = frozenset({str, bool, int, Int64, float, datetime, ObjectId, Decimal128, type(None)})


class BadLine(Exception):
    """The line is not a document that an export can contain."""


def encode(record: dict[str, Any]) -> bytes:
    """Convert a document to a line."""
    return (
        json_util.dumps(record, json_options=_WRITE_OPTIONS, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    )


def decode(line: bytes) -> dict[str, Any]:
    """Convert a line to a document.

    Raises:
        BadLine: The line doesn't contain a document that an export can contain.
    """
    if sum(map(line.count, _SIGNS)) > MOST_SIGNS:
        raise BadLine("it has too many values")
    try:
        record = json_util.loads(line.decode(), json_options=_READ_OPTIONS)
        _check(record)
        # `bson.encode` also rejects numbers of more than eight bytes, and lone surrogates.
        if len(bson.encode(record)) > LARGEST:
            raise ValueError("it is too large")
    except (ValueError, TypeError, OverflowError, RecursionError, BSONError) as error:
        raise BadLine(str(error)) from error
    if not isinstance(record, dict):
        raise BadLine(f"it is {type(record).__name__}")
    return record


def _check(value: Any, depth: int = 0) -> None:
    """Check that the site's documents can contain this value.

    Raises:
        TypeError: The type is not accepted.
        ValueError: The value contains a field name that is not accepted, or is nested too deeply.
    """
    if depth > DEEPEST:
        raise ValueError("it is nested too deeply")
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.startswith("$") or "." in name or "\0" in name:
                raise ValueError(f"a field can't be called {name[:40]!r}")
            _check(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, depth + 1)
    elif type(value) not in _VALUES:
        raise TypeError(f"it contains a value of the type {type(value).__name__}")
