"""One attempt at moving a living discussion to another schema, order or numbering, while people post to it and change it.

Every writer is in `claims` from before its write until its commit; a commit made while `moving` is set also says in
`touched` which comment it was. So: copy everything, compare, copy again what was touched since, and switch in one update
whose filter wants both lists empty. The filter makes it right; the gate, which keeps new claims out for a second, and the
bound of `touched`, at which writers wait for the converter, only make it end.

Each plan has an epoch of its own: whoever stalls in an abandoned plan writes into a copy that nobody reads.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bson import Int64, ObjectId
from pymongo import ReturnDocument
from pymongo.errors import PyMongoError

from comments import conf
from comments.backends.claims import BEGINNING, MOST_TOUCHED, PACE, is_free
from comments.backends.comparing import Side, differences
from comments.backends.memory import sort_key
from comments.backends.numbering import Numbers
from comments.backends.repairing import Repairing
from comments.backends.schema import Looked, Schema
from comments.backends.schemas import Schemas
from comments.backends.stored import Document, Place, newer
from comments.errors import ConversionFailed
from comments.types import Order

BATCH = 1_000
GATE_MS = 1_000
SHUT = {"moving.gate": {"$add": ["$$NOW", GATE_MS]}}
FEW = 5
# How many touched comments are copied again at once: for no longer than a gate that is shut now stays so.
CHUNK = 50
# Seconds that the gate is kept shut at the most while what was touched is copied again.
LONGEST_GATE = 10


@dataclass(frozen=True)
class Converted:
    """What a conversion did: how many comments it copied, and for how long (seconds) writers had to wait at the
    most."""

    comments: int
    shut: float


class Attempt:
    """One attempt at one conversion. `undecoded`: the schemas on a connection that leaves documents as bytes, to compare by."""

    def __init__(
        self,
        repairing: Repairing,
        undecoded: Schemas,
        source: Place,
        schema: str,
        order: Order,
        renumber: bool,
        patience: float | None,
        progress: Callable[[int], None],
    ) -> None:
        self.repairing, self.undecoded = repairing, undecoded
        self.schemas, self.discussions = repairing.posting.schemas, repairing.posting.discussions
        self.collection = self.discussions.collection
        self.source, self.order, self.renumber = source, order, renumber
        self.patience, self.progress = patience, progress
        self.me = ObjectId()
        self.numbers = Numbers()
        self.schema = schema
        self.copied = 0
        self.claims: list[Document] = []

    def run(self) -> Converted:
        moving = self._take()
        self.to = replace(self.source, schema=self.schema, order=self.order, epoch=int(moving["epoch"]))
        try:
            self._copy(moving["copied"], int(moving["done"]))
            self._compare()
            before = MOST_TOUCHED
            # Where no less is touched than can be copied again, the gate ends it.
            while FEW < (touched := self._drain()) < before:
                before = touched
            shut = self._switch()
        except ConversionFailed:
            self.collection.update_one(self._mine(), {"$set": {"moving": None, "touched": []}})
            raise
        except BaseException:
            # Whoever comes next goes on from here, and need not wait until this one counts as dead.
            with contextlib.suppress(PyMongoError):
                self.collection.update_one(self._mine(), {"$set": {"moving.beat": BEGINNING}})
            raise
        if self.renumber:
            self._renumber_queue()
        return Converted(self.copied, shut)

    def _mine(self) -> Document:
        return {"_id": self.source.discussion_id, "moving.id": self.me}

    # (a) ---------------------------------------------------------------------------------------------------------------

    def _take(self) -> Document:
        """Take the discussion, or over from a converter that is not heard of any more, where that one had got to."""
        plan = {"to": self.schema, "order": self.order.value}
        same = {
            "$and": [
                *({"$eq": [f"$moving.{name}", {"$literal": value}]} for name, value in plan.items()),
                # A numbering is made once for each attempt.
                not self.renumber,
                {"$ne": ["$moving.renumber", True]},
            ]
        }
        found = self.collection.find_one_and_update(
            {"_id": self.source.discussion_id, "epoch": self.source.epoch, **is_free()},
            [
                {
                    "$set": {
                        # The comparison finds what was changed before it begins.
                        "touched": [],
                        "moving": {
                            **plan,
                            "id": self.me,
                            "renumber": self.renumber,
                            "gate": None,
                            "beat": "$$NOW",
                            "epoch": {"$cond": [same, "$moving.epoch", {"$add": ["$last_epoch", 1]}]},
                            "copied": {"$cond": [same, {"$ifNull": ["$moving.copied", None]}, None]},
                            "done": {"$cond": [same, {"$ifNull": ["$moving.done", 0]}, 0]},
                        },
                    }
                },
                {"$set": {"last_epoch": {"$max": ["$last_epoch", "$moving.epoch"]}}},
            ],
            return_document=ReturnDocument.AFTER,
        )
        if found is None:
            raise ConversionFailed(f"{self.source.discussion_id} is being converted by another process.")
        self.kept = [leftover["epoch"] for leftover in found["leftovers"]]
        moving: Document = found["moving"]
        return moving

    def _beat(self, **fields: Any) -> None:
        """Say that this converter is alive. Raises ConversionFailed if it was relieved."""
        changed = self.collection.update_one(self._mine(), [{"$set": {"moving.beat": "$$NOW", **fields}}])
        if not changed.matched_count:
            raise self._relieved()

    def _relieved(self) -> ConversionFailed:
        """Return the error of one that this discussion was taken from, and leave no copy behind that nobody knows of: what it
        holds may have been erased everywhere else."""
        found = self.discussions.find(self.source.target)
        copies = [found, *found["leftovers"], found["moving"] or found] if found else []
        # Epochs only rise: a copy that is neither read, nor made, nor kept for slow readers, will not be again.
        if self.to.epoch not in [copy["epoch"] for copy in copies]:
            self.schemas.of(self.to).clear(self.to, {"$eq": self.to.epoch})
        return ConversionFailed(f"{self.source.discussion_id} was taken over by another converter.")

    def _copying(self, **progress: Any) -> None:
        """Say how far the copy has come. What was touched until now is left to the comparison, which begins later."""
        self._beat(touched=[], **{f"moving.{name}": {"$literal": value} for name, value in progress.items()})

    def _heard(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Yield documents, and say now and then that this converter is alive."""
        for count, document in enumerate(documents):
            if count % BATCH == 0:
                self._copying()
            yield document

    # (b) ---------------------------------------------------------------------------------------------------------------

    def _copy(self, after: Any, before: int) -> None:
        """Copy what comes after the place `after`, to which `before` comments were copied by whoever was relieved."""
        source, to = self.schemas.of(self.source), self.schemas.of(self.to)
        # Epochs only rise: what is below this plan's and neither read nor left for slow readers is of abandoned plans.
        to.clear(self.to, {"$lt": self.to.epoch, "$nin": [self.source.epoch, *self.kept]}, self._copying)
        if self.renumber:
            self.numbers = Numbers.of(self._heard(source.iterate(self.source, source.orders(self.source)[0])))
        for batch in in_batches(self._in_order(source, after)):
            self._fits(batch)
            to.copy(self.to, [self._numbered(document) for document in batch])
            self.copied += len(batch)
            self.progress(self.copied)
            last = batch[-1]["full_slug"] if self._copying_order(source) is Order.THREADED else int(batch[-1]["number"])
            self._copying(copied=last, done=before + self.copied)
        to.finish_copy(self.to)

    def _copying_order(self, source: Schema) -> Order:
        wanted = Order.THREADED if self.to.schema == "buckets" and self.order is Order.THREADED else Order.OLDEST
        return wanted if wanted in source.orders(self.source) else source.orders(self.source)[0]

    def _in_order(self, source: Schema, after: Any) -> Iterator[Document]:
        """Yield the source in the order in which the copy is kept, so that it is written front to back."""
        order = self._copying_order(source)
        documents = source.iterate(self.source, order, after)
        wanted = Order.THREADED if self.to.schema == "buckets" and self.order is Order.THREADED else Order.OLDEST
        if order is wanted and not self.renumber:
            return documents
        everything = self._heard(source.iterate(self.source, order))
        return iter(sorted(everything, key=lambda item: sort_key(self._numbered(item), wanted)))

    def _fits(self, batch: list[Document]) -> None:
        if self.to.schema != "embedded":
            return
        options = conf.options(self.to.target.label, "embedded")
        if self.copied + len(batch) > options["BOUND"]:
            raise ConversionFailed(f"{self.source.discussion_id} has more comments than its target can hold.")

    def _numbered(self, document: Document) -> Document:
        return {**document, "number": Int64(self.numbers.new(document))} if self.renumber else document

    def _compare(self) -> None:
        """Compare every comment of both sides; what was changed meanwhile is copied again, anything else is an error."""
        source, to = self.undecoded.of(self.source), self.undecoded.of(self.to)
        shared = [order for order in source.orders(self.source) if order in to.orders(self.to)]
        order = shared[0] if shared and not self.renumber else None
        sides = Side(source, self.source, self._numbered), Side(to, self.to)
        missing: list[str] = []
        for slug in differences(*sides, order, self._drain):
            missing.append(slug)
            if len(missing) == 100:
                self._again(missing)
                missing = []
        self._again(missing)
        self._beat()

    # (c) ---------------------------------------------------------------------------------------------------------------

    def _drain(self, **fields: Any) -> int:
        """Copy again what was touched; return how many entries that were, and keep the claims that were seen. `fields` are set
        over and over meanwhile."""
        found = self.collection.find_one(self._mine(), {"touched": 1, "claims": 1})
        if found is None:
            raise self._relieved()
        self._beat(**fields)
        touched = found["touched"]
        slugs = list(dict.fromkeys(entry["slug"] for entry in touched))
        for start in range(0, len(slugs), CHUNK):
            self._again(slugs[start : start + CHUNK])
            self._beat(**fields)
        if touched:
            done = {"$pull": {"touched": {"id": {"$in": [entry["id"] for entry in touched]}}}}
            self.collection.update_one(self._mine(), done)
        self.claims = found["claims"]
        return len(touched)

    def _again(self, slugs: list[str]) -> None:
        """Copy comments again: insert, or raise to a higher revision, never lower."""
        if not slugs:
            return
        source, to = self.schemas.of(self.source), self.schemas.of(self.to)
        found = source.look(self.source, slugs).found
        there = to.look(self.to, slugs)
        wanted = Order.THREADED if Order.THREADED in to.orders(self.to) else Order.OLDEST
        missing = [self._numbered(found[slug]) for slug in found if slug not in there.found]
        if missing:
            to.copy(self.to, sorted(missing, key=lambda item: sort_key(item, wanted)))
            # Whoever was relieved may have been about to copy an earlier revision: then this copy passed it over.
            there = to.look(self.to, slugs)
        for document in found.values():
            self._raise_to(document, there)

    def _raise_to(self, document: Document, looked: Looked) -> None:
        """Have the copy show a comment as it is in the source, or in a later revision."""
        slug, to = document["slug"], self.schemas.of(self.to)
        while (copied := looked.found.get(slug)) and copied["rev"] < document["rev"]:
            to.change(self.to, slug, {"$lt": document["rev"]}, newer(document), looked)
            looked = to.look(self.to, [slug])
        if copied is None:  # whoever relieved this converter dropped what it had copied
            raise self._relieved()
        if copied["rev"] == document["rev"] and copied != self._numbered(document):
            raise ConversionFailed(f"{self.source.discussion_id}: the copy of {slug} differs.")

    # (d) ---------------------------------------------------------------------------------------------------------------

    def _switch(self) -> float:
        """Shut the gate, wait until nobody writes, and switch; return for how many seconds new writers had to wait."""
        deadline = None if self.patience is None else time.monotonic() + self.patience
        # Nobody comes back for old claims: a promotion would have no time to wait for that in vain.
        self.repairing.repair_claims(self.source.target)
        while True:
            began = progressed = time.monotonic()
            while time.monotonic() - progressed < GATE_MS / 1000 and time.monotonic() - began < LONGEST_GATE:
                touched = self._drain(**SHUT)
                if not touched and not self.claims and self._switched():
                    return time.monotonic() - began
                if touched:
                    progressed = time.monotonic()
                time.sleep(PACE / 4)
            if deadline is not None and time.monotonic() > deadline:
                raise ConversionFailed(f"{self.source.discussion_id}: writers did not end.")
            # Somebody may have stopped while holding a claim. Let the others write until it counts as abandoned.
            self.repairing.repair_claims(self.source.target)
            self._open_for_a_while()

    def _open_for_a_while(self) -> None:
        opened = time.monotonic()
        self.collection.update_one(self._mine(), {"$set": {"moving.gate": None}})
        while time.monotonic() - opened < 2 * GATE_MS / 1000:
            self._drain()
            time.sleep(PACE)

    def _switched(self) -> bool:
        changes: Document = {
            "schema": self.to.schema,
            "order": self.to.order.value,
            "epoch": self.to.epoch,
            "version": ObjectId(),
            # For whoever reads across discussions meanwhile.
            "switched": "$$NOW",
            "moving": None,
            "leftovers": {
                "$concatArrays": [
                    "$leftovers",
                    [
                        {
                            "schema": self.source.schema,
                            "order": self.source.order.value,
                            "epoch": self.source.epoch,
                            "due": {"$add": ["$$NOW", int(conf.get("KEEP_OLD_COPY") * 1000)]},
                        }
                    ],
                ]
            },
        }
        if self.renumber:
            changes["last_number"] = {"$add": ["$last_number", Int64(self.numbers.shift)]}
            changes["last_held"] = changes["last_number"]
        switched = self.collection.update_one(
            {**self._mine(), "epoch": self.source.epoch, "claims": [], "touched": []}, [{"$set": changes}]
        )
        return bool(switched.modified_count)

    def _renumber_queue(self) -> None:
        pending = self.repairing.posting.db["comments.pending"]
        found = self.collection.find_one({"_id": self.source.discussion_id}, {"switched": 1})
        # What was held since has a number of the new numbering.
        before = {"posted": {"$lt": found["switched"]}} if found else {}
        fields = {"posted": 1, "number": 1, "slug": 1}
        for waiting in pending.find({"discussion_id": self.source.discussion_id, **before}, fields):
            number = Int64(self.numbers.new(waiting))
            pending.update_one({"_id": waiting["_id"]}, {"$set": {"number": number}})


def in_batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield lists of up to BATCH."""
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
