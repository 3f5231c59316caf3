"""The contract, for discussions in buckets, in each native order."""

from tests.comments.backends.contract_on_mongodb import OnMongoDB


class TestBuckets(OnMongoDB):
    layout = "buckets"


class TestBucketsThreaded(OnMongoDB):
    layout = "buckets"
    order = "threaded"
