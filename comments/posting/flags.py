"""Flags: readers point out comments that moderators should see. One document a comment, one flag a reader."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from comments import conf
from comments.types import Comment, Target
from mongo.connection import database

COLLECTION = "comments.flags"
# How many readers are told apart; more are not needed to bring a comment before a moderator.
MOST = 50


@dataclass(frozen=True)
class Flagged:
    """A comment that readers flagged, and how many did."""

    target: Target
    slug: str
    count: int
    last: datetime


def flag(comment: Comment, who: str) -> bool:
    """Flag a comment for a reader ("user:KEY" or "address:HASH"); return whether the reader had not before."""
    known = {"$in": [{"$literal": who}, "$who"]}
    added = {"$concatArrays": ["$who", [{"$literal": who}]]}
    before = _flags().find_one_and_update(
        {"_id": _id(comment.target, comment.slug)},
        [
            {"$set": {"who": {"$ifNull": ["$who", []]}}},
            {"$set": {"who": {"$cond": [{"$or": [known, {"$gte": [{"$size": "$who"}, MOST]}]}, "$who", added]}}},
            {
                "$set": {
                    "discussion_id": {"$literal": comment.target.id},
                    "slug": {"$literal": comment.slug},
                    "count": {"$size": "$who"},
                    "last": "$$NOW",
                }
            },
        ],
        upsert=True,
    )
    return before is None or who not in before["who"]


def flagged(limit: int = 100) -> list[Flagged]:
    """Return the comments that readers flagged and no moderator has looked at since, the latest first."""
    found = _flags().find({}, {"who": 0}).sort([("last", -1), ("_id", -1)]).limit(limit)
    return [Flagged(Target.parse(d["discussion_id"]), d["slug"], d["count"], d["last"]) for d in found]


def count() -> int:
    """Return about how many comments are flagged, from the collection's own record."""
    return int(_flags().estimated_document_count())


def by(user: str) -> list[Flagged]:
    """Return the comments that a user flagged."""
    found = _flags().find({"who": f"user:{user}"}, {"who": 0})
    return [Flagged(Target.parse(d["discussion_id"]), d["slug"], d["count"], d["last"]) for d in found]


def erase(*, user: str = "", address: str = "") -> int:
    """Forget who flagged, where it was this user or somebody at this address (a `key`); the flags themselves stay. Returns
    how many there were."""
    who = {"$in": [f"{kind}:{key}" for kind, key in (("user", user), ("address", address)) if key]}
    changed = _flags().update_many({"who": who}, {"$pull": {"who": who}})
    return int(changed.modified_count)


def settle(target: Target, slug: str) -> None:
    """Forget a comment's flags: a moderator has looked at it."""
    _flags().delete_one({"_id": _id(target, slug)})


def forget(target: Target) -> None:
    """Forget the flags of a discussion that is deleted."""
    _flags().delete_many({"discussion_id": target.id})


def _id(target: Target, slug: str) -> str:
    return f"{target.id} {slug}"


def _flags() -> Any:
    return database(conf.database_alias())[COLLECTION]
