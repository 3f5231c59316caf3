"""Bulk decisions: hide or approve any number of comments in all discussions, and undo this.

A batch is worked on in steps, each of which can be repeated after a crash:

1. MARKING: pending comments get the verdict and the id of the batch with one update. The entries of published comments
   in the catalogue get the id of the batch. If the verdict is APPROVED, pending comments get only the id of the batch.
2. HIDING: chunks of the marked comments are removed (see bulk.py), with the id of the batch as the token.
   APPROVING: the marked pending comments are published, one by one.
3. DONE.
4. UNDOING: chunks of the marked comments are restored, and lose their mark. Only comments that still are as the batch
   left them are restored. Comments that were published are removed.
5. UNDONE.

A process works on a batch only while it holds the batch's lease. If it dies, the worker continues after the lease has
expired. An undo can begin during any step, because it changes the state that the next chunk checks.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument

from marginalia.comments.backends.discussions import BEGINNING
from marginalia.comments.backends.reading.searching import Searching
from marginalia.comments.backends.stored import Document
from marginalia.comments.backends.writing.bulk import Bulk
from marginalia.comments.backends.writing.pending import Pending
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Batch, BatchState, OnDecided, Selection, State, Target, Verdict
from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched, no_time_limit
from marginalia.mongo.reading import read_document, read_documents

# How many comments are hidden or restored before the lease is renewed.
CHUNK = 1_000
# How many comments are published before the lease is renewed. Each one takes about as long as a single approval.
APPROVED_CHUNK = 100
LEASE = timedelta(seconds=120)
UNFINISHED = [
    state.value for state in (BatchState.MARKING, BatchState.HIDING, BatchState.APPROVING, BatchState.UNDOING)
]
NOBODY: Document = {"by": None, "until": BEGINNING}
NARROWING = ("discussions", "comments")
PLACE = {"discussion_id": 1, "slug": 1}
NEWEST_FIRST = [("created", -1), ("_id", -1)]
# A function that reports the entries that were decided on.
Reported = Callable[[Iterable[Document], Verdict], None]


class Batches(Pending, Bulk, Searching):
    """The part of the backend that hides or approves many comments at once, and undoes this."""

    def start_batch(
        self, selection: Selection, verdict: Verdict, *, what: str = "", by: str = "", origin: str = ""
    ) -> Batch:
        document = {
            "_id": ObjectId(),
            "by": by,
            "created": now(),
            "verdict": verdict.value,
            "what": what,
            "origin": origin,
            "state": BatchState.MARKING.value,
            "selection": _stored(selection),
            "total": 0,
            "skipped": 0,
            "restored": 0,
            "lease": NOBODY,
        }
        self.store.batches.insert_one(document)
        return self._read(document)

    def undo_batch(self, batch_id: str, *, by: str = "") -> Batch | None:
        query = {**_id(batch_id), "state": {"$nin": [BatchState.UNDOING.value, BatchState.UNDONE.value]}}
        update = {"$set": {"state": BatchState.UNDOING.value, "undone_by": by}, "$unset": {"ended": ""}}
        self.store.batches.update_one(query, update)
        return self.batch(batch_id)

    def work_on_batch(
        self, batch_id: str, *, seconds: float | None = None, report: OnDecided | None = None
    ) -> Batch | None:
        deadline = None if seconds is None else time.monotonic() + seconds
        lease = ObjectId()
        free = {**_id(batch_id), "state": {"$in": UNFINISHED}, "lease.until": {"$lt": now()}}
        document = self.store.batches.find_one_and_update(free, {"$set": {"lease": _lease(lease)}})
        if document and document["lease"]["by"]:
            self.commit_abandoned(batch_id)
        while document:
            last = document
            with no_time_limit():
                changes = self._step(document, report)
            mine = {**_id(batch_id), "lease.by": lease}
            is_late = deadline is not None and time.monotonic() > deadline
            release = is_late or "ended" in changes.get("$set", {})
            changes.setdefault("$set", {})["lease"] = NOBODY if release else _lease(lease)
            # If an undo has begun in the meantime, keep its state, and only record what this chunk has done.
            before = {**mine, "state": document["state"]}
            document = self._move(before, **changes) or self._move(mine, {"lease": _lease(lease)})
            if document is None or document["state"] not in UNFINISHED or document["lease"]["by"] != lease:
                return self.batch(str(last["_id"]))
        return self.batch(batch_id)

    def batch(self, batch_id: str) -> Batch | None:
        stored = self.store.batches.find_one(_id(batch_id))
        return read_document(self.store.batches.name, stored, self._read)

    def batches(self, *, limit: int, after: str = "") -> list[Batch]:
        query: Document = {}
        if last := self.batch(after):
            key = ObjectId(last.id)
            query["$or"] = [{"created": {"$lt": last.created}}, {"created": last.created, "_id": {"$lt": key}}]
        cursor = self.store.batches.find(query).sort(NEWEST_FIRST).limit(limit)
        return list(read_documents(self.store.batches.name, cursor, self._read))

    def tidy_batches(self, *, report: OnDecided | None = None) -> int:
        query = {"state": {"$in": UNFINISHED}, "lease.until": {"$lt": now()}}
        stale = [str(document["_id"]) for document in self.store.batches.find(query, {"_id": 1})]
        return sum(self.work_on_batch(batch_id, report=report) is not None for batch_id in stale)

    def _move(self, query: Document, fields: Document | None = None, **changes: Any) -> Document | None:
        if fields:
            changes = {"$set": fields}
        return self.store.batches.find_one_and_update(query, changes, return_document=ReturnDocument.AFTER)

    # Steps: each returns the update of the batch's document ------------------------------------------------------------

    def _step(self, document: Document, report: OnDecided | None) -> Document:
        def reported(entries: Iterable[Document], verdict: Verdict) -> None:
            places = [(Target.from_id(entry["discussion_id"]), entry["slug"]) for entry in entries]
            if places and report:
                report(places, verdict, document.get("origin", ""))

        steps = {
            BatchState.MARKING: self._mark,
            BatchState.HIDING: self._hide,
            BatchState.APPROVING: self._approve_marked,
            BatchState.UNDOING: self._withdraw_approvals if _is_approval(document) else self._restore,
        }
        return steps[BatchState(document["state"])](document, reported)

    def _mark(self, document: Document, reported: Reported) -> Document:
        key = document["_id"]
        # Comments that arrive later aren't part of the decision.
        query = {"$and": [self.select(_selection(document["selection"])), {"posted": {"$lte": document["created"]}}]}
        waiting = {**query, "state": Verdict.WAITING.value, "settled": {"$ne": True}}
        if _is_approval(document):
            self.store.pending.update_many(waiting, {"$set": {"batch": key}})
            total = self.store.pending.count_documents({"batch": key})
            return {"$set": {"state": BatchState.APPROVING.value, "total": total}, "$unset": {"selection": ""}}
        fields = {"state": document["verdict"], "decided": now(), "decided_by": document["by"], "batch": key}
        self.store.pending.update_many(waiting, {"$set": fields, "$unset": {"lease": ""}})
        for chunk in batched(self.store.pending.find({"batch": key}, PLACE), CHUNK):
            reported(chunk, Verdict(document["verdict"]))
        self.store.catalogue.stored.update_many(
            {**query, "state": State.PUBLIC.value}, {"$set": {"batch": key, "verdict": document["verdict"]}}
        )
        total = sum(
            stored.count_documents({"batch": key}) for stored in (self.store.pending, self.store.catalogue.stored)
        )
        return {"$set": {"state": BatchState.HIDING.value, "total": total}, "$unset": {"selection": ""}}

    def _hide(self, document: Document, reported: Reported) -> Document:
        query = {"batch": document["_id"], "state": State.PUBLIC.value}
        entries = self._chunk(query)
        if not entries:
            return {"$set": {"state": BatchState.DONE.value, "ended": now()}}
        _hidden, skipped = self._in_discussions(entries, self.remove_many, document, document["by"])
        # Comments that are still public can't be hidden, or were restored by a moderator since they were hidden.
        self._unmark(entries, query)
        reported(entries, Verdict(document["verdict"]))
        return {"$inc": {"skipped": skipped}}

    def _approve_marked(self, document: Document, reported: Reported) -> Document:
        query = {"batch": document["_id"], "state": Verdict.WAITING.value}
        entries = list(self.store.pending.find(query, PLACE).limit(APPROVED_CHUNK))
        if not entries:
            return {"$set": {"state": BatchState.DONE.value, "ended": now()}}
        approved = self._approve_all(entries, document)
        reported(approved, Verdict.APPROVED)
        return {"$inc": {"skipped": len(entries) - len(approved)}}

    def _approve_all(self, entries: list[Document], document: Document) -> list[Document]:
        """Publish pending comments, and return those that were published."""
        approved = []
        for entry in entries:
            try:
                self.approve_with(str(entry["_id"]), document["by"], batch=document["_id"])
                approved.append(entry)
            except CommentError:  # the comment was withdrawn, or its discussion is damaged or busy, or was deleted
                self.store.pending.update_one({**entry, "batch": document["_id"]}, {"$unset": {"batch": ""}})
        return approved

    def _withdraw_approvals(self, document: Document, reported: Reported) -> Document:
        key = document["_id"]
        # A process that died may have published these comments without recording the verdict.
        begun = {"batch": key, "state": Verdict.WAITING.value, "settled": True}
        self._approve_all(list(self.store.pending.find(begun, PLACE)), document)
        self.store.pending.update_many({"batch": key, "state": Verdict.WAITING.value}, {"$unset": {"batch": ""}})
        entries = list(self.store.pending.find({"batch": key}, PLACE).limit(CHUNK))
        if not entries:
            return {"$set": {"state": BatchState.UNDONE.value, "ended": now()}}
        removed, skipped = self._in_discussions(entries, self.remove_many, document, document.get("undone_by", ""))
        ids = [entry["_id"] for entry in entries]
        self.store.pending.update_many({"batch": key, "_id": {"$in": ids}}, {"$unset": {"batch": ""}})
        reported(entries, Verdict.WAITING)
        return {"$inc": {"restored": removed, "skipped": skipped}}

    def _restore(self, document: Document, reported: Reported) -> Document:
        key = document["_id"]
        waiting = {"state": Verdict.WAITING.value, "decided": None, "decided_by": ""}
        for chunk in batched(self.store.pending.find({"batch": key, "state": document["verdict"]}, PLACE), CHUNK):
            reported(chunk, Verdict.WAITING)
        returned = self.store.pending.update_many(
            {"batch": key, "state": document["verdict"]}, {"$set": waiting, "$unset": {"batch": ""}}
        ).modified_count
        entries = self._chunk({"batch": key, "state": {"$in": [state.value for state in State]}})
        if not entries:
            return {"$set": {"state": BatchState.UNDONE.value, "ended": now()}, "$inc": {"restored": returned}}
        restored, skipped = self._in_discussions(entries, self.restore_many, document, document.get("undone_by", ""))
        self._unmark(entries, {"batch": key})
        reported(entries, Verdict.WAITING)
        return {"$inc": {"restored": returned + restored, "skipped": skipped}}

    def _chunk(self, query: Document) -> list[Document]:
        # Comments that were posted one after the other are usually in the same bucket, which is written as a whole.
        cursor = self.store.catalogue.stored.find(query, PLACE).sort([("discussion_id", 1), ("posted", 1)])
        return list(cursor.limit(CHUNK))

    def _unmark(self, entries: list[Document], query: Document) -> None:
        ids = {"_id": {"$in": [entry["_id"] for entry in entries]}}
        self.store.catalogue.stored.update_many({**query, **ids}, {"$unset": {"batch": ""}})

    def _in_discussions(
        self, entries: list[Document], change: Callable[..., int], batch: Document, by: str
    ) -> tuple[int, int]:
        """Call `change` for each discussion of the entries.

        Return how many comments were changed, and how many couldn't be changed.
        """
        by_discussion = defaultdict(list)
        for entry in entries:
            by_discussion[entry["discussion_id"]].append(entry["slug"])
        changed = skipped = 0
        for discussion_id, slugs in by_discussion.items():
            try:
                changed += change(Target.from_id(discussion_id), slugs, token=str(batch["_id"]), by=by)
            except CommentError:  # the discussion is damaged or busy, or was deleted
                skipped += len(slugs)
        return changed, skipped

    def _read(self, document: Mapping[str, Any]) -> Batch:
        return Batch(
            str(document["_id"]),
            document["by"],
            document["created"],
            Verdict(document["verdict"]),
            document["what"],
            BatchState(document["state"]),
            int(document["total"]),
            self._count_left(document),
            int(document["skipped"]),
            int(document["restored"]),
        )

    def _count_left(self, document: Mapping[str, Any]) -> int:
        """Return how many comments are still to be changed."""
        pending, catalogue = self.store.pending, self.store.catalogue.stored
        marked = {"batch": document["_id"]}
        match BatchState(document["state"]):
            case BatchState.HIDING:
                return catalogue.count_documents({**marked, "state": State.PUBLIC.value})
            case BatchState.APPROVING:
                return pending.count_documents({**marked, "state": Verdict.WAITING.value})
            case BatchState.UNDOING:
                return (pending if _is_approval(document) else catalogue).count_documents(marked)
        return 0


def _id(batch_id: str) -> Document:
    return {"_id": ObjectId(batch_id) if ObjectId.is_valid(batch_id) else batch_id}


def _is_approval(document: Mapping[str, Any]) -> bool:
    return bool(document["verdict"] == Verdict.APPROVED.value)


def _lease(by: ObjectId) -> Document:
    return {"by": by, "until": now() + LEASE}


def _stored(selection: Selection) -> Document:
    # Keep empty tuples in `discussions` and `comments`, which match nothing. Other empty values match everything.
    fields = asdict(selection)
    return {name: value for name, value in fields.items() if value or (value is not None and name in NARROWING)}


def _selection(document: Document) -> Selection:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
    }
    return Selection(**fields)
