"""setup_shards --presplit on real config and shard servers, with 50,000 comments and 2,000 photos."""

from collections import Counter
from io import StringIO
from typing import Any

import pytest
from bson import MinKey, ObjectId
from django.core.management import call_command

from cms.testing.database import empty
from marginalia.mongo.collections import Collection, declared_collections
from marginalia.mongo.connection import database
from marginalia.mongo.doctor import queries
from marginalia.mongo.indexes import changes_of
from marginalia.mongo.sharding import targeting
from photos.assets.writer import new_id
from tests.cluster import loaded
from tests.cluster.planned import as_mongos, build
from tests.cluster.servers import Cluster
from tests.support import routing
from tests.support.processes import until
from tests.support.routing import Operation

pytestmark = pytest.mark.slow
RANGES = 8
# Every range has data before the plan is applied.
FILLED = {"comments", "discussions", loaded.CHUNKS, loaded.COPIES, loaded.COPY_CHUNKS}
NEW = 2_000


@pytest.fixture(scope="module")
def site(cluster, django_db_setup, django_db_blocker):
    """The cluster with the loaded site on its first shard, and the hot queries built from its documents."""
    with django_db_blocker.unblock():
        build(cluster, declared_collections())
        loaded.load(cluster.primary[cluster.name])
        made = list(queries.build_queries(database(), [item.collection for item in declared_collections()]))
        yield cluster, made
        empty(database())


@pytest.fixture(scope="module")
def presplit(site):
    """The cluster after the command split ranges, and the command's output."""
    cluster, _made = site
    told = StringIO()
    with pytest.MonkeyPatch.context() as patch, as_mongos(cluster, patch):
        call_command("setup_shards", "--presplit", str(RANGES), stdout=told)
    return cluster, told.getvalue()


def spread() -> dict[str, Any]:
    found = {
        item.collection.name: item.collection.shard_key for item in declared_collections() if item.collection.shard_key
    }
    return {name: key for name, key in found.items() if key.least and name != "rate_limits"}


def places(cluster: Cluster, name: str) -> list[str]:
    return [chunk["shard"] for chunk in cluster.chunks(name)]


def predicted(cluster: Cluster) -> dict[str, Counter[str]]:
    """Return how many of NEW discussions, comments, uploads and their documents each shard gets."""
    # In addition to the loaded ones.
    talks = [target.id for target in loaded.targets(loaded.DISCUSSIONS + NEW)[loaded.DISCUSSIONS :]]
    ids = [new_id() for _ in range(NEW)]
    firsts = {name: ids if isinstance(key.least("0"), ObjectId) else talks for name, key in spread().items()}
    return {name: _counted(cluster, name, values) for name, values in firsts.items()}


def _counted(cluster: Cluster, name: str, values: list[Any]) -> Counter[str]:
    return Counter(shard for (shard,) in cluster.targets(name, ((value,) for value in values)))


def assert_even(found: Counter[str], cluster: Cluster, name: str) -> None:
    assert set(found) == set(cluster.shard_ids), name
    assert max(found.values()) / found.total() <= 0.6, (name, found)


def test_presplit_starts_with_a_loaded_site(site):
    cluster, _made = site
    counts = {name: cluster.primary[cluster.name][name].count_documents({}) for name in (*FILLED, loaded.FILES)}
    assert counts["comments"] == loaded.COMMENTS + 3
    assert counts["discussions"] == loaded.DISCUSSIONS + 2
    assert counts[loaded.FILES] == counts[loaded.CHUNKS] == loaded.PHOTOS + 1
    assert counts[loaded.COPIES] == counts[loaded.COPY_CHUNKS] == 2 * (loaded.PHOTOS + 1)


def test_spread_collections_are_split_into_equal_ranges(presplit):
    cluster, _told = presplit
    assert {"discussions", "comments", "comment_pages", "comments.pending", loaded.CHUNKS} <= set(spread())
    for name, key in spread().items():
        begin = [list(chunk["min"].values()) for chunk in cluster.chunks(name)]
        least = [MinKey(), *(key.least(f"{number * 2:x}000") for number in range(1, RANGES))]
        assert begin == [[first, *[MinKey()] * (len(key.keys) - 1)] for first in least], name


def test_empty_hashed_collections_are_distributed(presplit):
    cluster, _told = presplit
    assert places(cluster, "rate_limits") == sorted(cluster.shard_ids * 2)


def test_empty_ranges_alternate_between_shards(presplit):
    """Ranges with documents stay where they were."""
    cluster, _told = presplit
    db, other = (shard[cluster.name] for shard in cluster.shards)
    for name in set(spread()) - FILLED:
        for number, chunk in enumerate(cluster.chunks(name)):
            ((path, low), *_), ((_, high), *_) = chunk["min"].items(), chunk["max"].items()
            holds = db[name].find_one({path: {"$gte": low, "$lt": high}})
            assert chunk["shard"] == cluster.shard_ids[0 if holds else number % 2], (name, number)
        assert cluster.shard_ids[1] in places(cluster, name), name
    for item in declared_collections():
        if item.collection.name in set(spread()) - FILLED:
            assert [str(change) for change in changes_of(item.alias, item.collection, other)] == []


def test_ranges_with_documents_are_not_moved_and_are_listed(presplit):
    cluster, told = presplit
    for name in FILLED:
        assert set(places(cluster, name)) == {cluster.shard_ids[0]}
        # Every second range is already on its shard.
        assert f"= {name}: {RANGES // 2} ranges contain data" in told
    db = cluster.primary[cluster.name]
    assert db["comments"].count_documents({}) == loaded.COMMENTS + 3


def test_new_documents_follow_the_ranges(presplit):
    """Mongos routes by config.chunks.

    New documents are on both shards if the collection was empty, otherwise on the shard with the rest.
    """
    cluster, _told = presplit
    for name, found in predicted(cluster).items():
        if name in FILLED:
            assert set(found) == {cluster.shard_ids[0]}, name
    assert_even(predicted(cluster)["comments.history"], cluster, "comments.history")


def test_second_run_does_nothing_and_a_finer_one_continues(presplit, mongo, monkeypatch):
    cluster, _told = presplit
    with as_mongos(cluster, monkeypatch):
        told = StringIO()
        call_command("setup_shards", "--presplit", str(RANGES), stdout=told)
        assert "0 splits and moves made." in told.getvalue()
        told = StringIO()
        call_command("setup_shards", "--plan", "--presplit", str(2 * RANGES), stdout=told)
    planned = [line for line in told.getvalue().splitlines() if line.startswith('db.adminCommand({"split"')]
    assert len(planned) == RANGES * len(spread())


@pytest.fixture(scope="module")
def zoned(presplit):
    """The cluster after the command created zones and the balancer moved each range to its zone."""
    cluster, _told = presplit
    with pytest.MonkeyPatch.context() as patch, as_mongos(cluster, patch):
        call_command("setup_shards", "--presplit", str(RANGES), "--zones", stdout=StringIO())
    cluster.config.admin.command("_configsvrBalancerStart", 1)
    turns = cluster.shard_ids * (RANGES // 2)
    until(lambda: all(places(cluster, name) == turns for name in spread()), seconds=180)
    until(lambda: not any(shard.config.rangeDeletions.find_one() for shard in cluster.shards), seconds=60)
    return cluster


def test_zones_assign_each_range_to_its_shard(zoned):
    zones = {shard["_id"]: shard["tags"] for shard in zoned.config.config.shards.find()}
    assert zones == {name: [name] for name in zoned.shard_ids}
    for name in spread():
        tags = list(zoned.config.config.tags.find({"ns": f"{zoned.name}.{name}"}).sort("min", 1))
        assert [tag["tag"] for tag in tags] == zoned.shard_ids * (RANGES // 2), name


def test_balancer_moves_documents_to_their_zones(zoned):
    """No document is lost, and each shard has nearly half of the earlier documents."""
    for name in FILLED:
        assert_even(Counter(_held(zoned, name, {})), zoned, name)
    assert sum(_held(zoned, "comments", {}).values()) == loaded.COMMENTS + 3


def _held(cluster: Cluster, name: str, filter: dict[str, Any]) -> dict[str, int]:
    """Return the number of documents on each shard that match a filter."""
    found = (shard[cluster.name][name].count_documents(filter) for shard in cluster.shards)
    return dict(zip(cluster.shard_ids, found, strict=True))


def test_documents_after_balancing_are_on_both_shards(zoned):
    for name, found in predicted(zoned).items():
        assert_even(found, zoned, name)


def test_every_hot_query_is_routed_as_documented(zoned, site):
    """All matching documents are on the shards that mongos would ask.

    That is one shard, or those with a part of a gallery, except for the documented exceptions.
    """
    _cut_gallery(zoned)
    _cluster, made = site
    several = set()
    for query, collection, find in made:
        asked = Operation(collection.name, "find", find["filter"])
        if collection.shard_key is None:
            targets = {zoned.shard_ids[0]}
        elif queries.asks_every_shard(find, collection):
            assert query.broadcast_because, query.name
            assert routing.find_exception(asked, targeting.broadcasts()), query.name
            targets = set(zoned.shard_ids)
        else:
            targets = _targets(zoned, collection, find["filter"])
            several |= {query.name} if len(targets) > 1 else set()
        held = _held(zoned, collection.name, find["filter"])
        assert {name for name, count in held.items() if count} <= targets, query.name
        assert any(held.values()), query.name
    assert several == {"the photos of a gallery", "a photo file by its URL"}


def _targets(cluster: Cluster, collection: Collection, filter: dict[str, Any]) -> set[str]:
    """Return the shards for a filter that contains the first field of the key."""
    stated, places = dict(targeting.conditions(filter)), [()]
    for path, _way in collection.shard_key.keys:
        if path not in stated:
            break
        said = stated[path]
        values = [said] if targeting.is_exact(said) else said.get("$in", ())
        if not values:
            break
        places = [(*place, value) for place in places for value in values]
    return set().union(*cluster.targets(collection.name, places))


def _cut_gallery(cluster: Cluster) -> None:
    """Move the second half of the gallery to the other shard."""
    photo = cluster.primary[cluster.name][loaded.FILES].find_one({"metadata.slug": "photo-1000"})
    middle = {
        path: photo["metadata"][path.removeprefix("metadata.")] for path in ("metadata.parent_id", "metadata.slug")
    }
    (chunk,), namespace = cluster.chunks(loaded.FILES), f"{cluster.name}.{loaded.FILES}"
    cluster.tell({"split": namespace, "middle": middle})
    cluster.tell({"moveRange": namespace, "min": middle, "max": chunk["max"], "toShard": cluster.shard_ids[1]})
    until(lambda: not cluster.primary.config.rangeDeletions.find_one(), seconds=60)
    assert places(cluster, loaded.FILES) == cluster.shard_ids
