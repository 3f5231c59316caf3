"""The discussion's own document: who is writing (claims), what was counted, and where the comments are.

Each write is announced here before it touches a comment and struck off after it can be read: claim, look, write, commit. One
findAndModify hands out number and time, so that posters never wait for each other for longer than that.

Values go into the pipelines by $literal: there, a string that begins with $ would be an expression.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bson import Int64, ObjectId
from pymongo import ReturnDocument
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError
from pymongo.write_concern import WriteConcern

from marginalia.comments.backends.stored import Document, Place, Storage, place
from marginalia.comments.errors import CommentNotFound, DiscussionBusy, DiscussionClosed
from marginalia.comments.types import Order, Target
from marginalia.mongo.clock import now

MOST_CLAIMS = 1_000
# What a converter is to copy again may be so long until writers wait for it: each of them carries the list along.
MOST_TOUCHED = 300
# Seconds. A writer whose claim is older claims again; a claim under which nothing is stored is dropped only when no process
# can be writing under it.
LEASE = 60
ABANDONED = 600
# Seconds: a converter whose beat is older counts as dead.
UNHEARD = 20
# Seconds between two looks at a shut gate (at first and at the most), and until a writer gives up waiting: later than a dead
# converter's conversion ends.
PACE = 0.02
SLOWEST_PACE = 0.2
PATIENCE = 30
# A commit does not wait until it is safe from a failing server: by then the comment is. One that gets lost leaves its claim,
# as if the writer had stopped before it, and that is repaired.
AT_ONCE = WriteConcern(w=1)

BEGINNING = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
# The collection and the fields from which a discussion's version is known, for what reads it beside other documents.
VERSIONS = ("discussions", ("version", "claims"))
# A discussion's document without what grows while it is written to.
BRIEF = {"claims": {"$slice": 1}, "touched": 0}


@dataclass(frozen=True)
class Intent:
    """What a writer announces. `op` is the token's part: the same op gets the same claim while it is in flight.

    `number`: True gives a new number and time, None neither; an int is taken as it is, together with `posted`. `delta` is what
    the commit adds to `count`; `rev` what a change saw; `slugs` those of a batch, which gets so many numbers, up to the
    claim's.
    """

    op: str
    slug: str
    kind: str
    number: int | bool | None = None
    delta: int = 0
    rev: int = 0
    posted: datetime | None = None
    needs_open: bool = False
    slugs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A place in the discussion that is being written to. `place` holds until the claim is given up. `is_joined`: another
    process announced it, and may be about to write under it."""

    op: str
    slug: str
    kind: str
    number: int
    change: ObjectId
    posted: datetime
    at: datetime
    delta: int
    rev: int
    place: Place
    slugs: Sequence[str] = ()
    is_joined: bool = False
    taken: float = field(default_factory=time.monotonic)

    @property
    def is_stale(self) -> bool:
        """Whether it is too old to write under."""
        return time.monotonic() - self.taken > LEASE


class Discussions:
    """The collection `discussions`."""

    def __init__(self, db: Database[Document], storage: Callable[[Target], Storage]) -> None:
        """Take the function that says how the discussion of a target is kept that is begun."""
        self.storage = storage
        self.collection = db[VERSIONS[0]]
        self.committing = self.collection.with_options(write_concern=AT_ONCE)

    def find(self, target: Target, *, whole: bool = False) -> Document | None:
        """Return a discussion's document, of its claims one at the most unless it is wanted `whole`."""
        return self.collection.find_one({"_id": target.id}, {"touched": 0} if whole else BRIEF)

    def begin(self, target: Target) -> bool:
        """Make a target's discussion, as the settings say; False if there was one, which stays as it is."""
        kept = self.storage(target)
        try:
            self.collection.insert_one(new_document(target, kept.layout, kept.order, kept.bucket))
        except DuplicateKeyError:
            return False
        return True

    def set_state(self, target: Target, state: str) -> None:
        """Open or close a discussion; one that has no comment yet is begun."""
        self.begin(target)
        self.collection.update_one({"_id": target.id}, {"$set": {"state": state, "version": ObjectId()}})

    # Claims ----------------------------------------------------------------------------------------------------------

    def claim(self, target: Target, intent: Intent) -> Claim:
        """Announce a write and return what it was given, waiting while a conversion has the gate shut or too many write.

        Raises DiscussionClosed (if the intent needs it open), DiscussionBusy after a wait of PATIENCE, and CommentNotFound
        for a change where there is no discussion.
        """
        patience = time.monotonic() + PATIENCE
        pace = PACE
        while (found := self._claim(target, intent)) is None:
            if intent.number is not None and self.begin(target):
                continue
            if (seen := self.find(target)) is None:
                if intent.number is None:
                    raise CommentNotFound(f"There is no discussion {target}.")
            elif intent.needs_open and seen["state"] != "open":
                raise DiscussionClosed(str(target))
            elif time.monotonic() > patience:
                raise DiscussionBusy(str(target))
            else:
                time.sleep(pace)
                pace = min(2 * pace, SLOWEST_PACE)
        return found

    def _claim(self, target: Target, intent: Intent) -> Claim | None:
        gate_is_open = {"$or": [{"moving.gate": None}, {"$expr": {"$lt": ["$moving.gate", "$$NOW"]}}]}
        has_room = {"$or": [{f"touched.{MOST_TOUCHED - 1}": {"$exists": False}}, {"$expr": is_dead()}]}
        free: Document = {"$and": [{f"claims.{MOST_CLAIMS - 1}": {"$exists": False}}, gate_is_open, has_room]}
        if intent.needs_open:
            free["state"] = "open"
        change = ObjectId()
        found = self.collection.find_one_and_update(
            # A claim in flight keeps the gate from being passed, so that joining it needs no leave.
            {"_id": target.id, "$or": [free, {"claims.op": intent.op}]},
            _announce(intent, change),
            projection={
                "claims": {"$elemMatch": {"op": intent.op}},
                **dict.fromkeys(("schema", "order", "epoch", "bucket"), 1),
            },
            return_document=ReturnDocument.AFTER,
        )
        if found is None:
            return None
        # By op: a findAndModify that the driver retried returns the whole document, whatever the projection says.
        claim = next(claim for claim in claims_of(found) if claim.op == intent.op)
        return replace(claim, is_joined=claim.change != change)

    def commit(self, claim: Claim, *, newest: datetime | None = None, is_safe: bool = False) -> bool:
        """Strike off the claim, count it, and give the discussion a new version; False if it was struck off before.

        `is_safe`: what was written under it is known to survive a failing server, so that the commit need not.
        """
        return self._strike(claim, claim.delta, newest, self.committing if is_safe else self.collection)

    def refuse(self, claim: Claim) -> None:
        """Give back a claim under which nothing may be written, unless another process may think otherwise."""
        if not claim.is_joined:
            self.drop(claim)

    def drop(self, claim: Claim) -> None:
        """Give back a claim under which this process writes nothing; another one that has joined it since keeps it. The
        version is new here too: the writer of what was found may have stopped before it could say so."""
        self._strike(claim, 0, None, self.collection, at=claim.at)

    def _strike(
        self, claim: Claim, delta: int, newest: datetime | None, collection: Collection[Document], **also: Any
    ) -> bool:
        # A third submit may hold a later claim of the same op: the op alone would commit that.
        is_it = [{"$eq": ["$$this.op", {"$literal": claim.op}]}, {"$eq": ["$$this.change", claim.change]}]
        entries = [{"slug": {"$literal": slug}, "id": ObjectId()} for slug in claim.slugs or (claim.slug,)]
        is_moving = {"$eq": [{"$type": "$moving"}, "object"]}
        changes: Document = {
            "claims": {"$filter": {"input": "$claims", "cond": {"$not": [{"$and": is_it}]}}},
            # While the discussion is moving, the converter copies again what is named here.
            "touched": {"$cond": [is_moving, {"$concatArrays": ["$touched", entries]}, "$touched"]},
            "version": ObjectId(),
        }
        if delta:
            changes["count"] = {"$add": ["$count", delta]}
        if newest:
            changes["newest"] = {"$max": ["$newest", newest]}
        query = {
            "_id": claim.place.target.id,
            "claims": {"$elemMatch": {"op": claim.op, "change": claim.change, **also}},
        }
        return bool(collection.update_one(query, [{"$set": changes}]).modified_count)


def new_document(target: Target, layout: str, order: Order, bucket: int) -> Document:
    """Return the document of a discussion that has no comments. Its first epoch is the time: above those of one that the target
    had before, so that a stale writer of that one neither deletes nor writes what is read in this one."""
    epoch = Int64(now().timestamp() * 1000)
    return {
        "_id": target.id,
        "label": target.label,
        "schema": layout,
        "order": order.value,
        "bucket": bucket,
        "state": "open",
        "epoch": epoch,
        "last_epoch": epoch,
        "version": ObjectId(),
        "count": 0,
        "last_number": Int64(0),
        "last_posted": BEGINNING,
        "newest": BEGINNING,
        "claims": [],
        "touched": [],
        "moving": None,
        "leftovers": [],
    }


def of_label(label: str) -> Document:
    """Return the filter for the discussions of a label, of all for ""."""
    return {"label": label} if label else {}


def is_dead() -> Document:
    """Return the expression for a conversion of which nothing is heard any more; true also where there is none."""
    return {"$lt": [{"$ifNull": ["$moving.beat", BEGINNING]}, {"$subtract": ["$$NOW", int(UNHEARD * 1000)]}]}


def claims_of(document: Document) -> list[Claim]:
    """Return the entries of a discussion's `claims`."""
    where = place(document)
    return [Claim(**{"slugs": (), **entry}, place=where) for entry in document["claims"]]


def _announce(intent: Intent, change: ObjectId) -> list[Document]:
    """Return the pipeline that adds the intent's claim; where the op has one, that is as young as a new one. A dead conversion
    ends with it."""
    number: Any = Int64(intent.number or 0)
    posted: Any = intent.posted or "$last_posted"
    raised: Document = {}
    if intent.number is True:
        # An import's times are its own; those ahead of the present must not drag along what is posted next.
        later: Document = {"$max": ["$$NOW", {"$add": ["$last_posted", 1]}]}
        if intent.posted:
            later = {"$max": ["$last_posted", {"$min": [intent.posted, "$$NOW"]}]}
        raised = {"last_number": {"$add": ["$last_number", len(intent.slugs) or 1]}, "last_posted": later}
        number = "$last_number"
    elif intent.number is not None:
        raised = {"last_number": {"$max": ["$last_number", number]}}
    entry = {
        "op": {"$literal": intent.op},
        "slug": {"$literal": intent.slug},
        "kind": intent.kind,
        "number": number,
        "change": change,
        "posted": posted,
        "at": "$$NOW",
        "delta": intent.delta,
        "rev": intent.rev,
        **({"slugs": {"$literal": list(intent.slugs)}} if intent.slugs else {}),
    }
    is_new = {"$not": [{"$in": [{"$literal": intent.op}, "$claims.op"]}]}
    is_same = {"$eq": ["$$this.op", {"$literal": intent.op}]}
    renewed = {"$cond": [is_same, {"$mergeObjects": ["$$this", {"at": "$$NOW"}]}, "$$this"]}
    joined = {"$map": {"input": "$claims", "as": "this", "in": renewed}}
    return [
        {"$set": {"is_new": is_new, "is_dead": is_dead()}},
        {
            "$set": {
                "moving": {"$cond": ["$is_dead", None, "$moving"]},
                "touched": {"$cond": ["$is_dead", [], "$touched"]},
                **{name: {"$cond": ["$is_new", value, f"${name}"]} for name, value in raised.items()},
            }
        },
        {"$set": {"claims": {"$cond": ["$is_new", {"$concatArrays": ["$claims", [entry]]}, joined]}}},
        {"$unset": ["is_new", "is_dead"]},
    ]
