"""Which way a discussion goes to another schema, order or numbering: by one attempt, by way of one document each, or by naming
another order of the same documents."""

from collections.abc import Callable

from bson import ObjectId

from comments.backends.attempt import Attempt, Converted
from comments.backends.claims import Discussions, is_free
from comments.backends.comparing import as_bytes
from comments.backends.repairing import Repairing
from comments.backends.schemas import Schemas
from comments.backends.stored import Document, Place, place
from comments.errors import ConversionFailed
from comments.types import Order, Target

# How many comments are sorted in memory; longer discussions go by way of one document each, which has every order.
SORTED_IN_MEMORY = 20_000


class Conversion:
    """Conversions of discussions on one database."""

    def __init__(self, repairing: Repairing) -> None:
        self.repairing = repairing
        self.schemas = repairing.posting.schemas
        self.undecoded = Schemas(as_bytes(repairing.posting.db))
        self.discussions: Discussions = repairing.posting.discussions

    def convert(
        self,
        target: Target,
        schema: str,
        order: Order,
        *,
        renumber: bool = False,
        patience: float | None = None,
        progress: Callable[[int], None] = lambda copied: None,
    ) -> Converted | None:
        """Convert a discussion; None if it is so already. `patience`: after so many seconds of waiting for writers,
        give up.

        Raises ConversionFailed: another converter is at work or took over, the target cannot hold the comments,
        writers do not end, or the copies differ.
        """
        found = self.discussions.find(target)
        if found is None:
            return None
        source = place(found)
        if source.schema == schema and not renumber:
            if source.order is order:
                self._forget_dead_plan(source)
                return None
            if schema != "buckets":
                return self._reorder(source, order)
        if self._needs_a_detour(found, source, schema, order, renumber):
            self.convert(target, "documents", order, renumber=renumber, patience=patience, progress=progress)
            return self.convert(target, schema, order, patience=patience, progress=progress)
        attempt = Attempt(
            self.repairing,
            self.undecoded,
            source,
            schema,
            order,
            renumber=renumber,
            patience=patience,
            progress=progress,
        )
        return attempt.run()

    def _forget_dead_plan(self, source: Place) -> None:
        """End a move whose converter is not heard of any more, so that writers need not note what they do."""
        query = {"_id": source.discussion_id, "epoch": source.epoch, "moving": {"$ne": None}, **is_free()}
        self.discussions.collection.update_one(query, {"$set": {"moving": None, "touched": []}})

    def _reorder(self, source: Place, order: Order) -> Converted:
        """Change the order of a schema that has them all, and end a move whose converter is not heard of any more."""
        query = {"_id": source.discussion_id, "epoch": source.epoch, **is_free()}
        change: Document = {"$set": {"order": order.value, "moving": None, "touched": [], "version": ObjectId()}}
        if not self.discussions.collection.update_one(query, change).modified_count:
            raise ConversionFailed(f"{source.discussion_id} is being converted.")
        return Converted(0, 0.0)

    def _needs_a_detour(self, found: Document, source: Place, schema: str, order: Order, renumber: bool) -> bool:
        if source.schema == schema == "embedded":
            return True  # there is only one array to be in
        if "documents" in (source.schema, schema) or source.schema == "embedded":
            return False
        wanted = order if schema == "buckets" else Order.OLDEST
        foreign = wanted not in self.schemas.of(source).orders(source) or renumber
        return bool(foreign and found["last_number"] > SORTED_IN_MEMORY)

    def drop_leftovers(self, target: Target) -> int:
        """Delete old copies whose time has come; return how many are still kept."""
        found = self.discussions.collection.find_one({"_id": target.id}, {"leftovers": 1, "now": "$$NOW"})
        if found is None:
            return 0
        kept = 0
        for leftover in found["leftovers"]:
            if leftover["due"] > found["now"]:
                kept += 1
                continue
            old = Place(target, leftover["schema"], Order(leftover["order"]), leftover["epoch"], 1)
            self.schemas.of(old).clear(old, {"$lte": leftover["epoch"]})
            self.discussions.collection.update_one(
                {"_id": target.id}, {"$pull": {"leftovers": {"epoch": leftover["epoch"]}}}
            )
        return kept
