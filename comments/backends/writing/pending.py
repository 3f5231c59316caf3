"""Operations that hold, change, lease, approve, reject and withdraw pending comments."""

from datetime import datetime, timedelta
from typing import Unpack

from bson import ObjectId
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from marginalia.comments.backends.catalogue import terms_of
from marginalia.comments.backends.stored import (
    ERASED,
    Document,
    comment_document,
    content_document,
    read_comment,
    read_held,
    read_place,
    slug_of,
)
from marginalia.comments.backends.writing.posting import Posting
from marginalia.comments.errors import CommentNotFound, DiscussionClosed, HeldChanged, InvalidParent
from marginalia.comments.types import Comment, HeldComment, HeldQuery, NewComment, PostResult, State, Target, Verdict
from marginalia.mongo.clock import now
from marginalia.mongo.reading import read_document, read_documents

# The filter for pending comments that their authors can still change.
CHANGEABLE: Document = {"state": Verdict.WAITING.value, "settled": {"$ne": True}}
OLDEST_FIRST = [("created", 1), ("_id", 1)]


class Pending(Posting):
    """The part of the backend that manages the moderation queue.

    Each change to a queued comment is a single update, whose filter checks that the comment is in the expected state.
    """

    def hold(self, target: Target, new: NewComment, reasons: tuple[str, ...] = ()) -> PostResult:
        slug = slug_of(new)
        content = content_document(new)
        discussion = self._find_or_begin(target)
        present = read_place(discussion)
        existing = self.store.layouts.of(present).look(present, [slug, new.parent] if new.parent else [slug]).comments
        if stored := existing.get(slug):
            return PostResult(read_comment(target, stored), new=False)
        if new.posted is None and discussion["state"] != "open":
            raise DiscussionClosed(str(target))
        answered = existing.get(new.parent)
        # Imported comments, which have a `posted` time, can reply to tombstones. New comments can't.
        if new.parent and (answered is None or (answered["state"] != State.PUBLIC.value and new.posted is None)):
            raise InvalidParent(new.parent)
        posted = new.posted or max(now(), discussion["last_posted"] + timedelta(milliseconds=1))
        document = {
            **comment_document(content, slug, max(discussion["last_number"], 1), posted, answered),
            "_id": ObjectId(),
            "discussion_id": target.id,
            "state": Verdict.WAITING.value,
            "created": now(),
            "reasons": list(reasons),
            "decided_by": "",
            "decided": None,
        }
        document["terms"] = terms_of(target, document)
        try:
            self.store.pending.insert_one(document)
        except DuplicateKeyError:
            earlier = self.store.pending.find_one({"discussion_id": target.id, "slug": slug}) or document
            return PostResult(None, read_held(earlier), new=False)
        return PostResult(None, read_held(document))

    def _find_or_begin(self, target: Target) -> Document:
        while (document := self.store.discussions.find(target)) is None:
            self.store.discussions.begin(target)
        return document

    def approve(self, held_id: str, by: str = "", rev: int = 0) -> Comment:
        return self.approve_with(held_id, by, rev)

    def approve_with(self, held_id: str, by: str, rev: int = 0, *, batch: ObjectId | None = None) -> Comment:
        """Publish a held comment, as `approve` does, and record the bulk decision to which the approval belongs."""
        document = self._settle(held_id, rev)
        stored = self.publish(document)
        # This raises CommentNotFound if the author's data has since been erased.
        self._decide(document, Verdict.APPROVED, by, batch)
        return read_comment(Target.from_id(document["discussion_id"]), stored)

    def change_held(self, held_id: str, *, source: str, html: str, rev: int) -> HeldComment:
        document = self._get(held_id)
        query = {**_key(document), **CHANGEABLE, **_at_revision(rev)}
        fields = {"source": source, "html": html, "terms": _new_terms(document, source, html)}
        # A bulk approval doesn't publish text that the moderator hasn't seen.
        update = {"$set": {**fields, "edits": rev}, "$unset": {"lease": "", "batch": ""}}
        changed = self.store.pending.find_one_and_update(query, update, return_document=ReturnDocument.AFTER)
        if changed is None:
            changed = self._get(held_id)
            if changed["state"] != Verdict.WAITING or changed.get("settled"):
                raise CommentNotFound(held_id)
            if changed["source"] != source:
                raise HeldChanged(held_id)
        return read_held(changed)

    def withdraw(self, held_id: str) -> HeldComment:
        blanked = {"author": ERASED, "source": "", "html": "", "said": "", "reasons": [], "terms": []}
        withdrawn = self.store.pending.find_one_and_update(
            {**_key(self._get(held_id)), **CHANGEABLE},
            {"$set": {**blanked, "state": Verdict.WITHDRAWN.value, "decided": now()}, "$unset": {"lease": ""}},
            return_document=ReturnDocument.AFTER,
        )
        if withdrawn is None:
            raise CommentNotFound(held_id)
        return read_held(withdrawn)

    def reject(self, held_id: str, by: str = "", verdict: Verdict = Verdict.REJECTED) -> HeldComment:
        rejected = self._decide(self._get(held_id), verdict, by)
        if rejected.settled and rejected.verdict is verdict is not Verdict.WAITING:
            # An interrupted approval may have published the comment without recording the verdict. Remove the published
            # comment, because a rejected comment must not be public.
            stored = self.store.find_comment(rejected.target, rejected.slug)
            if stored and stored["state"] == State.PUBLIC.value:
                token = f"reject {rejected.id}"
                self.remove(rejected.target, rejected.slug, rev=stored["rev"], token=token, by=by)
        return rejected

    def held(self, **wanted: Unpack[HeldQuery]) -> tuple[HeldComment, ...]:
        target = wanted.get("target")
        leased_by = wanted.get("leased_by")
        verdict = wanted.get("verdict", Verdict.WAITING)
        exact = {
            "discussion_id": target and target.id,
            "author.id": wanted.get("author_id"),
            "slug": wanted.get("slug"),
            "lease.by": leased_by,
            "state": verdict and verdict.value,
        }
        query: Document = {path: value for path, value in exact.items() if value}
        if leased_by:
            query["lease.until"] = {"$gt": now()}
        if moderator := wanted.get("available_to"):
            query["$nor"] = [{"lease.until": {"$gt": now()}, "lease.by": {"$ne": moderator}}]
        if after := wanted.get("after"):
            last = self._get(after)
            query["$or"] = [
                {"created": {"$gt": last["created"]}},
                {"created": last["created"], "_id": {"$gt": last["_id"]}},
            ]
        # Don't sort if both target and slug are given, because there is at most one such comment.
        cursor = self.store.pending.find(query, sort=None if target and wanted.get("slug") else OLDEST_FIRST)
        return tuple(read_documents(self.store.pending.name, cursor.limit(wanted.get("limit", 100)), read_held))

    def get_held(self, held_id: str) -> HeldComment:
        return read_held(self._get(held_id))

    def count_held(self, verdict: Verdict, limit: int) -> int:
        return self.store.pending.count_documents({"state": verdict.value}, limit=limit)

    def lease(self, by: str, until: datetime) -> HeldComment | None:
        free = {"state": Verdict.WAITING.value, "lease.until": {"$not": {"$gt": now()}}}
        update = {"$set": {"lease": {"by": by, "until": until}}}
        # First find the oldest comment on any shard. Then lease it, with a filter that contains its shard key. If
        # another moderator has leased it in the meantime, find the next one.
        while oldest := self.store.pending.find_one(free, {"discussion_id": 1, "slug": 1}, sort=OLDEST_FIRST):
            document = self.store.pending.find_one_and_update({**_key(oldest), **free}, update)
            # If the comment is malformed, leave it leased, so that the next search skips it.
            if comment := read_document(self.store.pending.name, document, read_held):
                return comment
        return None

    def release(self, by: str) -> int:
        mine = {"state": Verdict.WAITING.value, "lease.by": by}
        return self.store.pending.update_many(mine, {"$unset": {"lease": 1}}).modified_count

    def _get(self, held_id: str) -> Document:
        """Return a queued comment, whatever its verdict.

        Raises:
            CommentNotFound: The queue has no such comment.
        """
        document = self.store.pending.find_one({"_id": ObjectId(held_id)}) if ObjectId.is_valid(held_id) else None
        if document is None or read_document(self.store.pending.name, document, read_held) is None:
            raise CommentNotFound(held_id)
        return document

    def _settle(self, held_id: str, rev: int) -> Document:
        """Prevent the author from changing a comment that is about to be published. Return the comment.

        Raises:
            CommentNotFound: The queue has no such comment, or the comment was withdrawn.
            HeldChanged: The stored revision differs from `rev`.
        """
        seen = self._get(held_id)
        query = {**_key(seen), "state": {"$ne": Verdict.WITHDRAWN.value}, **(_at_revision(rev) if rev else {})}
        # If the comment was rejected before, restart the time until it expires, so that it doesn't expire while it is
        # being published.
        is_rejected = {"$in": ["$state", [Verdict.REJECTED.value, Verdict.SPAM.value]]}
        change = [{"$set": {"settled": True, "decided": {"$cond": [is_rejected, "$$NOW", "$decided"]}}}]
        settled = self.store.pending.find_one_and_update(query, change, return_document=ReturnDocument.AFTER)
        if settled is None:
            raise CommentNotFound(held_id) if seen["state"] == Verdict.WITHDRAWN else HeldChanged(held_id)
        return settled

    def _decide(self, waiting: Document, verdict: Verdict, by: str, batch: ObjectId | None = None) -> HeldComment:
        """Record a verdict, unless the comment has been approved or withdrawn. Return the stored comment."""
        # A TTL index deletes queued comments some time after `decided`. A comment that is returned to the queue must
        # not expire, so its `decided` is None.
        decided = None if verdict is Verdict.WAITING else now()
        query = {**_key(waiting), "state": {"$nin": [Verdict.APPROVED.value, Verdict.WITHDRAWN.value]}}
        update: Document = {"$set": {"state": verdict.value, "decided": decided, "decided_by": by}}
        if batch:
            update["$set"]["batch"] = batch
        else:
            update["$unset"] = {"batch": ""}
        changed = self.store.pending.find_one_and_update(query, update, return_document=ReturnDocument.AFTER)
        return read_held(changed or self._get(str(waiting["_id"])))


def _new_terms(document: Document, source: str, html: str) -> list[str]:
    target = Target.from_id(document["discussion_id"])
    return terms_of(target, {**document, "source": source, "html": html})


def _key(waiting: Document) -> Document:
    """Return the filter for a queued comment, which includes the fields that determine its shard."""
    return {name: waiting.get(name) for name in ("_id", "discussion_id", "slug")}


def _at_revision(rev: int) -> Document:
    return {"edits": {"$in": [rev - 1, None]} if rev == 1 else rev - 1}
