"""Conversions of discussions to another layout, order or numbering, while they are in use."""

from typing import Unpack

from bson import ObjectId

from marginalia.comments.backends.discussions import is_dead
from marginalia.comments.backends.layouts.documents import Documents
from marginalia.comments.backends.store import Part
from marginalia.comments.backends.stored import Document, Place, place
from marginalia.comments.backends.upkeep.live import LiveConversion
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.types import Converting, Order, Target

# How many comments are sorted in memory; longer discussions go by way of one document each, which has every order.
SORTED_IN_MEMORY = 20_000


class Conversions(Part):
    """Which way a discussion goes: by one live conversion, by way of one document each, or by naming another order."""

    def convert(self, target: Target, layout: str, order: Order, **how: Unpack[Converting]) -> int | None:
        found = self.store.discussions.find(target)
        if found is None:
            return None
        source = place(found)
        to = Place(target, layout, order, 0, source.bucket)
        here = self.store.layouts.of(source)
        there = self.store.layouts.of(to)
        renumber = how.get("renumber", False)
        if here is there and not renumber:
            return self._reorder(source, order)
        is_sorted = max(len(here.orders), len(there.orders)) > 1 or (here.orders == there.orders and not renumber)
        is_too_long = not is_sorted and found["last_number"] > SORTED_IN_MEMORY
        if is_too_long or (here is there and here.in_target):  # there is only one array to be in
            self.convert(target, Documents.name, order, **how)
            how["renumber"] = False
            return self.convert(target, layout, order, **how)
        return LiveConversion(self.store, source, to, **how).run()

    def _reorder(self, source: Place, order: Order) -> int | None:
        """Change the order of a layout that has them all, and end a move whose converter died."""
        change: Document = {"moving": None, "touched": []}
        if source.order is not order:
            change |= {"order": order.value, "version": ObjectId()}
        query = {"_id": source.target.id, "epoch": source.epoch, "$expr": is_dead()}
        done = self.store.discussions.collection.update_one(query, {"$set": change}).matched_count
        if source.order is order:
            return None
        if not done:
            raise ConversionFailed(f"{source.target} is being converted.")
        return 0

    def drop_old_copies(self, target: Target) -> int:
        query = {"_id": target.id}
        found = self.store.discussions.collection.find_one(query, {"leftovers": 1, "now": "$$NOW"})
        due = [old for old in found["leftovers"] if old["due"] <= found["now"]] if found else []
        for old in due:
            where = Place(target, old["schema"], Order(old["order"]), old["epoch"], 1)
            self.store.layouts.of(where).clear(where, {"$lte": old["epoch"]})
            dropped = {"$pull": {"leftovers": {"epoch": old["epoch"]}}}
            self.store.discussions.collection.update_one(query, dropped)
        return len(found["leftovers"]) - len(due) if found else 0
