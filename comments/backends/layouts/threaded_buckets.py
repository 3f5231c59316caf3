"""The layout that distributes comments among buckets in threaded order.

A bucket contains the comments with `page` ≤ full slug < `until`. A bucket that becomes too full is split.

To find where a page begins, the layout uses an index of these ranges. Therefore, reading a page takes the same time in
threads of any length.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pymongo import ASCENDING, DESCENDING, ReturnDocument, UpdateOne
from pymongo.client_session import ClientSession
from pymongo.errors import DuplicateKeyError

from marginalia.comments import conf
from marginalia.comments.backends.layouts.base import Lookup, elements, public, pushes, readable_in
from marginalia.comments.backends.layouts.buckets import InBuckets
from marginalia.comments.backends.stored import Document, Place
from marginalia.comments.types import Order
from marginalia.mongo.connection import transaction

FIRST = ""
# A string that sorts after every full slug, because all full slugs begin with a digit.
LAST = "~"
# A bucket that hasn't been split yet can contain up to SLACK times as many comments as a full bucket.
SLACK = 2
BY_PATH = {"full_slug": ASCENDING}
READ_AGAIN = 20


class ThreadedBuckets(InBuckets):
    """A layout that distributes comments in threaded order.

    `page` is the lowest full slug that a bucket can contain, and `until` is the start of the next bucket.
    """

    supported_orders = orders = (Order.THREADED,)
    copy_order = Order.THREADED

    def put(self, place: Place, document: Document, lookup: Lookup) -> Document | None:
        key = document["full_slug"]
        slug = document["slug"]
        # A root comment usually sorts after all others, so first try to append it. A reply usually doesn't, so sort it
        # into the array immediately.
        ways = pushes(document, BY_PATH)[1 if "/" in key else 0 :]
        while True:
            if (leaf := self._leaf_of(place, key)) is None:
                first = {"page": FIRST, "until": LAST, "count": 1, "comments": [document]}
                # Another writer may have stored the discussion's first comment at the same time. If so, try again.
                with contextlib.suppress(DuplicateKeyError):
                    self.stored.insert_one({**self.of(place), **first})
                    return None
                continue
            room = {"until": {"$gt": key}, "count": {"$lt": SLACK * place.bucket}}
            free = {**self.of(place), "page": leaf["page"], **room, "comments.slug": {"$ne": slug}}
            for condition, pushed in ways:
                written = self.stored.find_one_and_update(
                    {**free, **condition},
                    {"$push": {"comments": pushed}, "$inc": {"count": 1}},
                    projection={"count": 1},
                    return_document=ReturnDocument.AFTER,
                )
                if written:
                    if written["count"] > place.bucket:
                        self.split(place, leaf["page"])
                    return None
            if stored := self.look(place, [slug]).comments.get(slug):
                return stored
            # Either the bucket was split after it was found, or it is too full. In both cases, `split` checks the
            # bucket again.
            self.split(place, leaf["page"])

    def _leaf_of(self, place: Place, key: str) -> Document | None:
        """Return {page, until} of the bucket whose range contains `key`, or None if there are no buckets yet."""
        query = {**self.of(place), "until": {"$gt": key}}
        return self.stored.find_one(query, {"page": 1, "until": 1}, sort=[("until", ASCENDING)])

    def split(self, place: Place, page: str, more: Sequence[Document] = ()) -> bool:
        """Insert the comments of `more` that a bucket doesn't contain yet, and split the bucket if it is too full.

        The bucket keeps the first comments, and new buckets get the others. Return whether the bucket's range contains
        all of `more`.
        """

        def split_leaf(session: ClientSession) -> bool:
            leaf = self.stored.find_one({**self.of(place), "page": page}, session=session)
            if leaf is None or any(not page <= item["full_slug"] < leaf["until"] for item in more):
                return False
            comments = leaf["comments"]
            known = {item["slug"] for item in leaf["comments"]}
            if missing := [item for item in more if item["slug"] not in known]:
                comments = sorted([*comments, *missing], key=lambda item: str(item["full_slug"]))
            elif len(comments) <= place.bucket:
                return True
            # The last bucket usually grows at its end, so split it into full buckets. Split any other bucket evenly, so
            # that each part has room for more comments.
            size = place.bucket if leaf["until"] == LAST else -(-len(comments) // (len(comments) // place.bucket + 1))
            parts = [comments[start : start + size] for start in range(0, len(comments), size)]
            starts = [page, *(part[0]["full_slug"] for part in parts[1:]), leaf["until"]]
            first, *rest = (
                {"page": low, "until": high, "count": len(part), "comments": part}
                for part, (low, high) in zip(parts, pairwise(starts), strict=True)
            )
            for bucket in rest:
                self.stored.insert_one({**self.of(place), **bucket}, session=session)
            self.stored.update_one({**self.of(place), "page": page}, {"$set": first}, session=session)
            return True

        try:
            return transaction(split_leaf, conf.database_alias())
        # Another process has already split the bucket, and has created the same new buckets. The caller looks the
        # bucket up again.
        except DuplicateKeyError:
            return False

    def by_path(self, place: Place, low: str, high: str, limit: int, *, backwards: bool = False) -> list[Document]:
        # How many buckets to read. This is enough if all of them are full, as they are if comments were added only at
        # the end. If buckets are half full, a second query is needed.
        leaves = limit // place.bucket + 1
        comments: list[Document] = []
        bound = high if backwards else low
        while True:
            chain = self._chain(place, bound, leaves, backwards, {"$gt": low, "$lt": high})
            for leaf in chain:
                leaf_comments = readable_in(self.collection, leaf)
                comments += reversed(leaf_comments) if backwards else leaf_comments
            bound = (chain[-1]["page"] if backwards else chain[-1]["until"]) if chain else LAST
            if len(comments) >= limit or not chain or (bound <= low if backwards else bound >= min(high, LAST)):
                return comments[:limit]

    def _chain(self, place: Place, bound: str, limit: int, backwards: bool, inside: Document) -> list[Document]:
        """Return adjacent buckets in ascending order, or in descending order if `backwards` is true.

        The first of them is the bucket that contains the key `bound`, or the keys just below `bound` if `backwards` is
        true.

        If a bucket is split while a cursor is reading, the cursor may return only one of the halves. Therefore, if the
        buckets found aren't adjacent, they are read again.
        """
        query = {"page": {"$lt": bound}} if backwards else {"until": {"$gt": bound}}
        path, direction = ("page", DESCENDING) if backwards else ("until", ASCENDING)
        conditions = [{operator: ["$$this.full_slug", {"$literal": key}]} for operator, key in inside.items()]
        fields = {"page": 1, "until": 1, "comments": {"$filter": {"input": "$comments", "cond": {"$and": conditions}}}}
        chain: list[Document] = []
        for _ in range(READ_AGAIN):
            cursor = self.stored.find({**self.of(place), **query}, fields)
            leaves = cursor.sort(path, direction).limit(limit)
            chain = [
                leaf for leaf in leaves if isinstance(leaf.get("page"), str) and isinstance(leaf.get("until"), str)
            ]
            if not chain:
                return chain
            upwards = chain[::-1] if backwards else chain
            starts_right = upwards[-1]["until"] >= bound if backwards else upwards[0]["page"] <= bound
            if starts_right and all(a["until"] == b["page"] for a, b in pairwise(upwards)):
                return chain
        # The buckets still aren't adjacent. A split can't take this long, so the buckets are damaged. `check_comments`
        # reports the damage.
        return chain

    def iterate(self, place: Place, order: Order) -> Iterator[Document]:
        after = FIRST
        while comments := self.by_path(place, after, LAST, 1_000):
            yield from comments
            after = comments[-1]["full_slug"]

    def newest(self, place: Place, limit: int) -> list[Document]:
        last = self.stored.find_one(self.of(place), {"comments.number": 1}, sort=[("comments.number", DESCENDING)])
        if last is None:
            return []
        numbers = (item.get("number") for item in elements(last) if isinstance(item, dict))
        high = max((number for number in numbers if isinstance(number, int)), default=0)
        comments: list[Document] = []
        while high > 0 and len(comments) < limit:
            low = high - 2 * limit
            matches = self.within(place, "number", low, high + 1, Order.OLDEST)
            comments += public(reversed(matches))
            high = low
        return comments[:limit]

    def copy_some(self, place: Place, documents: Sequence[Document]) -> bool:
        leaves: list[tuple[str, str, list[Document]]] = []
        for item in documents:
            if not leaves or item["full_slug"] >= leaves[-1][1]:
                if (leaf := self._leaf_of(place, item["full_slug"])) is None:
                    self.put(place, item, Lookup())
                    return False
                leaves.append((leaf["page"], leaf["until"], []))
            leaves[-1][2].append(item)
        updates = {}
        is_whole = True
        for page, until, part in leaves:
            if len(part) > place.bucket:
                is_whole &= self.split(place, page, part)
            else:
                room = {"until": until, "count": {"$lte": SLACK * place.bucket - len(part)}}
                new = {"comments.slug": {"$nin": [item["slug"] for item in part]}}
                pushed = {"$push": {"comments": {"$each": part, "$sort": BY_PATH}}, "$inc": {"count": len(part)}}
                updates[page] = UpdateOne({**self.of(place), "page": page, **room, **new}, pushed)
        if updates:
            is_whole &= self.stored.bulk_write([*updates.values()], ordered=False).matched_count == len(updates)
            overfull = {**self.of(place), "page": {"$in": [*updates]}, "count": {"$gt": place.bucket}}
            for leaf in self.stored.find(overfull, {"page": 1}):
                self.split(place, leaf["page"])
        return is_whole

    def faults(self, place: Place) -> Iterable[str]:
        end = FIRST
        for leaf in self.stored.find(self.of(place), batch_size=20).sort("page", ASCENDING):
            name = f"the leaf {leaf.get('page')!r} ({leaf['_id']})"
            keys = [item["full_slug"] for item in readable_in(self.collection, leaf)]
            low = leaf.get("page")
            high = leaf.get("until")
            if not (isinstance(low, str) and isinstance(high, str) and isinstance(leaf.get("comments"), list)):
                yield f"{name} lacks its bounds or its comments"
                continue
            if low != end:
                yield f"{name} doesn't begin where the previous leaf ends"
            if leaf.get("count") != len(elements(leaf)):
                yield f"{name} has a count of {leaf.get('count')}, but contains {len(elements(leaf))} comments"
            if keys != sorted(keys) or any(not low <= key < high for key in keys):
                yield f"{name} is out of order"
            end = high
        if end not in (FIRST, LAST):
            yield "the last leaf doesn't reach the end"
