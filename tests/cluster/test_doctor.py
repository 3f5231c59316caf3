"""The doctor's checks of clusters, on a real config server. Additions by a mongos are not tested."""

import pytest

from marginalia.mongo.doctor import cluster as checks
from tests.support.processes import until

pytestmark = pytest.mark.slow


def test_balancer_state_of_a_config_server_is_read(cluster):
    admin, config = cluster.config.admin, cluster.config.config
    admin.command("_configsvrBalancerStop", 1)
    assert not checks.is_balancing(config)
    admin.command("_configsvrBalancerStart", 1)
    assert checks.is_balancing(config)


def test_jumbo_chunk_is_counted(cluster):
    db, config = cluster.primary[cluster.name], cluster.config.config
    db["spread"].create_index([("a", 1)])
    cluster.tell({"shardCollection": f"{cluster.name}.spread", "key": {"a": 1}, "unique": False})
    assert checks.jumbo_chunks(config) == {}
    config.chunks.update_one({"uuid": cluster.entry("spread")["uuid"]}, {"$set": {"jumbo": True}})
    assert checks.jumbo_chunks(config) == {f"{cluster.name}.spread": 1}


def test_shard_without_a_primary_is_reported(cluster):
    def unreachable() -> list[str]:
        return checks.unreachable_shards(cluster.config.config, cluster.config.admin.command("connPoolStats"))

    until(lambda: unreachable() == [])
    with pytest.raises(Exception, match="closed|refused|shut"):
        cluster.shards[1].admin.command("shutdown", force=True)
    until(lambda: unreachable() == [cluster.shard_ids[1]], seconds=60)
