"""Comments that were written elsewhere: many under one claim, so that a batch costs about what a single post does.

The claim names the slugs of the batch and a range of numbers; what was written under it is found by both.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import Claim, Intent, claims_of
from marginalia.comments.backends.layouts import Layouts
from marginalia.comments.backends.layouts.base import sort_key
from marginalia.comments.backends.stored import Document, body, place, placed, slug_of
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import CommentError, InvalidParent
from marginalia.comments.types import NewComment, Order, State, Target
from marginalia.mongo.clock import now

# Comments under one claim: fewer than a converter takes before writers wait for it.
BATCH = 250


class Importing(Changing):
    """Writes of many comments."""

    def import_(self, target: Target, comments: Iterable[NewComment]) -> int:
        new = 0
        batch = dict[str, NewComment]()
        try:
            for one in comments:
                batch.setdefault(slug_of(one), one if one.posted else replace(one, posted=now()))
                if len(batch) == BATCH:
                    full = batch
                    batch = {}
                    new += self._import(target, full)
        finally:
            if batch:
                new += self._import(target, batch)
        # Also where nothing is new: an import that stopped may have stored it.
        if any(a.posted > b.posted for a, b in pairwise(self.iterate(target))):
            self.renumber(target)
        return new

    def _import(self, target: Target, batch: Mapping[str, NewComment]) -> int:
        discussions = self.store.discussions
        is_promoted = True
        last = max((new.posted for new in batch.values() if new.posted), default=None)
        # The same batch sent again goes on under the claim that it left.
        op = slugs.part("\n".join(batch))
        while wanted := self._wanted(target, op, batch):
            claim = discussions.claim(target, Intent(op, "", "import", number=True, posted=last, slugs=tuple(wanted)))
            layout = self.store.layouts.of(claim.place)
            found = layout.look(claim.place, [*wanted, *(new.parent for new in wanted.values() if new.parent)])
            documents, orphan = _placed(claim, wanted, found.comments)
            outgrown = layout.outgrown(claim.place, found, *documents)
            if outgrown and is_promoted:
                discussions.refuse(claim)
                is_promoted = self.promote(target, outgrown)  # else another converter is at it
                continue
            if claim.is_stale:
                continue
            order = layout.written_in or Order.OLDEST
            try:
                if documents:
                    layout.copy(claim.place, sorted(documents, key=lambda item: sort_key(item, order)))
            except CommentError:
                discussions.refuse(claim)
                raise
            if discussions.commit(counted(self.store.layouts, claim), newest=last):
                if orphan:
                    raise InvalidParent(orphan)
                return len(documents)
        return 0

    def _wanted(self, target: Target, op: str, batch: Mapping[str, NewComment]) -> Mapping[str, NewComment]:
        """Leave out what is stored already, so that an import that is repeated uses no numbers up."""
        found = self.store.discussions.find(target, whole=True)
        if found is None:
            return batch
        for claim in claims_of(found):
            if claim.op == op:
                return {slug: batch[slug] for slug in claim.slugs}
        stored = self.store.layouts.of(place(found)).look(place(found), list(batch)).comments
        return {slug: new for slug, new in batch.items() if slug not in stored}


def counted(layouts: Layouts, claim: Claim) -> Claim:
    """Return the claim of a batch with how many public comments were written under it."""
    found = layouts.of(claim.place).look(claim.place, claim.slugs).comments.values()
    own = [item for item in found if 0 <= claim.number - item["number"] < len(claim.slugs)]
    # What was removed since counts here, and is taken off by its removal.
    return replace(claim, delta=sum(item["state"] == State.PUBLIC.value or item["rev"] > 1 for item in own))


def _placed(claim: Claim, batch: Mapping[str, NewComment], found: Mapping[str, Document]) -> tuple[list[Document], str]:
    """Return the comments to be stored, up to one that answers what is not there; and what that is, "" without one."""
    known = dict(found)
    documents = list[Document]()
    for number, (slug, new) in enumerate(batch.items(), start=claim.number - len(claim.slugs) + 1):
        if slug in known:
            continue
        if new.parent and new.parent not in known:
            return documents, new.parent
        answered = known[new.parent] if new.parent else None
        known[slug] = placed(body(new), slug, number, new.posted or claim.posted, answered)
        documents.append(known[slug])
    return documents, ""
