"""Read operations across all discussions, regardless of their layouts."""

import heapq
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.core.exceptions import ImproperlyConfigured
from pymongo import DESCENDING

from marginalia.comments.backends.discussions import BRIEF_PROJECTION, label_filter
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.stored import Document, Place, read_comment, read_discussion, read_place
from marginalia.comments.backends.writing.erasing import Erasing
from marginalia.comments.types import Comment, Discussion, State, Target
from marginalia.mongo.connection import sample_stages
from marginalia.mongo.reading import Malformed, read_documents

# How many discussions each query reads.
BATCH = 100


class Across(Erasing):
    """The part of the backend that reads or searches all discussions, whatever their layouts."""

    def recent(self, limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
        # The time `newest` of a discussion is never earlier than that of its newest public comment. Read the
        # discussions in descending order of `newest`, and stop when the remaining discussions can't contain a comment
        # that is newer than those found so far (threshold algorithm, Fagin 2001).
        newest: list[Comment] = []
        fields = {"claims": 0, "touched": 0}
        cursor = self.store.discussions.collection.find(label_filter(label), fields, batch_size=limit)
        discussions = read_documents("discussions", cursor.sort([("newest", DESCENDING)]), self._locate)
        for latest, place, layout in discussions:
            if len(newest) == limit and latest <= newest[-1].posted:
                break
            comments = (read_comment(place.target, item) for item in layout.newest(place, limit))
            newest = heapq.nlargest(limit, (*newest, *comments), key=lambda c: (c.posted, c.slug))
        return tuple(newest)

    def _locate(self, document: Document) -> tuple[datetime, Place, Layout]:
        """Return the time `newest` of a discussion, and the discussion's place and layout.

        Raises:
            Malformed: The document can't be read.
        """
        try:
            place = read_place(document)
            layout = self.store.layouts.of(place)
        except ImproperlyConfigured as error:
            raise Malformed(str(error)) from error
        if not isinstance(document.get("newest"), datetime):
            raise Malformed("newest is missing or not a date")
        return document["newest"], place, layout

    def by_author(self, author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
        # Key the comments by target and slug. If a discussion is converted during the search, its comments may be found
        # in two layouts, but must be returned only once.
        by_slug: dict[tuple[str, str], Comment] = {}
        for layout in self.store.layouts.all:
            current = self.current(layout, {"id": author_id}, limit=limit, before=before)
            public = (entry for entry in current if entry[1]["state"] == State.PUBLIC.value)
            for target, document in islice(public, limit):
                by_slug[target.id, document["slug"]] = read_comment(target, document)
        return tuple(heapq.nlargest(limit, by_slug.values(), key=lambda c: (c.posted, c.slug)))

    def claimed_before(self, moment: datetime, limit: int) -> list[Target]:
        documents = self.store.discussions.collection.find({"claims.at": {"$lt": moment}}, {"_id": 1})
        return list(read_documents("discussions", documents.limit(limit), _target))

    def moving_before(self, moment: datetime, limit: int) -> list[Discussion]:
        documents = self.store.discussions.collection.find({"moving.beat": {"$lt": moment}}, BRIEF_PROJECTION)
        return list(read_documents("discussions", documents.limit(limit), read_discussion))

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
            existing = set(self.store.discussions.collection.distinct("_id", {"_id": {"$in": ids}}))
            if orphans := sorted(str(Target.from_id(str(id))) for id in ids if id not in existing):
                missing[stored.name] = orphans
        return missing

    def targets(self, *, label: str = "") -> Iterator[Target]:
        query = label_filter(label)
        collection = self.store.discussions.collection
        # Run a separate query for each batch. A single cursor could time out, because the caller may take a long time
        # for each target.
        while ids := [document["_id"] for document in collection.find(query, {"_id": 1}).sort("_id", 1).limit(BATCH)]:
            yield from read_documents("discussions", ids, Target.from_id)
            query = {**label_filter(label), "_id": {"$gt": ids[-1]}}


def _target(document: Document) -> Target:
    return Target.from_id(document["_id"])
