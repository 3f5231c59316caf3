"""A fourth storage layout, one document per thread, is added only here.

The contract and conversions must work for it too.
"""

from collections.abc import Iterator
from itertools import groupby

import pytest
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError

from marginalia.comments.backends import layouts
from marginalia.comments.backends.layouts.base import Layout, Lookup, only, sort_key
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import Order, Target
from tests.comments.backends.contract_of_queues import QueueContract
from tests.comments.backends.contract_of_sites import SiteContract
from tests.support.comments import audit
from tests.support.comments.holders import account
from tests.support.comments.layouts import FORMS, configure, lively, state


class Threads(Layout):
    """One document per root comment with all its replies, in `comment_threads`."""

    name = "threads"
    collection = "comment_threads"
    copy_order = Order.THREADED

    def of_root(self, place, slug):
        return {"_id": f"{place.target.id} {place.epoch} {slug.partition('/')[0]}"}

    def look(self, place, wanted):
        chosen = {"comments": only({"$in": ["$$this.slug", {"$literal": list(wanted)}]})}
        found = self.stored.find({**self.of(place), "comments.slug": {"$in": list(wanted)}}, chosen)
        return Lookup({item["slug"]: item for thread in found for item in thread["comments"]})

    def put(self, place, document, found):
        slug = document["slug"]
        try:
            self.stored.update_one(
                {**self.of_root(place, slug), **self.of(place), "comments.slug": {"$ne": slug}},
                {"$push": {"comments": document}},
                upsert=True,
            )
        except DuplicateKeyError:
            return self.look(place, [slug]).comments[slug]
        return None

    def change(self, place, slug, revs, fields, found):
        wanted = {**self.of_root(place, slug), "comments": {"$elemMatch": {"slug": slug, "rev": revs}}}
        changes = {"$set": {f"comments.$.{name}": value for name, value in fields.items()}}
        return bool(self.stored.update_one(wanted, changes).modified_count)

    def copy(self, place, documents):
        there = self.look(place, [item["slug"] for item in documents]).comments
        missing = [item for item in documents if item["slug"] not in there]
        for root, items in groupby(missing, key=lambda item: item["slug"].partition("/")[0]):
            pushed = {"$push": {"comments": {"$each": list(items)}}}
            self.stored.bulk_write([UpdateOne({**self.of_root(place, root), **self.of(place)}, pushed, upsert=True)])

    def iterate(self, place, order) -> Iterator:
        found = [item for thread in self.stored.find(self.of(place)) for item in thread["comments"]]
        yield from sorted(found, key=lambda item: sort_key(item, order))

    def by_author(self, query, *, limit=0, before=None):
        ((key, value),) = query.items()
        found = [
            (thread["discussion_id"], thread["epoch"], item)
            for thread in self.stored.find({f"comments.author.{key}": value})
            for item in thread["comments"]
            if item["author"].get(key) == value and (before is None or item["posted"] < before)
        ]
        yield from sorted(found, key=lambda entry: entry[2]["posted"], reverse=True)


@pytest.fixture(autouse=True)
def registered():
    layouts.register(Threads)
    yield
    layouts.unregister(Threads)


class TestThreads(QueueContract, SiteContract):
    @pytest.fixture
    def backend(self, mongo, settings):
        settings.COMMENTS = {"TARGETS": {"auth.user": {"LAYOUT": "threads"}}}
        return MongoBackend()

    @pytest.fixture
    def targets(self, mongo):
        keys = [ObjectId() for _ in range(3)]
        mongo.auth_user.insert_many(account(key, f"s{n}") for n, key in enumerate(keys))
        return [Target("auth.user", str(key)) for key in keys]


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("other", FORMS, ids=lambda form: "-".join(form))
def test_discussions_are_converted_there_and_back(mongo, settings, target, other):
    backend = configure(settings, *other)
    lively(backend, target)
    expected = state(backend, target)
    configure(settings, "embedded")
    backend.convert(target, "threads", other[1])
    assert (backend.discussion(target).layout, state(backend, target)) == ("threads", expected)
    assert backend.audit(target) == []
    backend.convert(target, *other)
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")


def test_reordering_needs_no_copy(mongo, settings, target):
    backend = configure(settings, "documents")
    lively(backend, target)
    backend.convert(target, "threads", Order.OLDEST)
    epoch = backend.discussion(target).epoch
    backend.convert(target, "threads", Order.THREADED)
    assert (backend.discussion(target).order, backend.discussion(target).epoch) == (Order.THREADED, epoch)
