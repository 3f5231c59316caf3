"""Posting exactly once: claim, look, write, commit. The order of these four is what the promise rests on.

The look comes after the claim, never before: a claim that is gone by then has left its comment where the look finds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bson import Int64, ObjectId
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from comments import conf, slugs
from comments.backends.claims import Claim, Discussions, Intent
from comments.backends.schema import Looked
from comments.backends.schemas import Schemas
from comments.backends.stored import Document, Written, body, comment, held, place, placed
from comments.errors import CommentError, DiscussionClosed, InvalidParent
from comments.types import NewComment, Posted, State, Target, Verdict
from mongo.connection import now


@dataclass(frozen=True)
class Done:
    """A post, and what is left to do after it: a schema to move to, old copies to drop, old claims to repair."""

    posted: Posted
    outgrown: str = ""
    has_leftovers: bool = False
    has_old_claims: bool = False


class Posting:
    """Writes that make a comment."""

    def __init__(self, db: Database[Document], schemas: Schemas) -> None:
        self.db = db
        self.schemas = schemas
        self.discussions = Discussions(db)

    def post(self, target: Target, new: NewComment) -> Done:
        """Store a comment."""
        slug = slug_of(new)
        intent = Intent(
            op=slug.rpartition("/")[2],
            slug=slug,
            kind="post",
            number="next",
            delta=1 if new.state is State.PUBLIC else 0,
            posted=new.posted,
            needs_open=new.posted is None,
        )
        content = body(new)
        while True:
            try:
                claim = self.discussions.claim(target, intent)
            except DiscussionClosed:
                if stored := self.stored(target, slug):
                    return Done(Posted(comment(target, stored), new=False))
                raise
            looked = self._look(claim, new.parent)
            document = None
            stored = looked.found.get(claim.slug)
            if stored is None:
                if new.parent and new.parent not in looked.found and self.is_elsewhere(claim):
                    continue
                answered = self._answered(claim, looked, new)
                if claim.stale:
                    continue
                document = placed(content, claim.slug, claim.number or 0, claim.posted, answered)
                if claim.kind == "approve":
                    document["change"] = claim.change
                stored = self._put(claim, document, looked)
            is_others = stored is not document
            if not self.written_under(claim, stored):
                self.discussions.give_back(claim, number_too=claim.kind == "post", is_others=True)
                return Done(Posted(comment(target, stored), new=False))
            is_others |= claim.kind == "approve"
            if self.discussions.commit(claim, newest=claim.posted if claim.delta else None, is_others=is_others):
                posted = Posted(comment(target, stored))
                # Whoever commits promotes, also what another wrote under the same claim.
                outgrown = self.schemas.of(claim.place).outgrown(claim.place, looked, stored)
                return Done(posted, outgrown, bool(claim.leftovers), claim.is_beside_old_ones)
            if stored := self.committed_by_another(target, claim.slug):
                return Done(Posted(comment(target, stored), new=False))

    def hold(self, target: Target, new: NewComment, reasons: tuple[str, ...]) -> Posted:
        """Put a comment into the queue."""
        slug = slug_of(new)
        intent = Intent(
            # Not the op of a post: what is published must not share a claim that counts nothing.
            op=f"hold:{slug.rpartition('/')[2]}",
            slug=slug,
            kind="hold",
            number="present",
            posted=new.posted,
            needs_open=new.posted is None,
        )
        content = body(new)
        while True:
            claim = self.discussions.claim(target, intent)
            looked = self.schemas.of(claim.place).look(claim.place, wanted(claim.slug, new.parent))
            if stored := looked.found.get(claim.slug):
                self.discussions.give_back(claim)
                return Posted(comment(target, stored), new=False)
            answered = self._answered(claim, looked, new)
            if claim.stale:
                continue
            document = {
                **placed(content, claim.slug, claim.number or 0, claim.posted, answered),
                "_id": ObjectId(),
                "discussion_id": target.id,
                "state": Verdict.WAITING.value,
                "created": now(),
                "reasons": list(reasons),
                "decided_by": "",
                "decided": None,
            }
            is_new = True
            try:
                self.db["comments.pending"].insert_one(document)
            except DuplicateKeyError:
                is_new = False
                document = (
                    self.db["comments.pending"].find_one({"discussion_id": target.id, "slug": claim.slug}) or document
                )
            self.discussions.give_back(claim)
            return Posted(None, held(document), new=is_new)

    def publish(self, waiting: Mapping[str, Any]) -> Written:
        """Store a queued comment in the place that it was given when it came; return it as stored."""
        target = held(waiting).target
        slug = waiting["slug"]
        intent = Intent(
            op=slug.rpartition("/")[2],
            slug=slug,
            kind="approve",
            number=int(waiting["number"]),
            delta=1,
            posted=waiting["posted"],
        )
        while True:
            claim = self.discussions.claim(target, intent)
            schema = self.schemas.of(claim.place)
            looked = schema.look(claim.place, [claim.slug])
            stored = looked.found.get(claim.slug)
            if stored is None:
                if claim.stale:
                    continue
                document = {
                    **{name: waiting[name] for name in PLACED},
                    "number": Int64(claim.number or 0),
                    "state": State.PUBLIC.value,
                    "change": claim.change if claim.kind == "approve" else None,
                    "op": None,
                }
                stored = self._put(claim, document, looked)
            if self.written_under(claim, stored):
                # Safely: the queue forgets in time what was approved, and a repair would take a claim without it for one of
                # an erased author.
                if self.discussions.commit(claim, newest=claim.posted, is_others=True):
                    return Written(stored, schema.outgrown(claim.place, looked, stored))
            else:
                self.discussions.give_back(claim)
                return Written(stored)
            if again := self.committed_by_another(target, slug):
                return Written(again)

    def _put(self, claim: Claim, document: Document, looked: Looked) -> Document:
        """Write under a claim and return what is stored; where it cannot be, nobody waits for a claim of its own."""
        try:
            return self.schemas.of(claim.place).put(claim.place, document, looked) or document
        except CommentError:
            self.discussions.refuse(claim)
            raise

    def written_under(self, claim: Claim, stored: Mapping[str, Any]) -> bool:
        """Return whether a stored comment was put there under this claim: of a post, or of an approval, which use one op
        for one token so that they share a place."""
        if claim.kind == "post":
            return bool(stored["number"] == claim.number)
        return self.made_by(claim, stored, 1)

    def made_by(self, claim: Claim, stored: Mapping[str, Any], rev: int) -> bool:
        """Return whether a comment's revision `rev` was written under this claim."""
        if stored["rev"] == rev:
            return bool(stored["change"] == claim.change)
        replaced = self.db["comments.history"].find_one(
            {"discussion_id": claim.place.discussion_id, "slug": claim.slug, "rev": rev, "change": claim.change},
            {"_id": 1},
        )
        return replaced is not None

    def _look(self, claim: Claim, parent: str) -> Looked:
        schema = self.schemas.of(claim.place)
        if schema.guards_discussion and not parent:
            return Looked({})
        return schema.look(claim.place, wanted(claim.slug, parent))

    def _answered(self, claim: Claim, looked: Looked, new: NewComment) -> Document | None:
        if not new.parent:
            return None
        answered = looked.found.get(new.parent)
        # An import brings replies to tombstones too.
        if answered is None or (answered["state"] != State.PUBLIC.value and new.posted is None):
            self.discussions.refuse(claim)
            raise InvalidParent(new.parent)
        return answered

    def committed_by_another(self, target: Target, slug: str) -> Document | None:
        """Return the comment whose claim was gone when it came to the commit, if it is there for good.

        Mostly another caller with the same token committed it. But that one may also have given the claim back, or a
        repair have dropped it after a stall, before the comment was written: a converter at work has no reason to look
        for it again then. So while one is, the answer is None: claim anew, which tells it.
        """
        discussion = self.discussions.find(target)
        return self._found(discussion, slug) if discussion and discussion["moving"] is None else None

    def stored(self, target: Target, slug: str) -> Document | None:
        """Return the comment that has this slug where the discussion is kept at present."""
        discussion = self.discussions.find(target)
        while discussion is not None:
            if found := self._found(discussion, slug):
                return found
            # There is none, or the copy was replaced meanwhile.
            epoch, discussion = discussion["epoch"], self.discussions.find(target)
            if discussion and discussion["epoch"] == epoch:
                return None
        return None

    def is_elsewhere(self, claim: Claim) -> bool:
        """Return whether a discussion is not kept any more where it was when this claim was made: only a claim that another
        sender of the same form has struck off lets that happen."""
        discussion = self.discussions.find(claim.place.target)
        return discussion is not None and discussion["epoch"] != claim.place.epoch

    def _found(self, discussion: Document, slug: str) -> Document | None:
        where = place(discussion)
        return self.schemas.of(where).look(where, [slug]).found.get(slug)


# What a queued comment shares with a stored one.
PLACED = (
    "slug",
    "full_slug",
    "number",
    "posted",
    "parent_id",
    "answers",
    "kind",
    "author",
    "source",
    "html",
    "said",
    "edited",
    "rev",
)


def slug_of(new: NewComment) -> str:
    """Return the slug that a new comment will have. Raises InvalidParent for what cannot be a slug."""
    if new.parent and not slugs.is_slug(new.parent):
        raise InvalidParent(new.parent)
    return new.slug or slugs.of(new.token, new.parent, conf.get("MAX_DEPTH"))


def wanted(slug: str, parent: str) -> list[str]:
    """Return the slugs to look for: the comment's own, and the one it answers."""
    return [slug, parent] if parent else [slug]
