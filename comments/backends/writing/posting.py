"""Posting exactly once: claim, look, write, commit. The order of these four is what the promise rests on.

The look comes after the claim, never before: a claim that is gone by then has left its comment where the look finds it. A
commit that is refused means that the claim was struck off by another sender of the same token, or by a repair after a stall:
then the writer begins again, with a claim of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bson import Int64

from marginalia.comments.backends.discussions import Claim, Intent
from marginalia.comments.backends.layouts.base import Found
from marginalia.comments.backends.stored import FIELDS, Document, body, comment, placed, slug_of
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import CommentError, DiscussionClosed, DiscussionFull, InvalidParent
from marginalia.comments.types import NewComment, Posted, State, Target

Make = Callable[[Claim, Mapping[str, Document]], Document]


class Posting(Changing):
    """Writes that make a comment."""

    def post(self, target: Target, new: NewComment) -> Posted:
        content = body(new)
        slug = slug_of(new)

        def make(claim: Claim, found: Mapping[str, Document]) -> Document:
            answered = found.get(new.parent)
            if new.parent and (answered is None or answered["state"] != State.PUBLIC.value):
                raise InvalidParent(new.parent)
            return placed(content, slug, claim.number, claim.posted, answered)

        intent = Intent(slug.rpartition("/")[2], slug, "post", number=True, delta=1, needs_open=True)
        try:
            stored, is_new = self._store(target, intent, make, new.parent)
        except DiscussionClosed:
            if stored_before := self.store.stored(target, slug):
                return Posted(comment(target, stored_before), new=False)
            raise
        return Posted(comment(target, stored), new=is_new)

    def publish(self, waiting: Mapping[str, Any]) -> Document:
        """Store a pending comment in the place that it was given when it came; return it as stored."""

        def make(claim: Claim, found: Mapping[str, Document]) -> Document:
            document = {name: waiting[name] for name in FIELDS}
            return {**document, "number": Int64(claim.number), "state": State.PUBLIC.value, "change": None, "op": None}

        number = int(waiting["number"])
        slug = waiting["slug"]
        # The op of a post: what is posted and what is published under one token share a claim.
        op = slug.rpartition("/")[2]
        intent = Intent(op, slug, "approve", number=number, delta=1, posted=waiting["posted"])
        target = Target.of_id(waiting["discussion_id"])
        return self._store(target, intent, make)[0]

    def _store(self, target: Target, intent: Intent, make: Make, parent: str = "") -> tuple[Document, bool]:
        """Write what `make` makes of a claim and what was found; return what is stored, and whether this call stored it."""
        discussions = self.store.discussions
        is_second = False
        while True:
            claim = discussions.claim(target, intent)
            layout = self.store.layouts.of(claim.place)
            wanted = [intent.slug, parent] if parent else [intent.slug]
            found = Found() if layout.guards_discussion and not parent else layout.look(claim.place, wanted)
            stored = found.comments.get(intent.slug)
            document = None
            if stored is None:
                if claim.is_stale:
                    continue
                try:
                    document = make(claim, found.comments)
                    if claim.kind == "approve":
                        document["change"] = claim.change
                    stored = layout.put(claim.place, document, found) or document
                except CommentError as error:
                    discussions.refuse(claim)
                    if is_second or not isinstance(error, DiscussionFull):
                        raise
                    is_second = True
                    self.promote(target, str(layout.options_of(target.label)["PROMOTE_TO"]))
                    continue
            if not self.store.written_under(claim, stored):
                discussions.drop(claim)
                return stored, False
            newest = claim.posted if claim.delta else None
            if discussions.commit(claim, newest=newest, is_safe=stored is document):
                self.promote(target, layout.outgrown(claim.place, found, stored))
                return stored, True
