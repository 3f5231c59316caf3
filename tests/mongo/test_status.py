"""The state of a server, read from its responses."""

from datetime import UTC, datetime, timedelta

import pytest
from pymongo import MongoClient
from pymongo.errors import ServerSelectionTimeoutError

from marginalia.mongo import status

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def member(name: str, state: int, behind: float = 0) -> dict:
    return {"name": name, "state": state, "optimeDate": MOMENT - timedelta(seconds=behind)}


def test_lag_is_measured_from_the_primary():
    said = status.parse_members(
        {
            "term": 7,
            "members": [member("a", 1), member("b", 2, 90), member("c", 2), member("d", 8, 500), member("e", 7)],
        }
    )
    assert said == status.Members(7, ("d",), {"b": 90, "c": 0})


def test_lag_is_zero_without_a_primary():
    assert status.parse_members({"term": 7, "members": [member("a", 2), member("b", 2, 90)]}).lag == {}


def test_replica_set_status_is_read(mongo):
    members = status.members()
    assert members.term >= 1
    assert (members.down, members.lag) == ((), {})
    assert status.oplog().seconds >= 0
    server, disk = status.server(), status.disk()
    assert 0 < server.connections < server.max_connections
    assert 0 < disk.free < disk.total


def test_unavailable_values_are_none(mongo, monkeypatch):
    assert status._run_if_allowed(mongo, "noSuchCommand") is None
    with MongoClient("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50") as unreachable:
        monkeypatch.setattr("marginalia.mongo.status.client", lambda alias: unreachable)
        with pytest.raises(ServerSelectionTimeoutError):
            status.members()
