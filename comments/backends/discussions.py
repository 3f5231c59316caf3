"""Discussion documents, which contain counts, a claim for each active writer, and the location of the comments.

Each write has four steps: claim, check, write and commit. The claim records the write before any comment is stored or
changed. The commit removes the claim once the comment can be read. The findAndModify that stores the claim also assigns
the comment's number and time, so no writer has to wait until another writer has finished. Values in pipelines are
wrapped in $literal. Otherwise, MongoDB would evaluate a string that begins with $ as an expression.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bson import Int64, ObjectId
from pymongo import ReturnDocument, UpdateOne
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import BulkWriteError, DuplicateKeyError
from pymongo.write_concern import WriteConcern

from marginalia.comments.backends.stored import UNCHANGED, Document, Place, Storage, read_place
from marginalia.comments.errors import CommentNotFound, DiscussionBusy, DiscussionClosed, TooManyLocked
from marginalia.comments.types import Order, RestrictionChanges, Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import non_duplicate_errors

MAX_CLAIMS = 1_000
# Maximum number of locked threads in a discussion.
MAX_LOCKED = 200
# Maximum length of the list of comments that a converter has to copy again. When the list is full, writers have to
# wait. The limit keeps writes fast, because each write rewrites the whole list.
MAX_TOUCHED = 300
# Ages of a claim in seconds. A writer whose claim is older than LEASE has to claim again. A claim that is older than
# ABANDONED is dropped if its comment isn't stored, because no process can still be using the claim.
LEASE = 60
ABANDONED = 600
# A converter is considered dead if its last heartbeat was more than this many seconds ago.
DEAD_AFTER = 20
# While new claims are blocked (the gate is shut), a writer tries again after POLL_SECONDS, and then after longer pauses
# of up to MAX_POLL_SECONDS. The writer gives up after PATIENCE seconds. This is longer than DEAD_AFTER, so a dead
# converter can't make a writer give up.
POLL_SECONDS = 0.02
MAX_POLL_SECONDS = 0.2
PATIENCE = 30
# The write concern for commits of comments that are already known to survive a server failure. Such a commit doesn't
# have to wait for other members of the replica set. If it is lost in a server failure, the claim remains and is
# repaired later, as if the writer had stopped before the commit.
PRIMARY_ONLY = WriteConcern(w=1)

BEGINNING = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
# The collection and the fields that determine the version of a discussion. They are used by code that reads the version
# in the same query as other documents.
VERSIONS = ("discussions", ("version", "claims"))
# A projection of the discussion document that leaves out `touched`, and all claims except the first. Both lists grow
# while people are posting comments.
BRIEF_PROJECTION = {"claims": {"$slice": 1}, "touched": 0}


@dataclass(frozen=True)
class Intent:
    """A write that needs a claim.

    Attributes:
        op: An id derived from the token. While a write is in progress, another write with the same `op` uses the same
            claim.
        number: If True, a new number and a new time are assigned. If None, neither is assigned. An int is used as the
            number, with `posted` as the time.
        delta: The number that the commit adds to `count`.
        rev: The revision that the user saw, if the write is a change.
        slugs: The slugs of a batch of comments. Each slug gets a number of its own, and the claim contains the highest
            of these numbers.
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
    """A write in progress, and the copy of the discussion that it writes to.

    Attributes:
        place: The copy to write to. A conversion can't replace this copy until the claim is removed.
        is_joined: Whether another process created the claim and may still be using it.
    """

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
        """Return whether the claim is too old to be used for a write."""
        return time.monotonic() - self.taken > LEASE


class Discussions:
    """Access to the `discussions` collection."""

    def __init__(self, db: Database[Document], storage: Callable[[Target], Storage]) -> None:
        """Initialize with the database, and a function that returns the storage for a target's new discussion."""
        self.storage = storage
        self.collection = db[VERSIONS[0]]
        self.committing = self.collection.with_options(write_concern=PRIMARY_ONLY)

    def find(self, target: Target, *, whole: bool = False) -> Document | None:
        """Return the document of a discussion. Unless `whole` is True, read only the first of its claims."""
        return self.collection.find_one({"_id": target.id}, {"touched": 0} if whole else BRIEF_PROJECTION)

    def begin(self, target: Target) -> bool:
        """Create a target's discussion as configured in COMMENTS. Return False if the discussion already exists.

        Readers see no change, so pages that show the discussion stay in the page cache. Otherwise, the first comment in
        each discussion would cause its page to be rendered again, even if the comment waits for a moderator.
        """
        storage = self.storage(target)
        document = new_document(target, storage.layout, storage.order, storage.bucket)
        try:
            self.collection.insert_one({**document, "version": UNCHANGED})
        except DuplicateKeyError:
            return False
        return True

    def begin_many(self, documents: Sequence[Document]) -> set[str]:
        """Insert the documents of discussions that don't exist yet, and return their ids."""
        ids = [document["_id"] for document in documents]
        try:
            self.collection.insert_many(documents, ordered=False)
        except BulkWriteError as error:
            if non_duplicate_errors(error):
                raise
            existing = {ids[failure["index"]] for failure in error.details["writeErrors"]}
            return set(ids) - existing
        return set(ids)

    def set_state(self, target: Target, state: str) -> None:
        """Set the state of a discussion ("open" or "closed"). Create the discussion if it does not exist."""
        self.begin(target)
        self.collection.update_one({"_id": target.id}, {"$set": {"state": state, "version": ObjectId()}})

    def restrict(self, target: Target, changes: RestrictionChanges) -> None:
        """Change restrictions of a discussion. Create the discussion if it does not exist."""
        self.begin(target)
        stored = {f"restrictions.{name}": value for name, value in changes.items()}
        self.collection.update_one({"_id": target.id}, {"$set": {**stored, "version": ObjectId()}})

    def lock_thread(self, target: Target, slug: str, *, locked: bool) -> None:
        """Lock or unlock the thread of a comment.

        Raises:
            TooManyLocked: MAX_LOCKED other threads of the discussion are locked.
        """
        operator = "$addToSet" if locked else "$pull"
        # Locking a locked thread again is always possible.
        room = [{f"restrictions.locked.{MAX_LOCKED - 1}": {"$exists": False}}, {"restrictions.locked": slug}]
        query = {"_id": target.id, **({"$or": room} if locked else {})}
        update = {operator: {"restrictions.locked": slug}, "$set": {"version": ObjectId()}}
        if not self.collection.update_one(query, update).matched_count and locked:
            raise TooManyLocked(str(target))

    # Claims ----------------------------------------------------------------------------------------------------------

    def claim(self, target: Target, intent: Intent) -> Claim:
        """Record that a write is about to start, and return its claim.

        Wait while a conversion blocks new claims, or while too many writes are in progress.

        Raises:
            DiscussionClosed: The intent needs an open discussion, but the discussion is closed.
            DiscussionBusy: No claim was possible for PATIENCE seconds.
            CommentNotFound: The intent is a change, but there is no discussion.
        """
        patience = time.monotonic() + PATIENCE
        pace = POLL_SECONDS
        while (claim := self._claim(target, intent)) is None:
            if intent.number is not None and self.begin(target):
                continue
            if (document := self.find(target)) is None:
                if intent.number is None:
                    raise CommentNotFound(f"The discussion {target} doesn't exist.")
            elif intent.needs_open and document["state"] != "open":
                raise DiscussionClosed(str(target))
            elif time.monotonic() > patience:
                raise DiscussionBusy(str(target))
            else:
                time.sleep(pace)
                pace = min(2 * pace, MAX_POLL_SECONDS)
        return claim

    def _claim(self, target: Target, intent: Intent) -> Claim | None:
        gate_is_open = {"$or": [{"moving.gate": None}, {"$expr": {"$lt": ["$moving.gate", "$$NOW"]}}]}
        has_room = {"$or": [{f"touched.{MAX_TOUCHED - 1}": {"$exists": False}}, {"$expr": is_dead()}]}
        free: Document = {"$and": [{f"claims.{MAX_CLAIMS - 1}": {"$exists": False}}, gate_is_open, has_room]}
        if intent.needs_open:
            free["state"] = "open"
        change = ObjectId()
        document = self.collection.find_one_and_update(
            # An existing claim can be joined even while a conversion blocks new claims, because the conversion doesn't
            # switch to the new copy until no claims are left.
            {"_id": target.id, "$or": [free, {"claims.op": intent.op}]},
            _announce(intent, change),
            projection={
                "claims": {"$elemMatch": {"op": intent.op}},
                **dict.fromkeys(("schema", "order", "epoch", "bucket"), 1),
            },
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            return None
        # Search for the claim by `op`. The document can contain other claims, because the response to a findAndModify
        # that the driver has retried ignores the projection.
        claim = next(claim for claim in read_claims(document) if claim.op == intent.op)
        return replace(claim, is_joined=claim.change != change)

    def commit(self, claim: Claim, *, newest: datetime | None = None, is_safe: bool = False) -> bool:
        """Remove the claim, add its delta to `count`, and set a new version.

        Return False if the claim no longer exists.

        Args:
            claim: The claim to remove.
            newest: The time of the new comment, if there is one.
            is_safe: Whether the claimed write is known to survive a server failure. If so, the commit itself doesn't
                have to survive one, because it can be repeated later.
        """
        return self._remove(claim, claim.delta, newest, self.committing if is_safe else self.collection)

    def commit_batches(self, claims: Iterable[Claim]) -> None:
        """Commit the claims of batches in many discussions with one command. Skip claims that no longer exist."""
        updates = [UpdateOne(*_removal(claim, claim.delta, claim.posted)) for claim in claims]
        if updates:
            self.collection.bulk_write(updates, ordered=False)

    def refuse(self, claim: Claim) -> None:
        """Remove a claim whose write was rejected.

        If another process created the claim, keep the claim, because that process may still be able to write the
        comment.
        """
        if not claim.is_joined:
            self.drop(claim)

    def drop(self, claim: Claim) -> None:
        """Remove a claim that this process won't use for a write.

        If another process has since joined the claim, keep it.

        Dropping a claim also sets a new version. If the comment is already stored, the process that stored it may have
        crashed before it could set a new version itself.
        """
        self._remove(claim, 0, None, self.collection, at=claim.at)

    def _remove(
        self, claim: Claim, delta: int, newest: datetime | None, collection: Collection[Document], **also: Any
    ) -> bool:
        return bool(collection.update_one(*_removal(claim, delta, newest, **also)).modified_count)


def new_document(target: Target, layout: str, order: Order, bucket: int) -> Document:
    """Return the document for a new discussion without comments.

    The first epoch is the current time. Therefore, if the target had an earlier discussion that was deleted, all epochs
    of that discussion are lower, and a writer that is still working on it can't change or delete anything in the new
    one.
    """
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


def begun_with_claim(target: Target, storage: Storage, intent: Intent) -> Document:
    """Return the document for a new discussion whose first comments are being written as `intent` describes."""
    moment = now()
    posted = intent.posted or moment
    number = Int64(len(intent.slugs))
    entry = {
        "op": intent.op,
        "slug": intent.slug,
        "kind": intent.kind,
        "number": number,
        "change": ObjectId(),
        "posted": posted,
        "at": moment,
        "delta": intent.delta,
        "rev": intent.rev,
        "slugs": list(intent.slugs),
    }
    document = new_document(target, storage.layout, storage.order, storage.bucket)
    return {**document, "claims": [entry], "last_number": number, "last_posted": min(posted, moment)}


def label_filter(label: str) -> Document:
    """Return the filter for discussions on `label` objects, or {} if `label` is ""."""
    return {"label": label} if label else {}


def is_dead() -> Document:
    """Return an aggregation expression that is true unless a conversion is in progress and has a recent heartbeat."""
    return {"$lt": [{"$ifNull": ["$moving.beat", BEGINNING]}, {"$subtract": ["$$NOW", int(DEAD_AFTER * 1000)]}]}


def read_claims(document: Document) -> list[Claim]:
    """Return the claims of a discussion."""
    place = read_place(document)
    return [Claim(**{"slugs": (), **entry}, place=place) for entry in document["claims"]]


def _removal(claim: Claim, delta: int, newest: datetime | None, **also: Any) -> tuple[Document, list[Document]]:
    """Return the filter and the update that remove a claim. `also` contains more conditions on the claim."""
    # Compare `change` as well as `op`. If the form was submitted again, there may be a newer claim with the same
    # `op`, which must not be removed.
    is_it = [{"$eq": ["$$this.op", {"$literal": claim.op}]}, {"$eq": ["$$this.change", claim.change]}]
    entries = [{"slug": {"$literal": slug}, "id": ObjectId()} for slug in claim.slugs or (claim.slug,)]
    is_moving = {"$eq": [{"$type": "$moving"}, "object"]}
    changes: Document = {
        "claims": {"$filter": {"input": "$claims", "cond": {"$not": [{"$and": is_it}]}}},
        # During a conversion, record this write's comments in `touched`, so that the converter copies them again.
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
    return query, [{"$set": changes}]


def _announce(intent: Intent, change: ObjectId) -> list[Document]:
    """Return a pipeline that adds a claim for `intent`.

    If a claim with the same `op` already exists, the pipeline updates the time of that claim instead. It also ends a
    conversion that has no recent heartbeat.
    """
    number: Any = Int64(intent.number or 0)
    posted: Any = intent.posted or "$last_posted"
    raised: Document = {}
    if intent.number is True:
        # Imported comments keep their own times. `last_posted` must not be set to a time in the future, because later
        # posts would then get even later times.
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
