"""The plan of setup_shards on a cluster without mongos."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mongo import sharding
from mongo.collections import Declared
from mongo.indexes import changes_of
from mongo.sharding import keys, ranges
from tests.cluster.servers import Cluster


def build(cluster: Cluster, items: list[Declared]) -> None:
    """Make collections, indexes and validators on the first shard, where an unsharded database lies."""
    db = cluster.primary[cluster.name]
    for item in items:
        for change in changes_of(item.alias, item.collection, db):
            change.apply(db)


def statements(cluster: Cluster) -> list[sharding.Statement]:
    """The plan's own statements, about the cluster's database in place of the tests'."""
    return [sharding.Statement(s.alias, s.collection, _renamed(cluster, s), s.index, s.reason) for s in sharding.plan()]


def _renamed(cluster: Cluster, statement: sharding.Statement) -> dict[str, Any]:
    if not statement.collection:
        return {"enableSharding": cluster.name}
    return {**statement.command, "shardCollection": f"{cluster.name}.{statement.collection}"}


@contextmanager
def as_mongos(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the command believe that it talks to a mongos, which passes on what it is told as mongos would."""
    db, tell = cluster.primary[cluster.name], cluster.tell
    apply = sharding.apply
    with monkeypatch.context() as patch:
        for module in (sharding, keys):
            patch.setattr(module, "is_mongos", lambda alias: True)
        for module in (keys, ranges):
            patch.setattr(module, "database", lambda alias: db)
        patch.setattr(keys, "sharded", lambda alias: cluster.entries())
        patch.setattr(keys, "chunks", lambda alias, entry: cluster.chunks_of(entry))
        patch.setattr(keys, "shards", lambda alias: tuple(cluster.shard_ids))
        patch.setattr(ranges, "tell_of", lambda alias: tell)
        patch.setattr(sharding, "apply", lambda statement: apply(statement, db, tell))
        patch.setattr("mongo.management.commands.setup_shards.indexes.ensure", lambda report: 0)
        yield
