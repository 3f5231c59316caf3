"""What is kept beside discussions: flags, subscriptions, hashes of network addresses."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pymongo.database import Database

from marginalia.comments.types import Flagged, Subscription, Target
from marginalia.mongo.clock import now
from marginalia.mongo.reading import Malformed, read_documents

# How many readers are told apart; more are not needed to bring a comment before a moderator.
MOST = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Flags:
    """Which comments readers pointed out, one document a comment: one flag a reader, who is named by `who`."""

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.flags"]

    def add(self, target: Target, slug: str, who: str) -> bool:
        """Flag a comment; return whether this reader had not before."""
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
        """Return the flagged comments, the last flagged first."""
        found = self.stored.find({}, {"who": 0}).sort([("last", -1), ("_id", -1)]).limit(limit)
        return list(read_documents(self.stored.name, found, _flagged))

    def count(self) -> int:
        """Return about how many comments are flagged."""
        return self.stored.estimated_document_count()

    def by(self, who: str) -> list[Flagged]:
        """Return the comments that a reader flagged."""
        return list(read_documents(self.stored.name, self.stored.find({"who": who}, {"who": 0}), _flagged))

    def erase(self, who: Iterable[str]) -> int:
        """Forget that these readers flagged; the flags stay. Return on how many comments."""
        wanted = {"$in": list(who)}
        return self.stored.update_many({"who": wanted}, {"$pull": {"who": wanted}}).modified_count

    def settle(self, target: Target, slug: str) -> None:
        """Forget a comment's flags."""
        self.stored.delete_one({"_id": _id(target, slug)})


def _id(target: Target, slug: str) -> str:
    return f"{target.id} {slug}"


def _flagged(document: Mapping[str, Any]) -> Flagged:
    if not isinstance(document["count"], int) or not isinstance(document["last"], datetime):
        raise Malformed("count or last has another type")
    return Flagged(Target.of_id(document["discussion_id"]), document["slug"], document["count"], document["last"])


class Subscriptions:
    """Which addresses want to hear of replies, one document an address and discussion; what is not confirmed goes by a TTL on
    `asked`."""

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.subscriptions"]

    def add(self, id: str, target: Target, slug: str, email: str) -> datetime | None:
        """Note that `email` wants to hear of replies to a comment; return since when it is unconfirmed, None once it is."""
        first: dict[str, Any] = {"discussion_id": target.id, "email": email.lower(), "confirmed": None, "asked": now()}
        update = {"$addToSet": {"slugs": slug}, "$setOnInsert": first}
        before = self.stored.find_one_and_update({"_id": id}, update, upsert=True)
        asked: datetime | None = (before or first).get("asked")
        return asked

    def confirm(self, id: str) -> None:
        """Record that the address is its owner's, who wants the notices."""
        self.stored.update_one({"_id": id}, {"$set": {"confirmed": now()}, "$unset": {"asked": 1}})

    def end(self, id: str) -> None:
        """Delete a subscription."""
        self.stored.delete_one({"_id": id})

    def get(self, id: str) -> Subscription | None:
        """Return a subscription, None if there is none."""
        return next(iter(self._find({"_id": id})), None)

    def to(self, target: Target, slugs: Iterable[str]) -> list[Subscription]:
        """Return the confirmed subscriptions to one of these comments."""
        return self._find({"discussion_id": target.id, "slugs": {"$in": list(slugs)}, "confirmed": {"$gt": EPOCH}})

    def of(self, email: str) -> list[Subscription]:
        """Return all subscriptions of an address."""
        return self._find({"email": email.lower()})

    def erase(self, email: str) -> int:
        """Delete all subscriptions of an address; return how many."""
        return self.stored.delete_many({"email": email.lower()}).deleted_count

    def _find(self, query: Mapping[str, Any]) -> list[Subscription]:
        return list(read_documents(self.stored.name, self.stored.find(query), _subscription))


def _subscription(document: Mapping[str, Any]) -> Subscription:
    target = Target.of_id(document["discussion_id"])
    slugs = tuple(document["slugs"])
    return Subscription(document["_id"], target, document["email"], slugs, document["confirmed"])


class IpHashes:
    """From where comments were sent, as keyed hashes: one document a comment, for 30 days."""

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.ip_hashes"]

    def note(self, target: Target, slug: str, ip_hash: str) -> None:
        """Keep from where a comment was first sent."""
        first = {"$setOnInsert": {"ip_hash": ip_hash, "at": now()}}
        self.stored.update_one({"discussion_id": target.id, "slug": slug}, first, upsert=True)

    def of(self, target: Target, slug: str) -> str:
        """Return the hash for a comment, "" where it is not kept (any more)."""
        found = self.stored.find_one({"discussion_id": target.id, "slug": slug})
        return str(found["ip_hash"]) if found else ""

    def erase(self, target: Target, slug: str) -> int:
        """Forget from where a comment was sent; return how many records went."""
        return self.stored.delete_many({"discussion_id": target.id, "slug": slug}).deleted_count
