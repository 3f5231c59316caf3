"""The queue of comments that wait for a moderator, as documents: what their authors and moderators do to them there."""

from bson import ObjectId
from pymongo import ReturnDocument
from pymongo.collection import Collection
from pymongo.cursor import Cursor
from pymongo.database import Database

from comments import slugs
from comments.backends import numbering
from comments.backends.stored import NOBODY, Document
from comments.errors import CommentNotFound, HeldChanged
from comments.types import Target, Verdict
from mongo.connection import now

# Of a queued comment that its author may still change.
WAITS: Document = {"state": Verdict.WAITING.value, "settled": {"$ne": True}}


class Holding:
    """The queue on one database. Every change is one conditional update."""

    def __init__(self, db: Database[Document]) -> None:
        self.pending: Collection[Document] = db["comments.pending"]

    def get(self, held_id: str) -> Document:
        """Return a comment of the queue, in any state. Raises CommentNotFound."""
        found = self.pending.find_one({"_id": ObjectId(held_id)}) if ObjectId.is_valid(held_id) else None
        if found is None:
            raise CommentNotFound(held_id)
        return found

    def find(self, wanted: Document, verdict: Verdict, limit: int, after: str) -> Cursor[Document]:
        """Return up to `limit` in one state, the oldest first, from behind the one with the id `after`.

        `wanted`: the values that they have, by path; empty ones do not matter.
        """
        query: Document = {"state": verdict.value, **{path: value for path, value in wanted.items() if value}}
        if after:
            last = self.get(after)
            query["$or"] = [
                {"created": {"$gt": last["created"]}},
                {"created": last["created"], "_id": {"$gt": last["_id"]}},
            ]
        return self.pending.find(query).sort([("created", 1), ("_id", 1)]).limit(limit)

    def of_token(self, target: Target, token: str) -> Document | None:
        """Return what waits of a form, by its token."""
        ending = {"$regex": f"(^|/){slugs.part(token)}$"}
        return self.pending.find_one({"discussion_id": target.id, "slug": ending, "state": Verdict.WAITING.value})

    def change(self, held_id: str, source: str, html: str, rev: int) -> Document:
        """Replace the text of what waits, if `rev` is the next. Raises CommentNotFound, HeldChanged."""
        document = self.get(held_id)
        text = {"source": source, "html": html}
        query = {"_id": document["_id"], **WAITS, **_edited(rev)}
        update = {"$set": {**text, "edits": rev}, "$unset": {"lease": ""}}
        changed = self.pending.find_one_and_update(query, update, return_document=ReturnDocument.AFTER)
        if changed is None:
            changed = self.get(held_id)
            if changed["state"] != Verdict.WAITING or changed.get("settled"):
                raise CommentNotFound(held_id)
            if changed["source"] != source:
                raise HeldChanged(held_id)
        return changed

    def withdraw(self, held_id: str) -> Document:
        """Take back what waits, for its author. Raises CommentNotFound."""
        blank = {"author": NOBODY, "source": "", "html": "", "said": "", "reasons": []}
        withdrawn = self.pending.find_one_and_update(
            {"_id": self.get(held_id)["_id"], **WAITS},
            {"$set": {**blank, "state": Verdict.WITHDRAWN.value, "decided": now()}, "$unset": {"lease": ""}},
            return_document=ReturnDocument.AFTER,
        )
        if withdrawn is None:
            raise CommentNotFound(held_id)
        return withdrawn

    def settle(self, held_id: str, rev: int) -> Document:
        """Return what is to be published, its author's last word: nothing unseen slips in while it is. Raises CommentNotFound,
        HeldChanged."""
        seen = self.get(held_id)
        query = {"_id": seen["_id"], "state": {"$ne": Verdict.WITHDRAWN.value}, **(_edited(rev) if rev else {})}
        # What was rejected must not come to the end of its time while it is published: that begins anew.
        is_rejected = {"$in": ["$state", [Verdict.REJECTED.value, Verdict.SPAM.value]]}
        change = [{"$set": {"settled": True, "decided": {"$cond": [is_rejected, "$$NOW", "$decided"]}}}]
        settled = self.pending.find_one_and_update(query, change, return_document=ReturnDocument.AFTER)
        if settled is None:
            raise CommentNotFound(held_id) if seen["state"] == Verdict.WITHDRAWN else HeldChanged(held_id)
        return settled

    def decide(self, waiting: Document, verdict: Verdict, by: str) -> Document:
        """Decide what was not published or withdrawn; return it as it is then."""
        # The time of the decision is what the queue's TTL counts from: what waits again has none.
        decided = None if verdict is Verdict.WAITING else now()
        query = {"_id": waiting["_id"], "state": {"$nin": [Verdict.APPROVED.value, Verdict.WITHDRAWN.value]}}
        update = {"$set": {"state": verdict.value, "decided": decided, "decided_by": by}}
        changed = self.pending.find_one_and_update(query, update, return_document=ReturnDocument.AFTER)
        return changed or self.get(str(waiting["_id"]))

    def is_crowded(self, target: Target, number: int) -> bool:
        """Return whether so many were approved among a hundred numbers that page and bucket get too long."""
        low = numbering.HUNDRED * ((number - 1) // numbering.HUNDRED)
        approved = {"$gt": low, "$lte": low + numbering.HUNDRED}
        query = {"discussion_id": target.id, "state": Verdict.APPROVED.value, "number": approved}
        return self.pending.count_documents(query, limit=numbering.CROWD + 1) > numbering.CROWD


def _edited(rev: int) -> Document:
    return {"edits": {"$in": [rev - 1, None]} if rev == 1 else rev - 1}
