"""The contract, for embedded discussions, on targets with and without a shard key."""

import pytest

from tests.comments.backends.contract_on_mongodb import OnMongoDB


@pytest.mark.slow
class TestEmbedded(OnMongoDB):
    layout = "embedded"


class TestEmbeddedInNodes(OnMongoDB):
    layout = "embedded"
    order = "threaded"
    label = "nodes.node"
    collection = "cms.nodes"
