"""Stored likes, one document per comment and reader, and the number of likes of each comment.

A unique index makes sure that a reader is counted only once. The number is changed after the like was stored or deleted,
so a crash in between leaves a wrong number. `Backend.audit` finds it, and `Backend.repair` corrects it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import UpdateOne
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched

# Maximum number of likes that are listed for a reader in one discussion.
MAX_LISTED = 1_000
# How many numbers of likes are stored with one command.
GROUP = 1_000


class Likes:
    """Access to the collections `comments.likes` and `comments.like_counts`.

    `who` identifies a reader. The numbers of likes include those that the comment had when it was imported.
    """

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.likes"]
        self.totals = db["comments.like_counts"]
        self.discussions = db["discussions"]

    def add(self, target: Target, slug: str, who: str) -> bool:
        """Store that a reader likes a comment. Return False if the reader already liked the comment."""
        try:
            self.stored.insert_one({**_key(target, slug), "who": who, "at": now()})
        except DuplicateKeyError:
            return False
        self._count(target, slug, 1)
        return True

    def remove(self, target: Target, slug: str, who: str) -> bool:
        """Delete a reader's like. Return False if the reader didn't like the comment."""
        if not self.stored.delete_one({**_key(target, slug), "who": who}).deleted_count:
            return False
        self._count(target, slug, -1)
        return True

    def raise_to(self, wanted: Mapping[Target, Mapping[str, int]]) -> None:
        """Make sure that comments have at least these numbers of likes, for example after an import.

        `wanted` contains the numbers by target and slug. Repeating this changes nothing.
        """
        totals = {(target, slug): total for target, group in wanted.items() for slug, total in group.items()}
        # Reading is faster than writing the same numbers again.
        slugs = {slug for _target, slug in totals}
        query = {"discussion_id": {"$in": [target.id for target in wanted]}, "slug": {"$in": list(slugs)}}
        for stored in self.totals.find(query) if totals else ():
            key = Target.from_id(stored["discussion_id"]), stored["slug"]
            if stored["count"] + stored["imported"] >= totals.get(key, 0):
                totals.pop(key, None)
        if not totals:
            return
        changed = {target for target, _slug in totals}
        # Discussions must be known to have likes, even if this process dies before the second change of their versions.
        self._note_change(*changed)
        updates = [
            UpdateOne(
                _key(target, slug),
                [
                    {"$set": {"count": {"$ifNull": ["$count", 0]}, "imported": {"$ifNull": ["$imported", 0]}}},
                    {"$set": {"imported": {"$max": ["$imported", {"$subtract": [total, "$count"]}]}}},
                ],
                upsert=True,
            )
            for (target, slug), total in totals.items()
        ]
        for group in batched(updates, GROUP):
            self.totals.bulk_write(group, ordered=False)
        self._note_change(*changed)

    def counts(self, target: Target, slugs: Iterable[str] | None = None) -> dict[str, int]:
        """Return the numbers of likes of comments, keyed by slug. Comments that were never liked are left out.

        If `slugs` is None, return the numbers of all comments of the discussion.
        """
        query = {"discussion_id": target.id, **({} if slugs is None else {"slug": {"$in": list(slugs)}})}
        stored = self.totals.find(query, {"_id": 0, "slug": 1, "count": 1, "imported": 1})
        return {document["slug"]: max(document["count"], 0) + document["imported"] for document in stored}

    def has(self, target: Target, slug: str, who: str) -> bool:
        """Return whether a reader likes a comment."""
        return self.stored.find_one({**_key(target, slug), "who": who}, {"_id": 1}) is not None

    def liked(self, target: Target, who: str) -> set[str]:
        """Return the slugs of the comments of a discussion that a reader likes, at most MAX_LISTED."""
        query = {"who": who, "discussion_id": target.id}
        return {document["slug"] for document in self.stored.find(query, {"slug": 1}).limit(MAX_LISTED)}

    def liked_by(self, who: str) -> Iterator[tuple[Target, str, datetime]]:
        """Yield the target, the slug and the time of each of a reader's likes."""
        for document in self.stored.find({"who": who}):
            yield Target.from_id(document["discussion_id"]), document["slug"], document["at"]

    def erase(self, who: str) -> int:
        """Delete all likes of a reader. Return how many were deleted."""
        return sum(self.remove(target, slug, who) for target, slug, _at in self.liked_by(who))

    def errors(self, target: Target) -> dict[str, int]:
        """Return the comments whose number of likes is wrong, with what has to be added to the number."""
        stages: list[dict[str, Any]] = [
            {"$match": {"discussion_id": target.id}},
            {"$group": {"_id": "$slug", "count": {"$sum": 1}}},
        ]
        actual = {group["_id"]: group["count"] for group in self.stored.aggregate(stages)}
        counted = {document["slug"]: document["count"] for document in self.totals.find({"discussion_id": target.id})}
        differences = {slug: actual.get(slug, 0) - counted.get(slug, 0) for slug in actual.keys() | counted.keys()}
        return {slug: difference for slug, difference in differences.items() if difference}

    def repair(self, target: Target) -> int:
        """Correct the wrong numbers of likes. Return how many there were."""
        errors = self.errors(target)
        for slug, difference in errors.items():
            self._count(target, slug, difference)
        return len(errors)

    def delete(self, target: Target) -> None:
        """Delete all likes in a discussion."""
        for collection in (self.stored, self.totals):
            collection.delete_many({"discussion_id": target.id})

    def _count(self, target: Target, slug: str, change: int) -> None:
        update = {"$inc": {"count": change}, "$setOnInsert": {"imported": 0}}
        self.totals.update_one(_key(target, slug), update, upsert=True)
        self._note_change(target)

    def _note_change(self, *changed: Target) -> None:
        """Set a new version of discussions, so that caches don't show the old numbers."""
        update = {"$set": {"version": ObjectId(), "has_likes": True}}
        # The driver can retry these updates, but not `update_many`.
        self.discussions.bulk_write([UpdateOne({"_id": target.id}, update) for target in changed], ordered=False)


def _key(target: Target, slug: str) -> dict[str, Any]:
    return {"discussion_id": target.id, "slug": slug}
