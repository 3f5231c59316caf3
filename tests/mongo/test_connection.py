"""Timeouts of the driver's client."""

import socket
import time

import pymongo
import pytest
from django.db import connection, connections
from pymongo import MongoClient
from pymongo.errors import ExecutionTimeout, PyMongoError, ServerSelectionTimeoutError
from pymongo.server_description import ServerDescription

from marginalia.mongo.connection import client, database, first_batch, server_selection_time_limit, time_limit
from marginalia.mongo.engine import secondaries
from marginalia.mongo.engine.read_tracking import watch_reads
from marginalia.mongo.servers import is_outage, outage_after, primary_answers
from nodes.models import stored_site

# No server listens on this port.
NOWHERE = "mongodb://127.0.0.1:9/?replicaSet=none"


def test_first_command_of_a_request_respects_its_time_limit(mongo, monkeypatch):
    """With timeoutMS, the driver ignores that limit.

    Every request in an outage would wait as long as a whole operation.
    """
    began = time.monotonic()
    with MongoClient(NOWHERE, serverSelectionTimeoutMS=200, timeoutMS=60_000) as unreachable:
        monkeypatch.setattr("marginalia.mongo.connection.client", lambda *_alias: unreachable)
        with server_selection_time_limit(), pytest.raises(ServerSelectionTimeoutError):
            unreachable.site.kept.find_one()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "read",
    [
        stored_site.read,
        lambda: stored_site.read_with(stored_site.ExtraQuery("discussions", {"_id": "x"}, ("version",))),
    ],
)
def test_reading_the_site_respects_the_time_limit(mongo, monkeypatch, read):
    began = time.monotonic()
    unreachable = MongoClient(NOWHERE, serverSelectionTimeoutMS=200, timeoutMS=60_000)
    with unreachable, monkeypatch.context() as patch:
        patch.setattr(connections["default"], "database", unreachable["site"])
        with pytest.raises(PyMongoError) as raised:
            read()
    assert is_outage(raised.value)
    assert time.monotonic() - began < 10


def test_slow_round_trips_do_not_shorten_time_limits(mongo, monkeypatch):
    """The driver measured a round trip of seconds, and would refuse to send a command with less time."""
    monkeypatch.setattr(ServerDescription, "min_round_trip_time", 2.5)
    with pytest.raises(ExecutionTimeout), pymongo.timeout(2.0):
        mongo.things.find_one()
    with time_limit(0.5):
        mongo.things.insert_one({"_id": 1})
    assert primary_answers(seconds=0.5)
    with outage_after(0.5):
        assert mongo.things.find_one() == {"_id": 1}


def test_time_limit_includes_connecting(mongo, monkeypatch):
    began = time.monotonic()
    with MongoClient(NOWHERE, timeoutMS=60_000) as unreachable:

        def connected(*_alias):
            unreachable.admin.command("ping")
            return unreachable

        monkeypatch.setattr("marginalia.mongo.connection.client", connected)
        with pytest.raises(ServerSelectionTimeoutError), time_limit(0.2):
            pass
    assert time.monotonic() - began < 10


def test_setting_a_time_limit_reads_nothing(mongo):
    """Otherwise no page with comments of another database would be cached."""
    with watch_reads() as reads, outage_after(1.0):
        pass
    assert not reads.has_untracked
    with watch_reads() as reads, outage_after(1.0):
        database()
    assert reads.has_untracked


def test_first_batch_is_retried_on_a_broken_connection(mongo, commands):
    mongo.things.insert_many([{"_id": 1, "n": 1}, {"_id": 2, "n": 2}])
    break_connections()
    with commands.recorded():
        assert first_batch("find", "things", filter={"_id": 2}) == [{"_id": 2, "n": 2}]
    # A thread of an earlier test may send a command meanwhile.
    assert commands.names.count("find") == 2
    found = first_batch("aggregate", "things", pipeline=[{"$sort": {"_id": 1}}], cursor={})
    assert [document["n"] for document in found] == [1, 2]


def test_reads_in_the_block_can_use_secondaries(mongo, commands):
    mongo.things.insert_one({"_id": 1})
    with commands.recorded(), secondaries.reading():
        assert first_batch("find", "things", filter={"_id": 1}) == [{"_id": 1}]
        assert database().things.find_one() == {"_id": 1}
        assert connection.get_collection("things").find_one() == {"_id": 1}
    assert [event.command["$readPreference"]["mode"] for event in commands.sent] == ["primaryPreferred"] * 3
    assert [event.command["readConcern"] for event in commands.sent] == [{"level": "majority"}] * 3
    with commands.recorded():
        database().things.find_one()
    assert "$readPreference" not in commands.sent[-1].command


def break_connections():
    """Close the driver's idle connections."""
    for server in client()._topology._servers.values():
        for pooled in server.pool.conns:
            pooled.conn.sock.shutdown(socket.SHUT_RDWR)
