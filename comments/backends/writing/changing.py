"""Changing a comment exactly once: {slug, rev: seen} → rev + 1, announced and committed like a post.

What is replaced goes to comments.history first, so that a restore can bring it back; an entry whose write then failed names a
change that was never made, and is never shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import Claim, Intent
from marginalia.comments.backends.store import Part
from marginalia.comments.backends.stored import BLANK, FIELDS, Document, comment, replaced
from marginalia.comments.errors import CommentNotFound, EditConflict, NothingToRestore
from marginalia.comments.types import Comment, Replaced, State, Target
from marginalia.mongo.clock import now
from marginalia.mongo.reading import read_documents


@dataclass(frozen=True)
class Change:
    """What is to become of a comment: it must be in `state`, and gets `fields`; `keep` says whether history keeps the
    old."""

    kind: str
    state: State
    fields: Mapping[str, Any]
    delta: int = 0
    keep: bool = True


class Changing(Part):
    """Writes that change a comment."""

    def edit(self, target: Target, slug: str, *, source: str, html: str, rev: int, token: str, by: str = "") -> Comment:
        fields = {"source": source, "html": html, "edited": now()}
        return comment(target, self._change(target, slug, rev, token, Change("edit", State.PUBLIC, fields), by))

    def remove(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        change = Change("remove", State.PUBLIC, BLANK, delta=-1)
        return comment(target, self._change(target, slug, rev, token, change, by))

    def restore(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        tombstone = self.store.stored(target, slug) if slugs.is_slug(slug) else None
        # Of the removal that made it, not of a stale one.
        entry = {"discussion_id": target.id, "slug": slug, "rev": rev - 1, "_id": tombstone and tombstone["change"]}
        kept = self.store.history.find_one({**entry, "state": State.PUBLIC.value})
        fields = {name: kept[name] for name in BLANK} if kept else {}
        change = Change("restore", State.REMOVED, fields, delta=1)
        return comment(target, self._change(target, slug, rev, token, change, by))

    def blank(self, target: Target, document: Document) -> Document:
        """Take text and author from a comment, and keep nothing of them, however often it is changed in between; return what is
        stored then."""
        change = Change("erase", State.PUBLIC, BLANK, delta=-1, keep=False)
        while document["state"] == State.PUBLIC.value:
            try:
                document = self._change(target, document["slug"], document["rev"], f"erase {document['rev']}", change)
            except EditConflict:
                document = self.store.stored(target, document["slug"]) or dict(BLANK)
        return document

    def history(self, target: Target, slug: str) -> tuple[Replaced, ...]:
        stored = self.store.stored(target, slug)
        if stored is None:
            raise CommentNotFound(slug)
        made: set[ObjectId | None] = {stored["change"]}
        found: list[Replaced] = []
        entries = self.store.history.find({"discussion_id": target.id, "slug": slug})
        # Of the entries of one rev at most one was made: the index on rev orders all that is kept here.
        for entry in entries.sort("rev", -1):
            if entry["_id"] in made:
                made.add(entry.get("change"))
                found += read_documents(self.store.history.name, [entry], replaced)
        return tuple(found)

    def _change(self, target: Target, slug: str, rev: int, token: str, change: Change, by: str = "") -> Document:
        """Carry out a change once; return the comment as stored. Raises CommentNotFound, EditConflict,
        NothingToRestore."""
        if not slugs.is_slug(slug):
            raise CommentNotFound(slug)
        discussions = self.store.discussions
        intent = Intent(slugs.part(f"{change.kind}:{slug}:{token}"), slug, change.kind, delta=change.delta, rev=rev)
        while True:
            claim = discussions.claim(target, intent)
            layout = self.store.layouts.of(claim.place)
            found = layout.look(claim.place, [slug])
            stored = found.comments.get(slug)
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
                    self._keep(claim, stored, by)
                fields = {**change.fields, "rev": rev + 1, "change": claim.change, "op": claim.op}
                if not layout.change(claim.place, slug, rev, fields, found):
                    continue  # another writer was faster: look again under the same claim
                stored = {**stored, **fields}
                outgrown = layout.outgrown(claim.place, found, stored)
            elif not self.store.written_under(claim, stored):
                self.store.history.delete_one({"discussion_id": target.id, "slug": slug, "_id": claim.change})
                discussions.drop(claim)
                return self._as_wished(target, stored, change, intent.op)
            if discussions.commit(claim, is_safe=True):
                self.promote(target, outgrown)
                return stored

    def _as_wished(self, target: Target, stored: Document, change: Change, op: str) -> Document:
        """Return the comment if the same token changed it before, or if it is what the change would make of it."""
        replaced = {"discussion_id": target.id, "slug": stored["slug"], "op": op}
        if stored["op"] == op or self.store.history.find_one(replaced, {"_id": 1}):
            return stored
        if stored["state"] == change.state.value:
            if change.kind == "edit" and stored["source"] == change.fields["source"]:
                return stored
            raise EditConflict(comment(target, stored))
        if change.kind == "edit":
            raise CommentNotFound(stored["slug"])
        return stored

    def _keep(self, claim: Claim, stored: Document, by: str) -> None:
        old = {name: stored[name] for name in FIELDS}
        entry = {"_id": claim.change, "discussion_id": claim.place.target.id, **old, "at": now(), "by": by}
        try:
            self.store.history.insert_one(entry)
        except DuplicateKeyError:  # a submit that shares this claim kept it
            return
