"""Import comments in batches. A batch has a single claim, so importing it takes about as long as posting one comment.

The claim specifies the slugs of the batch and a range of numbers. If the import is interrupted, they show which of the
comments were written with the claim.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import Claim, Intent, read_claims
from marginalia.comments.backends.layouts.base import sort_key
from marginalia.comments.backends.store import Store
from marginalia.comments.backends.stored import Document, comment_document, content_document, read_place, slug_of
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import CommentError, InvalidParent
from marginalia.comments.types import NewComment, Order, State, Target
from marginalia.mongo.clock import now

# How many comments share a claim. This number is lower than MAX_TOUCHED, the number of touched comments at which
# writers have to wait for a converter.
BATCH = 250


class Importing(Changing):
    """The part of the backend that imports comments."""

    def import_(self, target: Target, comments: Iterable[NewComment], *, renumber: bool = True) -> int:
        new = 0
        batch = dict[str, NewComment]()
        try:
            for comment in comments:
                batch.setdefault(slug_of(comment), comment if comment.posted else replace(comment, posted=now()))
                if len(batch) == BATCH:
                    complete = batch
                    batch = {}
                    new += self._import_batch(target, complete)
        finally:
            if batch:
                new += self._import_batch(target, batch)
        # Check the order even if all comments are already stored. An earlier import may have been interrupted before it
        # renumbered them.
        if renumber and any(a.posted > b.posted for a, b in pairwise(self.iterate(target))):
            self.renumber(target)
        return new

    def _import_batch(self, target: Target, batch: Mapping[str, NewComment]) -> int:
        discussions = self.store.discussions
        can_promote = True
        last = max((new.posted for new in batch.values() if new.posted), default=None)
        # The same batch always gets the same `op`. Therefore, if an interrupted import is repeated, it continues with
        # its old claim.
        op = slugs.part("\n".join(batch))
        while missing := self._without_stored(target, op, batch):
            claim = discussions.claim(target, Intent(op, "", "import", number=True, posted=last, slugs=tuple(missing)))
            layout = self.store.layouts.of(claim.place)
            lookup = layout.look(claim.place, [*missing, *(new.parent for new in missing.values() if new.parent)])
            documents, orphan = _build_documents(claim, missing, lookup.comments)
            outgrown = layout.outgrown(claim.place, lookup, *documents)
            if outgrown and can_promote:
                discussions.refuse(claim)
                # If the conversion fails, import into the current layout instead of trying again.
                can_promote = self.promote(target, outgrown)
                continue
            if claim.is_stale:
                continue
            order = layout.copy_order or Order.OLDEST
            try:
                if documents:
                    layout.copy(claim.place, sorted(documents, key=lambda item: sort_key(item, order)))
            except CommentError:
                discussions.refuse(claim)
                raise
            if discussions.commit(note_batch(self.store, claim), newest=last):
                if orphan:
                    raise InvalidParent(orphan)
                return len(documents)
        return 0

    def _without_stored(self, target: Target, op: str, batch: Mapping[str, NewComment]) -> Mapping[str, NewComment]:
        """Return the comments of a batch that still have to be stored.

        Comments that are already stored are left out, so that a repeated import doesn't use up numbers.
        """
        document = self.store.discussions.find(target, whole=True)
        if document is None:
            return batch
        for claim in read_claims(document):
            if claim.op == op:
                return {slug: batch[slug] for slug in claim.slugs}
        stored = self.store.layouts.of(read_place(document)).look(read_place(document), list(batch)).comments
        return {slug: new for slug, new in batch.items() if slug not in stored}


def note_batch(store: Store, claim: Claim) -> Claim:
    """Catalogue the comments that were written with the claim of a batch.

    Return the claim with `delta` set to the number of public comments among them.
    """
    documents = store.layouts.of(claim.place).look(claim.place, claim.slugs).comments.values()
    written = [item for item in documents if 0 <= claim.number - item["number"] < len(claim.slugs)]
    store.catalogue.note(claim.place.target, *written)
    # Also count comments that have since been removed, because the removal has already lowered the count.
    return replace(claim, delta=sum(item["state"] == State.PUBLIC.value or item["rev"] > 1 for item in written))


def _build_documents(
    claim: Claim, batch: Mapping[str, NewComment], existing: Mapping[str, Document]
) -> tuple[list[Document], str]:
    """Return the documents of the comments that precede the first comment whose parent does not exist.

    Also return the slug of this missing parent, or "" if all parents exist.
    """
    known = dict(existing)
    documents = list[Document]()
    for number, (slug, new) in enumerate(batch.items(), start=claim.number - len(claim.slugs) + 1):
        if slug in known:
            continue
        if new.parent and new.parent not in known:
            return documents, new.parent
        answered = known[new.parent] if new.parent else None
        known[slug] = comment_document(content_document(new), slug, number, new.posted or claim.posted, answered)
        documents.append(known[slug])
    return documents, ""
