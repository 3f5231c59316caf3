"""Erasing an author everywhere.

At return no reader can read the text: the copies that are read, the queue and the history are blanked. What writers have in
hand then is left to the worker: it sweeps for a recorded erasure until all leases of that time have ended and a pass finds
nothing more.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice

from marginalia.comments.backends.discussions import LEASE
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.stored import Document, Place, checked, comment, held, replaced
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Comment, Held, Order, Replaced, Target
from marginalia.mongo.clock import now
from marginalia.mongo.reading import read_documents

# Discussions looked up at once.
BATCH = 200
# For how long a writer may be at work that began before an erasure.
LASTING = timedelta(seconds=2 * LEASE)


class Erasing(Changing):
    """What is kept of an author."""

    def written_by(self, *, id: str = "", email: str = "") -> Iterator[Comment | Held | Replaced]:
        query = _query(id, email)
        seen = set()
        for target, stored in self._by(query):
            for document in read_documents(f"the discussion {target}", [stored], checked):
                if (target, document["slug"]) not in seen:
                    seen.add((target, document["slug"]))
                    yield comment(target, document)
        yield from read_documents(self.store.pending.name, self.store.pending.find(_stored(query)), held)
        yield from read_documents(self.store.history.name, self.store.history.find(_stored(query)), replaced)

    def erase_author(self, *, id: str = "", email: str = "") -> int:
        query = _query(id, email)
        ((key, value),) = query.items()
        self.store.erasures.update_one({"_id": f"{key}:{value}"}, [{"$set": {"at": "$$NOW"}}], upsert=True)
        erased = self._pass(query)
        # A discussion that was converted in between may have been missed.
        while more := self._pass(query):
            erased += more
        return erased

    def sweep_erasures(self) -> int:
        for record in self.store.erasures.find({"_id": {"$gt": ""}}):  # along an index: each approval asks
            key, _, value = record["_id"].partition(":")
            found = self._pass({key: value}, record["at"])
            if not found and record["at"] + LASTING < now():
                self.store.erasures.delete_one({"_id": record["_id"], "at": record["at"]})
        return self.store.erasures.count_documents({})

    def _pass(self, query: Mapping[str, str], until: datetime | None = None) -> int:
        """Blank an author's comments (posted until then) one by one, then drop what was kept of them; return how many were
        blanked or deleted."""
        erased = 0
        # A document may be met twice, in its collection and in the trash.
        for target, document in {
            (target, found["slug"]): (target, found) for target, found in self._by(query)
        }.values():
            if until is None or document["posted"] <= until:
                try:
                    erased += self.blank(target, document)["rev"] > document["rev"]
                except CommentError:  # its target is gone, or the discussion was forgotten
                    continue
        stored = {**_stored(query), **({"posted": {"$lte": until}} if until else {})}
        erased += self.store.pending.delete_many(stored).deleted_count
        self.store.history.delete_many(stored)
        if "id" in query:
            self.store.history.update_many({"by": query["id"]}, {"$set": {"by": ""}})
            self.store.pending.update_many({"decided_by": query["id"]}, {"$set": {"decided_by": ""}})
        self._clear_copies(query)
        return erased

    def _clear_copies(self, query: Mapping[str, str]) -> None:
        """Delete the copies that hold something of an author, but for those that are read, and those that a converter makes:
        they follow what they are copied from."""
        for layout in self.store.layouts.all:
            for discussion_id, epoch in {(discussion_id, epoch) for discussion_id, epoch, _ in layout.by_author(query)}:
                target = Target.of_id(discussion_id)
                found = self.store.discussions.find(target)
                if found and epoch in (found["epoch"], (found["moving"] or found)["epoch"]):
                    continue
                layout.clear(Place(target, layout.name, Order.OLDEST, epoch, 1), {"$eq": epoch})
                dropped = {"$pull": {"leftovers": {"epoch": epoch}}}
                self.store.discussions.collection.update_one({"_id": discussion_id}, dropped)

    def _by(self, query: Mapping[str, str]) -> Iterator[tuple[Target, Document]]:
        for layout in self.store.layouts.all:
            yield from self.current(layout, query)

    def current(
        self, layout: Layout, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[Target, Document]]:
        """Yield an author's comments out of the copies of a layout that are read, not those under way or left over."""
        found = layout.by_author(query, limit=limit, before=before)
        while batch := list(islice(found, min(limit or BATCH, BATCH))):
            ids = list({discussion_id for discussion_id, _, _ in batch})
            cursor = self.store.discussions.collection.find({"_id": {"$in": ids}, "schema": layout.name}, {"epoch": 1})
            epochs = {document["_id"]: document["epoch"] for document in cursor}
            for discussion_id, epoch, document in batch:
                if epochs.get(discussion_id) == epoch:
                    yield Target.of_id(discussion_id), document


def _query(id: str, email: str) -> dict[str, str]:
    return {"id": id} if id else {"email": email.lower()}


def _stored(query: Mapping[str, str]) -> Document:
    return {f"author.{key}": value for key, value in query.items()}
