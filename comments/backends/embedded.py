"""Comments inside the document of their target: nothing is faster to show, nothing else so soon too long.

The array `comments` belongs to the copy that `comments_epoch` names. Writes name the whole shard key of the target's
collection, as the look found it: by `_id` alone they would be sent to every shard. A target that moved in between is
looked up again. One that was thrown away took its comments along: they are read and changed where it waits, so that
nothing that is said of them, or is to be erased, depends on whether it is in the trash.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import bson
from pymongo.collection import Collection

from comments import collections, conf, targets
from comments.backends.memory import ByNumberInMemory, ByPathInMemory, sort_key
from comments.backends.schema import Looked, Pulse, no_pulse, pushes
from comments.backends.stored import Document, Place
from comments.errors import DiscussionBusy, DiscussionFull, TargetNotFound
from comments.types import Order, Target

LOOK_AGAIN = 50
BY_NUMBER = {"number": 1, "posted": 1, "slug": 1}
# Bytes of comments at which a target takes no more until it is promoted: far from the server's 16 MB.
FULL = 4_000_000


class Embedded(ByPathInMemory, ByNumberInMemory):
    name = "embedded"

    def _collections(self, label: str) -> list[Collection[Document]]:
        return [self.db[name] for name in targets.collections_of(label)]

    def _homes(self, label: str) -> list[Collection[Document]]:
        """Return where targets are to be looked for. One that comes out of the trash meanwhile is seen in the last look, if it
        was in neither of the first two."""
        homes = self._collections(label)
        return [*homes, *homes[: len(homes) - 1]]

    def orders(self, place: Place) -> tuple[Order, ...]:
        # All of it is read at once: no order costs more than another.
        return (Order.OLDEST, Order.THREADED)

    def _read(self, place: Place, projection: Mapping[str, Any]) -> tuple[str, Document] | None:
        """Return the target's document and the name of the collection that it is in; None if it is in none."""
        for home in self._homes(place.target.label):
            document = home.find_one({"_id": targets.key_of(place.target)}, {"comments_epoch": 1, **projection})
            if document is not None:
                return home.name, document
        return None

    def look(self, place: Place, wanted: Sequence[str]) -> Looked:
        chosen = {"$in": ["$$this.slug", {"$literal": list(wanted)}]}
        present = {"$ifNull": ["$comments", []]}
        keys = collections.shard_key_of(targets.collection_of(place.target.label))
        read = self._read(
            place,
            {
                **dict.fromkeys(keys, 1),
                "comments": {"$filter": {"input": present, "cond": chosen}},
                "held": {"$size": present},
                "bytes": {"$bsonSize": {"comments": present}},
            },
        )
        if read is None:
            return Looked({})
        home, document = read
        hint = {"home": home, "where": {"_id": document["_id"], **{key: _at(document, key) for key in keys}}}
        epoch = document.get("comments_epoch")
        if epoch != place.epoch:
            return Looked({}, {**hint, "held": 0, "bytes": 0, "stale": epoch})
        found = {item["slug"]: item for item in document["comments"]}
        return Looked(found, {**hint, "held": document["held"], "bytes": document["bytes"]})

    def put(self, place: Place, document: Document, looked: Looked) -> Document | None:
        slug = document["slug"]
        for _ in range(LOOK_AGAIN):
            if "where" not in looked.hint:
                raise TargetNotFound(place.discussion_id)
            if looked.hint["bytes"] > FULL:
                raise DiscussionFull(place.discussion_id)
            self._make_way(place, looked)
            for condition, pushed in pushes(document, BY_NUMBER):
                written = self.db[looked.hint["home"]].update_one(
                    {
                        **looked.hint["where"],
                        "comments_epoch": {"$in": [place.epoch, None]},
                        "comments.slug": {"$ne": slug},
                        **condition,
                    },
                    {"$push": {"comments": pushed}, "$set": {"comments_epoch": place.epoch}},
                )
                if written.matched_count:
                    return None
            looked = self.look(place, [slug])
            if stored := looked.found.get(slug):
                return stored
        raise DiscussionBusy(place.discussion_id)

    def _make_way(self, place: Place, looked: Looked) -> None:
        """Drop what is left of an earlier copy: epochs only rise, so that a lower one is read by nobody."""
        stale = looked.hint.get("stale")
        if stale is not None and stale < place.epoch:
            self.db[looked.hint["home"]].update_one(
                {**looked.hint["where"], "comments_epoch": stale},
                {"$set": {"comments": [], "comments_epoch": place.epoch}},
            )

    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], looked: Looked
    ) -> bool:
        if "where" not in looked.hint:
            raise TargetNotFound(place.discussion_id)
        changed = self.db[looked.hint["home"]].update_one(
            {
                **looked.hint["where"],
                "comments_epoch": place.epoch,
                "comments": {"$elemMatch": {"slug": slug, "rev": revs}},
            },
            {"$set": {f"comments.$.{name}": value for name, value in fields.items()}},
        )
        return bool(changed.modified_count)

    def outgrown(self, place: Place, looked: Looked, *documents: Document) -> str:
        options = conf.options(place.target.label, self.name)
        held, size = looked.hint.get("held", 0), looked.hint.get("bytes", 0)
        for document in documents:
            before = looked.found.get(document["slug"])
            held += before is None
            size += len(bson.encode(document)) - (len(bson.encode(before)) if before else 0)
        return str(options["PROMOTE_TO"]) if held >= options["BOUND"] or size >= options["BOUND_BYTES"] else ""

    def iterate(self, place: Place, order: Order, after: Any = None) -> Iterator[Document]:
        read = self._read(place, {"comments": 1})
        if read and read[1].get("comments_epoch") == place.epoch:
            # Once begun anew is cheap here: `after` leaves nothing out.
            yield from sorted(read[1].get("comments", []), key=lambda item: sort_key(item, order))

    def by_author(
        self,
        query: Mapping[str, str],
        *,
        limit: int = 0,
        before: datetime | None = None,
        among: Sequence[str] | None = None,
    ) -> Iterator[tuple[str, int, Document]]:
        ((key, value),) = query.items()
        by_author = {"$eq": [f"$$this.author.{key}", {"$literal": value}]}
        found = [
            (f"{label}:{document['_id']}", int(document.get("comments_epoch") or 0), item)
            for label in (collections.embedding_labels() if limit else self._labels())
            # What is shown of an author stands in no trash; whatever is to be erased may.
            for home in (self._collections(label)[:1] if limit else self._homes(label))
            for document in home.find(
                {f"comments.author.{key}": value},
                {"comments_epoch": 1, "comments": {"$filter": {"input": "$comments", "cond": by_author}}},
            )
            if among is None or f"{label}:{document['_id']}" in among
            for item in document["comments"]
            if before is None or item["posted"] < before
        ]
        yield from sorted(found, key=lambda entry: entry[2]["posted"], reverse=True)

    def _labels(self) -> list[str]:
        """Return the labels of which any discussion is embedded, or has a copy that is, whatever the setting says now: nobody
        is to be overlooked who is to be erased."""
        either: Document = {"$or": [{path: self.name} for path in ("schema", "moving.to", "leftovers.schema")]}
        cursor = self.db.discussions.find(either, {"_id": 1})
        return sorted(
            {Target.parse(document["_id"]).label for document in cursor} | set(collections.embedding_labels())
        )

    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        if self._replace(place, list(documents)):
            return
        for document in documents:
            self.put(place, document, self.look(place, [document["slug"]]))

    def finish_copy(self, place: Place) -> None:
        self._replace(place, [])

    def _replace(self, place: Place, documents: list[Document]) -> bool:
        """Begin the copy in the place of an earlier one; False if it was begun before (or a later one was)."""
        earlier = {"$or": [{"comments_epoch": None}, {"comments_epoch": {"$lt": place.epoch}}]}
        begun = {"$set": {"comments": documents, "comments_epoch": place.epoch}}
        wanted = {"_id": targets.key_of(place.target), **earlier}
        return any(home.update_one(wanted, begun).matched_count for home in self._collections(place.target.label))

    def clear(self, place: Place, epochs: Mapping[str, Any], pulse: Pulse = no_pulse) -> int:
        try:
            own = {"_id": targets.key_of(place.target), "comments_epoch": dict(epochs)}
        except TargetNotFound:
            return 0
        nothing = {"$unset": {"comments": "", "comments_epoch": ""}}
        homes = self._collections(place.target.label)
        return int(sum(home.update_one(own, nothing).modified_count for home in homes))

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
            yield "its target is gone"
        elif (items := read[1].get("comments", [])) and items != sorted(
            items, key=lambda item: sort_key(item, Order.OLDEST)
        ):
            yield "its array is out of order"


def _at(document: Mapping[str, Any], path: str) -> Any:
    """Return what lies at a dotted path."""
    value: Any = document
    for step in path.split("."):
        value = value[step]
    return value
