"""The doctor on exhausted resources, lag and known faults, and on clusters, by the responses of their servers."""

import pytest
from bson import Binary, ObjectId
from pymongo import MongoClient

from marginalia.mongo import doctor, status
from marginalia.mongo.connection import database
from marginalia.mongo.doctor import ADVICE, ERROR, WARNING, capacity, cluster, topology

GIB = 1024**3


def findings(check) -> list[doctor.Finding]:
    """Return the findings of a check on the tests' server, without collections."""
    return list(check(doctor.Examination("default", database(), (), production=False)))


def found(check) -> dict[str, str]:
    return {finding.name: finding.level for finding in findings(check)}


def test_lagging_member_is_reported(mongo, monkeypatch):
    assert found(capacity.replication) == {}
    monkeypatch.setattr(status, "oplog", lambda alias: None)
    monkeypatch.setattr(status, "members", lambda alias: status.Members(1, (), {"db2:27017": 61, "db3:27017": 59}))
    (finding,) = findings(capacity.replication)
    assert (finding.name, finding.level, finding.where) == ("replication-lag", WARNING, "db2:27017")


@pytest.mark.parametrize(
    ("seconds", "filled", "is_short"), [(3600, 0.95, True), (3600, 0.5, False), (90_000, 0.95, False)]
)
def test_full_short_oplog_is_reported(mongo, monkeypatch, seconds, filled, is_short):
    monkeypatch.setattr(status, "oplog", lambda alias: status.Oplog(seconds, filled))
    assert found(capacity.replication) == {}, "a set of one"
    monkeypatch.setattr(status, "members", lambda alias: status.Members(1, (), {"db2:27017": 0}))
    assert found(capacity.replication) == ({"oplog-short": WARNING} if is_short else {})


@pytest.mark.parametrize(
    ("total", "free", "is_low"), [(100, 9, True), (100, 11, False), (2_000, 19, True), (2_000, 21, False)]
)
def test_filling_disk_is_reported(mongo, monkeypatch, total, free, is_low):
    monkeypatch.setattr(status, "disk", lambda alias: status.Disk(total * GIB, free * GIB))
    assert found(capacity.disk_space) == ({"disk-low": WARNING} if is_low else {})


def test_exhausted_connections_are_reported(mongo, monkeypatch):
    assert found(capacity.connections) == {}
    monkeypatch.setattr(status, "server", lambda alias: status.Server(810, 1_000))
    assert found(capacity.connections) == {"connections-few": WARNING}


def test_pool_larger_than_the_server_allows_is_reported(mongo, monkeypatch):
    with MongoClient(*mongo.client.address, maxPoolSize=10_000_000, directConnection=True) as greedy:
        monkeypatch.setattr(capacity, "client", lambda alias: greedy)
        assert found(capacity.connections) == {"pool-above-limit": WARNING}


LEAK, LOST = "CVE-2025-14847", "the alert of April 2024"
SCRIPT, ITEMS, ADVISORY, CATCH_UP = "CVE-2026-11933", "CVE-2026-82058", "SERVER-131805", "CVE-2026-118383"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("6.0.5", {LEAK: "6.0.27", LOST: "6.0.14", SCRIPT: "6.0.29", CATCH_UP: "6.0.30"}),
        ("7.0.8", {LEAK: "7.0.28", SCRIPT: "7.0.37", ITEMS: "7.0.41", CATCH_UP: "7.0.48"}),
        ("8.0.29", {ITEMS: "8.0.30", CATCH_UP: "8.0.37"}),
        ("8.2.3", {SCRIPT: "8.2.11"}),
        ("8.3.12", {ADVISORY: "8.3.13", CATCH_UP: "8.3.16"}),
        ("9.0.0", {CATCH_UP: "9.0.7"}),
        *[(fixed, {}) for fixed in ("6.0.30", "7.0.48", "8.0.37", "8.2.11", "8.3.16", "9.0.7", "9.1.0")],
    ],
)
def test_versions_with_known_faults_are_reported(version, expected):
    numbers = [int(number) for number in version.split(".")]
    assert {fault.name: fixed_version for fault, fixed_version in topology.known_faults([*numbers, 0])} == expected


def test_known_faults_of_the_server_are_findings(mongo):
    assert found(topology.server_faults).get("server-faulty") in (ADVICE, None)


@pytest.fixture
def config(mongo):
    """A database with the collections of a config server, dropped after the test."""
    name = f"{mongo.name}_config"
    yield mongo.client[name]
    mongo.client.drop_database(name)


def test_stopped_balancer_is_reported(config):
    assert cluster.is_balancing(config)
    config.settings.insert_one({"_id": "balancer", "mode": "full", "stopped": False})
    assert cluster.is_balancing(config)
    for said in ({"mode": "off", "stopped": True}, {"stopped": True}, {"mode": "off"}):
        config.settings.replace_one({"_id": "balancer"}, said)
        assert not cluster.is_balancing(config), said


def test_jumbo_chunks_are_counted_by_collection(config):
    assert cluster.jumbo_chunks(config) == {}
    nodes, gone = Binary(b"n" * 16, 4), Binary(b"g" * 16, 4)
    config.collections.insert_one({"_id": "marginalia.cms.nodes", "uuid": nodes})
    config.chunks.insert_many([{"uuid": uuid, "jumbo": True} for uuid in (nodes, nodes, gone)])
    config.chunks.insert_many([{"uuid": nodes}, {"uuid": nodes, "jumbo": False}, {"_id": ObjectId(), "uuid": gone}])
    assert cluster.jumbo_chunks(config) == {"marginalia.cms.nodes": 2, str(gone): 1}


def test_shards_without_a_primary_are_reported(config):
    config.shards.insert_many([{"_id": f"shard-{name}", "host": f"{name}/db-{name}:27018"} for name in "abc"])
    well, second = {"ok": True, "ismaster": True}, {"ok": True, "ismaster": False}
    away = {"ok": False, "ismaster": False}
    sets = {"a": {"hosts": [second, well]}, "b": {"hosts": [second, away]}}
    assert cluster.unreachable_shards(config, {"replicaSets": sets}) == ["shard-b"]
    sets["b"] = {"hosts": [well]}
    assert cluster.unreachable_shards(config, {"replicaSets": sets}) == []


def test_replica_set_has_no_cluster_findings(mongo, monkeypatch):
    assert found(cluster.shards) == {}


def test_findings_of_a_mongos_are_reported(config, monkeypatch):
    """A server that claims to be a mongos, and responds like a cluster with all three problems."""
    config.settings.insert_one({"_id": "balancer", "stopped": True})
    config.chunks.insert_one({"uuid": Binary(b"n" * 16, 4), "jumbo": True})
    config.shards.insert_one({"_id": "shard-a", "host": "a/db-a:27018"})

    class Mongos(dict):
        admin = property(lambda self: self)

        def command(self, name):
            assert name == "connPoolStats"
            return {"replicaSets": {"a": {"hosts": [{"ok": False}]}}}

    monkeypatch.setattr(cluster, "client", lambda alias: Mongos(config=config))
    monkeypatch.setattr(cluster.sharding, "is_mongos", lambda alias: True)
    assert found(cluster.shards) == {"balancer-off": ADVICE, "chunk-jumbo": WARNING, "shard-unreachable": ERROR}
