from collections.abc import Iterator

import pytest

from tests.cluster.servers import Cluster
from tests.support.throwaway import EphemeralMongod


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A fresh cluster, gone after the module's tests."""
    servers = {
        "config": EphemeralMongod(replset="config", extra_args=["--configsvr"]),
        "a": EphemeralMongod(replset="a", extra_args=["--shardsvr"]),
        "b": EphemeralMongod(replset="b", extra_args=["--shardsvr"]),
    }
    try:
        yield Cluster({name: server.start() for name, server in servers.items()}, "test_cluster")
    finally:
        for server in servers.values():
            server.stop()
