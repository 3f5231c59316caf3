from collections.abc import Iterator

import pytest

from marginalia.mongo import sharding
from marginalia.mongo.collections import declared_collections
from marginalia.testing.mongod import EphemeralMongod
from tests.cluster.planned import as_mongos, build
from tests.cluster.servers import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A fresh cluster for the tests of a module."""
    # Moved documents are deleted at once, because nobody still reads them. The default is 15 minutes.
    shard = ["--shardsvr", "--setParameter", "orphanCleanupDelaySecs=0"]
    servers = {
        "config": EphemeralMongod(replset="config", extra_args=["--configsvr"]),
        "a": EphemeralMongod(replset="a", extra_args=shard),
        "b": EphemeralMongod(replset="b", extra_args=shard),
    }
    try:
        yield Cluster({name: server.start() for name, server in servers.items()}, "test_cluster")
    finally:
        for server in servers.values():
            server.stop()


@pytest.fixture(scope="module")
def sharded(cluster, django_db_setup, django_db_blocker):
    """The cluster with every declared collection, index, validator and shard key."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch, as_mongos(cluster, patch):
        build(cluster, declared_collections())
        for statement in sharding.plan():
            sharding.apply(statement)
    return cluster
