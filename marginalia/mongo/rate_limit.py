"""Rate limits that hold over all processes: one document a key, the times of what passed in it, removed by a TTL index.

The window slides: at no moment have more than `limit` passed in the `seconds` before it. One findAndModify decides, by the
server's clock, so that concurrent callers cannot all pass.
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
            (("_id", "hashed"),), reason="one findAndModify a post or log-in, always by _id", least=least_hash
        ),
    ),
)


@dataclass(frozen=True)
class RateLimitResult:
    """Whether one more passed, how many still may, and after how many seconds (1 at least) the first of them is forgotten."""

    allowed: bool
    remaining: int
    reset_seconds: int


def allow(key: str, *, limit: int, seconds: int, token: str, alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether one more may pass under `key`, and count it if so.

    `token` names what passes: the same one again passes again without being counted twice.
    """
    return count(key, limit=limit, seconds=seconds, token=token, alias=alias).allowed


def count(
    key: str, *, limit: int, seconds: int, token: str, cost: int = 1, alias: str = DEFAULT_DB_ALIAS
) -> RateLimitResult:
    """Count one more under `key` if it may pass, as `take` does, and return what came of it. It is counted `cost` times."""
    recent = {
        "$filter": {
            "input": {"$ifNull": ["$passed", []]},
            "cond": {"$gt": ["$$this.at", {"$subtract": ["$$NOW", seconds * 1000]}]},
        }
    }
    has_room = {"$lte": [{"$size": "$passed"}, limit - cost]}
    passes = {"$and": [{"$not": [{"$in": [_literal(token), "$passed.token"]}]}, has_room]}
    entry = {"token": _literal(token), "at": "$$NOW"}
    document = database(alias)[COLLECTION].find_one_and_update(
        {"_id": key},
        [
            {"$set": {"passed": recent}},
            {"$set": {"passed": {"$cond": [passes, {"$concatArrays": ["$passed", [entry] * cost]}, "$passed"]}}},
            {"$set": {"expires": {"$add": ["$$NOW", seconds * 1000]}}},
        ],
        upsert=True,
        return_document=ReturnDocument.AFTER,
    )
    assert document is not None  # as it is inserted where there is none
    passed = document["passed"]
    # By the server's clock, which wrote both.
    moment = document["expires"] - timedelta(seconds=seconds)
    first = min((one["at"] for one in passed), default=moment)
    wait = max(1, math.ceil((first + timedelta(seconds=seconds) - moment).total_seconds()))
    return RateLimitResult(any(one["token"] == token for one in passed), max(limit - len(passed), 0), wait)


def refund(key: str, *, token: str, alias: str = DEFAULT_DB_ALIAS) -> None:
    """Undo a `take`: what passed did not come about."""
    database(alias)[COLLECTION].update_one({"_id": key}, {"$pull": {"passed": {"token": token}}})


def reset(key: str, alias: str = DEFAULT_DB_ALIAS) -> int:
    """Delete what was counted under a key; return whether anything was, as 0 or 1."""
    return int(database(alias)[COLLECTION].delete_one({"_id": key}).deleted_count)


def _literal(value: str) -> dict[str, Any]:
    # In a pipeline a string that begins with $ is an expression.
    return {"$literal": value}
