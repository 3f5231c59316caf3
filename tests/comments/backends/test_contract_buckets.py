"""The contract, for discussions in buckets, in each native order."""

import pytest

from tests.comments.backends.contract_on_mongodb import OnMongoDB


@pytest.mark.slow
class TestBuckets(OnMongoDB):
    layout = "buckets"


class TestBucketsThreaded(OnMongoDB):
    layout = "buckets"
    order = "threaded"
