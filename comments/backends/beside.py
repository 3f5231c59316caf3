"""Data about comments in separate collections: flags, subscriptions, hashes of IP addresses, and learned features."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bson import ObjectId
from pymongo import UpdateOne
from pymongo.database import Database
from pymongo.errors import BulkWriteError

from marginalia.comments.types import FlaggedComment, ImportedId, Subscription, Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import non_duplicate_errors
from marginalia.mongo.reading import Malformed, read_document, read_documents

# Maximum number of readers recorded per comment. A moderator doesn't need more flags to notice the comment.
MAX_READERS = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Flags:
    """Readers' flags, with one document per comment. `who` identifies a reader, so that each reader is counted once."""

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.flags"]

    def add(self, target: Target, slug: str, who: str) -> bool:
        """Flag a comment. Return False if the reader `who` had already flagged the comment."""
        known = {"$in": [{"$literal": who}, "$who"]}
        added = {"$concatArrays": ["$who", [{"$literal": who}]]}
        fields = {"discussion_id": {"$literal": target.id}, "slug": {"$literal": slug}}
        before = self.stored.find_one_and_update(
            {"_id": _id(target, slug)},
            [
                {"$set": {"who": {"$ifNull": ["$who", []]}}},
                {
                    "$set": {
                        "who": {"$cond": [{"$or": [known, {"$gte": [{"$size": "$who"}, MAX_READERS]}]}, "$who", added]}
                    }
                },
                {"$set": {**fields, "count": {"$size": "$who"}, "last": "$$NOW"}},
            ],
            upsert=True,
        )
        return before is None or who not in before["who"]

    def newest(self, limit: int) -> list[FlaggedComment]:
        """Return flagged comments, most recently flagged first."""
        documents = self.stored.find({}, {"who": 0}).sort([("last", -1), ("_id", -1)]).limit(limit)
        return list(read_documents(self.stored.name, documents, _flagged))

    def find(self, target: Target, slug: str) -> FlaggedComment | None:
        """Return a comment's number of flags and the time of the latest flag, or None if it isn't flagged."""
        document = self.stored.find_one({"_id": _id(target, slug)}, {"who": 0})
        return read_document(self.stored.name, document, _flagged)

    def count(self) -> int:
        """Return the approximate number of flagged comments."""
        return self.stored.estimated_document_count()

    def flagged_by(self, who: str) -> list[FlaggedComment]:
        """Return the comments that the reader `who` flagged."""
        return list(read_documents(self.stored.name, self.stored.find({"who": who}, {"who": 0}), _flagged))

    def erase(self, who: Iterable[str]) -> int:
        """Remove the readers `who` from all flags, but keep the flag counts. Return how many documents were changed."""
        readers = {"$in": list(who)}
        return self.stored.update_many({"who": readers}, {"$pull": {"who": readers}}).modified_count

    def clear(self, target: Target, slug: str) -> None:
        """Delete all flags of a comment."""
        self.stored.delete_one({"_id": _id(target, slug)})


def _id(target: Target, slug: str) -> str:
    return f"{target.id} {slug}"


def _flagged(document: Mapping[str, Any]) -> FlaggedComment:
    if not isinstance(document["count"], int) or not isinstance(document["last"], datetime):
        raise Malformed("count or last has another type")
    return FlaggedComment(
        Target.from_id(document["discussion_id"]), document["slug"], document["count"], document["last"]
    )


class Subscriptions:
    """Subscriptions to replies, with one document per email address and discussion.

    A TTL index on `asked` deletes unconfirmed subscriptions.
    """

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.subscriptions"]

    def add(self, id: str, target: Target, slug: str, email: str) -> datetime | None:
        """Subscribe `email` to replies to a comment.

        Returns:
            The time at which the subscription was first requested, or None if the subscription is already confirmed.
        """
        first: dict[str, Any] = {"discussion_id": target.id, "email": email.lower(), "confirmed": None, "asked": now()}
        update = {"$addToSet": {"slugs": slug}, "$setOnInsert": first}
        before = self.stored.find_one_and_update({"_id": id}, update, upsert=True)
        asked: datetime | None = (before or first).get("asked")
        return asked

    def confirm(self, id: str) -> None:
        """Record that the owner of the email address has confirmed the subscription."""
        self.stored.update_one({"_id": id}, {"$set": {"confirmed": now()}, "$unset": {"asked": 1}})

    def end(self, id: str) -> None:
        """Delete a subscription."""
        self.stored.delete_one({"_id": id})

    def get(self, id: str) -> Subscription | None:
        """Return a subscription, or None if it does not exist."""
        return next(iter(self._find({"_id": id})), None)

    def confirmed_for(self, target: Target, slugs: Iterable[str]) -> list[Subscription]:
        """Return the confirmed subscriptions to replies to any of the comments with these slugs."""
        return self._find({"discussion_id": target.id, "slugs": {"$in": list(slugs)}, "confirmed": {"$gt": EPOCH}})

    def by_email(self, email: str) -> list[Subscription]:
        """Return all subscriptions for an email address."""
        return self._find({"email": email.lower()})

    def erase(self, email: str) -> int:
        """Delete all subscriptions for an email address. Return how many were deleted."""
        return self.stored.delete_many({"email": email.lower()}).deleted_count

    def _find(self, query: Mapping[str, Any]) -> list[Subscription]:
        return list(read_documents(self.stored.name, self.stored.find(query), _subscription))


def _subscription(document: Mapping[str, Any]) -> Subscription:
    target = Target.from_id(document["discussion_id"])
    slugs = tuple(document["slugs"])
    return Subscription(document["_id"], target, document["email"], slugs, document["confirmed"])


class IpHashes:
    """Keyed hashes of the networks from which comments were sent.

    Each comment has its own document, which expires after 30 days.
    """

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.ip_hashes"]

    def record(self, target: Target, slug: str, ip_hash: str, networks: Sequence[str] = (), browser: str = "") -> None:
        """Store the hash of the network from which a comment was first sent, and the networks that can be banned.

        `browser` is the key of a guest's browser, or "".
        """
        fields = {
            "ip_hash": ip_hash,
            "networks": list(networks),
            "at": now(),
            **({"browser": browser} if browser else {}),
        }
        self.stored.update_one({"discussion_id": target.id, "slug": slug}, {"$setOnInsert": fields}, upsert=True)

    def sent_from(self, browser: str, limit: int) -> list[tuple[Target, str]]:
        """Return the targets and slugs of the newest comments that were sent from a browser."""
        newest = self.stored.find({"browser": browser}, {"discussion_id": 1, "slug": 1}).sort("at", -1).limit(limit)
        return [(Target.from_id(entry["discussion_id"]), entry["slug"]) for entry in newest]

    def find(self, target: Target, slug: str) -> str:
        """Return the IP hash of a comment, or "" if none is stored or it has expired."""
        document = self.stored.find_one({"discussion_id": target.id, "slug": slug})
        return str(document["ip_hash"]) if document else ""

    def networks(self, target: Target, slug: str) -> list[str]:
        """Return the hashes of the networks that can be banned because of a comment, the smallest first."""
        document = self.stored.find_one({"discussion_id": target.id, "slug": slug})
        return list(document.get("networks", ())) if document else []

    def erase(self, target: Target, slug: str) -> int:
        """Delete the IP hash of a comment. Return how many documents were deleted."""
        return self.stored.delete_many({"discussion_id": target.id, "slug": slug}).deleted_count


class Lessons:
    """How many spam comments and approved comments had each feature, and the decisions from which this was learned.

    A feature is identified by a str. The kinds of decisions are "spam" and "approved".
    """

    def __init__(self, db: Database[Any]) -> None:
        self.decisions = db["comments.lessons"]
        self.features = db["comments.features"]

    def counts(self, features: Collection[str]) -> dict[str, dict[str, int]]:
        """Return the number of comments of each kind, keyed by feature. Features without comments are missing."""
        found = self.features.find({"_id": {"$in": list(features)}}, {"spam": 1, "approved": 1})
        return {
            document["_id"]: {kind: max(document.get(kind, 0), 0) for kind in ("spam", "approved")}
            for document in found
        }

    def learn(self, lessons: Mapping[tuple[Target, str], Collection[str]], kind: str) -> None:
        """Count the features of comments for decisions of one kind. If `kind` is "", forget their decisions.

        Each comment counts once, and a later decision replaces an earlier one. If the process is killed during this
        call, some comments may not be counted, but none is counted twice.

        Args:
            lessons: The features of each comment, keyed by its target and slug.
            kind: "spam", "approved" or "".
        """
        features = {_id(*place): found for place, found in lessons.items()}
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for decision in self._decide(list(features), kind):
            for feature in features[decision["_id"]]:
                counts[feature].update({kind: 1})
                counts[feature].subtract({decision["before"]: 1})
        moment = now()
        updates = [
            UpdateOne({"_id": feature}, {"$inc": change, "$set": {"at": moment}}, upsert=True)
            for feature, counted in counts.items()
            if (change := {name: number for name, number in counted.items() if name and number})
        ]
        if updates:
            self.features.bulk_write(updates, ordered=False)

    def _decide(self, ids: list[str], kind: str) -> list[Mapping[str, Any]]:
        """Store decisions about comments, and return those that replaced no decision, or one of another kind."""
        call = ObjectId()
        fields = {"before": {"$ifNull": ["$kind", ""]}, "kind": kind, "at": "$$NOW", "call": call}
        updates = [UpdateOne({"_id": id, "kind": {"$ne": kind}}, [{"$set": fields}], upsert=bool(kind)) for id in ids]
        try:
            self.decisions.bulk_write(updates, ordered=False)
        except BulkWriteError as error:
            # A duplicate key means that this decision has been learned already.
            if non_duplicate_errors(error):
                raise
        return list(self.decisions.find({"_id": {"$in": ids}, "call": call}, {"before": 1}))


class Imported:
    """The ids that imported comments had in another comment system, and the dislikes that they had there."""

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.imported"]

    def record(self, comments: Mapping[Target, Iterable[ImportedId]]) -> None:
        """Store the old ids of comments, which are keyed by target. Repeating this changes nothing."""
        documents = {
            f"{target.id}#{old.anchor}": {"discussion_id": target.id, "slug": old.slug, "dislikes": old.dislikes}
            for target, ids in comments.items()
            for old in ids
        }
        # Reading is faster than writing the same values again.
        for stored in self.stored.find({"_id": {"$in": list(documents)}}):
            if documents[stored["_id"]].items() <= stored.items():
                del documents[stored["_id"]]
        if documents:
            updates = [UpdateOne({"_id": id}, {"$set": fields}, upsert=True) for id, fields in documents.items()]
            self.stored.bulk_write(updates, ordered=False)

    def slug(self, target: Target, anchor: str) -> str:
        """Return the slug of the comment whose old permalink ended with `anchor`, or "" if there is none."""
        document = self.stored.find_one({"_id": f"{target.id}#{anchor}"})
        return str(document["slug"]) if document else ""
