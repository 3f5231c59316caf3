"""The interface of storage layouts: capabilities, and basic read and write operations.

Most methods work on one copy of one discussion, which is specified by a Place. They read and write only documents that
have the epoch of this place. The methods that aren't abstract work for every layout. A layout can override them to
improve performance.
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

# The `rev` that a comment must have, and the fields to set.
Change = tuple[int, Mapping[str, Any]]
# Changes of comments, keyed by slug.
Changes = Mapping[str, Change]


@dataclass(frozen=True)
class Lookup:
    """The result of `Layout.look`: the comments found, keyed by slug.

    Attributes:
        hint: Where the comments are stored. Only the layout that created the hint can interpret it.
    """

    comments: Mapping[str, Document] = field(default_factory=dict)
    hint: Mapping[str, Any] = field(default_factory=dict)


class Layout(ABC):
    """A way to store discussions, registered under `name` for each order in `supported_orders`."""

    name: ClassVar[str]
    supported_orders: ClassVar[tuple[Order, ...]] = (Order.OLDEST, Order.THREADED)
    # The orders in which a page can be read without reading any comments on other pages.
    orders: ClassVar[tuple[Order, ...]] = (Order.OLDEST, Order.THREADED)
    # The order in which `copy` expects comments, or None if it accepts any order.
    copy_order: ClassVar[Order | None] = Order.OLDEST
    # The options that COMMENTS can set, and their defaults. A discussion with more than CAP comments is shown only in
    # the orders in which the layout can read it, because showing it in another order would require sorting all comments
    # in memory.
    options: ClassVar[Mapping[str, Any]] = {"CAP": 1_000}
    # A key of COMMENTS["TARGETS"][label]. It can set options of this layout even if new discussions use another layout.
    # "" means that there is no such key.
    setting: ClassVar[str] = ""
    # Whether comments are stored in the documents of their targets. If so, a target contains only one copy, which is
    # deleted along with the target.
    in_target: ClassVar[bool] = False
    # Whether `put` checks the whole discussion for a comment with the same slug. If so, a root comment can be posted
    # without calling `look` first.
    put_checks_slug: ClassVar[bool] = False
    # The collection that contains all copies, and additional collections to declare. Each copy is identified by the
    # fields (discussion_id, epoch).
    collection: ClassVar[str] = ""
    extra_collections: ClassVar[tuple[Collection, ...]] = ()
    # Maximum number of documents that one command deletes.
    delete_batch: ClassVar[int] = 2_000

    def __init__(self, db: Database[Document]) -> None:
        self.db = db

    @property
    def stored(self) -> Stored[Document]:
        """Return the collection that contains the copies."""
        return self.db[self.collection]

    def of(self, place: Place) -> Document:
        """Return the filter for the documents of one copy."""
        return {"discussion_id": place.target.id, "epoch": place.epoch}

    # Writing ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def look(self, place: Place, wanted: Sequence[str]) -> Lookup:
        """Find the comments whose slugs are in `wanted`, using a single command."""

    @abstractmethod
    def put(self, place: Place, document: Document, lookup: Lookup) -> Document | None:
        """Store a comment, unless the slug already exists.

        Return the existing comment, or None if the new comment was stored.

        `lookup` is the result of calling `look` after the claim was made.

        Raises:
            TargetNotFound: The layout stores comments in the target, and the target no longer exists.
            DiscussionFull: The layout stores comments in the target, and the target has no room for another comment.
            DiscussionBusy: The layout stores comments in the target, and the target was moved too often during the
                call.
        """

    @abstractmethod
    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], lookup: Lookup
    ) -> bool:
        """Set `fields` of a comment if its `rev` matches `revs` (a number or a query). Return whether they were set."""

    def change_many(self, place: Place, changes: Changes, lookup: Lookup) -> None:
        """Make many changes, each as `change` does."""
        for slug, (rev, fields) in changes.items():
            self.change(place, slug, rev, fields, lookup)

    @abstractmethod
    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        """Store many comments, which must be sorted by `copy_order`. Skip comments whose slug already exists."""

    def copy_many(self, copies: Mapping[Place, Sequence[Document]]) -> None:
        """Store the comments of many discussions, each as `copy` does."""
        for place, documents in copies.items():
            self.copy(place, documents)

    def begin_copy(self, place: Place) -> object:
        """Make sure that the copy at `place` exists, even if there are no comments to copy."""
        return None

    def outgrown(self, place: Place, lookup: Lookup, *documents: Document) -> str:
        """Return the layout that a discussion needs after a write, or "" if its current layout is still suitable.

        Args:
            place: The place of the copy.
            lookup: The result of calling `look` before the write.
            *documents: The comments that are written.
        """
        return ""

    def clear(self, place: Place, epochs: Mapping[str, Any]) -> int:
        """Delete the copies whose epoch matches `epochs`, a query such as {"$lte": 3}.

        Return how many documents were deleted.

        Documents are deleted in batches, because deleting a million documents with one command would exceed the time
        limit of the connection.
        """
        query = {"discussion_id": place.target.id, "epoch": dict(epochs)}
        deleted = 0
        while ids := [document["_id"] for document in self.stored.find(query, {"_id": 1}).limit(self.delete_batch)]:
            # Without this hint, the server may delete each batch by scanning all index entries of the copy.
            deleted += self.stored.delete_many({**query, "_id": {"$in": ids}}, hint="_id_").deleted_count
        return deleted

    # Reading ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def iterate(self, place: Place, order: Order) -> Iterator[Document]:
        """Yield all comments in `order`, which must be one of `orders`. Only one batch is in memory at a time."""

    def read_many(self, places: Sequence[Place]) -> dict[Place, list[Document]]:
        """Return all comments of many short discussions, sorted by number."""
        return {place: list(self.sorted(place, Order.OLDEST)) for place in places}

    def sorted(self, place: Place, order: Order) -> Iterator[Document]:
        """Yield all comments in `order`. If it is not one of `orders`, the comments are sorted in memory."""
        if order in self.orders:
            return self.iterate(place, order)
        return iter(sorted(self.iterate(place, self.orders[0]), key=lambda item: sort_key(item, order)))

    @abstractmethod
    def by_author(
        self, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[str, int, Document]]:
        """Yield (discussion id, epoch, comment) for each comment by an author, in all copies of all discussions.

        `query` is {"id": …} or {"email": …}. If `limit` is given, only public comments are yielded, newest first.
        """

    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        """Return the comments whose numbers are between `low` and `high` (inclusive), in the order OLDEST."""
        return [item for item in self.sorted(place, Order.OLDEST) if low <= item["number"] <= high]

    def newest(self, place: Place, limit: int) -> list[Document]:
        """Return up to `limit` public comments with the highest numbers, ordered by `posted`, newest first."""
        return public(reversed(list(self.sorted(place, Order.OLDEST))))[:limit]

    def by_path(self, place: Place, low: str, high: str, limit: int, *, backwards: bool = False) -> list[Document]:
        """Return up to `limit` comments with low < full_slug < high, in threaded order.

        If `backwards` is true, begin with the last comment in this range, and return the comments in reverse order.
        """
        comments = [item for item in self.sorted(place, Order.THREADED) if low < item["full_slug"] < high]
        return (comments[::-1] if backwards else comments)[:limit]

    def below(self, place: Place, top: Document, after: str, limit: int) -> list[Document]:
        """Return up to `limit` descendants of `top` whose full slugs sort after `after`, in threaded order."""
        low, high = slugs.descendants(top["full_slug"])
        return self.by_path(place, max(after, low), high, limit)

    def epochs(self, place: Place) -> set[int]:
        """Return the epochs of all copies of a discussion."""
        return {int(epoch) for epoch in self.stored.distinct("epoch", {"discussion_id": place.target.id})}

    def faults(self, place: Place) -> Iterable[str]:
        """Yield a message for each fault in the structure of the copy.

        Faults in individual comments are not reported.
        """
        return ()

    def scan(self, place: Place) -> Iterator[tuple[Any, Any]]:
        """Yield (id of the stored document, comment) for all comments in any order, including malformed comments."""
        for document in self.stored.find(self.of(place)):
            yield from ((document["_id"], item) for item in elements(document))

    def malformed(self, place: Place) -> Iterator[str]:
        """For each malformed comment, yield a message that explains what is wrong."""
        for key, item in self.scan(place):
            try:
                check_comment(item)
            except Malformed as error:
                slug = item.get("slug") if isinstance(item, dict) else None
                yield f"the comment {slug or 'without a slug'} in the document {key} is malformed: {error}"

    # Settings --------------------------------------------------------------------------------------------------------

    @classmethod
    def options_of(cls, label: str) -> dict[str, Any]:
        """Return the options of this layout for `label` objects, even if new discussions use another layout."""
        merged = dict(cls.options)
        for entry in conf.entries(label):
            if entry.get("LAYOUT", cls.name) == cls.name:
                merged.update({key: value for key, value in entry.get("OPTIONS", {}).items() if key in merged})
            merged.update(entry.get(cls.setting, {}))
        return merged

    @classmethod
    def is_configured_for(cls, label: str) -> bool:
        """Return whether COMMENTS selects this layout for `label`, through LAYOUT or the key that `setting` names."""
        entry = conf.entry(label)
        return entry["LAYOUT"] == cls.name or cls.setting in entry

    @classmethod
    def collections_of(cls, label: str) -> tuple[str, ...]:
        """Return the collections of other apps whose documents can contain discussions on `label` objects.

        Raises:
            ImproperlyConfigured: There is no model for `label`.
        """
        return ()


def sort_key(document: Mapping[str, Any], order: Order) -> Any:
    """Return the sort key of a stored comment for `order` (OLDEST or THREADED)."""
    if order is Order.THREADED:
        return document["full_slug"]
    return document["number"], document["posted"], document["slug"]


def pushes(document: Document, order: Mapping[str, int]) -> list[tuple[Document, Any]]:
    """Return two ways to insert a comment into the sorted array `comments`, to be tried in this order.

    Each way is a pair: a condition on the array, and a value for $push. The first way appends the comment. Its
    condition is that the comment sorts after all others, as it usually does. Only the new comment is then logged and
    replicated. The second way sorts the comment into the array, so the whole array is logged and replicated.
    """
    sort_field = next(iter(order))
    above_all = {f"comments.{sort_field}": {"$not": {"$gte": document[sort_field]}}}
    return [(above_all, document), ({}, {"$each": [document], "$sort": dict(order)})]


# An aggregation expression that returns the comments in a document, or [] if the document is damaged and `comments` is
# not an array.
PRESENT: Document = {"$cond": [{"$isArray": "$comments"}, "$comments", []]}


def only(condition: Document) -> Document:
    """Return a projection that selects the comments that match `condition`, in which $$this is the comment."""
    return {"$filter": {"input": PRESENT, "cond": condition}}


def element(slug: str, revs: Mapping[str, Any] | int) -> Document:
    """Return the filter for a bucket or target that contains a comment whose `rev` matches `revs`."""
    return {"comments": {"$elemMatch": {"slug": slug, "rev": revs}}}


def set_element(fields: Mapping[str, Any]) -> Document:
    """Return the update that sets `fields` of the comment that `element` found."""
    return {"$set": {f"comments.$.{name}": value for name, value in fields.items()}}


def set_elements(changes: Changes) -> list[Document]:
    """Return the update that makes all changes to the comments in a bucket or target that still have their `rev`.

    The server writes the whole document for each update, so one update is faster than one for each comment.
    """
    known = [{"slug": slug, "rev": rev, "fields": dict(fields)} for slug, (rev, fields) in changes.items()]
    is_it = {"$and": [{"$eq": [f"$$change.{name}", f"$$this.{name}"]} for name in ("slug", "rev")]}
    change = {"$first": {"$filter": {"input": {"$literal": known}, "as": "change", "cond": is_it}}}
    changed = {"$cond": ["$$change", {"$mergeObjects": ["$$this", "$$change.fields"]}, "$$this"]}
    each = {"$let": {"vars": {"change": change}, "in": changed}}
    return [{"$set": {"comments": {"$map": {"input": "$comments", "as": "this", "in": each}}}}]


def elements(document: Mapping[str, Any]) -> list[Any]:
    """Return the comments in a bucket or target, or [] if `comments` is not an array."""
    comments = document.get("comments")
    return comments if isinstance(comments, list) else []


def readable_in(collection: str, document: Mapping[str, Any]) -> list[Document]:
    """Return the well-formed comments in a bucket or target. Log the malformed ones."""
    return readable_comments(f"{collection} {document.get('_id')}", elements(document))


def public(documents: Iterable[Document]) -> list[Document]:
    """Return the public comments among `documents`."""
    return [item for item in documents if item["state"] == State.PUBLIC.value]
