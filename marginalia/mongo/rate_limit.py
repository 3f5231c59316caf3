"""Rate limits that all processes share. Each key has a document with the times of allowed calls.

The limits use a sliding window: at most `limit` calls are allowed in any period of `seconds`. A single findAndModify
command decides based on the server's clock, so concurrent callers can't exceed the limit. A TTL index deletes old
documents.
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from pymongo import ReturnDocument

from marginalia.mongo.collections import Collection, Index, ShardKey, least_hash
from marginalia.mongo.connection import database
from marginalia.mongo.schemas import DATE, TEXT, array_of, document

COLLECTION = "rate_limits"
COLLECTIONS = (
    Collection(
        COLLECTION,
        (Index("by_expiry", (("expires", 1),), expire_after_seconds=0),),
        validator=document({"_id": TEXT, "passed": array_of(document({"token": TEXT, "at": DATE})), "expires": DATE}),
        shard_key=ShardKey(
            (("_id", "hashed"),), reason="one findAndModify per comment or login, always by _id", least=least_hash
        ),
    ),
)


@dataclass(frozen=True)
class RateLimitResult:
    """The result of counting a call.

    Attributes:
        allowed: Whether the call is allowed.
        remaining: The number of further calls that are currently allowed.
        reset_seconds: The number of seconds until the oldest call expires, at least 1.
    """

    allowed: bool
    remaining: int
    reset_seconds: int


def allow(key: str, *, limit: int, seconds: int, token: str, alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether one more call is allowed under `key`. If so, count the call.

    Args:
        key: The name of the limit.
        limit: The maximum number of calls in the window.
        seconds: The length of the window.
        token: An id for the call. If a call is repeated with the same token, it is allowed again but counted only once.
        alias: The alias of the connection.
    """
    return count(key, limit=limit, seconds=seconds, token=token, alias=alias).allowed


def count(
    key: str, *, limit: int, seconds: int, token: str, cost: int = 1, alias: str = DEFAULT_DB_ALIAS
) -> RateLimitResult:
    """Count a call under `key` if it is allowed, and return the result.

    The arguments are the same as for `allow`. An allowed call counts as `cost` calls.
    """
    recent = {
        "$filter": {
            "input": {"$ifNull": ["$passed", []]},
            "cond": {"$gt": ["$$this.at", {"$subtract": ["$$NOW", seconds * 1000]}]},
        }
    }
    has_room = {"$lte": [{"$size": "$passed"}, limit - cost]}
    passes = {"$and": [{"$not": [{"$in": [_literal(token), "$passed.token"]}]}, has_room]}
    new_entry = {"token": _literal(token), "at": "$$NOW"}
    document = database(alias)[COLLECTION].find_one_and_update(
        {"_id": key},
        [
            {"$set": {"passed": recent}},
            {"$set": {"passed": {"$cond": [passes, {"$concatArrays": ["$passed", [new_entry] * cost]}, "$passed"]}}},
            {"$set": {"expires": {"$add": ["$$NOW", seconds * 1000]}}},
        ],
        upsert=True,
        return_document=ReturnDocument.AFTER,
    )
    assert document is not None  # the upsert inserts a document if there is none
    passed = document["passed"]
    # The server's clock sets both `expires` and the times of the calls, so these times can be compared.
    moment = document["expires"] - timedelta(seconds=seconds)
    first = min((entry["at"] for entry in passed), default=moment)
    wait = max(1, math.ceil((first + timedelta(seconds=seconds) - moment).total_seconds()))
    return RateLimitResult(any(entry["token"] == token for entry in passed), max(limit - len(passed), 0), wait)


def refund(key: str, *, token: str, alias: str = DEFAULT_DB_ALIAS) -> None:
    """Undo a call to `allow`. Call this function if the allowed action didn't take place."""
    database(alias)[COLLECTION].update_one({"_id": key}, {"$pull": {"passed": {"token": token}}})


def reset(key: str, alias: str = DEFAULT_DB_ALIAS) -> int:
    """Reset the limit `key`. Return the number of deleted documents, 0 or 1."""
    return int(database(alias)[COLLECTION].delete_one({"_id": key}).deleted_count)


def _literal(value: str) -> dict[str, Any]:
    # Without $literal, a string that begins with $ would be treated as an expression in a pipeline.
    return {"$literal": value}
