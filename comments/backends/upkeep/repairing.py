"""Audits of discussions, and repairs of claims, counts and unused copies after a crash.

No repair changes the text of a comment. A claim that has existed for longer than a write can take is repaired. If its
comment is stored, the claim is committed, because either the writer stopped before the commit, or a server failure lost
the commit. Otherwise, the claim is dropped, but only when it is so old that no process can still be using it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from bson import Int64
from django.core.exceptions import ImproperlyConfigured

from marginalia.comments import slugs
from marginalia.comments.backends import discussions as times
from marginalia.comments.backends.catalogue import terms_of
from marginalia.comments.backends.discussions import Claim, is_dead, read_claims
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.store import Part, Store
from marginalia.comments.backends.stored import Document, Place, read_place
from marginalia.comments.backends.writing.bulk import note_changes, with_delta
from marginalia.comments.backends.writing.importing import note_batch
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Fault, State, Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched, no_time_limit

logger = logging.getLogger(__name__)

# Comments that were approved long after they were sent share their numbers with other comments. A discussion is
# renumbered if any of the ranges 1–100, 101–200 and so on contains the numbers of more than 100 + CROWD comments.
HUNDRED, CROWD = 100, 200
# How many comments each query looks up.
BATCH = 500


def repair_claims(store: Store, target: Target, *, older_than: float | None = None) -> int:
    """Commit or drop the claims of a discussion that are older than `older_than` seconds (default: ABANDONED).

    A claim whose comment is stored is committed as soon as it is older than LEASE. Return how many claims were
    repaired.
    """
    oldest = times.ABANDONED if older_than is None else older_than
    document = store.discussions.find(target, whole=True)
    moment = now()
    repaired = 0
    for claim in read_claims(document) if document else ():
        age = (moment - claim.at).total_seconds()
        if age >= min(times.LEASE, oldest):
            repaired += _repair(store, claim, is_abandoned=age >= oldest)
    return repaired


def _repair(store: Store, claim: Claim, *, is_abandoned: bool) -> bool:
    if claim.slugs:
        return is_abandoned and _commit_many(store, claim)
    stored = store.layouts.of(claim.place).look(claim.place, [claim.slug]).comments.get(claim.slug)
    if stored and store.was_written_under(claim, stored):
        store.catalogue.note(claim.place.target, stored, erased=claim.kind == "erase")
        return store.discussions.commit(claim, newest=claim.posted if claim.kind in ("post", "approve") else None)
    # Whether no write can succeed with this claim any longer. A post fails if its slug is already stored, and a change
    # fails if the comment already has a higher revision.
    is_past = stored is not None and (claim.kind in ("post", "approve") or stored["rev"] > claim.rev)
    if is_abandoned or is_past:
        store.discussions.drop(claim)
    return is_abandoned or is_past


def _commit_many(store: Store, claim: Claim) -> bool:
    if claim.kind == "import":
        return store.discussions.commit(note_batch(store, claim), newest=claim.posted)
    return store.discussions.commit(with_delta(claim, note_changes(store, claim)))


def drop_orphans(store: Store, target: Target, *, accept_loss: bool = False) -> bool:
    """Delete copies that earlier conversions have left behind. Return whether any were deleted.

    Unless `accept_loss` is True, a copy is kept if it contains a comment that is missing from the current copy.
    """
    document = store.discussions.find(target)
    if document is None:
        return False
    dropped = 0
    for layout, epoch in _orphans(store, document):
        # Skip copies with a higher epoch: they belong to a conversion that started after `document` was read. Copies of
        # conversions that are considered dead aren't orphans until the conversion has been ended, because it might
        # still switch to its copy.
        if epoch <= document["last_epoch"] and (accept_loss or not _count_unique(store, document, layout, epoch)):
            dropped += layout.clear(read_place(document), {"$eq": epoch})
    return dropped > 0


def _orphans(store: Store, document: Document) -> Iterator[tuple[Layout, int]]:
    """Yield (layout, epoch) for each copy that the discussion document does not mention.

    The document mentions the current copy, the copy that a conversion is writing, and old copies that will be deleted
    later.
    """
    known = {old["epoch"] for old in (document, *document["leftovers"], document["moving"] or document)}
    for layout in store.layouts.all:
        yield from ((layout, epoch) for epoch in sorted(layout.epochs(read_place(document)) - known))


def _count_unique(store: Store, document: Document, layout: Layout, epoch: int) -> int:
    """Return the number of comments in an orphaned copy that are missing from the current copy.

    Copies that a conversion left behind never contain such comments. If there are any, the copy was the current copy
    until the discussion document was lost and a new one was created.
    """
    present = read_place(document)
    missing = 0
    stored = (str(item.get("slug")) for _, item in layout.scan(replace(present, epoch=epoch)) if isinstance(item, dict))
    for batch in batched(stored, BATCH):
        existing = store.layouts.of(present).look(present, batch).comments
        missing += sum(slug not in existing for slug in batch)
    return missing


class Repairing(Part):
    """The part of the backend that audits and repairs discussions."""

    def repair_claims(self, target: Target, *, older_than: float | None = None) -> int:
        return repair_claims(self.store, target, older_than=older_than)

    def audit(self, target: Target) -> list[Fault]:
        document = self.store.discussions.find(target, whole=True)
        if document is None:
            return []
        present = read_place(document)
        layout = self.store.layouts.of(present)
        with no_time_limit():
            form_faults = [Fault(str(target), "form", what, repairable=False) for what in layout.faults(present)]
            tally = self._tally(present)
        others = (self._claims, self._copies, self._catalogue, self._likes)
        return [*form_faults, *tally.faults(document), *(fault for find in others for fault in find(document))]

    def _tally(self, copy: Place) -> "Tally":
        """Read all comments in a copy, and return their totals. This needs about 200 bytes of memory per comment."""
        layout = self.store.layouts.of(copy)
        tally = Tally()
        tally.malformed = list(layout.malformed(copy))
        for document in layout.iterate(copy, layout.orders[0]):
            tally.add(document)
        return tally

    def _claims(self, document: Document) -> Iterator[Fault]:
        due = now() - timedelta(seconds=times.ABANDONED)
        if abandoned := sum(entry["at"] <= due for entry in document["claims"]):
            yield Fault(str(Target.from_id(document["_id"])), "claims", f"{abandoned} claims of interrupted writes")

    def _copies(self, document: Document) -> Iterator[Fault]:
        name = str(Target.from_id(document["_id"]))
        for layout, epoch in _orphans(self.store, document):
            if missing := _count_unique(self.store, document, layout, epoch):
                what = f"{layout.name} has an unused copy {epoch} with {missing} comments that are stored nowhere else"
                yield Fault(name, "lost", what, repairable=False)
            else:
                yield Fault(name, "copies", f"{layout.name} has an unused copy: {epoch}")

    def _catalogue(self, document: Document) -> Iterator[Fault]:
        present = read_place(document)
        behind = sum(len(comments) for comments in self._uncatalogued(present))
        behind += self.store.pending.count_documents({"discussion_id": document["_id"], "terms": None})
        current = self.store.discussions.find(present.target)
        # If someone has posted in the meantime, or is still writing, their entries may not be stored yet.
        if behind and current and not current["claims"] and current["version"] == document["version"]:
            yield Fault(str(present.target), "catalogue", f"{behind} comments can't be found by searches and bans")

    def _likes(self, document: Document) -> Iterator[Fault]:
        target = Target.from_id(document["_id"])
        if wrong := self.likes.errors(target):
            yield Fault(str(target), "likes", f"the number of likes is wrong for {len(wrong)} comments")

    def _uncatalogued(self, copy: Place) -> Iterator[list[Document]]:
        """Yield batches of the comments that have no entry in the catalogue, or one with a lower revision."""
        layout = self.store.layouts.of(copy)
        for batch in batched(layout.iterate(copy, layout.orders[0]), BATCH):
            revisions = self.store.catalogue.revisions(copy.target, [item["slug"] for item in batch])
            yield [item for item in batch if revisions.get(item["slug"], 0) < item["rev"]]

    def _catalogue_again(self, target: Target) -> int:
        """Store the missing entries of the catalogue, and the missing terms of pending comments."""
        document = self.store.discussions.find(target)
        stored = 0
        for batch in self._uncatalogued(read_place(document)) if document else ():
            self.store.catalogue.note(target, *batch)
            stored += len(batch)
        for held in self.store.pending.find({"discussion_id": target.id, "terms": None}):
            query = {"discussion_id": target.id, "slug": held["slug"], "source": held["source"]}
            stored += self.store.pending.update_one(query, {"$set": {"terms": terms_of(target, held)}}).modified_count
        return stored

    def repair(self, target: Target, faults: list[Fault], *, accept_loss: bool = False) -> int:
        kinds = {fault.kind for fault in faults if fault.repairable or (accept_loss and fault.kind == "lost")}
        repairs: list[tuple[set[str], Callable[[], object]]] = [
            ({"claims"}, lambda: self.repair_claims(target)),
            ({"copies", "lost"}, lambda: drop_orphans(self.store, target, accept_loss=accept_loss)),
            ({"count", "numbers", "lost"}, lambda: self._recount(target, accept_loss=accept_loss)),
            ({"crowded"}, lambda: self.renumber(target)),
            ({"catalogue"}, lambda: self._catalogue_again(target)),
            ({"likes"}, lambda: self.likes.repair(target)),
        ]
        return sum(bool(repair()) for repaired_kinds, repair in repairs if kinds & repaired_kinds)

    def _recount(self, target: Target, *, accept_loss: bool) -> int:
        """Count the comments again, and store the result unless a writer was active in the meantime.

        The count is lowered only if `accept_loss` is True, because a count that is too high may be the only sign that
        comments have been lost. The count is never lowered if some comments are malformed.
        """
        document = self.store.discussions.find(target)
        if document is None or document["claims"]:
            return 0
        tally = self._tally(read_place(document))
        raised = {"last_number": Int64(tally.highest), "newest": tally.newest}
        update: Document = {"$max": {**raised, "count": tally.public}}
        if accept_loss and not tally.malformed:
            update = {"$set": {"count": tally.public}, "$max": raised}
        query = {"_id": target.id, "version": document["version"], "claims": []}
        return int(self.store.discussions.collection.update_one(query, update).matched_count)

    def tidy(self) -> int:
        """Run the maintenance that a worker performs every minute.

        If a discussion is damaged, log this, and continue with the other discussions.
        """
        discussions = self.store.discussions.collection
        moment = now()
        dead = {"moving.beat": {"$lt": moment - timedelta(seconds=times.DEAD_AFTER)}, "$expr": is_dead()}
        done = discussions.update_many(dead, {"$set": {"moving": None, "touched": []}}).modified_count
        claims = {"claims.at": {"$lt": moment - timedelta(seconds=times.LEASE)}}
        for query, repair in (
            (claims, self.repair_claims),
            ({"leftovers.due": {"$lte": moment}}, self.drop_old_copies),
        ):
            for document in list(discussions.find(query, {"_id": 1})):
                target = Target.from_id(document["_id"])
                try:
                    repair(target)
                    done += 1
                except (CommentError, ImproperlyConfigured) as error:
                    logger.warning("The upkeep of the discussion %s failed: %s", target, error)
        self.sweep_erasures()
        return done


class Tally:
    """The totals of all comments in a copy, and the faults found in these comments."""

    def __init__(self) -> None:
        self.public = self.highest = 0
        self.newest = times.BEGINNING
        self.paths: dict[int, int] = {}
        self.needed: list[tuple[int, int, str]] = []
        self.bad: list[str] = []
        self.malformed: list[str] = []
        self.hundreds: Counter[int] = Counter()

    def add(self, document: Document) -> None:
        """Add a comment to the totals."""
        slug = document["slug"]
        full_slug = document["full_slug"]
        own = f"{slugs.stamp(document['posted'])}:{slug.rpartition('/')[2]}"
        above, _, last = full_slug.rpartition("/")
        if not slugs.is_slug(slug) or last != own or (document["parent_id"] or "") != slugs.parent_of(slug):
            self.bad.append(f"{slug} has the wrong path")
        if document["state"] == State.REMOVED.value and (document["source"] or document["author"]["name"]):
            self.bad.append(f"{slug} is removed, but still has a text or a name")
        if hash(slug) in self.paths:
            self.bad.append(f"{slug} is stored twice")
        self.paths[hash(slug)] = hash(full_slug)
        if above:
            self.needed.append((hash(slugs.parent_of(slug)), hash(above), slug))
        self.highest = max(self.highest, int(document["number"]))
        self.hundreds[(int(document["number"]) - 1) // HUNDRED] += 1
        if document["state"] == State.PUBLIC.value:
            self.public += 1
            self.newest = max(self.newest, document["posted"])

    def faults(self, discussion: Document) -> Iterator[Fault]:
        """Yield the faults in these comments, and the values in the discussion document that don't match them."""
        name = str(Target.from_id(discussion["_id"]))
        yield from (Fault(name, "comment", what, repairable=False) for what in (*self.malformed, *self.bad))
        for parent, above, slug in self.needed:
            if self.paths.get(parent) != above:
                yield Fault(name, "comment", f"{slug} replies to a comment that doesn't exist", repairable=False)
        comparison = f"its count is {discussion['count']}, but it has {self.public} comments"
        if discussion["count"] < self.public and not discussion["claims"]:
            yield Fault(name, "count", comparison)
        # Malformed comments aren't in `public`, but the count may include them.
        if discussion["count"] > self.public + len(self.malformed) and not discussion["claims"]:
            yield Fault(name, "lost", f"{comparison}. The other comments are lost", repairable=False)
        if max(self.hundreds.values(), default=0) > HUNDRED + CROWD:
            yield Fault(name, "crowded", f"more than {HUNDRED + CROWD} comments share {HUNDRED} numbers")
        if discussion["last_number"] < self.highest:
            yield Fault(name, "numbers", f"number {self.highest} is higher than the last assigned number")
        if discussion["newest"] < self.newest:
            yield Fault(name, "numbers", "the time of its newest comment is wrong")
