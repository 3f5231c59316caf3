"""Reads over all discussions, whatever layout each is kept in."""

import heapq
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.core.exceptions import ImproperlyConfigured
from pymongo import DESCENDING

from marginalia.comments.backends.discussions import BRIEF, of_label
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.stored import Document, Place, comment, discussion, place
from marginalia.comments.backends.writing.erasing import Erasing
from marginalia.comments.types import Comment, Discussion, State, Target
from marginalia.mongo.connection import sample_stages
from marginalia.mongo.reading import Malformed, read_documents

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
        known = read_documents("discussions", cursor.sort([("newest", DESCENDING)]), self._placed)
        for latest, where, layout in known:
            if len(newest) == limit and latest <= newest[-1].posted:
                break
            found = (comment(where.target, item) for item in layout.newest(where, limit))
            newest = heapq.nlargest(limit, (*newest, *found), key=lambda c: (c.posted, c.slug))
        return tuple(newest)

    def _placed(self, document: Document) -> tuple[datetime, Place, Layout]:
        """Return when a discussion got its newest comment, and where it is. Raises Malformed."""
        try:
            where = place(document)
            layout = self.store.layouts.of(where)
        except ImproperlyConfigured as error:
            raise Malformed(str(error)) from error
        if not isinstance(document.get("newest"), datetime):
            raise Malformed("newest is missing or no date")
        return document["newest"], where, layout

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
        return list(read_documents("discussions", found.limit(limit), _target))

    def moving_before(self, moment: datetime, limit: int) -> list[Discussion]:
        found = self.store.discussions.collection.find({"moving.beat": {"$lt": moment}}, BRIEF)
        return list(read_documents("discussions", found.limit(limit), discussion))

    def sample(self, size: int, *, longest: int) -> list[Target]:
        collection = self.store.discussions.collection
        short = {"$not": {"$gt": longest}}
        pipeline = [
            *sample_stages(collection, size),
            {"$match": {"count": short, "last_number": short}},
            {"$limit": size},
            {"$project": {"_id": 1}},
        ]
        return list(read_documents("discussions", collection.aggregate(pipeline), _target))

    def without_discussion(self, sample: int) -> dict[str, list[str]]:
        missing = {}
        for stored in (layout.stored for layout in self.store.layouts.all if layout.collection):
            pipeline = [*sample_stages(stored, sample), {"$group": {"_id": "$discussion_id"}}]
            ids = [group["_id"] for group in stored.aggregate(pipeline)]
            there = set(self.store.discussions.collection.distinct("_id", {"_id": {"$in": ids}}))
            if gone := sorted(str(Target.of_id(str(id))) for id in ids if id not in there):
                missing[stored.name] = gone
        return missing

    def targets(self, *, label: str = "") -> Iterator[Target]:
        query = of_label(label)
        known = self.store.discussions.collection
        # However long each is worked on: no cursor is kept open.
        while ids := [found["_id"] for found in known.find(query, {"_id": 1}).sort("_id", 1).limit(BATCH)]:
            yield from read_documents("discussions", ids, Target.of_id)
            query = {**of_label(label), "_id": {"$gt": ids[-1]}}


def _target(document: Document) -> Target:
    return Target.of_id(document["_id"])
