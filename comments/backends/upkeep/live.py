"""Moving a discussion to another layout, order or numbering, while people post to it and change it.

Every writer is in `claims` from before its write until its commit; a commit made while `moving` is set also says in
`touched` which comment it was. So: copy everything, compare, copy again what was touched since, and switch in one update
whose filter wants both lists empty. The filter makes it right; the gate, which keeps new claims out for a second, and the
bound of `touched`, at which writers wait for the converter, only make it end.

Each conversion has an epoch of its own: what a dead or stalled one writes lies in a copy that is never read.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby, islice
from typing import Any

from bson import Int64, ObjectId
from pymongo import ReturnDocument
from pymongo.errors import PyMongoError

from marginalia.comments import conf
from marginalia.comments.backends.discussions import MOST_TOUCHED, PACE, is_dead
from marginalia.comments.backends.layouts.base import sort_key
from marginalia.comments.backends.store import Store
from marginalia.comments.backends.stored import CHANGING, Document, Place
from marginalia.comments.backends.upkeep.numbering import Numbers
from marginalia.comments.backends.upkeep.repairing import drop_orphans, repair_claims
from marginalia.comments.errors import CommentError, ConversionFailed
from marginalia.comments.types import Order
from marginalia.mongo.connection import no_time_limit

BATCH = 1_000
GATE_MS = 1_000
SHUT = {"moving.gate": {"$add": ["$$NOW", GATE_MS]}}
OPEN = {"moving.gate": None}
NOTHING: Mapping[str, Any] = {}
FEW = 5
# How many touched comments are copied again at once: for no longer than a gate that is shut now stays so.
CHUNK = 50
# Seconds that the gate is kept shut at the most while what was touched is copied again.
LONGEST_GATE = 10


@dataclass
class LiveConversion:
    """One conversion of one discussion; the rest as `Backend.convert` says."""

    store: Store
    source: Place
    to: Place
    renumber: bool = False
    patience: float | None = None
    progress: Callable[[int], None] = lambda copied: None
    copied: int = 0

    def __post_init__(self) -> None:
        self.collection = self.store.discussions.collection
        self.me = ObjectId()
        self.here, self.there = self.store.layouts.of(self.source), self.store.layouts.of(self.to)

    def run(self) -> int:
        """Convert; return how many comments were copied. Raises ConversionFailed: another converter is at work, the target
        cannot hold the comments, some are malformed, writers do not end, or the copies differ."""
        # Readers' lists leave out malformed comments, and so would the copy.
        with no_time_limit():
            if bad := next(self.here.malformed(self.source), None):
                raise ConversionFailed(f"{self.source.target}: {bad}.")
        drop_orphans(self.store, self.source.target)
        self.to = replace(self.to, epoch=self.take())
        try:
            self.copy()
            self.compare()
            before = MOST_TOUCHED
            # Where no less is touched than can be copied again, the gate ends it.
            while FEW < (touched := self.drain()[0]) < before:
                before = touched
            self.switch()
        except BaseException:
            with contextlib.suppress(PyMongoError, CommentError):
                self._end()
            raise
        return self.copied

    def _end(self) -> None:
        """End this conversion, and drop its copy unless that is the one that is read: a switch may fail after it was made."""
        self.collection.update_one(self._mine(), {"$set": {"moving": None, "touched": []}})
        found = self.store.discussions.find(self.to.target)
        if found is None or found["epoch"] != self.to.epoch:
            self.there.clear(self.to, {"$eq": self.to.epoch})

    def _mine(self) -> Document:
        return {"_id": self.source.target.id, "moving.id": self.me}

    def take(self) -> int:
        """Take the discussion, also from a converter that died; return the epoch of the copy."""
        moving = {
            "id": self.me,
            "to": self.to.layout,
            "order": self.to.order.value,
            "renumber": self.renumber,
            "gate": None,
            "beat": "$$NOW",
            "epoch": {"$add": ["$last_epoch", 1]},
            "done": 0,
        }
        # There is one array to be in: what it was before is gone.
        kept = {"$filter": {"input": "$leftovers", "cond": {"$ne": ["$$this.schema", self.to.layout]}}}
        found = self.collection.find_one_and_update(
            {"_id": self.source.target.id, "epoch": self.source.epoch, "$expr": is_dead()},
            [
                {"$set": {"moving": moving, "touched": [], **({"leftovers": kept} if self.there.in_target else {})}},
                {"$set": {"last_epoch": "$moving.epoch"}},
            ],
            return_document=ReturnDocument.AFTER,
        )
        if found is None:
            raise ConversionFailed(f"{self.source.target} is being converted by another process.")
        return int(found["moving"]["epoch"])

    def _beat(self, changes: Mapping[str, Any] = NOTHING) -> None:
        """Say that this converter is alive. Raises ConversionFailed if its conversion was ended."""
        if not self.collection.update_one(self._mine(), [{"$set": {"moving.beat": "$$NOW", **changes}}]).matched_count:
            raise ConversionFailed(f"The conversion of {self.source.target} was ended: it was not heard of.")

    def copy(self) -> None:
        """Copy all comments, in the order in which the copy is kept, so that it is written front to back. What is touched until
        the comparison begins is left to that."""
        if self.renumber:
            documents = self.here.iterate(self.source, self.here.orders[0])
            self.numbers = Numbers(self._pulsed(documents, self._forget_touched))
        wanted = self.there.written_in or self.here.orders[0]
        documents = map(self._numbered, self._pulsed(self.here.sorted(self.source, wanted), self._forget_touched))
        if self.renumber and self.there.written_in is Order.OLDEST:
            documents = iter(sorted(documents, key=lambda item: sort_key(item, wanted)))
        most = self.there.options_of(self.to.target.label).get("BOUND")
        while batch := list(islice(documents, BATCH)):
            if most is not None and self.copied + len(batch) > most:
                raise ConversionFailed(f"{self.source.target} has more comments than its target can hold.")
            self.there.copy(self.to, batch)
            self.copied += len(batch)
            self.progress(self.copied)
        self.there.begin_copy(self.to)
        self._forget_touched()

    def _forget_touched(self) -> None:
        self._beat({"touched": [], "moving.done": self.copied})

    def _pulsed(self, documents: Iterator[Document], pulse: Callable[[], object]) -> Iterator[Document]:
        """Call `pulse` now and then, which says that this converter is alive."""
        for count, document in enumerate(documents):
            if count % BATCH == 0:
                pulse()
            yield document

    def _numbered(self, document: Document) -> Document:
        return {**document, "number": Int64(self.numbers.new(document))} if self.renumber else document

    def compare(self) -> None:
        """Compare every comment of both sides, as two streams in one order; those that are not the same are looked at again."""
        # A numbering changes no path.
        orders = [Order.THREADED] if self.renumber else [Order.THREADED, Order.OLDEST]
        order = next((order for order in orders if order in self.here.orders and order in self.there.orders), orders[0])

        def key(document: Document) -> Any:
            return sort_key(document, order)

        here = map(self._numbered, self.here.sorted(self.source, order))
        both = merge(here, self.there.sorted(self.to, order), key=key)
        pairs = (list(pair) for _, pair in groupby(self._pulsed(both, self.drain), key=key))
        unlike = (pair[0]["slug"] for pair in pairs if len(pair) != 2 or pair[0] != pair[1])
        while slugs := list(islice(unlike, CHUNK)):
            self.again(slugs)
        self._beat()

    def drain(self, changes: Mapping[str, Any] = NOTHING) -> tuple[int, bool]:
        """Copy again what was touched; return how many entries that were, and whether there were claims. `changes` are set
        over and over."""
        found = self.collection.find_one(self._mine(), {"touched": 1, "claims.op": 1})
        self._beat(changes)
        touched = found["touched"] if found else []
        slugs = list(dict.fromkeys(entry["slug"] for entry in touched))
        for start in range(0, len(slugs), CHUNK):
            self.again(slugs[start : start + CHUNK])
            self._beat(changes)
        if touched:
            done = {"$pull": {"touched": {"id": {"$in": [entry["id"] for entry in touched]}}}}
            self.collection.update_one(self._mine(), done)
        return len(touched), bool(found and found["claims"])

    def again(self, slugs: list[str]) -> None:
        """Copy comments again: insert, or raise to a higher revision, never lower. Raises ConversionFailed for one that differs
        in the same revision, or that only the copy has."""
        source = self.here.look(self.source, slugs).comments
        there = self.there.look(self.to, slugs)
        if extra := there.comments.keys() - source.keys():
            raise ConversionFailed(f"{self.source.target}: only the copy has {', '.join(sorted(extra))}.")
        for slug, document in source.items():
            copied = there.comments.get(slug) or self._numbered(document)
            newer = {name: document[name] for name in CHANGING}
            is_behind = copied["rev"] < document["rev"]
            if is_behind and not self.there.change(self.to, slug, {"$lt": document["rev"]}, newer, there):
                raise ConversionFailed(f"{self.source.target}: the copy of {slug} cannot be written.")
            if copied["rev"] == document["rev"] and copied != self._numbered(document):
                raise ConversionFailed(f"{self.source.target}: the copy of {slug} differs.")
        # At last: buckets may be split by it, so that what is changed would not be where it was found.
        if missing := [self._numbered(document) for slug, document in source.items() if slug not in there.comments]:
            wanted = self.there.written_in or Order.OLDEST
            self.there.copy(self.to, sorted(missing, key=lambda item: sort_key(item, wanted)))

    def switch(self) -> None:
        """Shut the gate, wait until no writer is at work, and switch. Raises ConversionFailed."""
        deadline = None if self.patience is None else time.monotonic() + self.patience
        while True:
            # A writer that died is not waited for; the others write until its claim is due for repair.
            repair_claims(self.store, self.source.target)
            began = progressed = time.monotonic()
            while time.monotonic() - progressed < GATE_MS / 1000 and time.monotonic() - began < LONGEST_GATE:
                touched, is_written_to = self.drain(SHUT)
                if not touched and not is_written_to and self._switched():
                    return
                if touched:
                    progressed = time.monotonic()
                time.sleep(PACE / 4)
            if deadline is not None and time.monotonic() > deadline:
                raise ConversionFailed(f"{self.source.target}: writers did not end.")
            opened = time.monotonic()
            while time.monotonic() - opened < 2 * GATE_MS / 1000:
                self.drain(OPEN)
                time.sleep(PACE)

    def _switched(self) -> bool:
        due = {"$add": ["$$NOW", int(conf.get("KEEP_OLD_COPY") * 1000)]}
        old = {"schema": self.source.layout, "order": self.source.order.value, "epoch": self.source.epoch, "due": due}
        changes: Document = {
            "schema": self.to.layout,
            "order": self.to.order.value,
            "epoch": self.to.epoch,
            "version": ObjectId(),
            "moving": None,
            "leftovers": {"$concatArrays": ["$leftovers", [old]]},
        }
        if self.renumber:
            changes["last_number"] = {"$add": ["$last_number", Int64(self.numbers.shift)]}
        query = {**self._mine(), "epoch": self.source.epoch, "claims": [], "touched": []}
        if not self.collection.update_one(query, [{"$set": changes}]).modified_count:
            return False
        if self.renumber:
            of_this = {"discussion_id": self.source.target.id}
            for waiting in self.store.pending.find(of_this, {"posted": 1, "number": 1, "slug": 1}):
                number = Int64(self.numbers.new(waiting))
                self.store.pending.update_one({**of_this, "slug": waiting["slug"]}, {"$set": {"number": number}})
        return True
