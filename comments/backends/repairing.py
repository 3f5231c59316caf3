"""What a crash may leave behind, found and put right: claims, counts, copies that nobody reads.

Nothing here touches what a comment says. A claim whose comment is stored is committed as soon as its writer should have come
back: it stopped before its commit, or a failing server lost that. Any other is dropped when it is so old that nobody can be
writing under it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bson import Int64

from comments import slugs
from comments.backends.changing import Changing
from comments.backends.claims import ABANDONED, LEASE, Claim, claim_of
from comments.backends.importing import counted
from comments.backends.numbering import CROWD, HUNDRED
from comments.backends.posting import Posting
from comments.backends.schema import Schema
from comments.backends.stored import Document, Place, place
from comments.types import State, Target
from mongo.connection import now


@dataclass(frozen=True)
class Fault:
    """Something wrong with a stored discussion: `kind` in a word, `what` in a sentence; whether a repair can mend
    it."""

    discussion_id: str
    kind: str
    what: str
    mendable: bool = True


class Repairing:
    """Audits and repairs."""

    def __init__(self, posting: Posting) -> None:
        self.posting = posting
        self.discussions = posting.discussions
        self.discussions.repair = self.repair_claims
        self.changing = Changing(posting)

    # Claims ----------------------------------------------------------------------------------------------------------

    def repair_claims(self, target: Target, *, older_than: float | None = None) -> int:
        """Commit or drop the claims of a discussion that are older than so many seconds (else: abandoned), and of those older
        than LEASE the ones under which nothing more can be written; return how many."""
        found = self.discussions.collection.find_one({"_id": target.id}, {"touched": 0})
        if found is None:
            return 0
        moment, repaired = now(), 0
        for entry in found["claims"]:
            age = (moment - entry["at"]).total_seconds()
            is_abandoned = age >= (ABANDONED if older_than is None else older_than)
            if is_abandoned or age >= LEASE:
                repaired += self._repair(claim_of(found, entry), is_abandoned)
        return repaired

    def finish(self, target: Target, slug: str) -> bool:
        """Commit the claim under which a comment was posted, if its writer stopped before that; return whether it had."""
        found = self.discussions.collection.find_one({"_id": target.id, "claims.slug": slug}, {"touched": 0})
        open_ = [claim_of(found, entry) for entry in found["claims"] if entry["slug"] == slug] if found else []
        stored = self.posting.stored(target, slug) if open_ else None
        return any(
            claim.kind == "post"
            and self.posting.written_under(claim, stored)
            and self.discussions.commit(claim, newest=claim.posted if claim.delta else None, is_others=True)
            for claim in open_
            if stored is not None
        )

    def _repair(self, claim: Claim, is_abandoned: bool) -> bool:
        if claim.slugs:
            return is_abandoned and self.discussions.commit(counted(self.posting.schemas, claim), newest=claim.posted)
        stored = self.posting.schemas.of(claim.place).look(claim.place, [claim.slug]).found.get(claim.slug)
        if stored is not None and self._written(claim, stored):
            self.discussions.commit(claim, newest=claim.posted if claim.delta > 0 and claim.kind != "restore" else None)
            if self._was_erased(claim):
                self.changing.erase_again(claim.place.target, stored)
        elif is_abandoned or self._is_past(claim, stored):
            if stored is not None and stored["rev"] > claim.rev > 0:
                # What it kept was not replaced by it, and its author may have been erased since.
                self.changing.forget_kept(claim)
            self.discussions.drop(claim)
        else:
            return False
        return True

    def _was_erased(self, claim: Claim) -> bool:
        """Return whether what a writer brought back, who did not come back to look, was gone by then with its author."""
        where: Document = {"discussion_id": claim.place.discussion_id, "slug": claim.slug}
        if claim.kind == "restore":
            return self.changing.history.find_one({**where, "rev": claim.rev - 1}, {"_id": 1}) is None
        return claim.kind == "approve" and self.posting.db["comments.pending"].find_one(where, {"_id": 1}) is None

    def _is_past(self, claim: Claim, stored: Document | None) -> bool:
        """Return whether nothing can be written under a claim any more, however late its writer wakes up."""
        if claim.kind == "hold":
            query = {"discussion_id": claim.place.discussion_id, "slug": claim.slug}
            return self.posting.db["comments.pending"].find_one(query, {"_id": 1}) is not None
        return stored is not None and (claim.kind in ("post", "approve") or stored["rev"] > claim.rev)

    def _written(self, claim: Claim, stored: Document) -> bool:
        """Return whether what is stored was written under the claim."""
        if claim.kind == "hold":
            return False
        if claim.kind in ("post", "approve"):
            return self.posting.written_under(claim, stored)
        return self.posting.made_by(claim, stored, claim.rev + 1)

    # Audits ----------------------------------------------------------------------------------------------------------

    def audit(self, target: Target) -> list[Fault]:
        """Return what is wrong with a discussion; about 200 bytes of memory a comment."""
        found = self.discussions.collection.find_one({"_id": target.id}, {"touched": 0})
        if found is None:
            return []
        where = place(found)
        schema = self.posting.schemas.of(where)
        faults = [Fault(target.id, "form", what, mendable=False) for what in schema.faults(where)]
        tally = Tally(where)
        for document in schema.iterate(where, schema.orders(where)[0]):
            tally.add(document)
        faults += tally.faults(found)
        faults += self._claims(found)
        faults += self._copies(found, where)
        return faults

    def _claims(self, found: Document) -> Iterator[Fault]:
        due = now() - timedelta(seconds=ABANDONED)
        old = sum(entry["at"] <= due for entry in found["claims"])
        if old:
            yield Fault(found["_id"], "claims", f"{old} writers never came back")

    def _copies(self, found: Document, where: Place) -> Iterator[Fault]:
        known = {where.epoch, *(leftover["epoch"] for leftover in found["leftovers"])}
        if found["moving"]:
            known.add(found["moving"]["epoch"])
        # Mostly the next to post drops it.
        overdue = now() - timedelta(seconds=ABANDONED)
        if any(leftover["due"] <= overdue for leftover in found["leftovers"]):
            yield Fault(found["_id"], "leftovers", "an old copy waits to be dropped")
        for schema in self.posting.schemas.all:
            if orphans := schema.epochs(where) - known:
                yield Fault(found["_id"], "copies", f"{schema.name} has copies of no use: {sorted(orphans)}")

    def mend(self, target: Target, faults: list[Fault]) -> int:
        """Put right what of these can be; return how many were. What is being written to meanwhile is left for next
        time."""
        kinds = {fault.kind for fault in faults if fault.mendable}
        mended = 0
        if "claims" in kinds:
            mended += bool(self.repair_claims(target))
        if "copies" in kinds:
            mended += self._drop_orphans(target)
        if "count" in kinds or "numbers" in kinds:
            mended += self._recount(target)
        return mended

    def _drop_orphans(self, target: Target) -> int:
        found = self.discussions.collection.find_one({"_id": target.id}, {"claims": 0, "touched": 0})
        if found is None or found["moving"]:
            return 0
        known = [found["epoch"], *(leftover["epoch"] for leftover in found["leftovers"])]
        # A conversion that begins now takes an epoch above these.
        query = {"$nin": known, "$lte": found["last_epoch"]}
        return int(sum(schema.clear(place(found), query) for schema in self.posting.schemas.all) > 0)

    def _recount(self, target: Target) -> int:
        """Count anew, if nobody writes from before until after."""
        found = self.discussions.collection.find_one({"_id": target.id}, {"touched": 0})
        if found is None or found["claims"]:
            return 0
        where = place(found)
        schema: Schema = self.posting.schemas.of(where)
        tally = Tally(where)
        for document in schema.iterate(where, schema.orders(where)[0]):
            tally.add(document)
        raised: dict[str, Any] = {"last_number": Int64(tally.highest)}
        if tally.newest is not None:
            raised["newest"] = tally.newest
        changed = self.discussions.collection.update_one(
            {"_id": target.id, "version": found["version"], "claims": []},
            {"$set": {"count": tally.public}, "$max": raised},
        )
        return int(changed.matched_count)


class Tally:
    """What all comments of a copy say together."""

    def __init__(self, where: Place) -> None:
        self.where = where
        self.public = self.highest = 0
        self.newest: Any = None
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
            self.newest = document["posted"] if self.newest is None else max(self.newest, document["posted"])

    def faults(self, discussion: Document) -> Iterator[Fault]:
        """Yield what does not fit together."""
        name = discussion["_id"]
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
        if self.newest is not None and discussion["newest"] < self.newest:
            yield Fault(name, "numbers", "its newest comment is not known as such")
