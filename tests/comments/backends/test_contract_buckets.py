"""The contract, for discussions in buckets, by each native order."""

from tests.comments.backends.contract_on_mongodb import OnMongoDB


class TestBuckets(OnMongoDB):
    schema = "buckets"


class TestBucketsThreaded(OnMongoDB):
    schema = "buckets"
    order = "threaded"
