"""Buckets of about 100 comments, in `comment_pages`: what both layouts share, and the chronological one.

A page of 100 comments is one document to read. In `Pages` a comment's number says which bucket it belongs to, for
ever; the threaded layout is in `leaves`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, DESCENDING, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError

from comments.backends.documents import DUPLICATE_KEY, delete_in_batches
from comments.backends.memory import ByPathInMemory, sort_key
from comments.backends.schema import Looked, Pulse, Schema, no_pulse, pushes
from comments.backends.stored import Document, Place
from comments.types import Order, State

# Under this key a look's hint lists the buckets it met, as (page, until); the others are slugs.
LEAVES = ""
# Buckets read at once.
BATCH = 20
# And deleted.
DROPPED = 500
BY_NUMBER = {"number": ASCENDING, "posted": ASCENDING, "slug": ASCENDING}


class Buckets(Schema):
    """Look-ups by slug and author, which do not depend on how comments are shared out among buckets."""

    name = "buckets"

    def _of(self, place: Place) -> Document:
        return {"discussion_id": place.discussion_id, "epoch": place.epoch}

    def look(self, place: Place, wanted: Sequence[str]) -> Looked:
        cursor = self.db.comment_pages.find(
            {**self._of(place), **self._holding(wanted)},
            {"page": 1, "until": 1, "comments": _only({"$in": ["$$this.slug", {"$literal": list(wanted)}]})},
        )
        found: dict[str, Document] = {}
        hint: dict[str, Any] = {LEAVES: []}
        for bucket in cursor:
            hint[LEAVES].append((bucket["page"], bucket.get("until")))
            for document in bucket["comments"]:
                found[document["slug"]] = document
                hint[document["slug"]] = bucket["page"]
        return Looked(found, hint)

    def _holding(self, wanted: Sequence[str]) -> Document:
        """Return the query for the buckets that a look is to see."""
        return {"comments.slug": {"$in": list(wanted)}}

    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], looked: Looked
    ) -> bool:
        if slug not in looked.hint:
            return False
        changed = self.db.comment_pages.update_one(
            {
                **self._of(place),
                "page": looked.hint[slug],
                "comments": {"$elemMatch": {"slug": slug, "rev": revs}},
            },
            {"$set": {f"comments.$.{name}": value for name, value in fields.items()}},
        )
        return bool(changed.modified_count)

    def by_author(
        self,
        query: Mapping[str, str],
        *,
        limit: int = 0,
        before: datetime | None = None,
        among: Sequence[str] | None = None,
    ) -> Iterator[tuple[str, int, Document]]:
        """Buckets are not sorted by an author's times: all that hold something of the author are read."""
        ((key, value),) = query.items()
        wanted: Document = {f"comments.author.{key}": value}
        if among is not None:
            wanted["discussion_id"] = {"$in": list(among)}
        cursor = self.db.comment_pages.find(
            wanted,
            {
                "discussion_id": 1,
                "epoch": 1,
                "comments": _only({"$eq": [f"$$this.author.{key}", {"$literal": value}]}),
            },
        )
        found = ((bucket, item) for bucket in cursor for item in bucket["comments"])
        matching: Iterator[tuple[Document, Document]] = (
            (bucket, item) for bucket, item in found if before is None or item["posted"] < before
        )
        if limit:
            matching = iter(sorted(matching, key=lambda pair: pair[1]["posted"], reverse=True))
        for bucket, document in matching:
            yield bucket["discussion_id"], int(bucket["epoch"]), document

    def clear(self, place: Place, epochs: Mapping[str, Any], pulse: Pulse = no_pulse) -> int:
        query = {"discussion_id": place.discussion_id, "epoch": dict(epochs)}
        return delete_in_batches(self.db.comment_pages, query, DROPPED, pulse)

    def epochs(self, place: Place) -> set[int]:
        found = self.db.comment_pages.distinct("epoch", {"discussion_id": place.discussion_id})
        return {int(epoch) for epoch in found}

    def _stored(self, place: Place, page: Any, slug: str) -> Document | None:
        """Return the comment that keeps a write out of a bucket."""
        found = self.db.comment_pages.find_one(
            {**self._of(place), "page": page, "comments.slug": slug},
            {"comments": _only({"$eq": ["$$this.slug", {"$literal": slug}]})},
        )
        return found["comments"][0] if found else None


class Pages(ByPathInMemory, Buckets):
    """Chronological: `page` = ⌈number / bucket size⌉."""

    def orders(self, place: Place) -> tuple[Order, ...]:
        return (Order.OLDEST,)

    def put(self, place: Place, document: Document, looked: Looked) -> Document | None:
        page, slug = page_of(document["number"], place.bucket), document["slug"]
        ways = pushes(document, BY_NUMBER)
        while True:
            condition, pushed = ways.pop(0) if len(ways) > 1 else ways[0]
            try:
                self.db.comment_pages.update_one(
                    {**self._of(place), "page": page, "comments.slug": {"$ne": slug}, **condition},
                    {"$push": {"comments": pushed}, "$inc": {"count": 1}},
                    upsert=True,
                )
            except DuplicateKeyError:  # it has higher ones, or somebody made it at the same time, or it has the slug
                if not condition and (stored := self._stored(place, page, slug)):
                    return stored
            else:
                return None

    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        pages = {"$gte": page_of(low, place.bucket), "$lte": page_of(high, place.bucket)}
        cursor = self.db.comment_pages.find({**self._of(place), "page": pages}, {"comments": 1}).sort("page", ASCENDING)
        return [item for bucket in cursor for item in bucket["comments"] if low <= item["number"] <= high]

    def nearest(self, place: Place, number: int, direction: int) -> int | None:
        page = page_of(max(number, 1), place.bucket)
        query = {**self._of(place), "page": {"$gte" if direction > 0 else "$lte": page}}
        # No bucket is empty: the next one has some, if this one has none on that side.
        cursor = self.db.comment_pages.find(query, {"comments.number": 1}).sort("page", direction).limit(2)
        numbers = [int(item["number"]) for bucket in cursor for item in bucket["comments"]]
        if direction > 0:
            return min((n for n in numbers if n > number), default=None)
        return max((n for n in numbers if n < number), default=None)

    def below(self, place: Place, top: Document, after: str, limit: int) -> list[Document]:
        """As the contract, through the index on slugs: only buckets that hold a descendant are read."""
        low, high = top["slug"] + "/", top["slug"] + "0"
        inside = {"$and": [{"$gt": ["$$this.slug", {"$literal": low}]}, {"$lt": ["$$this.slug", {"$literal": high}]}]}
        cursor = self.db.comment_pages.find(
            {**self._of(place), "comments": {"$elemMatch": {"slug": {"$gt": low, "$lt": high}}}},
            {"comments": _only(inside)},
        )
        found = [item for bucket in cursor for item in bucket["comments"] if item["full_slug"] > after]
        return sorted(found, key=lambda item: sort_key(item, Order.THREADED))[:limit]

    def iterate(self, place: Place, order: Order, after: Any = None) -> Iterator[Document]:
        # Find after find: a time limit of the connection counts all that the server does for one cursor.
        page = page_of(after or 1, place.bucket)
        while True:
            query = {**self._of(place), "page": {"$gte": page}}
            batch = list(self.db.comment_pages.find(query).sort("page", ASCENDING).limit(BATCH))
            for bucket in batch:
                yield from (item for item in bucket["comments"] if after is None or item["number"] >= after)
            if len(batch) < BATCH:
                return
            page = batch[-1]["page"] + 1

    def newest(self, place: Place, limit: int) -> list[Document]:
        found: list[Document] = []
        for bucket in (
            self.db.comment_pages.find(self._of(place), {"comments": 1}).sort("page", DESCENDING).batch_size(2)
        ):
            found += [item for item in reversed(bucket["comments"]) if item["state"] == State.PUBLIC.value]
            if len(found) >= limit:
                break
        return found[:limit]

    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        by_page = defaultdict(list)
        for document in documents:
            by_page[page_of(document["number"], place.bucket)].append(document)
        updates = [
            UpdateOne(
                {**self._of(place), "page": page, "comments.slug": {"$nin": [item["slug"] for item in items]}},
                {"$push": {"comments": {"$each": items, "$sort": BY_NUMBER}}, "$inc": {"count": len(items)}},
                upsert=True,
            )
            for page, items in by_page.items()
        ]
        try:
            self.db.comment_pages.bulk_write(updates, ordered=False)
        except BulkWriteError as error:
            failures = error.details["writeErrors"]
            if any(failure["code"] != DUPLICATE_KEY for failure in failures):
                raise
            # Some of these were copied before: one by one, then.
            pages = list(by_page)
            for failure in failures:
                for document in by_page[pages[failure["index"]]]:
                    self.put(place, document, Looked({}))

    def finish_copy(self, place: Place) -> None:
        """Buckets come with their first comment."""

    def faults(self, place: Place) -> Iterable[str]:
        for bucket in self.db.comment_pages.find(self._of(place), batch_size=20).sort("page", ASCENDING):
            if bucket["count"] != len(bucket["comments"]):
                yield f"bucket {bucket['page']} counts {bucket['count']} of {len(bucket['comments'])} comments"
            if any(page_of(item["number"], place.bucket) != bucket["page"] for item in bucket["comments"]):
                yield f"bucket {bucket['page']} holds a comment that belongs elsewhere"
            if bucket["comments"] != sorted(bucket["comments"], key=lambda item: sort_key(item, Order.OLDEST)):
                yield f"bucket {bucket['page']} is out of order"


def page_of(number: int, size: int) -> int:
    """Return the bucket (or page) of `size` numbers in which a number lies, from 1."""
    return (int(number) - 1) // size + 1


def _only(condition: Document) -> Document:
    """Return the projection of those comments of a bucket that meet a condition on $$this."""
    return {"$filter": {"input": "$comments", "cond": condition}}
