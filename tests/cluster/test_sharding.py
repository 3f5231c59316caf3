"""setup_shards against real config and shard servers."""

import pytest
from pymongo.errors import OperationFailure

from mongo import sharding
from mongo.collections import declared
from mongo.indexes import _changes
from tests.cluster.conftest import MAJORITY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sharded(cluster, django_db_setup, django_db_blocker):
    """The cluster with every declared collection, index and shard key."""
    with django_db_blocker.unblock():
        statements = sharding.plan()
    db = cluster.primary[cluster.name]
    for item in declared():
        for change in _changes(item.alias, item.collection, db):
            change.apply(db)
    for statement in statements:
        if statement.index is not None:
            db[statement.collection].create_index(list(statement.index.keys))
        command = dict(statement.command)
        if "shardCollection" in command:
            command["shardCollection"] = f"{cluster.name}.{statement.collection}"
        cluster.tell(command)
    return cluster


def keyed():
    return [item.collection for item in declared() if item.collection.shard_key]


def test_every_collection_of_the_plan_is_sharded(sharded):
    assert len(keyed()) >= 3
    for collection in keyed():
        entry = sharded.entry(collection.name)
        assert entry is not None, collection.name
        assert dict(entry["key"]) == dict(collection.shard_key.keys)
        assert entry["unique"] is collection.shard_key.unique


def test_unique_indexes_hold_on_the_shard(sharded):
    nodes = sharded.primary[sharded.name]["cms.nodes"]
    assert nodes.index_information()["by_place"]["unique"]


def test_wrong_key_is_refused_by_the_server_and_leaves_nothing(cluster):
    db = cluster.primary[cluster.name]
    db["wrong"].create_index([("a", 1), ("b", 1)], unique=True)
    db["wrong"].create_index("c")
    with pytest.raises(OperationFailure, match="(?i)uniqueness|unique"):
        cluster.tell({"shardCollection": f"{cluster.name}.wrong", "key": {"c": 1}, "unique": False})
    assert cluster.entry("wrong") is None


def test_chunk_splits_and_moves(sharded):
    """A blog with posts is split between two slugs and one half moved; every document is still there, once."""
    db, name = sharded.primary[sharded.name], "cms.nodes"
    db[name].insert_many([{"_id": n, "metadata": {"parent_id": None, "slug": f"s{n:03}"}} for n in range(100)])
    (chunk,) = sharded.chunks(name)
    middle = {"metadata.parent_id": None, "metadata.slug": "s050"}
    namespace = f"{sharded.name}.{name}"
    sharded.primary.admin.command(
        "splitChunk",
        namespace,
        keyPattern={"metadata.parent_id": 1, "metadata.slug": 1},
        min=chunk["min"],
        max=chunk["max"],
        splitKeys=[middle],
        **{"from": sharded.shard_ids[0]},
        epoch=sharded.entry(name)["lastmodEpoch"],
        timestamp=sharded.entry(name)["timestamp"],
    )
    assert len(sharded.chunks(name)) == 2
    admin = sharded.config.admin
    admin.command("_configsvrBalancerStart", 1)
    move = {"toShard": sharded.shard_ids[1], "min": middle, "max": chunk["max"]}
    admin.command({"_configsvrMoveRange": namespace, **move, **MAJORITY})
    assert [c["shard"] for c in sharded.chunks(name)] == sharded.shard_ids
    moved = sharded.shards[1][sharded.name][name]
    assert sorted(d["_id"] for d in moved.find()) == list(range(50, 100))
