"""Tolerant reads: damaged documents are skipped, and a missing index only makes reads slow.

The doctor reports both problems. Each process logs a problem only once per hour.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

from pymongo.collection import Collection
from pymongo.errors import OperationFailure

log = logging.getLogger(__name__)
T = TypeVar("T")

# The number of seconds until the same problem is logged again, and the number of problems remembered until then.
LOG_INTERVAL_SECONDS, MAX_LOGGED = 3600, 1_000
# Exceptions that code raises if it reads a document in which a field is missing or a value has the wrong type.
MALFORMED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)
# An error code from src/mongo/base/error_codes.yml. The server uses this code for many errors, so bad hints are also
# recognized by their message.
BAD_VALUE = 2
BAD_HINT_MESSAGE = "hint provided does not correspond"


class Malformed(ValueError):
    """A stored document, or a part of it, lacks a field or has a value of the wrong type."""


def read_documents(collection: str, documents: Iterable[Any], read: Callable[[Any], T]) -> Iterator[T]:
    """Yield `read(document)` for each stored document. Documents that `read` can't read are logged and skipped."""
    for document in documents:
        try:
            value = read(document)
        except MALFORMED as error:
            key = document.get("_id", document.get("slug")) if isinstance(document, Mapping) else None
            log_skipped(collection, key, f"{type(error).__name__}: {error}")
        else:
            yield value


def read_document(collection: str, document: Any, read: Callable[[Any], T]) -> T | None:
    """Return `read(document)`, or None if `document` is None or can't be read. Unreadable documents are logged."""
    return next(read_documents(collection, [document], read), None) if document is not None else None


def log_skipped(collection: str, key: Any, reason: str) -> None:
    """Log that a damaged stored document is hidden from readers."""
    _log(f"The document {key} of {collection} can't be read and is left out: {reason}", _period())


def read_with_hint(keys: Any, read: Callable[..., Iterable[T]]) -> Iterator[T]:
    """Return an iterator over the results of `read(hint=keys)`.

    If the index is missing or hidden, the documents are read without a hint.
    """
    try:
        cursor = iter(read(hint=keys))
        first = next(cursor, None)
    except OperationFailure as error:
        if error.code != BAD_VALUE or BAD_HINT_MESSAGE not in str(error):
            raise
        _log(f"The index {keys} is missing, so reads are slow. Run manage.py setup_indexes.", _period())
        return iter(read(hint=None))
    return iter(()) if first is None else chain([first], cursor)


def aggregate_with_hint(collection: Collection[Any], pipeline: Sequence[Mapping[str, Any]], keys: Any) -> Iterator[Any]:
    """Return an iterator over the results of a pipeline. If the index `keys` exists, the pipeline uses it."""
    return read_with_hint(keys, lambda hint: collection.aggregate(pipeline, **({"hint": hint} if hint else {})))


@lru_cache(maxsize=MAX_LOGGED)
def _log(message: str, period: int) -> None:
    log.error("%s", message)


def _period() -> int:
    return int(time.monotonic() // LOG_INTERVAL_SECONDS)
