"""setup_shards against real config and shard servers."""

from typing import Any

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command

from marginalia.mongo import sharding
from marginalia.mongo.clock import now
from marginalia.mongo.collections import Collection, DeclaredCollection, Index, ShardKey, declared_collections
from marginalia.mongo.indexes import changes_of
from tests.cluster.planned import as_mongos

pytestmark = pytest.mark.slow
NODES = "cms.nodes"


def keyed() -> list[Collection]:
    return [item.collection for item in declared_collections() if item.collection.shard_key]


def test_exactly_the_planned_collections_are_sharded(sharded):
    planned = {s.collection for s in sharding.plan() if s.collection}
    assert planned == {collection.name for collection in keyed()}
    assert {namespace.removeprefix(f"{sharded.name}.") for namespace in sharded.entries()} == planned
    for collection in keyed():
        entry = sharded.entry(collection.name)
        assert dict(entry["key"]) == dict(collection.shard_key.keys), collection.name
        assert entry["unique"] is collection.shard_key.unique, collection.name


def test_unique_indexes_and_validators_survive_sharding(sharded):
    db = sharded.primary[sharded.name]
    for item in declared_collections():
        assert [str(change) for change in changes_of(item.alias, item.collection, db)] == []


def test_hashed_discussions_start_on_both_shards(sharded):
    assert {chunk["shard"] for chunk in sharded.chunks("discussions")} == set(sharded.shard_ids)


def test_wrong_key_is_reported_and_the_rest_continues_later(cluster, mongo, monkeypatch, capsys):
    """The second of three collections cannot be sharded.

    The first is sharded, the third waits, and the second is unchanged.
    """
    db = cluster.primary[cluster.name]
    db["second"].create_index([("a", 1), ("b", 1)], unique=True)  # it is not declared, so no check finds it earlier
    items = [
        DeclaredCollection("default", Collection(name, (), ShardKey((("c", 1),))))
        for name in ("first", "second", "third")
    ]
    monkeypatch.setattr("marginalia.mongo.collections.declared_collections", lambda: items)
    with as_mongos(cluster, monkeypatch):
        with pytest.raises(CommandError) as refused:
            call_command("setup_shards")
        message = str(refused.value)
        assert "\n" not in message
        assert message.startswith("second: ")
        assert "can't shard collection" in message
        assert "unique" in message
        assert "1 of 3 done. Run the command again to resume." in message
        assert cluster.entry("first") is not None
        assert cluster.entry("second") is cluster.entry("third") is None
        assert set(db["second"].index_information()) == {"_id_", "a_1_b_1"}
        db["second"].insert_one({"a": 1})  # the collection stays usable

        db["second"].drop_index("a_1_b_1")
        call_command("setup_shards")
        assert all(cluster.entry(name) for name in ("first", "second", "third"))
        capsys.readouterr()
        call_command("setup_shards", "--plan")
        assert "Nothing to do." in capsys.readouterr().out


def test_key_unique_on_one_shard_only_is_refused(mongo, monkeypatch):
    wrong = Collection("wrong", (Index("u", (("a", 1),), unique=True),), ShardKey((("b", 1),)))
    monkeypatch.setattr(
        "marginalia.mongo.collections.declared_collections", lambda: [DeclaredCollection("default", wrong)]
    )
    with pytest.raises(CommandError, match="the unique index u doesn't begin with the shard key"):
        call_command("setup_shards", "--plan")


def node(number: int) -> dict[str, Any]:
    metadata = {
        **dict.fromkeys(("created", "updated", "published", "expires"), now()),
        "nonce": ObjectId(),
        "type": "blog-entry",
        "parent_id": None,
        "slug": f"s{number:03}",
        "title": "Title",
        "author": None,
        "tags": [],
        "summary": "",
        "detail": None,
    }
    return {"_id": ObjectId(), "metadata": metadata}


def test_chunk_is_split_and_moved(sharded):
    """A blog is split between two slugs and one half moved.

    Every document still exists once, with its indexes and validator.
    """
    db, name = sharded.primary[sharded.name], NODES
    db[name].insert_many([node(n) for n in range(100)])
    (chunk,) = sharded.chunks(name)
    middle = {"metadata.parent_id": None, "metadata.slug": "s050"}
    namespace = f"{sharded.name}.{name}"
    sharded.tell({"split": namespace, "middle": middle})
    assert len(sharded.chunks(name)) == 2
    sharded.tell({"moveRange": namespace, "min": middle, "max": chunk["max"], "toShard": sharded.shard_ids[1]})
    assert [c["shard"] for c in sharded.chunks(name)] == sharded.shard_ids
    other = sharded.shards[1][sharded.name]
    assert sorted(d["metadata"]["slug"] for d in other[name].find()) == [f"s{n:03}" for n in range(50, 100)]
    declaration = next(item for item in declared_collections() if item.collection.name == name)
    assert [str(change) for change in changes_of(declaration.alias, declaration.collection, other)] == []
