"""The contract, for each schema and native order, on targets with and without a shard key, and for the
specification."""

import pytest
from bson import ObjectId

from comments.backends.mongodb import MongoBackend
from comments.types import Target
from tests.comments.backends.contract_of_queues import QueueContract
from tests.comments.backends.contract_of_sites import SiteContract
from tests.comments.backends.specification import Specification
from tests.support.comments import audit
from tests.support.comments.holders import account, page
from tests.support.comments.making import new

# Small enough that these tests split buckets.
OPTIONS = {"buckets": {"SIZE": 4}}


class OnMongoDB(QueueContract, SiteContract):
    schema = "documents"
    order = "oldest"
    label = "auth.user"
    collection = "auth_user"

    @pytest.fixture
    def backend(self, mongo, settings):
        entry = {"SCHEMA": self.schema, "ORDER": self.order, "OPTIONS": OPTIONS.get(self.schema, {})}
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

    def test_sample_is_of_short_discussions(self, backend, targets):
        short, longer, _not_begun = targets
        backend.post(short, new("a"))
        for n in range(3):
            backend.post(longer, new(str(n)))
        assert backend.sample(5, longest=2) == [short]
        assert set(backend.sample(5, longest=3)) == {short, longer}
        assert len(backend.sample(1, longest=3)) == 1


class TestDocuments(OnMongoDB):
    pass


class TestDocumentsThreaded(OnMongoDB):
    order = "threaded"


class TestEmbedded(OnMongoDB):
    schema = "embedded"


class TestEmbeddedInNodes(OnMongoDB):
    schema = "embedded"
    order = "threaded"
    label = "nodes.node"
    collection = "cms.nodes"


class TestBuckets(OnMongoDB):
    schema = "buckets"


class TestBucketsThreaded(OnMongoDB):
    schema = "buckets"
    order = "threaded"


class TestSpecification(QueueContract, SiteContract):
    @pytest.fixture
    def backend(self):
        return Specification()

    @pytest.fixture
    def targets(self):
        return [Target("auth.user", str(n)) for n in range(3)]
