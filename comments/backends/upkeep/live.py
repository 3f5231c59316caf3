"""Conversion of a discussion to another layout, order or numbering while people are posting and changing comments.

Each writer adds a claim to `claims` before it writes, and removes the claim when it commits. During a conversion (while
`moving` is set), the commit also adds the comment to `touched`. The converter copies all comments, compares the two
copies, and copies the touched comments again. Then it switches to the new copy with a single update, whose filter
requires `claims` and `touched` to be empty.

This filter guarantees that no write is lost. Two other mechanisms only make sure that the conversion finishes: the
gate, which blocks new claims for about a second, and the maximum length of `touched`, at which writers have to wait.
Each conversion has its own epoch, so if a converter stalls and is replaced by another, it can write only to a copy that
is never read.
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
from marginalia.comments.backends.discussions import MAX_TOUCHED, POLL_SECONDS, is_dead
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
SHUT_GATE = {"moving.gate": {"$add": ["$$NOW", GATE_MS]}}
OPEN_GATE = {"moving.gate": None}
NO_CHANGES: Mapping[str, Any] = {}
FEW_TOUCHED = 5
# How many touched comments are copied at a time. This number is small, so that each batch is copied before the gate,
# which blocks new claims, opens by itself.
CHUNK = 50
# Maximum number of seconds for which the gate is kept shut while touched comments are copied again.
LONGEST_GATE = 10


@dataclass
class LiveConversion:
    """A single conversion of a discussion. For the options, see `Backend.convert`."""

    store: Store
    source: Place
    to: Place
    renumber: bool = False
    patience: float | None = None
    progress: Callable[[int], None] = lambda copied: None
    copied: int = 0

    def __post_init__(self) -> None:
        self.collection = self.store.discussions.collection
        self.conversion_id = ObjectId()
        self.source_layout, self.target_layout = self.store.layouts.of(self.source), self.store.layouts.of(self.to)

    def run(self) -> int:
        """Convert the discussion, and return the number of copied comments.

        Raises:
            ConversionFailed: Another process is converting the discussion, the target can't store the comments, some
                comments are malformed, writers don't finish in time, or the copies differ.
        """
        # Don't convert a discussion with malformed comments. Reads skip malformed comments, so the new copy would not
        # contain them.
        with no_time_limit():
            if bad := next(self.source_layout.malformed(self.source), None):
                raise ConversionFailed(f"{self.source.target}: {bad}.")
        drop_orphans(self.store, self.source.target)
        self.to = replace(self.to, epoch=self.acquire())
        try:
            self.copy()
            self.compare()
            before = MAX_TOUCHED
            # Copy touched comments again until only a few are left, or until writers touch them as fast as they are
            # copied. `switch` then blocks new writes.
            while FEW_TOUCHED < (touched := self.recopy_touched()[0]) < before:
                before = touched
            self.switch()
        except BaseException:
            with contextlib.suppress(PyMongoError, CommentError):
                self._abort()
            raise
        return self.copied

    def _abort(self) -> None:
        """End this conversion and delete its copy.

        If the copy has already become the current copy, keep it. This happens if the error occurred after the switch.
        """
        self.collection.update_one(self._own_filter(), {"$set": {"moving": None, "touched": []}})
        document = self.store.discussions.find(self.to.target)
        if document is None or document["epoch"] != self.to.epoch:
            self.target_layout.clear(self.to, {"$eq": self.to.epoch})

    def _own_filter(self) -> Document:
        return {"_id": self.source.target.id, "moving.id": self.conversion_id}

    def acquire(self) -> int:
        """Start the conversion and return the epoch of its copy. If an earlier conversion's process died, replace it.

        Raises:
            ConversionFailed: Another process is converting the discussion.
        """
        moving = {
            "id": self.conversion_id,
            "to": self.to.layout,
            "order": self.to.order.value,
            "renumber": self.renumber,
            "gate": None,
            "beat": "$$NOW",
            "epoch": {"$add": ["$last_epoch", 1]},
            "done": 0,
        }
        # Forget any old embedded copy. A target has room for only one copy, so the new copy replaces the old one.
        remaining = {"$filter": {"input": "$leftovers", "cond": {"$ne": ["$$this.schema", self.to.layout]}}}
        document = self.collection.find_one_and_update(
            {"_id": self.source.target.id, "epoch": self.source.epoch, "$expr": is_dead()},
            [
                {
                    "$set": {
                        "moving": moving,
                        "touched": [],
                        **({"leftovers": remaining} if self.target_layout.in_target else {}),
                    }
                },
                {"$set": {"last_epoch": "$moving.epoch"}},
            ],
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            raise ConversionFailed(f"{self.source.target} is being converted by another process.")
        return int(document["moving"]["epoch"])

    def _beat(self, changes: Mapping[str, Any] = NO_CHANGES) -> None:
        """Record that this converter is still running.

        Raises:
            ConversionFailed: Another process has ended the conversion.
        """
        if not self.collection.update_one(
            self._own_filter(), [{"$set": {"moving.beat": "$$NOW", **changes}}]
        ).matched_count:
            raise ConversionFailed(
                f"The conversion of {self.source.target} was stopped, because its process no "
                "longer responded. Start it again."
            )

    def copy(self) -> None:
        """Copy all comments in the order in which the new layout stores them.

        Each comment is then added after the others, and never has to be inserted between them.

        If a comment is changed before `compare` begins, `compare` finds the difference and copies the comment again.
        """
        if self.renumber:
            documents = self.source_layout.iterate(self.source, self.source_layout.orders[0])
            self.numbers = Numbers(self._with_heartbeat(documents, self._forget_touched))
        order = self.target_layout.copy_order or self.source_layout.orders[0]
        documents = map(
            self._renumbered, self._with_heartbeat(self.source_layout.sorted(self.source, order), self._forget_touched)
        )
        if self.renumber and self.target_layout.copy_order is Order.OLDEST:
            documents = iter(sorted(documents, key=lambda item: sort_key(item, order)))
        limit = self.target_layout.options_of(self.to.target.label).get("BOUND")
        while batch := list(islice(documents, BATCH)):
            if limit is not None and self.copied + len(batch) > limit:
                raise ConversionFailed(
                    f"{self.source.target} has more comments than its target can store. Choose another layout."
                )
            self.target_layout.copy(self.to, batch)
            self.copied += len(batch)
            self.progress(self.copied)
        self.target_layout.begin_copy(self.to)
        self._forget_touched()

    def _forget_touched(self) -> None:
        self._beat({"touched": [], "moving.done": self.copied})

    def _with_heartbeat(self, documents: Iterator[Document], pulse: Callable[[], object]) -> Iterator[Document]:
        """Yield the documents, and call `pulse` regularly to record that this converter is still running."""
        for count, document in enumerate(documents):
            if count % BATCH == 0:
                pulse()
            yield document

    def _renumbered(self, document: Document) -> Document:
        return {**document, "number": Int64(self.numbers.new(document))} if self.renumber else document

    def compare(self) -> None:
        """Compare all comments in both copies. If a comment differs, copy it again.

        Both copies are read as streams, in the same order.
        """
        # If the comments are renumbered, compare them in threaded order, because renumbering doesn't change the full
        # slugs.
        orders = [Order.THREADED] if self.renumber else [Order.THREADED, Order.OLDEST]
        order = next(
            (order for order in orders if order in self.source_layout.orders and order in self.target_layout.orders),
            orders[0],
        )

        def key(document: Document) -> Any:
            return sort_key(document, order)

        source = map(self._renumbered, self.source_layout.sorted(self.source, order))
        both = merge(source, self.target_layout.sorted(self.to, order), key=key)
        pairs = (list(pair) for _, pair in groupby(self._with_heartbeat(both, self.recopy_touched), key=key))
        different = (pair[0]["slug"] for pair in pairs if len(pair) != 2 or pair[0] != pair[1])
        while slugs := list(islice(different, CHUNK)):
            self.recopy(slugs)
        self._beat()

    def recopy_touched(self, changes: Mapping[str, Any] = NO_CHANGES) -> tuple[int, bool]:
        """Copy touched comments again. Return how many entries `touched` had, and whether there were any claims.

        `changes` are written to the discussion document with each heartbeat.
        """
        document = self.collection.find_one(self._own_filter(), {"touched": 1, "claims.op": 1})
        self._beat(changes)
        touched = document["touched"] if document else []
        slugs = list(dict.fromkeys(entry["slug"] for entry in touched))
        for start in range(0, len(slugs), CHUNK):
            self.recopy(slugs[start : start + CHUNK])
            self._beat(changes)
        if touched:
            update = {"$pull": {"touched": {"id": {"$in": [entry["id"] for entry in touched]}}}}
            self.collection.update_one(self._own_filter(), update)
        return len(touched), bool(document and document["claims"])

    def recopy(self, slugs: list[str]) -> None:
        """Copy comments again if the new copy doesn't contain their current revision.

        Missing comments are inserted, and older revisions are replaced with newer ones. A newer revision in the new
        copy is never replaced with an older one.

        Raises:
            ConversionFailed: A comment has the same revision in both copies, but its fields differ, or a comment exists
                only in the new copy.
        """
        source = self.source_layout.look(self.source, slugs).comments
        there = self.target_layout.look(self.to, slugs)
        if extra := there.comments.keys() - source.keys():
            raise ConversionFailed(
                f"{self.source.target} was not converted: only the copy contains {', '.join(sorted(extra))}."
            )
        for slug, document in source.items():
            copied = there.comments.get(slug) or self._renumbered(document)
            newer = {name: document[name] for name in CHANGING}
            is_behind = copied["rev"] < document["rev"]
            if is_behind and not self.target_layout.change(self.to, slug, {"$lt": document["rev"]}, newer, there):
                raise ConversionFailed(f"{self.source.target} was not converted: the copy of {slug} can't be written.")
            if copied["rev"] == document["rev"] and copied != self._renumbered(document):
                raise ConversionFailed(f"{self.source.target} was not converted: the copy of {slug} differs.")
        # Insert missing comments only after the changes. Inserting may split buckets, so the comments to change would
        # no longer be where `look` found them.
        if missing := [self._renumbered(document) for slug, document in source.items() if slug not in there.comments]:
            order = self.target_layout.copy_order or Order.OLDEST
            self.target_layout.copy(self.to, sorted(missing, key=lambda item: sort_key(item, order)))

    def switch(self) -> None:
        """Shut the gate, wait until no writer is active, and switch to the new copy.

        Raises:
            ConversionFailed: There were still active writers after `patience` seconds.
        """
        deadline = None if self.patience is None else time.monotonic() + self.patience
        while True:
            # Repair the claims of dead writers, so that the conversion doesn't wait for them. Writers that are still
            # active aren't affected.
            repair_claims(self.store, self.source.target)
            began = progressed = time.monotonic()
            while time.monotonic() - progressed < GATE_MS / 1000 and time.monotonic() - began < LONGEST_GATE:
                touched, is_written_to = self.recopy_touched(SHUT_GATE)
                if not touched and not is_written_to and self._try_switch():
                    return
                if touched:
                    progressed = time.monotonic()
                time.sleep(POLL_SECONDS / 4)
            if deadline is not None and time.monotonic() > deadline:
                raise ConversionFailed(
                    f"{self.source.target} was not converted, because writes were still in progress. Try again."
                )
            opened = time.monotonic()
            while time.monotonic() - opened < 2 * GATE_MS / 1000:
                self.recopy_touched(OPEN_GATE)
                time.sleep(POLL_SECONDS)

    def _try_switch(self) -> bool:
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
        query = {**self._own_filter(), "epoch": self.source.epoch, "claims": [], "touched": []}
        if not self.collection.update_one(query, [{"$set": changes}]).modified_count:
            return False
        if self.renumber:
            queue_filter = {"discussion_id": self.source.target.id}
            for held in self.store.pending.find(queue_filter, {"posted": 1, "number": 1, "slug": 1}):
                number = Int64(self.numbers.new(held))
                self.store.pending.update_one({**queue_filter, "slug": held["slug"]}, {"$set": {"number": number}})
        return True
