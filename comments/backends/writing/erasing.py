"""Erase all comments by an author, and all other data about the author.

When `erase_author` returns, the author's comments have been erased from the current copies, the queue and the history,
and no one can read them. Comments that were being written at the same time are erased later, by the worker. The worker
repeats the search until all writers from that time must have stopped and a search finds nothing.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice

from marginalia.comments.backends.catalogue import author_query
from marginalia.comments.backends.discussions import LEASE
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.stored import Document, Place, check_comment, read_comment, read_held, read_replaced
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Comment, HeldComment, Order, ReplacedComment, Target
from marginalia.mongo.clock import now
from marginalia.mongo.reading import read_documents

# How many comments are checked at a time.
BATCH = 200
# How long a writer that started before an erasure can still be active.
LASTING = timedelta(seconds=2 * LEASE)


class Erasing(Changing):
    """The part of the backend that reads or erases all data about an author."""

    def written_by(self, *, id: str = "", email: str = "") -> Iterator[Comment | HeldComment | ReplacedComment]:
        query = _query(id, email)
        seen = set()
        for target, stored in self._current_by_author(query):
            for document in read_documents(f"the discussion {target}", [stored], check_comment):
                if (target, document["slug"]) not in seen:
                    seen.add((target, document["slug"]))
                    yield read_comment(target, document)
        yield from read_documents(self.store.pending.name, self.store.pending.find(_document_filter(query)), read_held)
        yield from read_documents(
            self.store.history.name, self.store.history.find(_document_filter(query)), read_replaced
        )

    def erase_author(self, *, id: str = "", email: str = "") -> int:
        query = _query(id, email)
        ((key, value),) = query.items()
        self.store.erasures.update_one({"_id": f"{key}:{value}"}, [{"$set": {"at": "$$NOW"}}], upsert=True)
        erased = self._erase_found(query)
        # Search again until nothing is found. A search can miss comments in a discussion that is converted at the same
        # time.
        while count := self._erase_found(query):
            erased += count
        return erased

    def sweep_erasures(self) -> int:
        # The filter matches every erasure. Without a filter, the query would not use the index.
        for record in self.store.erasures.find({"_id": {"$gt": ""}}):
            key, _, value = record["_id"].partition(":")
            count = self._erase_found({key: value}, record["at"])
            if not count and record["at"] + LASTING < now():
                self.store.erasures.delete_one({"_id": record["_id"], "at": record["at"]})
        return self.store.erasures.count_documents({})

    def _erase_found(self, query: Mapping[str, str], until: datetime | None = None) -> int:
        """Erase an author's comments one by one, then delete the author's other data.

        If `until` is given, only comments posted up to that time are erased. Return how many comments were erased or
        deleted.
        """
        erased = 0
        # Use a dictionary, because an embedded comment may be found twice: in the collection of its target, and in the
        # trash.
        for target, document in {
            (target, stored_comment["slug"]): (target, stored_comment)
            for target, stored_comment in self._current_by_author(query)
        }.values():
            if until is None or document["posted"] <= until:
                try:
                    erased += self.blank(target, document)["rev"] > document["rev"]
                except CommentError:  # the target or the discussion was deleted
                    continue
        stored = {**_document_filter(query), **({"posted": {"$lte": until}} if until else {})}
        erased += self.store.pending.delete_many(stored).deleted_count
        self.store.history.delete_many(stored)
        self.store.catalogue.erase({**author_query(query), **({"posted": {"$lte": until}} if until else {})})
        if "id" in query:
            self.store.history.update_many({"by": query["id"]}, {"$set": {"by": ""}})
            self.store.pending.update_many({"decided_by": query["id"]}, {"$set": {"decided_by": ""}})
            self.store.batches.update_many({"by": query["id"]}, {"$set": {"by": ""}})
        self.store.batches.update_many({"what": author_query(query)["terms"]}, {"$set": {"what": ""}})
        self._clear_copies(query)
        return erased

    def _clear_copies(self, query: Mapping[str, str]) -> None:
        """Delete old copies that contain comments by an author. Keep current copies and copies that are being written.

        A conversion that is writing a copy erases the comments there when it compares the two copies.
        """
        for layout in self.store.layouts.all:
            for discussion_id, epoch in {(discussion_id, epoch) for discussion_id, epoch, _ in layout.by_author(query)}:
                target = Target.from_id(discussion_id)
                document = self.store.discussions.find(target)
                if document and epoch in (document["epoch"], (document["moving"] or document)["epoch"]):
                    continue
                layout.clear(Place(target, layout.name, Order.OLDEST, epoch, 1), {"$eq": epoch})
                dropped = {"$pull": {"leftovers": {"epoch": epoch}}}
                self.store.discussions.collection.update_one({"_id": discussion_id}, dropped)

    def _current_by_author(self, query: Mapping[str, str]) -> Iterator[tuple[Target, Document]]:
        for layout in self.store.layouts.all:
            yield from self.current(layout, query)

    def current(
        self, layout: Layout, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[Target, Document]]:
        """Yield an author's comments in the discussions that use `layout`. Only current copies are read."""
        entries = layout.by_author(query, limit=limit, before=before)
        while batch := list(islice(entries, min(limit or BATCH, BATCH))):
            ids = list({discussion_id for discussion_id, _, _ in batch})
            cursor = self.store.discussions.collection.find({"_id": {"$in": ids}, "schema": layout.name}, {"epoch": 1})
            epochs = {document["_id"]: document["epoch"] for document in cursor}
            for discussion_id, epoch, document in batch:
                if epochs.get(discussion_id) == epoch:
                    yield Target.from_id(discussion_id), document


def _query(id: str, email: str) -> dict[str, str]:
    return {"id": id} if id else {"email": email.lower()}


def _document_filter(query: Mapping[str, str]) -> Document:
    return {f"author.{key}": value for key, value in query.items()}
