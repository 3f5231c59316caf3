"""Change comments.

Each change is made exactly once. Like a post, it is recorded in a claim before it is made, and committed afterwards.

The update that makes a change finds the comment by its slug and by the revision that the user saw, and increases the
revision by one. Before the update, the old version is stored in comments.history, from which it can be restored. If the
update then fails, this history entry is ignored, because no version of the comment refers to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import Claim, Intent
from marginalia.comments.backends.store import Part
from marginalia.comments.backends.stored import BLANK, FIELDS, Document, read_comment, read_replaced
from marginalia.comments.errors import CommentNotFound, EditConflict, NothingToRestore
from marginalia.comments.types import Comment, ReplacedComment, State, Target
from marginalia.mongo.clock import now
from marginalia.mongo.reading import read_documents


@dataclass(frozen=True)
class Change:
    """A change that sets `fields` of a comment. The comment must be in `state`.

    Attributes:
        delta: The number that the change adds to the discussion's `count`.
        keep: Whether to keep the old version in the history.
    """

    kind: str
    state: State
    fields: Mapping[str, Any]
    delta: int = 0
    keep: bool = True


class Changing(Part):
    """The part of the backend that changes comments."""

    def edit(self, target: Target, slug: str, *, source: str, html: str, rev: int, token: str, by: str = "") -> Comment:
        fields = {"source": source, "html": html, "edited": now()}
        return read_comment(target, self._change(target, slug, rev, token, Change("edit", State.PUBLIC, fields), by))

    def remove(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        change = Change("remove", State.PUBLIC, BLANK, delta=-1)
        return read_comment(target, self._change(target, slug, rev, token, change, by))

    def restore(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        tombstone = self.store.find_comment(target, slug) if slugs.is_slug(slug) else None
        # Use the history entry of the removal. There may also be an entry for a change that failed.
        entry = {"discussion_id": target.id, "slug": slug, "rev": rev - 1, "_id": tombstone and tombstone["change"]}
        old = self.store.history.find_one({**entry, "state": State.PUBLIC.value})
        fields = {name: old[name] for name in BLANK} if old else {}
        change = Change("restore", State.REMOVED, fields, delta=1)
        return read_comment(target, self._change(target, slug, rev, token, change, by))

    def mark_spam(self, target: Target, slug: str) -> None:
        self.store.catalogue.mark_spam(target, slug)

    def blank(self, target: Target, document: Document) -> Document:
        """Erase the text and author of a comment without keeping the old version. Return the stored comment.

        If someone else changes the comment at the same time, try again with the new revision.
        """
        change = Change("erase", State.PUBLIC, BLANK, delta=-1, keep=False)
        while document["state"] == State.PUBLIC.value:
            try:
                document = self._change(target, document["slug"], document["rev"], f"erase {document['rev']}", change)
            except EditConflict:
                document = self.store.find_comment(target, document["slug"]) or dict(BLANK)
        return document

    def history(self, target: Target, slug: str) -> tuple[ReplacedComment, ...]:
        stored = self.store.find_comment(target, slug)
        if stored is None:
            raise CommentNotFound(slug)
        change_ids: set[ObjectId | None] = {stored["change"]}
        versions: list[ReplacedComment] = []
        entries = self.store.history.find({"discussion_id": target.id, "slug": slug})
        # An index sorts the entries by revision. Failed changes have left entries too. An entry belongs to a successful
        # change only if its id is recorded in the version that replaced it.
        for entry in entries.sort("rev", -1):
            if entry["_id"] in change_ids:
                change_ids.add(entry.get("change"))
                versions += read_documents(self.store.history.name, [entry], read_replaced)
        return tuple(versions)

    def _change(self, target: Target, slug: str, rev: int, token: str, change: Change, by: str = "") -> Document:
        """Make a change exactly once, and return the stored comment.

        Raises:
            CommentNotFound: The comment does not exist, or the comment to edit was removed.
            EditConflict: The stored revision differs from `rev`.
            NothingToRestore: There is no version to restore.
        """
        if not slugs.is_slug(slug):
            raise CommentNotFound(slug)
        discussions = self.store.discussions
        intent = Intent(slugs.part(f"{change.kind}:{slug}:{token}"), slug, change.kind, delta=change.delta, rev=rev)
        while True:
            claim = discussions.claim(target, intent)
            layout = self.store.layouts.of(claim.place)
            lookup = layout.look(claim.place, [slug])
            stored = lookup.comments.get(slug)
            outgrown = ""
            if stored is None:
                discussions.drop(claim)
                raise CommentNotFound(slug)
            if stored["rev"] == rev and stored["state"] == change.state.value:
                if change.kind == "restore" and not change.fields:
                    discussions.drop(claim)
                    raise NothingToRestore(slug)
                if claim.is_stale:
                    continue
                if change.keep:
                    self._keep_old(claim, stored, by)
                fields = {**change.fields, "rev": rev + 1, "change": claim.change, "op": claim.op}
                if not layout.change(claim.place, slug, rev, fields, lookup):
                    # Another writer has changed the comment first. Look the comment up again, with the same claim.
                    continue
                stored = {**stored, **fields}
                outgrown = layout.outgrown(claim.place, lookup, stored)
            elif not self.store.was_written_under(claim, stored):
                self.store.history.delete_one({"discussion_id": target.id, "slug": slug, "_id": claim.change})
                discussions.drop(claim)
                return self._check_result(target, stored, change, intent.op)
            self.store.catalogue.note(target, stored, erased=not change.keep)
            if discussions.commit(claim, is_safe=True):
                self.promote(target, outgrown)
                return stored

    def _check_result(self, target: Target, stored: Document, change: Change, op: str) -> Document:
        """Return the stored comment if it was changed with the same token, or already is what the change would produce.

        Raises:
            CommentNotFound: The comment to edit was removed.
            EditConflict: The comment was changed in a different way.
        """
        entry = {"discussion_id": target.id, "slug": stored["slug"], "op": op}
        if stored["op"] == op or self.store.history.find_one(entry, {"_id": 1}):
            return stored
        if stored["state"] == change.state.value:
            if change.kind == "edit" and stored["source"] == change.fields["source"]:
                return stored
            raise EditConflict(read_comment(target, stored))
        if change.kind == "edit":
            raise CommentNotFound(stored["slug"])
        return stored

    def _keep_old(self, claim: Claim, stored: Document, by: str) -> None:
        old = {name: stored[name] for name in FIELDS}
        entry = {"_id": claim.change, "discussion_id": claim.place.target.id, **old, "at": now(), "by": by}
        try:
            self.store.history.insert_one(entry)
        # Another submission of the same form, which shares this claim, has already stored the old version.
        except DuplicateKeyError:
            return
