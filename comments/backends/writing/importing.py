"""Import comments in batches. A batch has a single claim, so importing it takes about as long as posting one comment.

The claim specifies the slugs of the batch and a range of numbers. If the import is interrupted, they show which of the
comments were written with the claim.

Many new discussions are imported together. Each of their documents is inserted with a claim, so if the import is
interrupted, each discussion looks as if it had been imported on its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import (
    BRIEF_PROJECTION,
    Claim,
    Intent,
    begun_with_claim,
    read_claims,
)
from marginalia.comments.backends.layouts.base import Layout, Lookup, sort_key
from marginalia.comments.backends.store import Store
from marginalia.comments.backends.stored import Document, Place, comment_document, content_document, read_place, slug_of
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import CommentError, DiscussionDamaged, InvalidParent
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
                _add(batch, comment)
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

    def import_many(self, discussions: Mapping[Target, Sequence[NewComment]]) -> int:
        drafts = {target: draft for target, new in discussions.items() if (draft := self._draft(target, new))}
        begun = self.store.discussions.begin_many([draft.discussion for draft in drafts.values()]) if drafts else set()
        together = {
            target: draft for target, draft in drafts.items() if target.id in begun and not draft.claim.is_stale
        }
        self._import_drafts(list(together.values()))
        count = sum(len(draft.documents) for draft in together.values())
        for target, comments in discussions.items():
            if comments and target not in together:
                count += self.import_(target, comments)
        return count

    def _draft(self, target: Target, comments: Sequence[NewComment]) -> "_Draft | None":
        """Return a new discussion with these comments, or None if the comments have to be imported on their own."""
        batch = dict[str, NewComment]()
        for comment in comments:
            _add(batch, comment)
        if not batch or len(batch) > BATCH:
            return None
        intent = _intent(batch, batch)
        discussion = begun_with_claim(target, self.store.discussions.storage(target), intent)
        (claim,) = read_claims(discussion)
        documents, orphan = _build_documents(claim, batch, {})
        layout = self.store.layouts.of(claim.place)
        if orphan or layout.outgrown(claim.place, Lookup(), *documents):
            return None
        return _Draft(discussion, claim, layout, documents)

    def _import_drafts(self, drafts: Sequence["_Draft"]) -> None:
        """Store the comments of discussions that have just been begun, with a few commands for each layout."""
        by_layout = defaultdict[Layout, list[_Draft]](list)
        for draft in drafts:
            by_layout[draft.layout].append(draft)
        for layout, group in by_layout.items():
            order = layout.copy_order or Order.OLDEST
            layout.copy_many(
                {draft.claim.place: sorted(draft.documents, key=lambda item: sort_key(item, order)) for draft in group}
            )
            # Other writers can already have changed the comments. They have also stored the entries.
            stored = layout.read_many([draft.claim.place for draft in group])
            written = [(draft.claim, _written(draft.claim, stored[draft.claim.place])) for draft in group]
            self.store.catalogue.note_new(
                (claim.place.target, item) for claim, items in written for item in items if item["rev"] == 1
            )
            self.store.discussions.commit_batches(_counted(claim, items) for claim, items in written)

    def settled(self, wanted: Sequence[Target]) -> dict[Target, frozenset[str]]:
        settled = dict.fromkeys(wanted, frozenset[str]())
        by_layout = defaultdict[Layout, list[Place]](list)
        ids = {"_id": {"$in": [target.id for target in wanted]}}
        for document in self.store.discussions.collection.find(ids, BRIEF_PROJECTION):
            del settled[Target.from_id(document["_id"])]
            with suppress(DiscussionDamaged):
                if not document["claims"] and not document["moving"] and document["last_number"] <= BATCH:
                    place = read_place(document)
                    by_layout[self.store.layouts.of(place)].append(place)
        for layout, places in by_layout.items():
            for place, items in layout.read_many(places).items():
                if _is_sorted(items):
                    settled[place.target] = frozenset(item["slug"] for item in items)
        return settled

    def _import_batch(self, target: Target, batch: Mapping[str, NewComment]) -> int:
        discussions = self.store.discussions
        can_promote = True
        op = _op(batch)
        while missing := self._without_stored(target, op, batch):
            intent = _intent(batch, missing)
            claim = discussions.claim(target, intent)
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
            if discussions.commit(note_batch(self.store, claim), newest=intent.posted):
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


@dataclass(frozen=True)
class _Draft:
    """A discussion that is about to be inserted, with the claim for its comments, and the comments' documents."""

    discussion: Document
    claim: Claim
    layout: Layout
    documents: Sequence[Document]


def note_batch(store: Store, claim: Claim) -> Claim:
    """Catalogue the comments that were written with the claim of a batch.

    Return the claim with `delta` set to the number of public comments among them.
    """
    documents = store.layouts.of(claim.place).look(claim.place, claim.slugs).comments.values()
    written = _written(claim, documents)
    store.catalogue.note(claim.place.target, *written)
    return _counted(claim, written)


def _written(claim: Claim, documents: Iterable[Document]) -> list[Document]:
    """Return the comments that were written with the claim of a batch."""
    return [item for item in documents if 0 <= claim.number - item["number"] < len(claim.slugs)]


def _counted(claim: Claim, written: Iterable[Document]) -> Claim:
    """Return the claim with `delta` set to the number of public comments that were written with it."""
    # Also count comments that have since been removed, because the removal has already lowered the count.
    return replace(claim, delta=sum(item["state"] == State.PUBLIC.value or item["rev"] > 1 for item in written))


def _add(batch: dict[str, NewComment], comment: NewComment) -> None:
    batch.setdefault(slug_of(comment), comment if comment.posted else replace(comment, posted=now()))


def _op(batch: Mapping[str, NewComment]) -> str:
    """Return the `op` for a batch. The same batch always gets the same `op`.

    Therefore, if an interrupted import is repeated, it continues with its old claim.
    """
    return slugs.part("\n".join(batch))


def _intent(batch: Mapping[str, NewComment], missing: Iterable[str]) -> Intent:
    """Return the intent to write the comments `missing` of a batch."""
    last = max((new.posted for new in batch.values() if new.posted), default=None)
    return Intent(_op(batch), "", "import", number=True, posted=last, slugs=tuple(missing))


def _is_sorted(comments: Iterable[Document]) -> bool:
    return all(a["posted"] <= b["posted"] for a, b in pairwise(comments))


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
