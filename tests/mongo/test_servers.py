"""Servers that the site accepts, and the one sentence for those that it refuses."""

import os
import socket
import struct
import threading

import bson
import pytest
from django.db import DatabaseError
from pymongo.errors import OperationFailure, WriteConcernError

from marginalia.mongo.servers import (
    UnsuitableServer,
    check,
    is_outage,
    knows_primary,
    knows_secondary,
    primary_answers,
    secondary_answers,
    unmet_write_concern,
    unsuitable,
)
from marginalia.testing.mongod import Member


def refusal(uri):
    with pytest.raises(UnsuitableServer) as caught:
        check(uri, timeout=1)
    text = str(caught.value)
    assert "\n" not in text
    assert "secret" not in text
    return text


def test_replica_set_is_accepted():
    assert check(os.environ["TEST_MONGODB_URI"]).startswith("127.0.0.1:")


def test_mongos_is_accepted():
    assert unsuitable({"msg": "isdbgrid"}, [7, 0, 5, 0]) == ""


def test_standalone_server_is_refused(tmp_path):
    with Member(tmp_path / "data", replset="") as server:
        for uri in (server.uri, f"mongodb://{server.address}/?replicaSet=rs0&w=majority"):
            assert "is a standalone server, and Marginalia needs a replica set or a mongos" in refusal(uri)
        assert "refuses the username or password" in refusal(f"mongodb://ann:secret@{server.address}/")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("hosts", ["127.0.0.1:9", "127.0.0.1:9,127.0.0.1:10"])
def test_unreachable_server_is_refused(hosts):
    assert refusal(f"mongodb://ann:secret@{hosts}/?replicaSet=rs0").startswith(f"MongoDB at {hosts} cannot be reached")


def test_replica_set_of_another_name_is_refused():
    uri = os.environ["TEST_MONGODB_URI"].replace("replicaSet=", "replicaSet=other-")
    assert "other-" in refusal(uri)


@pytest.mark.parametrize("uri", ["nonsense", "mongodb://ann:sec@ret@host/", "mongodb://127.0.0.1/?nonsense=1"])
def test_malformed_address_is_refused(uri):
    assert refusal(uri).startswith("MONGODB_URI is not a MongoDB connection string")


def test_old_server_is_refused(old_server):
    assert "is version 5.0.31, and Marginalia needs 6.0 or later" in refusal(f"mongodb://127.0.0.1:{old_server}/")


@pytest.mark.parametrize(
    ("w", "reason"), [(7, "Not enough data-bearing nodes"), ("twoCentres", "No write concern mode")]
)
def test_impossible_write_concern_is_reported(w, reason):
    entry = {"HOST": os.environ["TEST_MONGODB_URI"], "NAME": "test_none", "OPTIONS": {"w": w}}
    assert unmet_write_concern(entry).startswith(f"MongoDB can't meet MONGODB_WRITE_CONCERN. It reports: {reason}")


@pytest.mark.parametrize("options", [{}, {"w": "majority"}, {"w": 1}])
def test_possible_write_concern_is_accepted(options):
    entry = {"HOST": os.environ["TEST_MONGODB_URI"], "NAME": "test_none", "OPTIONS": options}
    assert unmet_write_concern(entry) == ""


def test_write_concern_is_not_checked_during_an_outage():
    assert unmet_write_concern({"HOST": "mongodb://127.0.0.1:9/", "NAME": "test_none", "OPTIONS": {"w": 7}}) == ""


@pytest.fixture
def old_server():
    """The port of a server that responds to `hello` and `buildInfo` like MongoDB 5.0."""
    hello = {"isWritablePrimary": True, "setName": "rs0", "minWireVersion": 0, "maxWireVersion": 13, "ok": 1.0}
    answer = {
        **hello,
        "helloOk": True,
        "version": "5.0.31",
        "versionArray": [5, 0, 31, 0],
        "maxBsonObjectSize": 16777216,
    }
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=(listening, bson.encode(answer)), daemon=True).start()
        yield listening.getsockname()[1]


def accept(listening, answer):
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(connection, answer), daemon=True).start()


def serve(connection, answer):
    """Respond to every message, OP_QUERY (the first greeting) and OP_MSG, with the same document."""
    with connection, connection.makefile("rb") as stream:
        while len(header := stream.read(16)) == 16:
            length, request, _, opcode = struct.unpack("<iiii", header)
            stream.read(length - 16)
            body = struct.pack("<iqii", 0, 0, 0, 1) if opcode == 2004 else struct.pack("<iB", 0, 0)
            reply = 1 if opcode == 2004 else 2013
            connection.sendall(struct.pack("<iiii", 16 + len(body) + len(answer), 1, request, reply) + body + answer)


def test_known_server_state_is_returned_without_a_query(mongo):
    """A replica set of one has a primary, and no secondary."""
    assert primary_answers()
    assert knows_primary()
    assert not knows_secondary()
    assert not secondary_answers(seconds=0.2)


def test_write_without_its_concern_counts_as_an_outage(mongo):
    """The server steps down or stops while the write waits for other members. The ORM only reports an error."""
    failed = DatabaseError("Save with update_fields did not affect any rows.")
    failed.__cause__ = WriteConcernError("operation was interrupted", 11602)
    assert is_outage(failed)
    assert not is_outage(OperationFailure("a duplicate or so", 11000))
