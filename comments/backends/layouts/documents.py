"""The layout that stores each comment as one document in `comments`.

A discussion has no size limit, and there is an index for every order.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pymongo import ASCENDING, DESCENDING, UpdateOne
from pymongo.errors import DuplicateKeyError

from marginalia.comments.backends.layouts.base import Changes, Layout, Lookup, sort_key
from marginalia.comments.backends.stored import FIELDS, Document, Place, readable_comments
from marginalia.comments.types import Order
from marginalia.mongo.connection import insert_new
from marginalia.mongo.reading import read_with_hint

BATCH = 2_000
SORT: dict[Order, list[tuple[str, int]]] = {
    Order.OLDEST: [("number", ASCENDING), ("posted", ASCENDING), ("slug", ASCENDING)],
    Order.THREADED: [("full_slug", ASCENDING)],
}
PROJECTION = {"_id": 0, **dict.fromkeys(FIELDS, 1)}


class Documents(Layout):
    """The layout that stores each comment in a document of its own."""

    name = "documents"
    collection = "comments"
    put_checks_slug = True
    copy_order = None

    def look(self, place: Place, wanted: Sequence[str]) -> Lookup:
        cursor = self.stored.find({**self.of(place), "slug": {"$in": list(wanted)}}, PROJECTION)
        return Lookup({document["slug"]: document for document in readable_comments(self.collection, cursor)})

    def put(self, place: Place, document: Document, lookup: Lookup) -> Document | None:
        try:
            self.stored.insert_one({**self.of(place), **document})
        except DuplicateKeyError:
            return self.look(place, [document["slug"]]).comments.get(document["slug"])
        return None

    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], lookup: Lookup
    ) -> bool:
        changed = self.stored.update_one({**self.of(place), "slug": slug, "rev": revs}, {"$set": dict(fields)})
        return bool(changed.modified_count)

    def change_many(self, place: Place, changes: Changes, lookup: Lookup) -> None:
        updates = [
            UpdateOne({**self.of(place), "slug": slug, "rev": rev}, {"$set": dict(fields)})
            for slug, (rev, fields) in changes.items()
        ]
        self.stored.bulk_write(updates, ordered=False)

    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        return self._in_order(Order.OLDEST, {**self.of(place), "number": {"$gte": low, "$lte": high}})

    def by_path(self, place: Place, low: str, high: str, limit: int, *, backwards: bool = False) -> list[Document]:
        if not limit:  # MongoDB interprets 0 as no limit
            return []
        query = {**self.of(place), "full_slug": {"$gt": low, "$lt": high}}
        return self._in_order(Order.THREADED, query, limit, DESCENDING if backwards else ASCENDING)

    def _in_order(self, order: Order, query: Document, limit: int = 0, direction: int = ASCENDING) -> list[Document]:
        """Return comments of one copy, using the index for `order` to sort them.

        The query has a hint. Without a hint, the server would plan the query again whenever it takes ten times as much
        work as the cached plan predicts. If short and long discussions are read in turn, reading a long page without
        the hint takes 1.5 times as long as reading it with the hint.
        """
        sort = [(path, direction) for path, _ in SORT[order]]
        index = [("discussion_id", ASCENDING), ("epoch", ASCENDING), *SORT[order]]
        find = partial(self.stored.find, query, PROJECTION, sort=sort, limit=limit)
        return readable_comments(self.collection, read_with_hint(index, find))

    def iterate(self, place: Place, order: Order) -> Iterator[Document]:
        # Run a separate query for each batch. A single cursor could exceed the connection's time limit, which applies
        # to the total time that the server spends on the cursor.
        query = self.of(place)
        while batch := list(self.stored.find(query, PROJECTION).sort(SORT[order]).limit(BATCH)):
            readable = readable_comments(self.collection, batch)
            yield from readable
            if len(batch) < BATCH or not readable:
                return
            query = {**self.of(place), **_beyond(readable[-1], order)}

    def read_many(self, places: Sequence[Place]) -> dict[Place, list[Document]]:
        present = {(place.target.id, place.epoch): place for place in places}
        query = {"discussion_id": {"$in": [place.target.id for place in places]}}
        cursor = self.stored.find(query, {**PROJECTION, "discussion_id": 1, "epoch": 1})
        comments: dict[Place, list[Document]] = {place: [] for place in places}
        for document in readable_comments(self.collection, cursor):
            if place := present.get((document.pop("discussion_id"), document.pop("epoch"))):
                comments[place].append(document)
        return {place: sorted(items, key=partial(sort_key, order=Order.OLDEST)) for place, items in comments.items()}

    def newest(self, place: Place, limit: int) -> list[Document]:
        query = {**self.of(place), "state": "public"}
        descending = [(path, DESCENDING) for path, _ in SORT[Order.OLDEST]]
        return readable_comments(self.collection, self.stored.find(query, PROJECTION).sort(descending).limit(limit))

    def by_author(
        self, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[str, int, Document]]:
        filter: Document = {f"author.{key}": value for key, value in query.items()}
        if before:
            filter["posted"] = {"$lt": before}
        cursor = self.stored.find(filter, {**PROJECTION, "discussion_id": 1, "epoch": 1})
        if limit:
            cursor = cursor.sort([("posted", DESCENDING)]).batch_size(limit)
        for document in cursor:
            yield document.pop("discussion_id"), document.pop("epoch"), document

    def scan(self, place: Place) -> Iterator[tuple[Any, Any]]:
        for document in self.stored.find(self.of(place)):
            yield document["_id"], document

    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        self.copy_many({place: documents})

    def copy_many(self, copies: Mapping[Place, Sequence[Document]]) -> None:
        insert_new(
            self.stored,
            [{**self.of(place), **document} for place, documents in copies.items() for document in documents],
        )


def _beyond(last: Document, order: Order) -> Document:
    """Return the query for the comments that sort after `last`. Some of them can have the same number as `last`."""
    if order is Order.THREADED:
        return {"full_slug": {"$gt": last["full_slug"]}}
    number = last["number"]
    posted = last["posted"]
    return {
        "$or": [
            {"number": {"$gt": number}},
            {"number": number, "posted": {"$gt": posted}},
            {"number": number, "posted": posted, "slug": {"$gt": last["slug"]}},
        ]
    }
