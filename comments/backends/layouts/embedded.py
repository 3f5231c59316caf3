"""The layout that stores comments in the document of their target.

Discussions in this layout are the fastest to read, but are limited in size.

The array `comments` belongs to the copy whose epoch is `comments_epoch`. Each write filters by the complete shard key
of the target, as found by `look`. If the write filtered only by `_id`, it would be sent to all shards. If the target
has been moved since it was looked up, it is looked up again.

A target in the trash still contains its comments, which can be read and changed there. Therefore, reporting a comment
and erasing an author's data also work for targets in the trash.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import getitem
from typing import Any

import bson
from django.core.exceptions import ImproperlyConfigured
from pymongo.collection import Collection

from marginalia.comments import conf, targets
from marginalia.comments.backends.layouts.base import (
    PRESENT,
    Changes,
    Layout,
    Lookup,
    element,
    elements,
    only,
    pushes,
    readable_in,
    set_element,
    set_elements,
    sort_key,
)
from marginalia.comments.backends.stored import Document, Place
from marginalia.comments.errors import DiscussionBusy, DiscussionFull, TargetNotFound
from marginalia.comments.types import Order, Target
from marginalia.mongo.collections import shard_key_of

LOOK_AGAIN = 50
BY_NUMBER = {"number": 1, "posted": 1, "slug": 1}
# Maximum size in bytes of the comments in a target, which is far below MongoDB's limit of 16 MB. When this size is
# exceeded, no comments are accepted until the discussion has been converted to another layout.
FULL = 4_000_000


class Embedded(Layout):
    """The layout that stores all comments of an object in the object's document."""

    name = "embedded"
    # COLLECTION is the collection that contains the targets, or "" to use the model's own collection. TRASH is the
    # collection that contains targets while they are in the trash, along with their comments. When a discussion reaches
    # BOUND comments or a size of BOUND_BYTES, it is converted to the layout PROMOTE_TO.
    options = {"COLLECTION": "", "TRASH": "", "BOUND": 200, "BOUND_BYTES": 100_000, "PROMOTE_TO": "buckets"}
    setting = "EMBEDDED"
    in_target = True

    @classmethod
    def collections_of(cls, label: str) -> tuple[str, ...]:
        """Return the collection of the targets, followed by the collection of targets in the trash if there is one."""
        own = str(cls.options_of(label)["COLLECTION"])
        trash = str(cls.options_of(label)["TRASH"])
        try:
            own = own or targets.get_model(label)._meta.db_table
        except TargetNotFound as error:
            raise ImproperlyConfigured(
                f"COMMENTS contains the target label {label!r}, which is not a model."
            ) from error
        return (own, trash) if trash else (own,)

    def _homes(self, label: str) -> list[Collection[Document]]:
        """Return the collections in which to search for a target: its own collection, the trash, and its own again.

        Its own collection is searched again for a target that is restored from the trash between the first two
        searches.
        """
        homes = [self.db[name] for name in self.collections_of(label)]
        return [*homes, *homes[: len(homes) - 1]]

    def _read(self, place: Place, projection: Mapping[str, Any]) -> tuple[Collection[Document], Document] | None:
        """Return the target's collection and its document, or None if the target is not found."""
        for home in self._homes(place.target.label):
            document = home.find_one({"_id": targets.parse_key(place.target)}, {"comments_epoch": 1, **projection})
            if document is not None:
                return home, document
        return None

    def look(self, place: Place, wanted: Sequence[str]) -> Lookup:
        keys = shard_key_of(self.collections_of(place.target.label)[0])
        read = self._read(
            place,
            {
                **dict.fromkeys(keys, 1),
                "comments": only({"$in": ["$$this.slug", {"$literal": list(wanted)}]}),
                "held": {"$size": PRESENT},
                "bytes": {"$bsonSize": {"comments": PRESENT}},
            },
        )
        if read is None:
            return Lookup()
        home, document = read
        shard_filter = {"_id": document["_id"], **{key: reduce(getitem, key.split("."), document) for key in keys}}
        hint = {"home": home, "where": shard_filter}
        if (epoch := document.get("comments_epoch")) != place.epoch:
            return Lookup({}, {**hint, "held": 0, "bytes": 0, "stale": epoch})
        comments = {item["slug"]: item for item in readable_in(home.name, document)}
        return Lookup(comments, {**hint, "held": document["held"], "bytes": document["bytes"]})

    def put(self, place: Place, document: Document, lookup: Lookup) -> Document | None:
        slug = document["slug"]
        for _ in range(LOOK_AGAIN):
            if "where" not in lookup.hint:
                raise TargetNotFound(str(place.target))
            if lookup.hint["bytes"] > FULL:
                raise DiscussionFull(str(place.target))
            if (lookup.hint.get("stale") or place.epoch) < place.epoch:
                self.begin_copy(place)  # epochs only increase, so the earlier copy is no longer read
            for condition, pushed in pushes(document, BY_NUMBER):
                written = lookup.hint["home"].update_one(
                    {
                        **lookup.hint["where"],
                        "comments_epoch": {"$in": [place.epoch, None]},
                        "comments.slug": {"$ne": slug},
                        **condition,
                    },
                    {"$push": {"comments": pushed}, "$set": {"comments_epoch": place.epoch}},
                )
                if written.matched_count:
                    return None
            lookup = self.look(place, [slug])
            if stored := lookup.comments.get(slug):
                return stored
        raise DiscussionBusy(str(place.target))

    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], lookup: Lookup
    ) -> bool:
        if "where" not in lookup.hint:
            raise TargetNotFound(str(place.target))
        query = {"comments_epoch": place.epoch, **element(slug, revs)}
        home = lookup.hint["home"]
        return bool(home.update_one({**lookup.hint["where"], **query}, set_element(fields)).modified_count)

    def change_many(self, place: Place, changes: Changes, lookup: Lookup) -> None:
        if "where" not in lookup.hint:
            raise TargetNotFound(str(place.target))
        of_copy = {"comments_epoch": place.epoch, "comments.slug": {"$in": list(changes)}}
        lookup.hint["home"].update_one({**lookup.hint["where"], **of_copy}, set_elements(changes))

    def outgrown(self, place: Place, lookup: Lookup, *documents: Document) -> str:
        count = lookup.hint.get("held", 0)
        size = lookup.hint.get("bytes", 0)
        for document in documents:
            before = lookup.comments.get(document["slug"])
            count += before is None
            size += len(bson.encode(document)) - (len(bson.encode(before)) if before else 0)
        label = place.target.label
        is_too_long = count >= self.options_of(label)["BOUND"] or size >= self.options_of(label)["BOUND_BYTES"]
        return str(self.options_of(label)["PROMOTE_TO"]) if is_too_long else ""

    def iterate(self, place: Place, order: Order) -> Iterator[Document]:
        read = self._read(place, {"comments": 1})
        if read and read[1].get("comments_epoch") == place.epoch:
            yield from sorted(readable_in(read[0].name, read[1]), key=lambda item: sort_key(item, order))

    def scan(self, place: Place) -> Iterator[tuple[Any, Any]]:
        read = self._read(place, {"comments": 1})
        if read and read[1].get("comments_epoch") == place.epoch:
            yield from ((read[1]["_id"], item) for item in elements(read[1]))

    def by_author(
        self, query: Mapping[str, str], *, limit: int = 0, before: datetime | None = None
    ) -> Iterator[tuple[str, int, Document]]:
        ((key, value),) = query.items()
        projection = {"comments_epoch": 1, "comments": only({"$eq": [f"$$this.author.{key}", {"$literal": value}]})}
        entries = [
            (Target(label, str(document["_id"])).id, int(document.get("comments_epoch") or 0), item)
            for label in (_configured() if limit else self._labels())
            # Lists of comments leave out comments in the trash, but an erasure must find them.
            for home in self._homes(label)[: 1 if limit else None]
            for document in home.find({f"comments.author.{key}": value}, projection)
            for item in (readable_in(home.name, document) if limit else elements(document))
            if before is None or item["posted"] < before
        ]
        yield from sorted(entries, key=lambda entry: entry[2]["posted"], reverse=True) if limit else entries

    def _labels(self) -> list[str]:
        """Return the labels of all objects that may have embedded comments, whether or not COMMENTS still allows this.

        Discussions of these objects are embedded, are being converted to the embedded layout, or still have an old
        embedded copy.

        An erasure searches the objects of all these labels, so it can't miss a comment.
        """
        query: Document = {"$or": [{path: self.name} for path in ("schema", "moving.to", "leftovers.schema")]}
        used = set(self.db.discussions.distinct("label", query))
        return sorted(used | set(_configured()))

    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        if not self.begin_copy(place, documents):
            for document in documents:
                self.put(place, document, self.look(place, [document["slug"]]))

    def begin_copy(self, place: Place, documents: Sequence[Document] = ()) -> bool:
        """Start a new copy that replaces any earlier one. Return False if this copy or a later one already exists."""
        earlier = {"$or": [{"comments_epoch": None}, {"comments_epoch": {"$lt": place.epoch}}]}
        update = {"$set": {"comments": list(documents), "comments_epoch": place.epoch}}
        query = {"_id": targets.parse_key(place.target), **earlier}
        return any(home.update_one(query, update).matched_count for home in self._homes(place.target.label))

    def clear(self, place: Place, epochs: Mapping[str, Any]) -> int:
        try:
            query = {"_id": targets.parse_key(place.target), "comments_epoch": dict(epochs)}
        except TargetNotFound:
            return 0
        update = {"$unset": {"comments": "", "comments_epoch": ""}}
        return sum(home.update_one(query, update).modified_count for home in self._homes(place.target.label))

    def epochs(self, place: Place) -> set[int]:
        try:
            read = self._read(place, {"_id": 1})
        except TargetNotFound:
            return set()
        epoch = read[1].get("comments_epoch") if read else None
        return set() if epoch is None else {int(epoch)}

    def faults(self, place: Place) -> Iterable[str]:
        read = self._read(place, {"comments": 1})
        if read is None:
            yield "its target no longer exists"
        elif not isinstance(read[1].get("comments", []), list):
            yield "its comments are not an array"
        elif (items := readable_in(read[0].name, read[1])) != sorted(
            items, key=lambda item: sort_key(item, Order.OLDEST)
        ):
            yield "its array is out of order"


def _configured() -> list[str]:
    """Return the labels for which COMMENTS allows embedding."""
    return [label for label in conf.get("TARGETS") if Embedded.is_configured_for(label)]
