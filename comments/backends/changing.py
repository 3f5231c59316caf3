"""Changing a comment exactly once: {slug, rev: seen} → rev + 1, announced and committed like a post.

What is replaced goes to comments.history first, so that a restore can bring it back; an entry whose write then failed
is known by its `made` and never shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from comments import slugs
from comments.backends.claims import Claim, Intent
from comments.backends.posting import Posting
from comments.backends.stored import BLANK, NOBODY, Document, Written, comment
from comments.errors import CommentNotFound, EditConflict, NothingToRestore
from comments.types import Replaced, State, Target
from mongo.connection import now

REPLACED = (
    "author",
    "source",
    "html",
    "said",
    "state",
    "edited",
    "kind",
    "posted",
    "full_slug",
    "number",
    "parent_id",
    "answers",
)


@dataclass(frozen=True)
class Change:
    """What is to become of a comment: it must be in `state`, and gets `fields`; `keep` says whether history keeps the
    old."""

    kind: str
    state: State
    fields: Mapping[str, Any]
    delta: int = 0
    keep: bool = True


class Changing:
    """Writes that change a comment."""

    def __init__(self, posting: Posting) -> None:
        self.posting = posting
        self.discussions = posting.discussions
        self.history = posting.db["comments.history"]

    def edit(self, target: Target, slug: str, source: str, html: str, rev: int, token: str, by: str) -> Written:
        """Replace the text."""
        fields = {"source": source, "html": html, "edited": now()}
        return self._change(target, slug, rev, token, by, Change("edit", State.PUBLIC, fields))

    def remove(self, target: Target, slug: str, rev: int, token: str, by: str) -> Written:
        """Blank text and author."""
        return self._change(target, slug, rev, token, by, Change("remove", State.PUBLIC, BLANK, delta=-1))

    def erase(self, target: Target, slug: str, rev: int, token: str) -> Written:
        """Blank text and author and keep nothing of them."""
        return self._change(target, slug, rev, token, "", Change("erase", State.PUBLIC, BLANK, delta=-1, keep=False))

    def restore(self, target: Target, slug: str, rev: int, token: str, by: str) -> Written:
        """Bring back what the tombstone's removal replaced."""
        tombstone = self.posting.stored(target, slug) if slugs.is_slug(slug) else None
        # Of the removal that made it, not of one that came too late: that one takes back what it kept.
        entry = {"discussion_id": target.id, "slug": slug, "rev": rev - 1, "_id": tombstone and tombstone["change"]}
        kept = self.history.find_one({**entry, "state": State.PUBLIC.value})
        fields = {name: kept[name] for name in ("author", "source", "html", "said", "state", "edited")} if kept else {}
        done = self._change(target, slug, rev, token, by, Change("restore", State.REMOVED, fields, delta=1))
        if kept and self.history.find_one(entry, {"_id": 1}) is None:
            self.erase_again(target, done.document)
            raise NothingToRestore(slug)
        return done

    def erase_again(self, target: Target, document: Document) -> bool:
        """Blank a comment, whatever becomes of it meanwhile; return whether that was left to do. For what came back while
        its author was being erased: from the history, or from the queue."""
        while document["author"] != NOBODY:
            try:
                self.erase(target, document["slug"], document["rev"], f"erase {document['rev']}")
            except EditConflict:
                document = self.posting.stored(target, document["slug"]) or {"author": NOBODY}
            except CommentNotFound:
                return False
            else:
                return True
        return False

    def _change(self, target: Target, slug: str, rev: int, token: str, by: str, change: Change) -> Written:
        """Carry out a change once; return the comment as stored. Raises CommentNotFound, EditConflict,
        NothingToRestore."""
        if not slugs.is_slug(slug):
            raise CommentNotFound(slug)
        intent = Intent(slugs.part(f"{change.kind}:{slug}:{token}"), slug, change.kind, delta=change.delta, rev=rev)
        kept: list[Claim] = []
        while True:
            claim = self.discussions.claim(target, intent)
            schema = self.posting.schemas.of(claim.place)
            looked, outgrown = schema.look(claim.place, [slug]), ""
            stored = looked.found.get(slug)
            if stored is None:
                self.discussions.give_back(claim)
                if self.posting.is_elsewhere(claim):
                    continue
                raise CommentNotFound(slug)
            if stored["rev"] == rev and stored["state"] == change.state.value:
                if change.kind == "restore" and not change.fields:
                    self.discussions.give_back(claim)
                    raise NothingToRestore(slug)
                if claim.stale:
                    continue
                if change.keep:
                    kept.append(claim)
                    self._keep(claim, stored, by)
                fields = {**change.fields, "rev": rev + 1, "change": claim.change, "op": claim.op}
                if not schema.change(claim.place, slug, rev, fields, looked):
                    continue  # someone was faster, or it lies elsewhere by now: look again under the same claim
                stored = {**stored, **fields}
                outgrown = schema.outgrown(claim.place, looked, stored)
            elif stored["rev"] <= rev or not self.posting.made_by(claim, stored, rev + 1):
                # Revisions only rise: whoever shares this claim cannot write under it any more either. What it kept was not
                # replaced by it, and its author may have been erased since.
                if change.keep:
                    self.forget_kept(claim)
                # Nor by a claim that a repair dropped before it was kept; what somebody wrote under one in time stays.
                for earlier in kept:
                    if not self.posting.made_by(earlier, stored, rev + 1):
                        self.forget_kept(earlier)
                self.discussions.give_back(claim)
                return Written(self._as_wished(target, stored, change, intent.op))
            if self.discussions.commit(claim):
                return Written(stored, outgrown)
            # Struck off by one who shares the claim; or, after a stall, by a repair: then what counts is what is found.
            again = self.posting.committed_by_another(target, slug)
            if again and again["rev"] > rev and self.posting.made_by(claim, again, rev + 1):
                return Written(again)

    def _as_wished(self, target: Target, stored: Document, change: Change, op: str) -> Document:
        """Return the comment if the same token changed it before, or if it is what the change would make of it."""
        replaced = {"discussion_id": target.id, "slug": stored["slug"], "op": op}
        if stored["op"] == op or self.history.find_one(replaced, {"_id": 1}):
            return stored
        if stored["state"] == change.state.value:
            if change.kind == "edit" and stored["source"] == change.fields["source"]:
                return stored
            raise EditConflict(comment(target, stored))
        if change.kind == "edit":
            raise CommentNotFound(stored["slug"])
        return stored

    def _keep(self, claim: Claim, stored: Document, by: str) -> None:
        entry = {
            "_id": claim.change,
            "discussion_id": claim.place.discussion_id,
            "slug": claim.slug,
            "rev": stored["rev"],
            "change": stored["change"],
            "op": stored["op"],
            "at": now(),
            "by": by,
            **{name: stored[name] for name in REPLACED},
        }
        try:
            self.history.insert_one(entry)
        except DuplicateKeyError:  # a submit that shares this claim kept it
            return

    def forget_kept(self, claim: Claim) -> None:
        """Take back what was kept of a comment for a change that was not made."""
        where = {"discussion_id": claim.place.discussion_id, "slug": claim.slug}
        self.history.delete_one({**where, "_id": claim.change})

    def replaced(self, target: Target, slug: str, stored: Document) -> tuple[Replaced, ...]:
        """Return the history of a stored comment, newest first, entries of writes that failed left out."""
        made: set[ObjectId | None] = {stored["change"]}
        found = []
        query = {"discussion_id": target.id, "slug": slug}
        for entry in self.history.find(query).sort([("rev", -1), ("_id", 1)]):
            if entry["_id"] in made:
                made.add(entry["change"])
                found.append(Replaced(comment(target, entry), entry["at"], entry["by"]))
        return tuple(found)
