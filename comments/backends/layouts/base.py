"""What a storage layout does: the primitive reads and writes out of which the protocols are made, and the facts about it.

Every method works on one copy of one discussion, given as a Place: it reads and writes only what has that place's epoch. What
is not abstract here is right for any layout; one that can do better overrides it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from pymongo.collection import Collection as Stored
from pymongo.database import Database

from marginalia.comments import conf, slugs
from marginalia.comments.backends.stored import Document, Place, checked, whole
from marginalia.comments.types import Order, State
from marginalia.mongo.collections import Collection
from marginalia.mongo.reading import Malformed


@dataclass(frozen=True)
class Found:
    """What a look found: comments by slug, and where: `hint` is understood by the layout that made it."""

    comments: Mapping[str, Document] = field(default_factory=dict)
    hint: Mapping[str, Any] = field(default_factory=dict)


class Layout(ABC):
    """One way to store a discussion, registered under `name` for discussions of the orders `keeps`."""

    name: ClassVar[str]
    keeps: ClassVar[tuple[Order, ...]] = (Order.OLDEST, Order.THREADED)
    # Those in which reading costs no more than what is read.
    orders: ClassVar[tuple[Order, ...]] = (Order.OLDEST, Order.THREADED)
    # The order in which many comments are to be stored, None for any.
    written_in: ClassVar[Order | None] = Order.OLDEST
    # What COMMENTS may set for it, with defaults. CAP: up to how many comments another order is sorted in memory.
    options: ClassVar[Mapping[str, Any]] = {"CAP": 1_000}
    # The key of COMMENTS["TARGETS"][label] that gives its options where new discussions are kept otherwise, "" for none.
    setting: ClassVar[str] = ""
    # Whether comments lie in the documents of their targets: of one copy, which goes where its target goes.
    in_target: ClassVar[bool] = False
    # Whether `put` by itself refuses a slug that is anywhere in the discussion, so that a root needs no look.
    guards_discussion: ClassVar[bool] = False
    # Where copies are, told apart by (discussion_id, epoch), and what it has to be declared beside
    # marginalia.comments.collections.
    collection: ClassVar[str] = ""
    declares: ClassVar[tuple[Collection, ...]] = ()
    # Stored documents deleted at once.
    dropped_at_once: ClassVar[int] = 2_000

    def __init__(self, db: Database[Document]) -> None:
        self.db = db

    @property
    def stored(self) -> Stored[Document]:
        """The collection of the copies."""
        return self.db[self.collection]

    def of(self, place: Place) -> Document:
        """Return the filter for one copy."""
        return {"discussion_id": place.target.id, "epoch": place.epoch}

    # Writing ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def look(self, place: Place, wanted: Sequence[str]) -> Found:
        """Return the comments that have one of these slugs, in one command."""

    @abstractmethod
    def put(self, place: Place, document: Document, found: Found) -> Document | None:
        """Store a comment unless one has its slug; return that one, None if there was none.

        `found` is from a look that followed the claim. Raises TargetNotFound, DiscussionFull and DiscussionBusy where the
        comments are kept in the target.
        """

    @abstractmethod
    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], found: Found
    ) -> bool:
        """Set `fields` of the comment if its `rev` matches `revs` (a number or a query); return whether it did."""

    @abstractmethod
    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        """Store comments that come as `written_in` says, many at a time; those whose slug is there are passed over."""

    def begin_copy(self, place: Place) -> object:
        """Make the place valid also if nothing is copied into it."""
        return None

    def outgrown(self, place: Place, found: Found, *documents: Document) -> str:
        """Return the layout that the discussion had better be kept in once `documents` were put or changed, "" while it
        fits. `found` is from before that."""
        return ""

    def clear(self, place: Place, epochs: Mapping[str, Any]) -> int:
        """Delete the copies whose epoch matches a query such as {"$lte": 3}, so many documents at a time: one command for a
        million would outlast the connection's time limit. Return how many went."""
        query = {"discussion_id": place.target.id, "epoch": dict(epochs)}
        deleted = 0
        while ids := [one["_id"] for one in self.stored.find(query, {"_id": 1}).limit(self.dropped_at_once)]:
            # Left to itself the server may walk along the index that found them, from end to end for each batch.
            deleted += self.stored.delete_many({**query, "_id": {"$in": ids}}, hint="_id_").deleted_count
        return deleted

    # Reading ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def iterate(self, place: Place, order: Order) -> Iterator[Document]:
        """Yield all comments in one of `orders`, a batch in memory at a time."""

    def sorted(self, place: Place, order: Order) -> Iterator[Document]:
        """Yield all comments in an order; one that is not among `orders` is sorted in memory."""
        if order in self.orders:
            return self.iterate(place, order)
        return iter(sorted(self.iterate(place, self.orders[0]), key=lambda item: sort_key(item, order)))

    @abstractmethod
    def by_author(
        self, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[str, int, Document]]:
        """Yield (discussion id, epoch, comment) of every copy for {"id": …} or {"email": …}; with `limit` of what readers may
        see, the newest first."""

    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        """Return the comments numbered low … high, in order."""
        return [item for item in self.sorted(place, Order.OLDEST) if low <= item["number"] <= high]

    def newest(self, place: Place, limit: int) -> list[Document]:
        """Return the public comments among those numbered highest, the newest `posted` first, up to `limit`."""
        return public(reversed(list(self.sorted(place, Order.OLDEST))))[:limit]

    def by_path(self, place: Place, low: str, high: str, limit: int, *, backwards: bool = False) -> list[Document]:
        """Return up to `limit` comments with low < full_slug < high in order; `backwards`: the last ones, reversed."""
        found = [item for item in self.sorted(place, Order.THREADED) if low < item["full_slug"] < high]
        return (found[::-1] if backwards else found)[:limit]

    def below(self, place: Place, top: Document, after: str, limit: int) -> list[Document]:
        """Return up to `limit` descendants of a stored comment whose full slug is above `after`, threaded."""
        low, high = slugs.descendants(top["full_slug"])
        return self.by_path(place, max(after, low), high, limit)

    def epochs(self, place: Place) -> set[int]:
        """Return the epochs of which there are copies."""
        return {int(epoch) for epoch in self.stored.distinct("epoch", {"discussion_id": place.target.id})}

    def faults(self, place: Place) -> Iterable[str]:
        """Yield what is wrong with the form of the copy (not with its comments), a sentence each."""
        return ()

    def scan(self, place: Place) -> Iterator[tuple[Any, Any]]:
        """Yield (id of the stored document, comment) of all comments, the malformed ones too, in no order."""
        for document in self.stored.find(self.of(place)):
            yield from ((document["_id"], item) for item in elements(document))

    def malformed(self, place: Place) -> Iterator[str]:
        """Yield which comments can't be read and why, a sentence each."""
        for key, item in self.scan(place):
            try:
                checked(item)
            except Malformed as error:
                slug = item.get("slug") if isinstance(item, dict) else None
                yield f"the comment {slug or 'without a slug'} in the document {key} is malformed: {error}"

    # Settings --------------------------------------------------------------------------------------------------------

    @classmethod
    def options_of(cls, label: str) -> dict[str, Any]:
        """Return the options of discussions of `label` in this layout, whatever new ones are kept in."""
        merged = dict(cls.options)
        for entry in conf.entries(label):
            if entry.get("LAYOUT", cls.name) == cls.name:
                merged.update({key: value for key, value in entry.get("OPTIONS", {}).items() if key in merged})
            merged.update(entry.get(cls.setting, {}))
        return merged

    @classmethod
    def is_named_for(cls, label: str) -> bool:
        """Return whether COMMENTS names this layout for discussions of `label`: for new ones, or by `setting`."""
        entry = conf.entry(label)
        return entry["LAYOUT"] == cls.name or cls.setting in entry

    @classmethod
    def collections_of(cls, label: str) -> tuple[str, ...]:
        """Return the collections of other apps in whose documents it keeps discussions of `label`. Raises
        ImproperlyConfigured."""
        return ()


def sort_key(document: Mapping[str, Any], order: Order) -> Any:
    """Return by what stored comments are sorted in an order (OLDEST or THREADED)."""
    if order is Order.THREADED:
        return document["full_slug"]
    return document["number"], document["posted"], document["slug"]


def pushes(document: Document, order: Mapping[str, int]) -> list[tuple[Document, Any]]:
    """Return the two ways to put a comment into a sorted array `comments`, as (condition on the array, what to $push).

    Mostly it comes after all others. Appended, it alone goes into the server's log, and to its other members; sorted in,
    the whole array does.
    """
    first = next(iter(order))
    above_all = {f"comments.{first}": {"$not": {"$gte": document[first]}}}
    return [(above_all, document), ({}, {"$each": [document], "$sort": dict(order)})]


# A damaged document may have something else there.
PRESENT: Document = {"$cond": [{"$isArray": "$comments"}, "$comments", []]}


def only(condition: Document) -> Document:
    """Return the projection of those comments of an array that meet a condition on $$this."""
    return {"$filter": {"input": PRESENT, "cond": condition}}


def elements(document: Mapping[str, Any]) -> list[Any]:
    """Return what a bucket or a target has in its array of comments, [] if that is no array."""
    found = document.get("comments")
    return found if isinstance(found, list) else []


def readable_in(collection: str, document: Mapping[str, Any]) -> list[Document]:
    """Return the comments of a bucket or a target that have the form of one; log the others."""
    return whole(f"{collection} {document.get('_id')}", elements(document))


def public(documents: Iterable[Document]) -> list[Document]:
    """Return those that readers see."""
    return [item for item in documents if item["state"] == State.PUBLIC.value]
