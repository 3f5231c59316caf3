"""setup_shards without a mongos: checks, plan, refusal."""

import json
import re
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from bson import Int64, MinKey
from django.core.management import CommandError, call_command

from cms.testing.build import node
from marginalia.comments.backends.discussions import Discussions
from marginalia.comments.backends.stored import Storage
from marginalia.comments.types import Order, Target
from marginalia.mongo import sharding
from marginalia.mongo.checks import check_declarations
from marginalia.mongo.clock import now
from marginalia.mongo.collections import Collection, DeclaredCollection, Index, ShardKey, declared_collections
from marginalia.mongo.doctor import HotQuery
from marginalia.mongo.sharding import ranges, targeting

AB = (("a", 1), ("b", 1))


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("setup_shards", *arguments, stdout=out)
    return out.getvalue()


def test_plan_lists_every_declared_key(mongo):
    plan = run("--plan")
    assert "+ cms.nodes: shard by unique (metadata.parent_id, metadata.slug)" in plan
    assert "= cms.site: stays on one shard" in plan
    for item in declared_collections():
        assert item.collection.name in plan


def test_plan_can_be_pasted_into_mongosh(mongo):
    plan = run("--plan")
    told = {}
    for name, key, unique in re.findall(
        r'^sh\.shardCollection\("([^"]+)", (\{.*\}), (true|false)\)$', plan, re.MULTILINE
    ):
        told[name] = (json.loads(key), unique == "true")
    assert told == {
        f"{mongo.name}.{item.collection.name}": (dict(key.keys), key.unique)
        for item in declared_collections()
        if (key := item.collection.shard_key)
    }
    # `discussions` has no index for its hashed key, so the index is created first.
    assert plan.index('getCollection("discussions").createIndex({"_id": "hashed"}') < plan.index(
        f'"{mongo.name}.discussions"'
    )


def test_plan_of_ranges_can_be_pasted_into_mongosh(mongo):
    plan = run("--plan", "--presplit", "4", "--zones", "--shard", "a", "--shard", "b").splitlines()
    comments = f'"{mongo.name}.comments"'
    whole = [f'{{"discussion_id": "{digits}", "slug": MinKey()}}' for digits in ("4000", "8000", "c000")]
    assert [line for line in plan if line.startswith(f'db.adminCommand({{"split": {comments},')] == [
        f'db.adminCommand({{"split": {comments}, "middle": {edge}}})' for edge in whole
    ]
    first, last = (f'{{"discussion_id": {one}(), "slug": {one}()}}' for one in ("MinKey", "MaxKey"))
    edges = list(pairwise([first, *whole, last]))
    assert [line for line in plan if line.startswith(f'db.adminCommand({{"moveRange": {comments},')] == [
        f'db.adminCommand({{"moveRange": {comments}, "min": {low}, "max": {high}, "toShard": "{shard}"}})'
        for (low, high), shard in zip(edges, "abab", strict=True)
    ]
    assert 'db.adminCommand({"addShardToZone": "b", "zone": "b"})' in plan
    assert f'"min": {whole[0]}, "max": {whole[1]}, "zone": "b"}})' in "\n".join(plan)
    assert any('"middle": {"files_id": ObjectId("800000000000000000000000"), "n": MinKey()}' in line for line in plan)


def test_ranges_with_documents_are_not_moved(mongo):
    mongo["comments.ip_hashes"].insert_one({"discussion_id": "4123:x.y:1", "slug": "a", "ip_hash": "h", "at": now()})
    plan = run("--plan", "--presplit", "4", "--shard", "a", "--shard", "b")
    assert "= comments.ip_hashes: 1 ranges contain data" in plan
    moved = re.findall(r'"moveRange": ".*\.comments\.ip_hashes", "min": \{"discussion_id": (.+?),', plan)
    assert moved == ["MinKey()", '"8000"', '"c000"']


def test_hashed_ranges_are_split_unless_the_server_does_it(mongo):
    """The server distributes a hashed collection that is empty, and leaves others on one shard."""

    def plan() -> list[str]:
        lines = run("--plan", "--presplit", "4", "--shard", "a", "--shard", "b").splitlines()
        return [
            line for line in lines if f'"{mongo.name}.discussions", "middle"' in line or '.discussions", "min' in line
        ]

    assert plan() == []
    Discussions(mongo, lambda target: Storage("documents", Order.OLDEST, Order.OLDEST, 100)).begin(Target("a.b", "1"))
    middles = [f'{{"_id": NumberLong("{(n << 62) - (1 << 63)}")}}' for n in (1, 2, 3)]
    assert plan() == [
        f'db.adminCommand({{"split": "{mongo.name}.discussions", "middle": {middle}}})' for middle in middles
    ]


def test_evenly_distributed_chunks_are_left_alone(mongo, monkeypatch):
    """As MongoDB 8.0 does: with two shards, one boundary equals one of the plan."""
    entries = {f"{mongo.name}.discussions": {"uuid": 1}}
    halves = [{"min": {"_id": MinKey()}, "shard": "a"}, {"min": {"_id": Int64(0)}, "shard": "b"}]
    monkeypatch.setattr(ranges.keys, "is_mongos", lambda alias: True)
    monkeypatch.setattr(ranges.keys, "sharded", lambda alias: entries)
    monkeypatch.setattr(ranges.keys, "chunks", lambda alias, entry: halves)

    def cut() -> list[Any]:
        told = ranges.presplit(4, shards=("a", "b")).steps
        return [step for step in told if f"{mongo.name}.discussions" in step.command.values()]

    assert cut() == []
    halves[1]["shard"] = "a"
    assert [list(step.command)[0] for step in cut()] == ["split", "split"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--presplit", "8"], "Specify each with --shard"),
        (["--presplit", "1", "--shard", "a"], "from 2 to 4096"),
        (["--presplit", "4097", "--shard", "a"], "from 2 to 4096"),
        (["--zones"], "need --presplit"),
        (["--shard", "a"], "need --presplit"),
    ],
)
def test_impossible_ranges_are_refused(mongo, words, why):
    with pytest.raises(CommandError, match=why):
        run("--plan", *words)


@pytest.mark.slow
def test_plan_lists_untargeted_queries_with_their_reasons(mongo, monkeypatch):
    node()
    assert "! cms.nodes: “the section tree” queries every shard  Sections are few" in run("--plan")
    for known in targeting.broadcasts():
        assert known.reason in run("--plan")
    careless = HotQuery("everything", "cms.nodes", lambda document: {"filter": {}})
    monkeypatch.setattr("marginalia.mongo.doctor.queries.hot_queries", lambda: [careless])
    assert "! cms.nodes: “everything” queries every shard  No reason is given" in run("--plan")


def test_index_of_a_refused_key_is_dropped(mongo):
    (statement, *_) = [s for s in sharding.plan() if s.index]
    before = set(mongo[statement.collection].index_information())
    with pytest.raises(sharding.CannotShard):
        sharding.apply(statement)
    assert set(mongo[statement.collection].index_information()) == before


def test_server_without_mongos_is_refused_with_the_plan(mongo):
    out = StringIO()
    with pytest.raises(CommandError, match="not a mongos"):
        call_command("setup_shards", stdout=out)
    assert "shard by" in out.getvalue()


def test_status_reports_that_nothing_is_sharded(mongo):
    assert "not a mongos" in run("--status")


@pytest.mark.parametrize(
    ("index", "key", "refused"),
    [
        (Index("u", AB, unique=True), ShardKey((("a", 1),)), False),
        (Index("u", AB, unique=True), ShardKey(AB, unique=True), False),
        (Index("u", AB, unique=True), ShardKey((("b", 1),)), True),
        (Index("u", AB, unique=True), ShardKey((("a", "hashed"),)), True),
        (Index("u", AB), ShardKey((("b", 1),)), False),
        (Index("u", AB), ShardKey(AB, unique=True), True),
    ],
)
def test_keys_that_conflict_with_a_unique_index_are_refused(index, key, refused):
    assert bool(sharding.shard_key_problems(Collection("c", (index,), key))) is refused


def test_wrong_declarations_fail_the_checks(monkeypatch):
    assert check_declarations() == []
    wrong = [
        Collection("one", (Index("i", AB), Index("i", AB)), unsharded_because="small"),
        Collection("two", (Index("u", AB, unique=True),), ShardKey((("b", 1),))),
        Collection("three"),
    ]
    declared = [DeclaredCollection("default", collection) for collection in wrong]
    monkeypatch.setattr("marginalia.mongo.checks.declared_collections", lambda: declared)
    assert [message.id for message in check_declarations()] == ["mongo.E002", "mongo.E003", "mongo.W004"]


def test_refusal_of_the_server_is_one_sentence(mongo):
    (statement, *_rest) = [s for s in sharding.plan() if s.collection]
    with pytest.raises(sharding.CannotShard, match=f"^{statement.collection}: .*shardCollection"):
        sharding.apply(statement)
