"""Stored bans, one document per banned term. An index on `expires` deletes bans that have ended."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument
from pymongo.database import Database

from marginalia.comments import terms
from marginalia.comments.types import Ban, TermKind
from marginalia.mongo.clock import now
from marginalia.mongo.reading import Malformed, read_documents

NEWEST_FIRST = [("created", -1), ("_id", -1)]


class Bans:
    """Access to the collection `comments.bans`."""

    def __init__(self, db: Database[Any]) -> None:
        self.stored = db["comments.bans"]

    def add(self, kind: TermKind, value: str, *, reason: str, by: str, expires: datetime | None) -> Ban:
        """Ban a term, and return the ban. If the term is banned already, replace the reason and the end of the ban."""
        term = kind.term(value)
        fields = {
            "kind": kind.value,
            "value": value,
            "reason": reason,
            "by": by,
            "expires": expires,
            "words": sorted({*terms.split(value), *terms.split(reason)}),
        }
        update = {"$set": fields, "$setOnInsert": {"created": now()}}
        stored: Any = self.stored.find_one_and_update(
            {"term": term}, update, upsert=True, return_document=ReturnDocument.AFTER
        )
        return _ban(stored)

    def lift(self, ban_id: str) -> Ban | None:
        """Delete a ban, and return it, or None if there is no such ban."""
        stored = self.stored.find_one_and_delete({"_id": ObjectId(ban_id)}) if ObjectId.is_valid(ban_id) else None
        return _ban(stored) if stored else None

    def get(self, ban_id: str) -> Ban | None:
        """Return a ban, or None if there is no such ban."""
        stored = self.stored.find_one({"_id": ObjectId(ban_id)}) if ObjectId.is_valid(ban_id) else None
        return _ban(stored) if stored else None

    def matching(self, banned: Collection[str]) -> list[Ban]:
        """Return the active bans of these terms, and all active bans of patterns."""
        query = {"$or": [{"term": {"$in": list(banned)}}, {"kind": TermKind.PATTERN.value}]}
        found = read_documents(self.stored.name, self.stored.find(query), _ban)
        moment = now()
        return [ban for ban in found if ban.is_active(moment)]

    def find(self, typed: str = "", *, limit: int, after: str = "") -> list[Ban]:
        """Return bans, newest first. If `typed` isn't empty, return those whose value or reason contains its words.

        `after` is the id of the last ban on the previous page. Bans that have ended are left out.
        """
        # The server deletes ended bans a little later.
        conditions: list[dict[str, Any]] = [{"$or": [{"expires": None}, {"expires": {"$gt": now()}}]}]
        if pattern := terms.Pattern.parse(typed):
            conditions += [{"words": {"$regex": f"^{word}"}} for word in (*pattern.words, *pattern.prefixes)]
        query: dict[str, Any] = {"$and": conditions}
        if last := self.get(after):
            query["$or"] = [
                {"created": {"$lt": last.created}},
                {"created": last.created, "_id": {"$lt": ObjectId(last.id)}},
            ]
        return list(read_documents(self.stored.name, self.stored.find(query).sort(NEWEST_FIRST).limit(limit), _ban))

    def count_patterns(self) -> int:
        """Return the number of banned patterns."""
        return self.stored.count_documents({"kind": TermKind.PATTERN.value})

    def erase(self, banned: Collection[str]) -> int:
        """Delete the bans of these terms, which identify a person. Return how many were deleted."""
        return self.stored.delete_many({"term": {"$in": list(banned)}}).deleted_count

    def forget_moderator(self, key: str) -> None:
        """Remove the account of a moderator from the bans."""
        self.stored.update_many({"by": key}, {"$set": {"by": ""}})


def _ban(document: Mapping[str, Any]) -> Ban:
    if not isinstance(document["created"], datetime):
        raise Malformed("created has another type")
    return Ban(
        str(document["_id"]),
        TermKind(document["kind"]),
        document["value"],
        document["reason"],
        document["by"],
        document["created"],
        document["expires"],
    )
