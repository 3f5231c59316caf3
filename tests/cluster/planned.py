"""The plan of setup_shards, executed on a cluster without mongos."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from marginalia.mongo import sharding
from marginalia.mongo.collections import DeclaredCollection
from marginalia.mongo.indexes import changes_of
from marginalia.mongo.sharding import keys, ranges
from tests.cluster.servers import Cluster


def build(cluster: Cluster, items: list[DeclaredCollection]) -> None:
    """Create collections, indexes and validators on the first shard, which stores an unsharded database."""
    db = cluster.primary[cluster.name]
    for item in items:
        for change in changes_of(item.alias, item.collection, db):
            change.apply(db)


@contextmanager
def as_mongos(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the command believe that it talks to a mongos, and pass its commands on as mongos would."""
    db = cluster.primary[cluster.name]
    mongos = SimpleNamespace(admin=SimpleNamespace(command=cluster.tell))
    with monkeypatch.context() as patch:
        for module in (sharding, keys):
            patch.setattr(module, "is_mongos", lambda alias: True)
        for module in (keys, ranges):
            patch.setattr(module, "database", lambda alias: db)
        patch.setattr(keys, "sharded", lambda alias: cluster.entries())
        patch.setattr(keys, "chunks", lambda alias, entry: cluster.chunks_of(entry))
        patch.setattr(keys, "shards", lambda alias: tuple(cluster.shard_ids))
        patch.setattr(keys, "client", lambda alias: mongos)
        patch.setattr("marginalia.mongo.management.commands.setup_shards.indexes.ensure", lambda report: 0)
        yield
