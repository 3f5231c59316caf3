"""Reads and erasures over all discussions, whatever schema each is kept in."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from pymongo import DESCENDING
from pymongo.database import Database

from comments.backends.changing import Changing
from comments.backends.claims import is_free
from comments.backends.schema import Schema
from comments.backends.schemas import Schemas
from comments.backends.stored import Document, Place, comment, held, place
from comments.types import Comment, Held, Order, Replaced, State, Target

# How many discussions are looked up at once.
BATCH = 200
# By how much the clocks of servers may differ.
SKEW = timedelta(seconds=10)


class Across:
    """Everything that is not about one discussion."""

    def __init__(self, db: Database[Document], schemas: Schemas) -> None:
        self.db = db
        self.schemas = schemas

    def recent(self, limit: int, label: str) -> tuple[Comment, ...]:
        """Return the newest public comments.

        `newest` of a discussion is never below the time of its newest public comment: discussions are opened in its
        order until no unopened one can hold anything newer than what was found (threshold algorithm, Fagin 2001).
        """
        query = _of_label(label)
        newest: list[Comment] = []
        cursor = self.db.discussions.find(query, {"claims": 0, "touched": 0}, batch_size=limit)
        for document in cursor.sort([("newest", DESCENDING)]):
            if len(newest) == limit and document["newest"] <= newest[-1].posted:
                break
            where = place(document)
            found = (comment(where.target, item) for item in self.schemas.of(where).newest(where, limit))
            newest = heapq.nlargest(limit, (*newest, *found), key=lambda c: (c.posted, c.slug))
        return tuple(newest)

    def by_author(self, author_id: str, limit: int, before: datetime | None) -> tuple[Comment, ...]:
        """Return a user's newest public comments."""
        # By where it is: a discussion that switches meanwhile may be met in two schemas.
        found: dict[tuple[str, str], Comment] = {}
        for schema in self.schemas.all:
            of_schema = 0
            for target, document in self._current(schema, {"id": author_id}, limit=limit, before=before):
                if document["state"] != State.PUBLIC.value:
                    continue
                found[target.id, document["slug"]] = comment(target, document)
                of_schema += 1
                if of_schema == limit:
                    break
        return tuple(heapq.nlargest(limit, found.values(), key=lambda c: (c.posted, c.slug)))

    def written_by(self, query: Mapping[str, str]) -> Iterator[Comment | Held | Replaced]:
        """Yield what is kept of an author, wherever it is kept."""
        for target, document in self._all(query):
            yield comment(target, document)
        stored = {f"author.{key}": value for key, value in query.items()}
        for document in self.db["comments.pending"].find(stored):
            yield held(document)
        for document in self.db["comments.history"].find(stored):
            yield Replaced(comment(Target.parse(document["discussion_id"]), document), document["at"], document["by"])

    def _all(self, query: Mapping[str, str]) -> Iterator[tuple[Target, Document]]:
        """Yield every comment of an author, each once. A discussion that switches from a schema that is still to be read to
        one that was is met in neither: all that switched since this began are looked through again, until none has."""
        began = self.db.discussions.find_one({}, {"now": "$$NOW"})
        if began is None:
            return
        switched = {"switched": {"$gte": began["now"] - SKEW}}
        yielded: set[tuple[str, str]] = set()
        epochs: dict[str, int] = {}
        among: list[str] | None = None
        while among is None or among:
            for schema in self.schemas.all:
                for target, document in self._current(schema, query, among=among):
                    if (target.id, document["slug"]) not in yielded:
                        yielded.add((target.id, document["slug"]))
                        yield target, document
            present = {found["_id"]: found["epoch"] for found in self.db.discussions.find(switched, {"epoch": 1})}
            among = [discussion_id for discussion_id, epoch in present.items() if epochs.get(discussion_id) != epoch]
            epochs = present

    def _current(
        self,
        schema: Schema,
        query: Mapping[str, str],
        *,
        limit: int = 0,
        before: datetime | None = None,
        among: Sequence[str] | None = None,
    ) -> Iterator[tuple[Target, Document]]:
        """Yield an author's comments out of the copies that are read, not those under way or left over."""
        batch: list[tuple[str, int, Document]] = []
        for item in schema.by_author(query, limit=limit, before=before, among=among):
            batch.append(item)
            if len(batch) == BATCH:
                yield from self._read(schema, batch)
                batch = []
        yield from self._read(schema, batch)

    def _read(self, schema: Schema, batch: list[tuple[str, int, Document]]) -> Iterator[tuple[Target, Document]]:
        ids = list({discussion_id for discussion_id, _, _ in batch})
        cursor = self.db.discussions.find({"_id": {"$in": ids}, "schema": schema.name}, {"epoch": 1}) if ids else ()
        epochs = {document["_id"]: document["epoch"] for document in cursor}
        for discussion_id, epoch, document in batch:
            if epochs.get(discussion_id) == epoch:
                yield Target.parse(discussion_id), document

    def erase_author(self, changing: Changing, query: Mapping[str, str]) -> int:
        """Blank an author's comments one by one, by claim and commit like every change, then drop what was kept of
        them. Whoever restores or publishes one of those meanwhile looks afterwards whether it was still kept."""
        erased = self._blank(changing, query)
        stored = {f"author.{key}": value for key, value in query.items()}
        erased += int(self.db["comments.pending"].delete_many(stored).deleted_count)
        self.db["comments.history"].delete_many(stored)
        if "id" in query:
            self.db["comments.history"].update_many({"by": query["id"]}, {"$set": {"by": ""}})
            self.db["comments.pending"].update_many({"decided_by": query["id"]}, {"$set": {"decided_by": ""}})
        # And what came back before that was gone is to be found now.
        erased += self._blank(changing, query)
        self._clear_copies(query)
        return erased

    def _clear_copies(self, query: Mapping[str, str]) -> None:
        """Delete the copies that nobody reads, where they hold something of an author; those that a converter is at work on
        follow what they are copied from."""
        for schema in self.schemas.all:
            copies = {(discussion_id, epoch) for discussion_id, epoch, _ in schema.by_author(query)}
            for discussion_id, epoch in sorted(copies):
                found = self.db.discussions.find_one({"_id": discussion_id}, {"claims": 0, "touched": 0})
                if found is None:
                    # Written by whoever was late when the discussion was deleted. One that begins now has another epoch.
                    target = Target.parse(discussion_id)
                    schema.clear(Place(target, schema.name, Order.OLDEST, epoch, 1), {"$eq": epoch})
                    continue
                if (found["epoch"], found["schema"]) == (epoch, schema.name):
                    continue
                if found["moving"] and found["moving"]["epoch"] == epoch:
                    same = {"_id": discussion_id, "moving.id": found["moving"]["id"], **is_free()}
                    ended: Document = {"$set": {"moving": None, "touched": []}}
                    if not self.db.discussions.update_one(same, ended).modified_count:
                        continue
                schema.clear(place(found), {"$eq": epoch})
                dropped = {"$pull": {"leftovers": {"epoch": epoch}}}
                self.db.discussions.update_one({"_id": discussion_id}, dropped)

    def _blank(self, changing: Changing, query: Mapping[str, str]) -> int:
        return sum(changing.erase_again(target, document) for target, document in list(self._all(query)))


def _of_label(label: str) -> Document:
    # One above ":", the separator.
    return {"_id": {"$gte": f"{label}:", "$lt": f"{label};"}} if label else {}
