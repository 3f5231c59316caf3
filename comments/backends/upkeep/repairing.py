"""What a crash may leave behind, found and put right: claims, counts, copies that are not read.

Nothing here touches what a comment says. A claim whose comment is stored is committed as soon as its writer should have come
back: it stopped before its commit, or a failing server lost that. Any other is dropped when it is so old that no process can
be writing under it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta

from bson import Int64
from django.core.exceptions import ImproperlyConfigured

from comments import slugs
from comments.backends import discussions as times
from comments.backends.discussions import Claim, claims_of, is_dead
from comments.backends.store import Part, Store
from comments.backends.stored import Document, Place, place
from comments.backends.writing.importing import counted
from comments.errors import CommentError
from comments.types import Fault, State, Target
from mongo.clock import now

logger = logging.getLogger(__name__)

# Comments approved long after they were sent share numbers. More than so many of them among a hundred numbers have the
# discussion numbered anew.
HUNDRED, CROWD = 100, 200


def repair_claims(store: Store, target: Target, *, older_than: float | None = None) -> int:
    """Commit or drop the claims of a discussion that are older than so many seconds (else: ABANDONED), and commit of those
    older than LEASE the ones under which something is stored; return how many."""
    oldest = times.ABANDONED if older_than is None else older_than
    found, moment, repaired = store.discussions.find(target, whole=True), now(), 0
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


def drop_orphans(store: Store, target: Target) -> bool:
    """Delete the copies of a discussion that ended conversions left; return whether there were any."""
    found = store.discussions.find(target)
    if found is None:
        return False
    # A conversion that begins now takes an epoch above these; one that counts as dead may still switch until it is ended.
    known = [old["epoch"] for old in (found, *found["leftovers"], found["moving"] or found)]
    orphans = {"$nin": known, "$lte": found["last_epoch"]}
    return sum(layout.clear(place(found), orphans) for layout in store.layouts.all) > 0


class Repairing(Part):
    """Audits and repairs."""

    def repair_claims(self, target: Target, *, older_than: float | None = None) -> int:
        return repair_claims(self.store, target, older_than=older_than)

    def audit(self, target: Target) -> list[Fault]:
        found = self.store.discussions.find(target, whole=True)
        if found is None:
            return []
        where = place(found)
        faults = [
            Fault(str(target), "form", what, mendable=False) for what in self.store.layouts.of(where).faults(where)
        ]
        return [*faults, *self._tally(where).faults(found), *self._claims(found), *self._copies(found, where)]

    def _tally(self, where: Place) -> "Tally":
        """Read a copy whole; about 200 bytes of memory a comment."""
        layout, tally = self.store.layouts.of(where), Tally()
        for document in layout.iterate(where, layout.orders[0]):
            tally.add(document)
        return tally

    def _claims(self, found: Document) -> Iterator[Fault]:
        due = now() - timedelta(seconds=times.ABANDONED)
        if old := sum(entry["at"] <= due for entry in found["claims"]):
            yield Fault(str(Target.of_id(found["_id"])), "claims", f"{old} writers never came back")

    def _copies(self, found: Document, where: Place) -> Iterator[Fault]:
        # An old copy that waits to be dropped is no fault.
        known = {old["epoch"] for old in (found, *found["leftovers"], found["moving"] or found)}
        for layout in self.store.layouts.all:
            if orphans := layout.epochs(where) - known:
                yield Fault(str(where.target), "copies", f"{layout.name} has copies of no use: {sorted(orphans)}")

    def mend(self, target: Target, faults: list[Fault]) -> int:
        kinds = {fault.kind for fault in faults if fault.mendable}
        repairs: list[tuple[set[str], Callable[[], object]]] = [
            ({"claims"}, lambda: self.repair_claims(target)),
            ({"copies"}, lambda: drop_orphans(self.store, target)),
            ({"count", "numbers"}, lambda: self._recount(target)),
            ({"crowded"}, lambda: self.renumber(target)),
        ]
        return sum(bool(repair()) for of_kinds, repair in repairs if kinds & of_kinds)

    def _recount(self, target: Target) -> int:
        """Count anew, if no writer is at work from before until after."""
        found = self.store.discussions.find(target)
        if found is None or found["claims"]:
            return 0
        tally = self._tally(place(found))
        raised = {"last_number": Int64(tally.highest), "newest": tally.newest}
        changed = self.store.discussions.collection.update_one(
            {"_id": target.id, "version": found["version"], "claims": []},
            {"$set": {"count": tally.public}, "$max": raised},
        )
        return int(changed.matched_count)

    def tidy(self) -> int:
        """What the worker does each minute; a discussion that is damaged keeps no other from it."""
        discussions, moment = self.store.discussions.collection, now()
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
        self.hundreds: Counter[int] = Counter()

    def add(self, document: Document) -> None:
        """Take a comment into account; they come in the copy's own order."""
        slug, full_slug = document["slug"], document["full_slug"]
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
        yield from (Fault(name, "comment", what, mendable=False) for what in self.bad)
        for parent, above, slug in self.needed:
            if self.paths.get(parent) != above:
                yield Fault(name, "comment", f"{slug} hangs below a comment that is not there", mendable=False)
        if discussion["count"] != self.public and not discussion["claims"]:
            yield Fault(name, "count", f"it counts {discussion['count']} comments, and has {self.public}")
        if max(self.hundreds.values(), default=0) > HUNDRED + CROWD:
            yield Fault(name, "crowded", f"more than {HUNDRED + CROWD} comments share {HUNDRED} numbers")
        if discussion["last_number"] < self.highest:
            yield Fault(name, "numbers", f"number {self.highest} is above the last one given")
        if discussion["newest"] < self.newest:
            yield Fault(name, "numbers", "its newest comment is not known as such")
