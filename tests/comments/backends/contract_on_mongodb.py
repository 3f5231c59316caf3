"""The contract for the back end on MongoDB. Subclasses set a storage layout, an order and a target."""

import pytest
from bson import ObjectId

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import Target
from tests.comments.backends.contract_of_queues import QueueContract
from tests.comments.backends.contract_of_sites import SiteContract
from tests.support.comments import audit
from tests.support.comments.holders import account, page
from tests.support.comments.making import new

# Small enough that these tests split buckets.
OPTIONS = {"buckets": {"SIZE": 4}}


class OnMongoDB(QueueContract, SiteContract):
    layout = "documents"
    order = "oldest"
    label = "auth.user"
    collection = "auth_user"

    @pytest.fixture
    def backend(self, mongo, settings):
        entry = {"LAYOUT": self.layout, "ORDER": self.order, "OPTIONS": OPTIONS.get(self.layout, {})}
        settings.COMMENTS = {"TARGETS": {self.label: entry}}
        return MongoBackend()

    @pytest.fixture
    def targets(self, mongo):
        keys = [ObjectId() for _ in range(3)]
        made = {"auth_user": account, "cms.nodes": page}[self.collection]
        mongo[self.collection].insert_many(made(key, f"s{n}") for n, key in enumerate(keys))
        return [Target(self.label, str(key)) for key in keys]

    def stored(self, target):
        return audit.stored(target, self.collection)

    def test_sample_contains_short_discussions(self, backend, targets):
        short, longer, _not_begun = targets
        backend.post(short, new("a"))
        for n in range(3):
            backend.post(longer, new(str(n)))
        assert backend.sample(5, longest=2) == [short]
        assert set(backend.sample(5, longest=3)) == {short, longer}
        assert len(backend.sample(1, longest=3)) == 1
