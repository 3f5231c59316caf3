"""The interface of a storage layout: its facts, and the primitive reads and writes that the protocols use.

Every method works on one copy of one discussion, given as a Place. It reads and writes only documents with the
epoch of that place.
The methods that are not abstract are correct for any layout. A layout that can do better overrides them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from pymongo.collection import Collection as Stored
from pymongo.database import Database

from marginalia.comments import conf, slugs
from marginalia.comments.backends.stored import Document, Place, check_comment, readable_comments
from marginalia.comments.types import Order, State
from marginalia.mongo.collections import Collection
from marginalia.mongo.reading import Malformed


@dataclass(frozen=True)
class Lookup:
    """The result of a look: comments by slug, and where they are. Only the layout that made `hint` understands it."""

    comments: Mapping[str, Document] = field(default_factory=dict)
    hint: Mapping[str, Any] = field(default_factory=dict)


class Layout(ABC):
    """One way to store a discussion, registered under `name` for discussions of the orders in `supported_orders`."""

    name: ClassVar[str]
    supported_orders: ClassVar[tuple[Order, ...]] = (Order.OLDEST, Order.THREADED)
    # The orders in which a read costs no more than the comments it returns.
    orders: ClassVar[tuple[Order, ...]] = (Order.OLDEST, Order.THREADED)
    # The order in which `copy` needs comments, None for any.
    copy_order: ClassVar[Order | None] = Order.OLDEST
    # Options that COMMENTS can set, with defaults. CAP: maximum number of comments that are sorted in memory for
    # another order.
    options: ClassVar[Mapping[str, Any]] = {"CAP": 1_000}
    # The key of COMMENTS["TARGETS"][label] with the options of this layout if new discussions use another layout, ""
    # for none.
    setting: ClassVar[str] = ""
    # Whether comments are stored in the documents of their targets. Then there is only one copy, which is deleted
    # with its target.
    in_target: ClassVar[bool] = False
    # Whether `put` itself refuses a slug that exists anywhere in the discussion, so that posting a root needs no
    # look.
    put_checks_slug: ClassVar[bool] = False
    # The collection of the copies, which differ in (discussion_id, epoch), and collections to be declared in addition
    # to those of marginalia.comments.collections.
    collection: ClassVar[str] = ""
    extra_collections: ClassVar[tuple[Collection, ...]] = ()
    # Stored documents per delete command.
    delete_batch: ClassVar[int] = 2_000

    def __init__(self, db: Database[Document]) -> None:
        self.db = db

    @property
    def stored(self) -> Stored[Document]:
        """Return the collection of the copies."""
        return self.db[self.collection]

    def of(self, place: Place) -> Document:
        """Return the filter for one copy."""
        return {"discussion_id": place.target.id, "epoch": place.epoch}

    # Writing ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def look(self, place: Place, wanted: Sequence[str]) -> Lookup:
        """Return the comments with one of these slugs, with one command."""

    @abstractmethod
    def put(self, place: Place, document: Document, lookup: Lookup) -> Document | None:
        """Store a comment unless another one has its slug. Return that other comment, None if there was none.

        `lookup` is from a look that came after the claim.
        If the comments are kept in the target, raises TargetNotFound, DiscussionFull and DiscussionBusy.
        """

    @abstractmethod
    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], lookup: Lookup
    ) -> bool:
        """Set `fields` of the comment if its `rev` matches `revs` (a number or a query). Return whether it did."""

    @abstractmethod
    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        """Store many comments, which come in the order `copy_order`. Skip those whose slug exists."""

    def begin_copy(self, place: Place) -> object:
        """Make the place valid even if nothing is copied into it."""
        return None

    def outgrown(self, place: Place, lookup: Lookup, *documents: Document) -> str:
        """Return the layout that the discussion should move to once `documents` were put or changed.

        Return "" if the discussion still fits. `lookup` is from before the write.
        """
        return ""

    def clear(self, place: Place, epochs: Mapping[str, Any]) -> int:
        """Delete the copies whose epoch matches a query such as {"$lte": 3}. Return how many documents were deleted.

        They are deleted in batches, because one command for a million would exceed the time limit of the
        connection.
        """
        query = {"discussion_id": place.target.id, "epoch": dict(epochs)}
        deleted = 0
        while ids := [document["_id"] for document in self.stored.find(query, {"_id": 1}).limit(self.delete_batch)]:
            # Without the hint, the server may scan the index that found the ids, completely for each batch.
            deleted += self.stored.delete_many({**query, "_id": {"$in": ids}}, hint="_id_").deleted_count
        return deleted

    # Reading ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def iterate(self, place: Place, order: Order) -> Iterator[Document]:
        """Yield all comments in one of `orders`, with one batch in memory at a time."""

    def sorted(self, place: Place, order: Order) -> Iterator[Document]:
        """Yield all comments in an order. If the order is not in `orders`, they are sorted in memory."""
        if order in self.orders:
            return self.iterate(place, order)
        return iter(sorted(self.iterate(place, self.orders[0]), key=lambda item: sort_key(item, order)))

    @abstractmethod
    def by_author(
        self, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[str, int, Document]]:
        """Yield (discussion id, epoch, comment) of every copy for {"id": …} or {"email": …}.

        With `limit`, yield only what readers can see, the newest first.
        """

    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        """Return the comments numbered low … high, in order."""
        return [item for item in self.sorted(place, Order.OLDEST) if low <= item["number"] <= high]

    def newest(self, place: Place, limit: int) -> list[Document]:
        """Return up to `limit` public comments with the highest numbers, the newest `posted` first."""
        return public(reversed(list(self.sorted(place, Order.OLDEST))))[:limit]

    def by_path(self, place: Place, low: str, high: str, limit: int, *, backwards: bool = False) -> list[Document]:
        """Return up to `limit` comments with low < full_slug < high, in order.

        With `backwards`, the last ones, in reverse order.
        """
        comments = [item for item in self.sorted(place, Order.THREADED) if low < item["full_slug"] < high]
        return (comments[::-1] if backwards else comments)[:limit]

    def below(self, place: Place, top: Document, after: str, limit: int) -> list[Document]:
        """Return up to `limit` descendants of a stored comment with a full slug above `after`, threaded."""
        low, high = slugs.descendants(top["full_slug"])
        return self.by_path(place, max(after, low), high, limit)

    def epochs(self, place: Place) -> set[int]:
        """Return the epochs that have copies."""
        return {int(epoch) for epoch in self.stored.distinct("epoch", {"discussion_id": place.target.id})}

    def faults(self, place: Place) -> Iterable[str]:
        """Yield a sentence for each fault in the structure of the copy, apart from its comments."""
        return ()

    def scan(self, place: Place) -> Iterator[tuple[Any, Any]]:
        """Yield (id of the stored document, comment) of all comments, including malformed ones, unordered."""
        for document in self.stored.find(self.of(place)):
            yield from ((document["_id"], item) for item in elements(document))

    def malformed(self, place: Place) -> Iterator[str]:
        """Yield a sentence for each comment that cannot be read, with the reason."""
        for key, item in self.scan(place):
            try:
                check_comment(item)
            except Malformed as error:
                slug = item.get("slug") if isinstance(item, dict) else None
                yield f"the comment {slug or 'without a slug'} in the document {key} is malformed: {error}"

    # Settings --------------------------------------------------------------------------------------------------------

    @classmethod
    def options_of(cls, label: str) -> dict[str, Any]:
        """Return the options of discussions of `label` in this layout, even if new discussions use another one."""
        merged = dict(cls.options)
        for entry in conf.entries(label):
            if entry.get("LAYOUT", cls.name) == cls.name:
                merged.update({key: value for key, value in entry.get("OPTIONS", {}).items() if key in merged})
            merged.update(entry.get(cls.setting, {}))
        return merged

    @classmethod
    def is_configured_for(cls, label: str) -> bool:
        """Return whether COMMENTS names this layout for discussions of `label`, for new ones or with `setting`."""
        entry = conf.entry(label)
        return entry["LAYOUT"] == cls.name or cls.setting in entry

    @classmethod
    def collections_of(cls, label: str) -> tuple[str, ...]:
        """Return the collections of other apps whose documents contain discussions of `label`.

        Raises ImproperlyConfigured.
        """
        return ()


def sort_key(document: Mapping[str, Any], order: Order) -> Any:
    """Return the sort key of a stored comment in an order (OLDEST or THREADED)."""
    if order is Order.THREADED:
        return document["full_slug"]
    return document["number"], document["posted"], document["slug"]


def pushes(document: Document, order: Mapping[str, int]) -> list[tuple[Document, Any]]:
    """Return the two ways to put a comment into a sorted array `comments`.

    Each is a pair (condition on the array, value for $push). Usually the comment comes after all others. If it is
    appended, only the comment goes into the server's log and to the other members. If it is sorted in, the whole
    array does.
    """
    sort_field = next(iter(order))
    above_all = {f"comments.{sort_field}": {"$not": {"$gte": document[sort_field]}}}
    return [(above_all, document), ({}, {"$each": [document], "$sort": dict(order)})]


# A damaged document may have another type here.
PRESENT: Document = {"$cond": [{"$isArray": "$comments"}, "$comments", []]}


def only(condition: Document) -> Document:
    """Return the projection of the comments of an array that meet a condition on $$this."""
    return {"$filter": {"input": PRESENT, "cond": condition}}


def elements(document: Mapping[str, Any]) -> list[Any]:
    """Return the array of comments of a bucket or a target, [] if it is not an array."""
    comments = document.get("comments")
    return comments if isinstance(comments, list) else []


def readable_in(collection: str, document: Mapping[str, Any]) -> list[Document]:
    """Return the well-formed comments of a bucket or a target. Log the others."""
    return readable_comments(f"{collection} {document.get('_id')}", elements(document))


def public(documents: Iterable[Document]) -> list[Document]:
    """Return the comments that readers see."""
    return [item for item in documents if item["state"] == State.PUBLIC.value]
