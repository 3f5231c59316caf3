"""What a crash may leave behind, found and put right: claims, counts, copies that are not read.

Nothing here touches what a comment says. A claim whose comment is stored is committed as soon as its writer should have come
back: it stopped before its commit, or a failing server lost that. Any other is dropped when it is so old that no process can
be writing under it.
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
from marginalia.comments.backends.discussions import Claim, claims_of, is_dead
from marginalia.comments.backends.layouts.base import Layout
from marginalia.comments.backends.store import Part, Store
from marginalia.comments.backends.stored import Document, Place, place
from marginalia.comments.backends.writing.importing import counted
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Fault, State, Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched, no_time_limit

logger = logging.getLogger(__name__)

# Comments approved long after they were sent share numbers. More than so many of them among a hundred numbers have the
# discussion numbered anew.
HUNDRED, CROWD = 100, 200
# Comments looked up at once.
BATCH = 500


def repair_claims(store: Store, target: Target, *, older_than: float | None = None) -> int:
    """Commit or drop the claims of a discussion that are older than so many seconds (else: ABANDONED), and commit of those
    older than LEASE the ones under which something is stored; return how many."""
    oldest = times.ABANDONED if older_than is None else older_than
    found = store.discussions.find(target, whole=True)
    moment = now()
    repaired = 0
    for claim in claims_of(found) if found else ():
        age = (moment - claim.at).total_seconds()
        if age >= min(times.LEASE, oldest):
            repaired += _repair(store, claim, is_abandoned=age >= oldest)
    return repaired


def _repair(store: Store, claim: Claim, *, is_abandoned: bool) -> bool:
    if claim.slugs:
        return is_abandoned and store.discussions.commit(counted(store.layouts, claim), newest=claim.posted)
    stored = store.layouts.of(claim.place).look(claim.place, [claim.slug]).comments.get(claim.slug)
    if stored and store.written_under(claim, stored):
        return store.discussions.commit(claim, newest=claim.posted if claim.kind in ("post", "approve") else None)
    # Revisions only rise, and one slug is stored once: nothing more can be written under it.
    is_past = stored is not None and (claim.kind in ("post", "approve") or stored["rev"] > claim.rev)
    if is_abandoned or is_past:
        store.discussions.drop(claim)
    return is_abandoned or is_past


def drop_orphans(store: Store, target: Target, *, accept_loss: bool = False) -> bool:
    """Delete the copies of a discussion that ended conversions left; return whether there were any. Keep a copy with a comment
    that the present copy lacks, unless `accept_loss`."""
    found = store.discussions.find(target)
    if found is None:
        return False
    dropped = 0
    for layout, epoch in _orphans(store, found):
        # A conversion that begins now takes an epoch above these; one that counts as dead may still switch until it is ended.
        if epoch <= found["last_epoch"] and (accept_loss or not _only_there(store, found, layout, epoch)):
            dropped += layout.clear(place(found), {"$eq": epoch})
    return dropped > 0


def _orphans(store: Store, found: Document) -> Iterator[tuple[Layout, int]]:
    """Yield (layout, epoch) of the copies that a discussion's document doesn't name. It names old copies that wait to be
    dropped."""
    known = {old["epoch"] for old in (found, *found["leftovers"], found["moving"] or found)}
    for layout in store.layouts.all:
        yield from ((layout, epoch) for epoch in sorted(layout.epochs(place(found)) - known))


def _only_there(store: Store, found: Document, layout: Layout, epoch: int) -> int:
    """Return how many comments an orphaned copy has that the present copy lacks. Conversions leave none: this copy was read
    until the discussion's document was lost and another one begun."""
    where = place(found)
    lacking = 0
    stored = (str(item.get("slug")) for _, item in layout.scan(replace(where, epoch=epoch)) if isinstance(item, dict))
    for batch in batched(stored, BATCH):
        known = store.layouts.of(where).look(where, batch).comments
        lacking += sum(slug not in known for slug in batch)
    return lacking


class Repairing(Part):
    """Audits and repairs."""

    def repair_claims(self, target: Target, *, older_than: float | None = None) -> int:
        return repair_claims(self.store, target, older_than=older_than)

    def audit(self, target: Target) -> list[Fault]:
        found = self.store.discussions.find(target, whole=True)
        if found is None:
            return []
        where = place(found)
        layout = self.store.layouts.of(where)
        with no_time_limit():
            form = [Fault(str(target), "form", what, mendable=False) for what in layout.faults(where)]
            tally = self._tally(where)
        return [*form, *tally.faults(found), *self._claims(found), *self._copies(found)]

    def _tally(self, where: Place) -> "Tally":
        """Read a copy whole; about 200 bytes of memory a comment."""
        layout = self.store.layouts.of(where)
        tally = Tally()
        tally.malformed = list(layout.malformed(where))
        for document in layout.iterate(where, layout.orders[0]):
            tally.add(document)
        return tally

    def _claims(self, found: Document) -> Iterator[Fault]:
        due = now() - timedelta(seconds=times.ABANDONED)
        if old := sum(entry["at"] <= due for entry in found["claims"]):
            yield Fault(str(Target.of_id(found["_id"])), "claims", f"{old} writers never came back")

    def _copies(self, found: Document) -> Iterator[Fault]:
        name = str(Target.of_id(found["_id"]))
        for layout, epoch in _orphans(self.store, found):
            if lacking := _only_there(self.store, found, layout, epoch):
                what = (
                    f"{layout.name} has a copy {epoch} that nobody reads, with {lacking} comments that are nowhere else"
                )
                yield Fault(name, "lost", what, mendable=False)
            else:
                yield Fault(name, "copies", f"{layout.name} has a copy of no use: {epoch}")

    def mend(self, target: Target, faults: list[Fault], *, accept_loss: bool = False) -> int:
        kinds = {fault.kind for fault in faults if fault.mendable or (accept_loss and fault.kind == "lost")}
        repairs: list[tuple[set[str], Callable[[], object]]] = [
            ({"claims"}, lambda: self.repair_claims(target)),
            ({"copies", "lost"}, lambda: drop_orphans(self.store, target, accept_loss=accept_loss)),
            ({"count", "numbers", "lost"}, lambda: self._recount(target, accept_loss=accept_loss)),
            ({"crowded"}, lambda: self.renumber(target)),
        ]
        return sum(bool(repair()) for of_kinds, repair in repairs if kinds & of_kinds)

    def _recount(self, target: Target, *, accept_loss: bool) -> int:
        """Count again, if no writer is at work from before until after. Lower the count only with `accept_loss`, because it may
        be the only trace of comments that are lost, and not while some can't be read."""
        found = self.store.discussions.find(target)
        if found is None or found["claims"]:
            return 0
        tally = self._tally(place(found))
        raised = {"last_number": Int64(tally.highest), "newest": tally.newest}
        update: Document = {"$max": {**raised, "count": tally.public}}
        if accept_loss and not tally.malformed:
            update = {"$set": {"count": tally.public}, "$max": raised}
        query = {"_id": target.id, "version": found["version"], "claims": []}
        return int(self.store.discussions.collection.update_one(query, update).matched_count)

    def tidy(self) -> int:
        """What the worker does each minute; a discussion that is damaged keeps no other from it."""
        discussions = self.store.discussions.collection
        moment = now()
        dead = {"moving.beat": {"$lt": moment - timedelta(seconds=times.UNHEARD)}, "$expr": is_dead()}
        done = discussions.update_many(dead, {"$set": {"moving": None, "touched": []}}).modified_count
        claims = {"claims.at": {"$lt": moment - timedelta(seconds=times.LEASE)}}
        for wanted, work in ((claims, self.repair_claims), ({"leftovers.due": {"$lte": moment}}, self.drop_old_copies)):
            for found in list(discussions.find(wanted, {"_id": 1})):
                target = Target.of_id(found["_id"])
                try:
                    work(target)
                    done += 1
                except (CommentError, ImproperlyConfigured) as error:
                    logger.warning("The upkeep of the discussion %s failed: %s", target, error)
        self.sweep_erasures()
        return done


class Tally:
    """What all comments of a copy say together."""

    def __init__(self) -> None:
        self.public = self.highest = 0
        self.newest = times.BEGINNING
        self.paths: dict[int, int] = {}
        self.needed: list[tuple[int, int, str]] = []
        self.bad: list[str] = []
        self.malformed: list[str] = []
        self.hundreds: Counter[int] = Counter()

    def add(self, document: Document) -> None:
        """Take a comment into account; they come in the copy's own order."""
        slug = document["slug"]
        full_slug = document["full_slug"]
        own = f"{slugs.stamp(document['posted'])}:{slug.rpartition('/')[2]}"
        above, _, last = full_slug.rpartition("/")
        if not slugs.is_slug(slug) or last != own or (document["parent_id"] or "") != slugs.parent_of(slug):
            self.bad.append(f"{slug} has a path that does not fit it")
        if document["state"] == State.REMOVED.value and (document["source"] or document["author"]["name"]):
            self.bad.append(f"{slug} is removed and still says something")
        if hash(slug) in self.paths:
            self.bad.append(f"{slug} is there twice")
        self.paths[hash(slug)] = hash(full_slug)
        if above:
            self.needed.append((hash(slugs.parent_of(slug)), hash(above), slug))
        self.highest = max(self.highest, int(document["number"]))
        self.hundreds[(int(document["number"]) - 1) // HUNDRED] += 1
        if document["state"] == State.PUBLIC.value:
            self.public += 1
            self.newest = max(self.newest, document["posted"])

    def faults(self, discussion: Document) -> Iterator[Fault]:
        """Yield what does not fit together."""
        name = str(Target.of_id(discussion["_id"]))
        yield from (Fault(name, "comment", what, mendable=False) for what in (*self.malformed, *self.bad))
        for parent, above, slug in self.needed:
            if self.paths.get(parent) != above:
                yield Fault(name, "comment", f"{slug} hangs below a comment that is not there", mendable=False)
        counted = f"it counts {discussion['count']} comments, and has {self.public}"
        if discussion["count"] < self.public and not discussion["claims"]:
            yield Fault(name, "count", counted)
        # A malformed comment may be one that is counted.
        if discussion["count"] > self.public + len(self.malformed) and not discussion["claims"]:
            yield Fault(name, "lost", f"{counted}: the others are lost", mendable=False)
        if max(self.hundreds.values(), default=0) > HUNDRED + CROWD:
            yield Fault(name, "crowded", f"more than {HUNDRED + CROWD} comments share {HUNDRED} numbers")
        if discussion["last_number"] < self.highest:
            yield Fault(name, "numbers", f"number {self.highest} is above the last one given")
        if discussion["newest"] < self.newest:
            yield Fault(name, "numbers", "its newest comment is not known as such")
