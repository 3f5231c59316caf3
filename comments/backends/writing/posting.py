"""Post a comment exactly once, in five steps: claim, check, write, catalogue and commit.

The check must come after the claim. Another process that uses the same token removes its claim only after it has stored
the comment. So if the claim is new, the check finds any comment that is already stored.

A commit fails if the claim has been removed, either by another process with the same token or, if the writer was slow,
by a repair. The writer then starts again with a new claim.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bson import Int64

from marginalia.comments.backends.discussions import Claim, Intent
from marginalia.comments.backends.layouts.base import Lookup
from marginalia.comments.backends.stored import (
    FIELDS,
    Document,
    comment_document,
    content_document,
    read_comment,
    slug_of,
)
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import CommentError, DiscussionClosed, DiscussionFull, InvalidParent
from marginalia.comments.types import NewComment, PostResult, State, Target

Make = Callable[[Claim, Mapping[str, Document]], Document]


class Posting(Changing):
    """The part of the backend that creates comments."""

    def post(self, target: Target, new: NewComment) -> PostResult:
        content = content_document(new)
        slug = slug_of(new)

        def make(claim: Claim, existing: Mapping[str, Document]) -> Document:
            parent = existing.get(new.parent)
            if new.parent and (parent is None or parent["state"] != State.PUBLIC.value):
                raise InvalidParent(new.parent)
            return comment_document(content, slug, claim.number, claim.posted, parent)

        intent = Intent(slug.rpartition("/")[2], slug, "post", number=True, delta=1, needs_open=True)
        try:
            stored, is_new = self._store(target, intent, make, new.parent)
        except DiscussionClosed:
            if stored_before := self.store.find_comment(target, slug):
                return PostResult(read_comment(target, stored_before), new=False)
            raise
        return PostResult(read_comment(target, stored), new=is_new)

    def publish(self, pending: Mapping[str, Any]) -> Document:
        """Publish a pending comment with the number and time that it got when it was held. Return its document."""

        def make(claim: Claim, existing: Mapping[str, Document]) -> Document:
            document = {name: pending[name] for name in FIELDS}
            return {**document, "number": Int64(claim.number), "state": State.PUBLIC.value, "change": None, "op": None}

        number = int(pending["number"])
        slug = pending["slug"]
        # Use the same `op` as for a post, so that posting a comment and approving a held comment with the same token
        # share a claim.
        op = slug.rpartition("/")[2]
        intent = Intent(op, slug, "approve", number=number, delta=1, posted=pending["posted"])
        target = Target.from_id(pending["discussion_id"])
        return self._store(target, intent, make)[0]

    def _store(self, target: Target, intent: Intent, make: Make, parent: str = "") -> tuple[Document, bool]:
        """Store the comment that `make` builds from the claim and from the comments that `look` finds.

        Return the stored comment, and whether this call stored it.
        """
        discussions = self.store.discussions
        was_promoted = False
        while True:
            claim = discussions.claim(target, intent)
            layout = self.store.layouts.of(claim.place)
            slugs_to_find = [intent.slug, parent] if parent else [intent.slug]
            lookup = Lookup() if layout.put_checks_slug and not parent else layout.look(claim.place, slugs_to_find)
            stored = lookup.comments.get(intent.slug)
            document = None
            if stored is None:
                if claim.is_stale:
                    continue
                try:
                    document = make(claim, lookup.comments)
                    if claim.kind == "approve":
                        document["change"] = claim.change
                    stored = layout.put(claim.place, document, lookup) or document
                except CommentError as error:
                    discussions.refuse(claim)
                    if was_promoted or not isinstance(error, DiscussionFull):
                        raise
                    was_promoted = True
                    self.promote(target, str(layout.options_of(target.label)["PROMOTE_TO"]))
                    continue
            if not self.store.was_written_under(claim, stored):
                discussions.drop(claim)
                return stored, False
            self.store.catalogue.note(target, stored)
            newest = claim.posted if claim.delta else None
            if discussions.commit(claim, newest=newest, is_safe=stored is document):
                self.promote(target, layout.outgrown(claim.place, lookup, stored))
                return stored, True
