"""Pending comments: what waits for a moderator, what its author and moderators do to it there."""

from datetime import datetime, timedelta
from typing import Unpack

from bson import ObjectId
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from marginalia.comments.backends.stored import ERASED, Document, body, comment, held, place, placed, slug_of
from marginalia.comments.backends.writing.posting import Posting
from marginalia.comments.errors import CommentNotFound, DiscussionClosed, HeldChanged, InvalidParent
from marginalia.comments.types import Comment, Held, HeldQuery, NewComment, Posted, State, Target, Verdict
from marginalia.mongo.clock import now
from marginalia.mongo.reading import read_document, read_documents

# Of a pending comment that its author may still change.
WAITS: Document = {"state": Verdict.WAITING.value, "settled": {"$ne": True}}
FIRST = [("created", 1), ("_id", 1)]


class Pending(Posting):
    """The moderation queue. Every change is one conditional update."""

    def hold(self, target: Target, new: NewComment, reasons: tuple[str, ...] = ()) -> Posted:
        slug = slug_of(new)
        content = body(new)
        discussion = self._begun(target)
        where = place(discussion)
        looked = self.store.layouts.of(where).look(where, [slug, new.parent] if new.parent else [slug]).comments
        if stored := looked.get(slug):
            return Posted(comment(target, stored), new=False)
        if new.posted is None and discussion["state"] != "open":
            raise DiscussionClosed(str(target))
        answered = looked.get(new.parent)
        # An import brings replies to tombstones too.
        if new.parent and (answered is None or (answered["state"] != State.PUBLIC.value and new.posted is None)):
            raise InvalidParent(new.parent)
        posted = new.posted or max(now(), discussion["last_posted"] + timedelta(milliseconds=1))
        document = {
            **placed(content, slug, max(discussion["last_number"], 1), posted, answered),
            "_id": ObjectId(),
            "discussion_id": target.id,
            "state": Verdict.WAITING.value,
            "created": now(),
            "reasons": list(reasons),
            "decided_by": "",
            "decided": None,
        }
        try:
            self.store.pending.insert_one(document)
        except DuplicateKeyError:
            before = self.store.pending.find_one({"discussion_id": target.id, "slug": slug}) or document
            return Posted(None, held(before), new=False)
        return Posted(None, held(document))

    def _begun(self, target: Target) -> Document:
        while (found := self.store.discussions.find(target)) is None:
            self.store.discussions.begin(target)
        return found

    def approve(self, held_id: str, by: str = "", rev: int = 0) -> Comment:
        waiting = self._settle(held_id, rev)
        stored = self.publish(waiting)
        self._decide(waiting, Verdict.APPROVED, by)  # raises CommentNotFound if its author was erased
        return comment(Target.of_id(waiting["discussion_id"]), stored)

    def change_held(self, held_id: str, *, source: str, html: str, rev: int) -> Held:
        document = self._get(held_id)
        query = {**_key(document), **WAITS, **_edited(rev)}
        update = {"$set": {"source": source, "html": html, "edits": rev}, "$unset": {"lease": ""}}
        changed = self.store.pending.find_one_and_update(query, update, return_document=ReturnDocument.AFTER)
        if changed is None:
            changed = self._get(held_id)
            if changed["state"] != Verdict.WAITING or changed.get("settled"):
                raise CommentNotFound(held_id)
            if changed["source"] != source:
                raise HeldChanged(held_id)
        return held(changed)

    def withdraw(self, held_id: str) -> Held:
        blank = {"author": ERASED, "source": "", "html": "", "said": "", "reasons": []}
        withdrawn = self.store.pending.find_one_and_update(
            {**_key(self._get(held_id)), **WAITS},
            {"$set": {**blank, "state": Verdict.WITHDRAWN.value, "decided": now()}, "$unset": {"lease": ""}},
            return_document=ReturnDocument.AFTER,
        )
        if withdrawn is None:
            raise CommentNotFound(held_id)
        return held(withdrawn)

    def reject(self, held_id: str, by: str = "", verdict: Verdict = Verdict.REJECTED) -> Held:
        rejected = self._decide(self._get(held_id), verdict, by)
        if rejected.settled and rejected.verdict is verdict is not Verdict.WAITING:
            # A moderator who was publishing it stopped in between: what the queue calls rejected is not to be read.
            stored = self.store.stored(rejected.target, rejected.slug)
            if stored and stored["state"] == State.PUBLIC.value:
                token = f"reject {rejected.id}"
                self.remove(rejected.target, rejected.slug, rev=stored["rev"], token=token, by=by)
        return rejected

    def held(self, **wanted: Unpack[HeldQuery]) -> tuple[Held, ...]:
        target = wanted.get("target")
        by = wanted.get("taken_by")
        verdict = wanted.get("verdict", Verdict.WAITING)
        exact = {
            "discussion_id": target and target.id,
            "author.id": wanted.get("author_id"),
            "slug": wanted.get("slug"),
            "lease.by": by,
            "state": verdict and verdict.value,
        }
        query: Document = {path: value for path, value in exact.items() if value}
        if by:
            query["lease.until"] = {"$gt": now()}
        if moderator := wanted.get("open_to"):
            query["$nor"] = [{"lease.until": {"$gt": now()}, "lease.by": {"$ne": moderator}}]
        if after := wanted.get("after"):
            last = self._get(after)
            query["$or"] = [
                {"created": {"$gt": last["created"]}},
                {"created": last["created"], "_id": {"$gt": last["_id"]}},
            ]
        # Under one slug of a target there is one.
        found = self.store.pending.find(query, sort=None if target and wanted.get("slug") else FIRST)
        return tuple(read_documents(self.store.pending.name, found.limit(wanted.get("limit", 100)), held))

    def get_held(self, held_id: str) -> Held:
        return held(self._get(held_id))

    def count_held(self, verdict: Verdict, limit: int) -> int:
        return self.store.pending.count_documents({"state": verdict.value}, limit=limit)

    def take(self, by: str, until: datetime) -> Held | None:
        free = {"state": Verdict.WAITING.value, "lease.until": {"$not": {"$gt": now()}}}
        lease = {"$set": {"lease": {"by": by, "until": until}}}
        # The first of all shards is found by a read, and taken by its key: where another was faster, the next is.
        while first := self.store.pending.find_one(free, {"discussion_id": 1, "slug": 1}, sort=FIRST):
            leased = self.store.pending.find_one_and_update({**_key(first), **free}, lease)
            # A malformed one is leased, too, so that the next is found.
            if found := read_document(self.store.pending.name, leased, held):
                return found
        return None

    def release(self, by: str) -> int:
        mine = {"state": Verdict.WAITING.value, "lease.by": by}
        return self.store.pending.update_many(mine, {"$unset": {"lease": 1}}).modified_count

    def _get(self, held_id: str) -> Document:
        """Return a comment of the queue, in any state. Raises CommentNotFound."""
        found = self.store.pending.find_one({"_id": ObjectId(held_id)}) if ObjectId.is_valid(held_id) else None
        if found is None or read_document(self.store.pending.name, found, held) is None:
            raise CommentNotFound(held_id)
        return found

    def _settle(self, held_id: str, rev: int) -> Document:
        """Return what is to be published, its author's last word: nothing unseen slips in while it is. Raises CommentNotFound,
        HeldChanged."""
        seen = self._get(held_id)
        query = {**_key(seen), "state": {"$ne": Verdict.WITHDRAWN.value}, **(_edited(rev) if rev else {})}
        # What was rejected must not come to the end of its time while it is published: that begins anew.
        is_rejected = {"$in": ["$state", [Verdict.REJECTED.value, Verdict.SPAM.value]]}
        change = [{"$set": {"settled": True, "decided": {"$cond": [is_rejected, "$$NOW", "$decided"]}}}]
        settled = self.store.pending.find_one_and_update(query, change, return_document=ReturnDocument.AFTER)
        if settled is None:
            raise CommentNotFound(held_id) if seen["state"] == Verdict.WITHDRAWN else HeldChanged(held_id)
        return settled

    def _decide(self, waiting: Document, verdict: Verdict, by: str) -> Held:
        """Decide what was not published or withdrawn; return it as it is then."""
        # The time of the decision is what the queue's TTL counts from: what waits again has none.
        decided = None if verdict is Verdict.WAITING else now()
        query = {**_key(waiting), "state": {"$nin": [Verdict.APPROVED.value, Verdict.WITHDRAWN.value]}}
        update = {"$set": {"state": verdict.value, "decided": decided, "decided_by": by}}
        changed = self.store.pending.find_one_and_update(query, update, return_document=ReturnDocument.AFTER)
        return held(changed or self._get(str(waiting["_id"])))


def _key(waiting: Document) -> Document:
    """Return the filter of one comment of the queue, by which its shard is known."""
    return {name: waiting.get(name) for name in ("_id", "discussion_id", "slug")}


def _edited(rev: int) -> Document:
    return {"edits": {"$in": [rev - 1, None]} if rev == 1 else rev - 1}
