"""Conversion of discussions to another layout, order or numbering while they are in use."""

from typing import Unpack

from bson import ObjectId

from marginalia.comments.backends.discussions import is_dead
from marginalia.comments.backends.layouts.documents import Documents
from marginalia.comments.backends.store import Part
from marginalia.comments.backends.stored import Document, Place, read_place
from marginalia.comments.backends.upkeep.live import LiveConversion
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.types import ConversionOptions, Order, Target

# Maximum number of comments that a conversion sorts in memory. If a longer discussion would have to be sorted, it is
# first converted to one document per comment, because that layout has an index for every order.
SORTED_IN_MEMORY = 20_000


class Conversions(Part):
    """The part of the backend that chooses how to convert a discussion.

    There are three ways: a single live conversion, two live conversions with the documents layout as an intermediate
    step, or, if the layout stays the same and supports all orders, just a change of the order.
    """

    def convert(self, target: Target, layout: str, order: Order, **how: Unpack[ConversionOptions]) -> int | None:
        document = self.store.discussions.find(target)
        if document is None:
            return None
        source = read_place(document)
        to = Place(target, layout, order, 0, source.bucket)
        source_layout = self.store.layouts.of(source)
        target_layout = self.store.layouts.of(to)
        renumber = how.get("renumber", False)
        if source_layout is target_layout and not renumber:
            return self._reorder(source, order)
        is_sorted = max(len(source_layout.orders), len(target_layout.orders)) > 1 or (
            source_layout.orders == target_layout.orders and not renumber
        )
        is_too_long = not is_sorted and document["last_number"] > SORTED_IN_MEMORY
        # An embedded discussion can't be converted directly to another embedded copy, because its target has room for
        # only one.
        if is_too_long or (source_layout is target_layout and source_layout.in_target):
            self.convert(target, Documents.name, order, **how)
            how["renumber"] = False
            return self.convert(target, layout, order, **how)
        return LiveConversion(self.store, source, to, **how).run()

    def _reorder(self, source: Place, order: Order) -> int | None:
        """Change the order of a discussion whose layout supports all orders.

        If a process died while converting the discussion, end that conversion.
        """
        change: Document = {"moving": None, "touched": []}
        if source.order is not order:
            change |= {"order": order.value, "version": ObjectId()}
        query = {"_id": source.target.id, "epoch": source.epoch, "$expr": is_dead()}
        is_matched = self.store.discussions.collection.update_one(query, {"$set": change}).matched_count
        if source.order is order:
            return None
        if not is_matched:
            raise ConversionFailed(f"{source.target} is already being converted.")
        return 0

    def drop_old_copies(self, target: Target) -> int:
        query = {"_id": target.id}
        document = self.store.discussions.collection.find_one(query, {"leftovers": 1, "now": "$$NOW"})
        due = [old for old in document["leftovers"] if old["due"] <= document["now"]] if document else []
        for old in due:
            place = Place(target, old["schema"], Order(old["order"]), old["epoch"], 1)
            self.store.layouts.of(place).clear(place, {"$lte": old["epoch"]})
            dropped = {"$pull": {"leftovers": {"epoch": old["epoch"]}}}
            self.store.discussions.collection.update_one(query, dropped)
        return len(document["leftovers"]) - len(due) if document else 0
