"""What is kept beside discussions: flags, subscriptions, hashes of network addresses."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pymongo.database import Database

from comments.backends.base import Flags, IpHashes, Subscriptions
from comments.backends.stored import Document
from comments.types import Flagged, Subscription, Target
from mongo.connection import now

# How many readers are told apart; more are not needed to bring a comment before a moderator.
MOST = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MongoFlags(Flags):
    """One document a comment, one flag a reader."""

    def __init__(self, db: Database[Document]) -> None:
        self.stored = db["comments.flags"]

    def add(self, target: Target, slug: str, who: str) -> bool:
        known = {"$in": [{"$literal": who}, "$who"]}
        added = {"$concatArrays": ["$who", [{"$literal": who}]]}
        fields = {"discussion_id": {"$literal": target.id}, "slug": {"$literal": slug}}
        before = self.stored.find_one_and_update(
            {"_id": _id(target, slug)},
            [
                {"$set": {"who": {"$ifNull": ["$who", []]}}},
                {"$set": {"who": {"$cond": [{"$or": [known, {"$gte": [{"$size": "$who"}, MOST]}]}, "$who", added]}}},
                {"$set": {**fields, "count": {"$size": "$who"}, "last": "$$NOW"}},
            ],
            upsert=True,
        )
        return before is None or who not in before["who"]

    def newest(self, limit: int) -> list[Flagged]:
        found = self.stored.find({}, {"who": 0}).sort([("last", -1), ("_id", -1)]).limit(limit)
        return [_flagged(document) for document in found]

    def count(self) -> int:
        return self.stored.estimated_document_count()

    def by(self, who: str) -> list[Flagged]:
        return [_flagged(document) for document in self.stored.find({"who": who}, {"who": 0})]

    def erase(self, who: Iterable[str]) -> int:
        wanted = {"$in": list(who)}
        return self.stored.update_many({"who": wanted}, {"$pull": {"who": wanted}}).modified_count

    def settle(self, target: Target, slug: str) -> None:
        self.stored.delete_one({"_id": _id(target, slug)})

    def forget(self, target: Target) -> None:
        self.stored.delete_many({"discussion_id": target.id})


def _id(target: Target, slug: str) -> str:
    return f"{target.id} {slug}"


def _flagged(document: Mapping[str, Any]) -> Flagged:
    return Flagged(Target.parse(document["discussion_id"]), document["slug"], document["count"], document["last"])


class MongoSubscriptions(Subscriptions):
    """One document an address and discussion; what is not confirmed goes by a TTL on `asked`."""

    def __init__(self, db: Database[Document]) -> None:
        self.stored = db["comments.subscriptions"]

    def add(self, id: str, target: Target, slug: str, email: str) -> bool:
        first = {"discussion_id": target.id, "email": email.lower(), "confirmed": None, "asked": now()}
        update = {"$addToSet": {"slugs": slug}, "$setOnInsert": first}
        before = self.stored.find_one_and_update({"_id": id}, update, upsert=True)
        return before is None or before["confirmed"] is None

    def confirm(self, id: str) -> None:
        self.stored.update_one({"_id": id}, {"$set": {"confirmed": now()}, "$unset": {"asked": 1}})

    def end(self, id: str) -> None:
        self.stored.delete_one({"_id": id})

    def get(self, id: str) -> Subscription | None:
        return next(iter(self._find({"_id": id})), None)

    def to(self, target: Target, slugs: Iterable[str]) -> list[Subscription]:
        return self._find({"discussion_id": target.id, "slugs": {"$in": list(slugs)}, "confirmed": {"$gt": EPOCH}})

    def of(self, email: str) -> list[Subscription]:
        return self._find({"email": email.lower()})

    def erase(self, email: str) -> int:
        return self.stored.delete_many({"email": email.lower()}).deleted_count

    def forget(self, target: Target) -> None:
        self.stored.delete_many({"discussion_id": target.id})

    def _find(self, query: Document) -> list[Subscription]:
        return [
            Subscription(
                found["_id"],
                Target.parse(found["discussion_id"]),
                found["email"],
                tuple(found["slugs"]),
                found["confirmed"],
            )
            for found in self.stored.find(query)
        ]


class MongoIpHashes(IpHashes):
    """One short-lived document a comment."""

    def __init__(self, db: Database[Document]) -> None:
        self.stored = db["comments.addresses"]

    def note(self, target: Target, slug: str, ip_hash: str) -> None:
        first = {"$setOnInsert": {"address": ip_hash, "at": now()}}
        self.stored.update_one({"discussion_id": target.id, "slug": slug}, first, upsert=True)

    def of(self, target: Target, slug: str) -> str:
        found = self.stored.find_one({"discussion_id": target.id, "slug": slug})
        return str(found["address"]) if found else ""

    def erase(self, target: Target, slug: str) -> int:
        return self.stored.delete_many({"discussion_id": target.id, "slug": slug}).deleted_count

    def forget(self, target: Target) -> None:
        self.stored.delete_many({"discussion_id": target.id})
