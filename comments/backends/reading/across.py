"""Reads over all discussions, whatever layout each is kept in."""

import heapq
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from pymongo import DESCENDING

from comments.backends.discussions import BRIEF, of_label
from comments.backends.stored import comment, discussion, place
from comments.backends.writing.erasing import Erasing
from comments.types import Comment, Discussion, State, Target
from mongo.connection import part_of

# Discussions read at once.
BATCH = 100


class Across(Erasing):
    """Reads of many discussions."""

    def recent(self, limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
        # `newest` of a discussion is never below the time of its newest public comment: discussions are opened in its order
        # until no unopened one can hold anything newer than what was found (threshold algorithm, Fagin 2001).
        newest: list[Comment] = []
        fields = {"claims": 0, "touched": 0}
        cursor = self.store.discussions.collection.find(of_label(label), fields, batch_size=limit)
        for document in cursor.sort([("newest", DESCENDING)]):
            if len(newest) == limit and document["newest"] <= newest[-1].posted:
                break
            where = place(document)
            found = (comment(where.target, item) for item in self.store.layouts.of(where).newest(where, limit))
            newest = heapq.nlargest(limit, (*newest, *found), key=lambda c: (c.posted, c.slug))
        return tuple(newest)

    def by_author(self, author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
        # By where it is: a discussion that switches in between may be met in two layouts.
        found: dict[tuple[str, str], Comment] = {}
        for layout in self.store.layouts.all:
            current = self.current(layout, {"id": author_id}, limit=limit, before=before)
            public = (entry for entry in current if entry[1]["state"] == State.PUBLIC.value)
            for target, document in islice(public, limit):
                found[target.id, document["slug"]] = comment(target, document)
        return tuple(heapq.nlargest(limit, found.values(), key=lambda c: (c.posted, c.slug)))

    def claimed_before(self, moment: datetime, limit: int) -> list[Target]:
        found = self.store.discussions.collection.find({"claims.at": {"$lt": moment}}, {"_id": 1})
        return [Target.of_id(document["_id"]) for document in found.limit(limit)]

    def moving_before(self, moment: datetime, limit: int) -> list[Discussion]:
        found = self.store.discussions.collection.find({"moving.beat": {"$lt": moment}}, BRIEF)
        return [discussion(document) for document in found.limit(limit)]

    def sample(self, size: int, *, longest: int) -> list[Target]:
        collection, short = self.store.discussions.collection, {"$not": {"$gt": longest}}
        pipeline = [
            *part_of(collection, size),
            {"$match": {"count": short, "last_number": short}},
            {"$limit": size},
            {"$project": {"_id": 1}},
        ]
        return [Target.of_id(document["_id"]) for document in collection.aggregate(pipeline)]

    def without_discussion(self, sample: int) -> dict[str, list[str]]:
        missing = {}
        for stored in (layout.stored for layout in self.store.layouts.all if layout.collection):
            pipeline = [*part_of(stored, sample), {"$group": {"_id": "$discussion_id"}}]
            ids = [group["_id"] for group in stored.aggregate(pipeline)]
            there = set(self.store.discussions.collection.distinct("_id", {"_id": {"$in": ids}}))
            if gone := sorted(str(Target.of_id(str(id))) for id in ids if id not in there):
                missing[stored.name] = gone
        return missing

    def targets(self, *, label: str = "") -> Iterator[Target]:
        query, known = of_label(label), self.store.discussions.collection
        # However long each is worked on: no cursor is kept open.
        while ids := [found["_id"] for found in known.find(query, {"_id": 1}).sort("_id", 1).limit(BATCH)]:
            yield from map(Target.of_id, ids)
            query = {**of_label(label), "_id": {"$gt": ids[-1]}}
