"""The discussion's own document: who is writing (claims), what was counted, and where the comments are.

Each write is announced here before it touches a comment and struck off after it can be read (DESIGN: claim → look →
write → commit). One findAndModify hands out number and time, so that posters never wait for each other for longer than
that.

Values go into the pipelines by $literal: there, a string that begins with $ would be an expression.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bson import Int64, ObjectId
from pymongo import ReturnDocument
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError
from pymongo.write_concern import WriteConcern

from comments import conf
from comments.backends.stored import Document, Place, place
from comments.errors import CommentNotFound, DiscussionBusy, DiscussionClosed
from comments.types import Order, Target
from mongo.connection import now

MOST_CLAIMS = 1_000
# What a converter is to copy again may be so long until writers wait for it: each of them carries the list along.
MOST_TOUCHED = 300
# Seconds. A writer whose claim is older starts over; a claim under which nothing is stored is dropped only when nobody can be
# writing under it.
LEASE = 60
ABANDONED = 600
# Seconds: a converter that has not been heard of for so long is relieved.
UNHEARD = 20
# Seconds between two looks at a shut gate (at first and at the most), and until a writer gives up waiting: later than others
# may relieve a converter.
PACE = 0.02
SLOWEST_PACE = 0.2
PATIENCE = 30
# Discussions read at once.
BATCH = 100

# A commit does not wait until it is safe from a failing server: by then the comment is. One that gets lost leaves its claim,
# as if the writer had stopped before it, and that is repaired.
AT_ONCE = WriteConcern(w=1)

BEGINNING = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
GATE_IS_OPEN: Document = {"$or": [{"moving.gate": None}, {"$expr": {"$lt": ["$moving.gate", "$$NOW"]}}]}
HAS_ROOM: Document = {f"claims.{MOST_CLAIMS - 1}": {"$exists": False}}


@dataclass(frozen=True)
class Intent:
    """What a writer announces. `op` is the token's part: the same op gets the same claim while it is in flight.

    `number`: "next" gives a new number and time, "present" a new time and the highest number so far, "none" neither;
    an int is taken as it is, together with `posted`. `delta` is what the commit adds to `count`; `rev` what a change
    saw; `slugs` those of a batch, which gets so many numbers, up to the claim's.
    """

    op: str
    slug: str
    kind: str
    number: str | int = "none"
    delta: int = 0
    rev: int = 0
    posted: datetime | None = None
    needs_open: bool = False
    slugs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A place in the discussion that is being written to. `place` holds until the claim is given up. `oldest`: since when the
    oldest claim of them all is open. `is_joined`: somebody else announced it, who may be about to write under it."""

    op: str
    slug: str
    kind: str
    number: int | None
    change: ObjectId
    posted: datetime
    at: datetime
    delta: int
    rev: int
    place: Place
    size: int
    leftovers: Sequence[Mapping[str, Any]] = ()
    oldest: datetime | None = None
    is_joined: bool = False
    slugs: Sequence[str] = ()
    taken: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> Document:
        """Which entry of `claims` is meant. A third submit may hold a later claim of the same op: the op alone would
        commit that. New comments go by number, changes and approvals (whose number is shared) by the id of the
        change."""
        if self.kind in ("post", "hold"):
            return {"op": self.op, "number": Int64(self.number or 0)}
        return {"op": self.op, "change": self.change}

    @property
    def is_beside_old_ones(self) -> bool:
        """Whether somebody else's claim is so old that its writer should have come back."""
        return self.oldest is not None and (self.at - self.oldest).total_seconds() >= LEASE

    @property
    def stale(self) -> bool:
        """Whether it is too old to write under."""
        return time.monotonic() - self.taken > LEASE


class Discussions:
    """The collection `discussions`."""

    def __init__(self, db: Database[Document]) -> None:
        self.db = db
        self.collection = db.discussions
        self.committing = self.collection.with_options(write_concern=AT_ONCE)
        # What can be done where the list of claims is full; returns of how many claims it rid the discussion.
        self.repair: Callable[[Target], int] = lambda target: 0

    def find(self, target: Target) -> Document | None:
        """Return a discussion's document, of its lists of claims one at the most."""
        return self.collection.find_one({"_id": target.id}, {"claims": {"$slice": 1}, "touched": 0})

    def begin(self, target: Target) -> bool:
        """Make a target's discussion, as its label's setting says; False if there was one, which stays as it is."""
        storage = conf.storage(target.label)
        bucket = conf.options(target.label, "buckets")["SIZE"]
        document = new_document(target, storage.schema, storage.order, bucket)
        try:
            self.collection.insert_one(document)
        except DuplicateKeyError:
            return False
        return True

    def claim(self, target: Target, intent: Intent) -> Claim:
        """Announce a write and return what it was given, waiting while a conversion has the gate shut.

        Raises DiscussionClosed (if the intent needs it open), DiscussionBusy, and CommentNotFound for a change where
        there is no discussion.
        """
        patience, pace = time.monotonic() + PATIENCE, PACE
        while True:
            found = self._claim(target, intent)
            if found is not None:
                return found
            if intent.number != "none" and self.begin(target):
                continue
            seen = self.collection.find_one({"_id": target.id}, {"state": 1, "moving.gate": 1, **_last_entries()})
            if seen is None:
                if intent.number == "none":
                    raise CommentNotFound(f"There is no discussion {target.id}.")
            elif intent.needs_open and seen["state"] != "open":
                raise DiscussionClosed(target.id)
            elif seen.get("touched") and self._relieve(target):
                continue
            elif time.monotonic() > patience or (seen.get("claims") and not self.repair(target)):
                raise DiscussionBusy(target.id)
            else:
                time.sleep(pace)
                pace = min(2 * pace, SLOWEST_PACE)

    def _claim(self, target: Target, intent: Intent) -> Claim | None:
        free: Document = {"$and": [HAS_ROOM, GATE_IS_OPEN, {_last_touched(): {"$exists": False}}]}
        if intent.needs_open:
            free["state"] = "open"
        # A claim in flight keeps the gate from being passed, so that joining it needs no leave.
        query = {"_id": target.id, "$or": [free, {"claims.op": intent.op}]}
        change = ObjectId()
        found = self.collection.find_one_and_update(
            query,
            _announce(intent, change),
            projection={
                "claims": {"$elemMatch": {"op": intent.op}},
                "oldest": {"$min": "$claims.at"},
                **dict.fromkeys(("schema", "order", "epoch", "bucket", "leftovers"), 1),
            },
            return_document=ReturnDocument.AFTER,
        )
        return _taken(found, intent.op, change) if found else None

    def _relieve(self, target: Target) -> bool:
        """Take a discussion from a converter that is not heard of, if all it was to copy again would hold up writers; True
        if so. Whoever takes over compares every comment, so that the list is not missed; the old one cannot switch."""
        relieved = self.collection.update_one(
            {"_id": target.id, _last_touched(): {"$exists": True}, **is_free()},
            [
                {
                    "$set": {
                        "touched": [],
                        "moving": {"$cond": ["$moving", {"$mergeObjects": ["$moving", {"id": ObjectId()}]}, None]},
                    }
                }
            ],
        )
        return bool(relieved.modified_count)

    def commit(self, claim: Claim, *, newest: datetime | None = None, is_others: bool = False) -> bool:
        """Strike off the claim, count it, and give the discussion a new version; False if it was struck off before.

        `is_others`: what was written under it was found, so that nobody here waited until it was safe.
        """
        return self._strike(claim, claim.delta, newest, is_safe=not is_others)

    def refuse(self, claim: Claim) -> None:
        """Give back a claim under which nothing may be written, unless somebody else who announced or joined it may have
        thought otherwise."""
        if not claim.is_joined:
            self.drop(claim)

    def drop(self, claim: Claim) -> None:
        """Strike off a claim as it was read: whoever joins it has it anew."""
        self._strike(claim, 0, None, as_read=True)

    def give_back(self, claim: Claim, *, number_too: bool = False, is_others: bool = False) -> None:
        """Strike off a claim under which nothing was written. The version is new here too: whoever wrote what was found
        may have stopped before it could say so.

        `number_too`: its number may be given again, if it is still the last one. Only for a token whose comment is stored:
        that is so for ever, so that nobody who shares this claim can write under it. `is_others` as for `commit`.
        """
        self._strike(claim, 0, None, claim.number if number_too else None, is_safe=not is_others)

    def _strike(
        self,
        claim: Claim,
        delta: int,
        newest: datetime | None,
        unused: int | None = None,
        *,
        as_read: bool = False,
        is_safe: bool = True,
    ) -> bool:
        same = [{"$eq": [f"$$this.{name}", {"$literal": value}]} for name, value in claim.key.items()]
        slugs = claim.slugs or (claim.slug,)
        changes: Document = {
            "claims": {"$filter": {"input": "$claims", "cond": {"$not": [{"$and": same}]}}},
            # While the discussion is moving, the converter copies again whatever is named here.
            "touched": {
                "$cond": [
                    {"$eq": [{"$type": "$moving"}, "object"]},
                    {"$concatArrays": ["$touched", [{"slug": {"$literal": slug}, "id": ObjectId()} for slug in slugs]]},
                    "$touched",
                ]
            },
            "version": ObjectId(),
        }
        if delta:
            changes["count"] = {"$add": ["$count", delta]}
        if unused:
            is_last = [{"$eq": ["$last_number", unused]}, {"$gt": [unused, "$last_held"]}]
            changes["last_number"] = {"$cond": [{"$and": is_last}, Int64(unused - 1), "$last_number"]}
        if newest:
            changes["newest"] = {"$max": ["$newest", newest]}
        struck = (self.committing if is_safe else self.collection).update_one(
            {
                "_id": claim.place.discussion_id,
                "claims": {"$elemMatch": {**claim.key, **({"at": claim.at} if as_read else {})}},
            },
            [{"$set": changes}],
        )
        return bool(struck.modified_count)

    def set_state(self, target: Target, state: str) -> None:
        """Open or close a discussion, one that nobody began included."""
        self.begin(target)
        self.collection.update_one({"_id": target.id}, {"$set": {"state": state, "version": ObjectId()}})

    def walk(self, label: str = "") -> Iterator[Document]:
        """Yield every discussion (of one label) by `_id`, however long each is worked on: no cursor is kept open."""
        after, end = f"{label}:" if label else "", f"{label};" if label else "~"
        while True:
            query = {"_id": {"$gt": after, "$lt": end}}
            batch = list(self.collection.find(query, {"claims": 0, "touched": 0}).sort("_id", 1).limit(BATCH))
            yield from batch
            if len(batch) < BATCH:
                return
            after = batch[-1]["_id"]


def new_document(target: Target, schema: str, order: Order, bucket: int) -> Document:
    """Return the document of a discussion that has no comments. Its first epoch is the time: above those of one that the target
    had before, so that whoever is late for that one neither deletes nor writes what is read in this one."""
    epoch = Int64(now().timestamp() * 1000)
    return {
        "_id": target.id,
        "schema": schema,
        "order": order.value,
        "bucket": bucket,
        "state": "open",
        "epoch": epoch,
        "last_epoch": epoch,
        "version": ObjectId(),
        "count": 0,
        "last_number": Int64(0),
        "last_held": Int64(0),
        "last_posted": BEGINNING,
        "newest": BEGINNING,
        "claims": [],
        "touched": [],
        "moving": None,
        "leftovers": [],
    }


def is_free() -> Document:
    """Return the filter for discussions that nobody moves, or a converter of whom nothing is heard any more."""
    return {
        "$or": [
            {"moving": None},
            {"$expr": {"$lt": ["$moving.beat", {"$subtract": ["$$NOW", int(UNHEARD * 1000)]}]}},
        ]
    }


def _announce(intent: Intent, change: ObjectId) -> list[Document]:
    """Return the pipeline that adds the intent's claim; where the op has one, that is as young as a new one."""
    number: Any = None
    posted: Any = "$last_posted"
    raised: Document = {}
    later: Document = {"$max": ["$$NOW", {"$add": ["$last_posted", 1]}]}
    if intent.posted:
        # An import's times are its own; those ahead of the present must not drag along what is posted next.
        later = {"$max": ["$last_posted", {"$min": [intent.posted, "$$NOW"]}]}
        posted = intent.posted
    if intent.number == "next":
        raised = {"last_number": {"$add": ["$last_number", len(intent.slugs) or 1]}, "last_posted": later}
        number = "$last_number"
    elif intent.number == "present":
        number = {"$max": ["$last_number", Int64(1)]}
        raised = {"last_posted": later, "last_held": number}
    elif isinstance(intent.number, int):
        raised = {"last_number": {"$max": ["$last_number", Int64(intent.number)]}}
        number, posted = Int64(intent.number), intent.posted
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
        {"$set": {"is_new": is_new}},
        {
            "$set": {name: {"$cond": ["$is_new", value, f"${name}"]} for name, value in raised.items()}
            or {"is_new": "$is_new"}
        },
        {"$set": {"claims": {"$cond": ["$is_new", {"$concatArrays": ["$claims", [entry]]}, joined]}}},
        {"$unset": "is_new"},
    ]


def _taken(document: Document, op: str, change: ObjectId) -> Claim:
    # By op and here: a findAndModify that the driver retried returns the whole document, whatever the projection says.
    entry = next(entry for entry in document["claims"] if entry["op"] == op)
    return replace(claim_of(document, entry), is_joined=entry["change"] != change)


def claim_of(document: Document, entry: Mapping[str, Any]) -> Claim:
    """Return an entry of a discussion's `claims` as a Claim."""
    return Claim(
        op=entry["op"],
        slug=entry["slug"],
        kind=entry["kind"],
        number=None if entry["number"] is None else int(entry["number"]),
        change=entry["change"],
        posted=entry["posted"],
        at=entry["at"],
        delta=entry["delta"],
        rev=entry["rev"],
        place=place(document),
        size=int(document["bucket"]),
        leftovers=tuple(document.get("leftovers", ())),
        oldest=document.get("oldest"),
        slugs=tuple(entry.get("slugs", ())),
    )


def _last_touched() -> str:
    """Return the path of the entry of `touched` that there may not be."""
    return f"touched.{MOST_TOUCHED - 1}"


def _last_entries() -> Document:
    """Return the projection of those entries that there may not be: to see which list is full."""
    return {"claims": {"$slice": [MOST_CLAIMS - 1, 1]}, "touched": {"$slice": [MOST_TOUCHED - 1, 1]}}
