"""The layout that distributes comments among buckets by their numbers, and the base class of both bucket layouts.

A bucket is a document that contains about 100 comments, in the collection `comment_pages`. A page of 100 comments can
therefore be read as one document. In `Buckets`, the bucket of a comment is determined by the comment's number. The
layout for threads is in the module `threaded_buckets`.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, DESCENDING, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError

from marginalia.comments.backends.layouts.base import (
    Change,
    Changes,
    Layout,
    Lookup,
    element,
    elements,
    only,
    public,
    pushes,
    readable_in,
    set_element,
    set_elements,
    sort_key,
)
from marginalia.comments.backends.stored import Document, Place
from marginalia.comments.types import Order
from marginalia.mongo.connection import non_duplicate_errors

# How many buckets each query reads.
BATCH = 20
BY_NUMBER = {"number": ASCENDING, "posted": ASCENDING, "slug": ASCENDING}


class InBuckets(Layout):
    """The base class of both bucket layouts, which distribute comments among buckets in different ways."""

    name = "buckets"
    collection = "comment_pages"
    # SIZE is the number of comments per bucket. Existing discussions keep their bucket size.
    options = {**Layout.options, "SIZE": 100}
    delete_batch = 500

    def look(self, place: Place, wanted: Sequence[str]) -> Lookup:
        cursor = self.stored.find(
            {**self.of(place), "comments.slug": {"$in": list(wanted)}},
            {"page": 1, "comments": only({"$in": ["$$this.slug", {"$literal": list(wanted)}]})},
        )
        comments: dict[str, Document] = {}
        hint: dict[str, Any] = {}
        for bucket in cursor:
            for document in readable_in(self.collection, bucket):
                comments[document["slug"]] = document
                hint[document["slug"]] = bucket["page"]
        return Lookup(comments, hint)

    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], lookup: Lookup
    ) -> bool:
        if slug not in lookup.hint:
            return False
        changed = self.stored.update_one(
            {**self.of(place), "page": lookup.hint[slug], **element(slug, revs)}, set_element(fields)
        )
        return bool(changed.modified_count)

    def change_many(self, place: Place, changes: Changes, lookup: Lookup) -> None:
        by_page: dict[int, dict[str, Change]] = defaultdict(dict)
        for slug, change in changes.items():
            by_page[lookup.hint[slug]][slug] = change
        updates = [
            UpdateOne({**self.of(place), "page": page, "comments.slug": {"$in": list(group)}}, set_elements(group))
            for page, group in by_page.items()
        ]
        self.stored.bulk_write(updates, ordered=False)

    def by_author(
        self, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[str, int, Document]]:
        """Yield the comments by an author.

        Even if `limit` is given, all buckets with comments by this author are read, because no index returns them in
        the order of these comments' times.
        """
        ((key, value),) = query.items()
        own = only({"$eq": [f"$$this.author.{key}", {"$literal": value}]})
        cursor = self.stored.find({f"comments.author.{key}": value}, {"discussion_id": 1, "epoch": 1, "comments": own})
        entries = (
            (bucket["discussion_id"], int(bucket["epoch"]), item)
            for bucket in cursor
            for item in (readable_in(self.collection, bucket) if limit else elements(bucket))
        )
        matching = (entry for entry in entries if before is None or entry[2]["posted"] < before)
        yield from sorted(matching, key=lambda entry: entry[2]["posted"], reverse=True) if limit else matching

    def within(self, place: Place, path: str, low: Any, high: Any, order: Order) -> list[Document]:
        """Return the comments with low < `path` < high, sorted by `order`.

        An index finds the buckets that contain such comments.
        """
        inside = {
            "$and": [{"$gt": [f"$$this.{path}", {"$literal": low}]}, {"$lt": [f"$$this.{path}", {"$literal": high}]}]
        }
        query = {**self.of(place), "comments": {"$elemMatch": {path: {"$gt": low, "$lt": high}}}}
        cursor = self.stored.find(query, {"comments": only(inside)})
        comments = [item for bucket in cursor for item in readable_in(self.collection, bucket)]
        return sorted(comments, key=lambda item: sort_key(item, order))

    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        while documents and not self.copy_some(place, documents):
            query = {**self.of(place), "comments.slug": {"$in": [item["slug"] for item in documents]}}
            buckets = self.stored.find(query, {"comments.slug": 1})
            stored = {item["slug"] for bucket in buckets for item in bucket["comments"]}
            documents = [item for item in documents if item["slug"] not in stored]

    @abstractmethod
    def copy_some(self, place: Place, documents: Sequence[Document]) -> bool:
        """Store as many of `documents` as possible with one command. Return whether all of them were stored.

        Comments that already exist are not stored again. `documents` must be sorted by `copy_order`.
        """


class Buckets(InBuckets):
    """A layout that distributes comments by number. The `page` of a comment's bucket is ⌈number / bucket size⌉."""

    supported_orders = orders = (Order.OLDEST,)

    def put(self, place: Place, document: Document, lookup: Lookup) -> Document | None:
        page = page_of(document["number"], place.bucket)
        slug = document["slug"]
        ways = pushes(document, BY_NUMBER)
        while True:
            condition, pushed = ways.pop(0) if len(ways) > 1 else ways[0]
            try:
                self.stored.update_one(
                    {**self.of(place), "page": page, "comments.slug": {"$ne": slug}, **condition},
                    {"$push": {"comments": pushed}, "$inc": {"count": 1}},
                    upsert=True,
                )
            # No bucket matched the filter, and another one couldn't be inserted. Either the bucket already contains
            # this slug or a higher number, or another writer has just created the bucket.
            except DuplicateKeyError:
                if not condition and (stored := self.look(place, [slug]).comments.get(slug)):
                    return stored
            else:
                return None

    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        pages = {"$gte": page_of(low, place.bucket), "$lte": page_of(high, place.bucket)}
        cursor = self.stored.find({**self.of(place), "page": pages}, {"comments": 1}).sort("page", ASCENDING)
        comments = (item for bucket in cursor for item in readable_in(self.collection, bucket))
        return [item for item in comments if low <= item["number"] <= high]

    def below(self, place: Place, top: Document, after: str, limit: int) -> list[Document]:
        descendants = self.within(place, "slug", top["slug"] + "/", top["slug"] + "0", Order.THREADED)
        return [item for item in descendants if item["full_slug"] > after][:limit]

    def iterate(self, place: Place, order: Order) -> Iterator[Document]:
        # Run a separate query for each batch. A single cursor could exceed the connection's time limit, which applies
        # to the total time that the server spends on the cursor.
        page = 0
        while batch := list(self.stored.find({**self.of(place), "page": {"$gt": page}}).sort("page", 1).limit(BATCH)):
            for bucket in batch:
                yield from readable_in(self.collection, bucket)
            page = batch[-1]["page"]

    def newest(self, place: Place, limit: int) -> list[Document]:
        comments: list[Document] = []
        for bucket in self.stored.find(self.of(place), {"comments": 1}, batch_size=2).sort("page", DESCENDING):
            comments += public(reversed(readable_in(self.collection, bucket)))
            if len(comments) >= limit:
                break
        return comments[:limit]

    def copy_some(self, place: Place, documents: Sequence[Document]) -> bool:
        by_page = defaultdict(list)
        for document in documents:
            by_page[page_of(document["number"], place.bucket)].append(document)
        updates = [
            UpdateOne(
                {**self.of(place), "page": page, "comments.slug": {"$nin": [item["slug"] for item in items]}},
                {"$push": {"comments": {"$each": items, "$sort": BY_NUMBER}}, "$inc": {"count": len(items)}},
                upsert=True,
            )
            for page, items in by_page.items()
        ]
        try:
            self.stored.bulk_write(updates, ordered=False)
        except BulkWriteError as error:
            if non_duplicate_errors(error):
                raise
            return False
        return True

    def faults(self, place: Place) -> Iterable[str]:
        for bucket in self.stored.find(self.of(place), batch_size=20).sort("page", ASCENDING):
            page = bucket.get("page")
            comments = readable_in(self.collection, bucket)
            if bucket.get("count") != len(elements(bucket)):
                yield (
                    f"bucket {page} ({bucket['_id']}) has a count of {bucket.get('count')}, but "
                    f"contains {len(elements(bucket))} comments"
                )
            if any(page_of(item["number"], place.bucket) != page for item in comments):
                yield f"bucket {page} ({bucket['_id']}) contains a comment that belongs elsewhere"
            if comments != sorted(comments, key=lambda item: sort_key(item, Order.OLDEST)):
                yield f"bucket {page} ({bucket['_id']}) is out of order"
            if not isinstance(bucket.get("comments"), list):
                yield f"bucket {page} ({bucket['_id']}) has no array of comments"


def page_of(number: int, size: int) -> int:
    """Return the index of the bucket or page that contains `number`.

    Indexes begin with 1, and each bucket or page contains `size` numbers.
    """
    return (int(number) - 1) // size + 1
