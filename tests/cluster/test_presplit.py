"""setup_shards --presplit against real config and shard servers, on a site that has comments and photos already."""

from collections import Counter
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from bson import Binary, MinKey, ObjectId
from django.core.management import call_command

from comments.backends.stored import body, placed
from comments.types import Author, NewComment, Target
from mongo.collections import declared
from mongo.indexes import changes_of
from nodes.photos.assets.writer import new_id
from tests.cluster.planned import as_mongos, build
from tests.support.spreading import moments

pytestmark = pytest.mark.slow
RANGES = 8
# With data in them before the plan is applied.
FILLED = {"comments", "cms.assets.chunks"}


def discussions(count: int) -> list[str]:
    """Return ids of discussions of ten years."""
    return [Target("nodes.node", str(ObjectId.from_datetime(moment))).id for moment in moments(count)]


def comment(discussion_id: str) -> dict[str, Any]:
    new = NewComment(Author("Ann"), "Said before", "<p>Said before</p>", "token")
    own = placed(body(new), "0" * 16, 1, datetime(2026, 1, 1, tzinfo=UTC))
    return {"_id": ObjectId(), "discussion_id": discussion_id, "epoch": 1, **own}


@pytest.fixture(scope="module")
def presplit(cluster, django_db_setup, django_db_blocker):
    """The cluster with 5,000 comments and 2,000 photos, then the plan of the command with ranges; what it told."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        build(cluster, declared())
        db = cluster.primary[cluster.name]
        db["comments"].insert_many(map(comment, discussions(5_000)))
        db["cms.assets.chunks"].insert_many({"files_id": new_id(), "n": 0, "data": Binary(b"x")} for _ in range(2_000))
        told = StringIO()
        with as_mongos(cluster, patch):
            call_command("setup_shards", "--presplit", str(RANGES), stdout=told)
        yield cluster, told.getvalue()


def spread() -> dict[str, Any]:
    found = {item.collection.name: item.collection.shard_key for item in declared() if item.collection.shard_key}
    return {name: key for name, key in found.items() if key.least}


def test_every_spread_collection_is_cut_into_ranges_of_equal_width(presplit):
    cluster, _told = presplit
    assert {"comments", "comment_pages", "comments.pending", "comments.ip_hashes", "cms.assets.chunks"} <= set(spread())
    for name, key in spread().items():
        begin = [list(chunk["min"].values()) for chunk in cluster.chunks(name)]
        least = [MinKey(), *(key.least(f"{number * 2:x}000") for number in range(1, RANGES))]
        assert begin == [[first, *[MinKey()] * (len(key.keys) - 1)] for first in least], name


def test_empty_ranges_lie_on_the_shards_in_turn(presplit):
    cluster, _told = presplit
    for name in set(spread()) - FILLED:
        assert [chunk["shard"] for chunk in cluster.chunks(name)] == cluster.shard_ids * (RANGES // 2), name
    other = cluster.shards[1][cluster.name]
    for item in declared():
        if item.collection.name in set(spread()) - FILLED:
            assert [str(change) for change in changes_of(item.alias, item.collection, other)] == []


def test_what_holds_something_stays_and_is_named(presplit):
    cluster, told = presplit
    for name in FILLED:
        assert {chunk["shard"] for chunk in cluster.chunks(name)} == {cluster.shard_ids[0]}
        # Every second range is on its shard already.
        assert f"= {name}: {RANGES // 2} ranges hold something" in told
    db = cluster.primary[cluster.name]
    assert db["comments"].count_documents({}) == 5_000
    assert db["cms.assets.chunks"].count_documents({}) == 2_000


def test_what_comes_after_falls_on_both_shards(presplit):
    """By config.chunks, which is what mongos routes by: pages of new discussions, and copies of new photos."""
    cluster, _told = presplit
    coming = {"comment_pages": discussions(2_000), "cms.renditions.chunks": [new_id() for _ in range(2_000)]}
    for name, firsts in coming.items():
        chunks = [(*chunk["min"].values(), chunk["shard"]) for chunk in cluster.chunks(name)]
        where = Counter([chunk[-1] for chunk in chunks if chunk[0] <= first][-1] for first in firsts)
        assert sorted(where) == sorted(cluster.shard_ids)
        assert max(where.values()) / where.total() <= 0.6, name


def test_a_second_run_has_nothing_to_do_and_a_finer_one_goes_on(presplit, mongo, monkeypatch):
    cluster, _told = presplit
    with as_mongos(cluster, monkeypatch):
        told = StringIO()
        call_command("setup_shards", "--presplit", str(RANGES), stdout=told)
        assert "0 cuts and moves made." in told.getvalue()
        told = StringIO()
        call_command("setup_shards", "--plan", "--presplit", str(2 * RANGES), stdout=told)
    planned = [line for line in told.getvalue().splitlines() if line.startswith('db.adminCommand({"split"')]
    assert len(planned) == RANGES * len(spread())


def test_zones_bind_each_range_to_its_shard(presplit, mongo, monkeypatch):
    """It comes last: from then on the balancer moves what holds something too."""
    cluster, _told = presplit
    with as_mongos(cluster, monkeypatch):
        call_command("setup_shards", "--presplit", str(RANGES), "--zones", stdout=StringIO())
    zones = {shard["_id"]: shard["tags"] for shard in cluster.config.config.shards.find()}
    assert zones == {name: [name] for name in cluster.shard_ids}
    for name in spread():
        tags = list(cluster.config.config.tags.find({"ns": f"{cluster.name}.{name}"}).sort("min", 1))
        assert [tag["tag"] for tag in tags] == cluster.shard_ids * (RANGES // 2), name
