"""The embedded server: owned by one process, found by others, protected by a password, restarted when it dies."""

import os
import shutil
import signal
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from marginalia.local.embedded import Embedded
from marginalia.local.mongod import MongodError, initiate
from marginalia.local.ports import listener
from marginalia.local.processes import command_line
from marginalia.testing.mongod import Member
from tests.support.processes import python, until

pytestmark = pytest.mark.slow

OWNER = """
import os, pathlib
from marginalia.local.embedded import uri_for
print(uri_for(pathlib.Path(os.environ["VAR"])), flush=True)
input()
"""


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    until(lambda: not command_line(pid))


@contextmanager
def started(var):
    server = Embedded(var)
    server.start()
    yield server
    server.stop()
    assert server.running() is None


@pytest.fixture
def server(tmp_path):
    """The server of a fresh var folder, owned by the test."""
    with started(tmp_path / "var") as server:
        yield server


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory):
    """A server that no test stops or restarts."""
    with started(tmp_path_factory.mktemp("shared") / "var") as server:
        yield server


def keep_a_document(server):
    with MongoClient(server.running().uri) as client:
        client.site.kept.insert_one({"_id": 1})


def has_the_document(state):
    with MongoClient(state.uri) as client:
        return client.site.kept.count_documents({"_id": 1}) == 1


def test_server_is_a_replica_set_on_loopback_without_compression(shared_server):
    state = shared_server.running()
    with MongoClient(state.uri) as client:
        hello = client.admin.command("hello")
        options = client.admin.command("getCmdLineOpts")["parsed"]
    assert hello["hosts"] == [f"127.0.0.1:{state.port}"]
    assert hello["isWritablePrimary"]
    assert options["net"]["bindIp"] == "127.0.0.1"
    assert options["net"]["compression"]["compressors"] == "disabled"
    assert listener(state.port) == state.pid


def test_client_without_the_password_reads_and_creates_nothing(shared_server):
    state = shared_server.running()
    with MongoClient(f"mongodb://127.0.0.1:{state.port}/?directConnection=true") as stranger:
        for ask in (
            lambda: stranger.marginalia.auth_user.find_one(),
            lambda: stranger.list_database_names(),
            lambda: stranger.admin.command("createUser", "stranger", pwd="x", roles=["root"]),
        ):
            with pytest.raises(OperationFailure, match="requires authentication"):
                ask()
    keep_a_document(shared_server)
    assert has_the_document(state)


def test_secrets_are_readable_only_by_their_owner(shared_server):
    state = shared_server.running()
    password = state.uri.partition("@")[0].rpartition(":")[2]
    assert len(password) > 30
    private = [shared_server.var / name for name in ("mongod.json", "mongod.key", "log/mongod.log")]
    assert [path.stat().st_mode & 0o777 for path in private] == [0o600] * 3
    assert shared_server.dbpath.stat().st_mode & 0o777 == 0o700
    lines = [command_line(int(path.name)) for path in Path("/proc").glob("[0-9]*")]
    assert not [line for line in lines if password in line]
    assert password not in shared_server.log.read_text()


def test_world_readable_folder_is_closed(tmp_path):
    var = tmp_path / "var"
    (var / "mongod").mkdir(parents=True)
    (var / "mongod.json").write_text("{}")
    (var / "mongod.json").chmod(0o644)
    server = Embedded(var)
    server.start()
    server.stop()
    assert (var / "mongod.json").stat().st_mode & 0o777 == 0o600
    assert (var / "mongod").stat().st_mode & 0o777 == 0o700


def test_other_processes_connect_and_only_the_owner_stops_it(server):
    state = server.running()
    other = Embedded(server.var)
    assert other.running() == state
    with pytest.raises(MongodError, match=rf"Process {os.getpid()} \(.*\) already runs the MongoDB of {server.var}"):
        other.start(patience=0)
    other.stop()
    assert server.running() == state
    server.stop()
    assert command_line(state.pid) == ""


def test_two_concurrent_starts_give_one_owner(tmp_path):
    both = [python(OWNER, VAR=str(tmp_path)) for _ in range(2)]
    uris = {process.stdout.readline().strip() for process in both}
    owner = Embedded(tmp_path).running().owner
    assert uris == {Embedded(tmp_path).running().uri}
    assert owner in {process.pid for process in both}
    for process in sorted(both, key=lambda process: process.pid == owner):
        process.communicate("\n")
        assert process.returncode == 0
    assert Embedded(tmp_path).running() is None


def test_mongod_ends_with_a_killed_owner_without_losses(tmp_path):
    process = python(OWNER, VAR=str(tmp_path))
    uri = process.stdout.readline().strip()
    server = Embedded(tmp_path)
    before = server.running()
    assert uri == before.uri
    keep_a_document(server)
    process.kill()
    process.wait()
    after = server.start()
    assert command_line(before.pid) == ""
    assert has_the_document(after)
    server.stop()


@pytest.mark.parametrize("victims", [["mongod"], pytest.param(["guard", "mongod"], marks=pytest.mark.slow), ["guard"]])
def test_owner_restarts_mongod_on_the_same_port(server, victims):
    keep_a_document(server)
    before = server.running()
    guard = int(Path(f"/proc/{before.pid}/stat").read_text().rpartition(")")[2].split()[1])
    said = []
    server.ensure_running(said.append)
    assert said == []
    for victim in victims:
        os.kill({"mongod": before.pid, "guard": guard}[victim], signal.SIGKILL)
    until(lambda: server.ensure_running(said.append) or said, seconds=40)
    after = server.running()
    assert f"was restarted as process {after.pid} on port {after.port}." in said[-1]
    assert (after.uri, after.port) == (before.uri, before.port)
    assert command_line(before.pid) == ""
    assert has_the_document(after)


def test_owner_retries_a_failed_restart(server):
    said = []
    (server.var / "mongod.key").chmod(0o644)
    kill(server.running().pid)
    until(lambda: server.ensure_running(said.append) or said)
    server.ensure_running(said.append)
    assert len(said) == 1
    assert "Next attempt in 5 s: mongod did not start" in said[0]
    (server.var / "mongod.key").chmod(0o600)
    until(lambda: server.ensure_running(said.append) or len(said) == 2)
    assert server.running()


def test_copy_of_the_folder_has_its_own_server(server):
    """Copied while the server is down, as documented. Then both run, whichever starts first."""
    keep_a_document(server)
    port = server.running().port
    server.stop()
    copy = Embedded(server.var.with_name("copy"))
    shutil.copytree(server.var, copy.var)
    assert copy.running() is None
    copied = copy.start()
    assert copied.port != port
    original = server.start()
    assert original.port == port
    assert has_the_document(copied)
    assert has_the_document(original)
    assert copied.uri != original.uri
    with MongoClient(copied.uri) as client:
        assert client.admin.command("hello")["hosts"] == [f"127.0.0.1:{copied.port}"]
    copy.stop()
    assert has_the_document(server.running())


def test_copy_of_a_running_folder_does_not_find_the_original(server):
    copy = Embedded(server.var.with_name("copy"))
    copy.var.mkdir()
    shutil.copy2(server.var / "mongod.json", copy.var)
    assert copy.running() is None


def test_port_in_use_is_replaced_by_another(server):
    keep_a_document(server)
    port = server.running().port
    server.stop()
    with socket.socket() as stranger:
        # Connections to the previous server may still be closing.
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", port))
        stranger.listen()
        state = server.start()
        assert state.port != port
        assert has_the_document(state)


def test_data_of_a_server_without_users_are_migrated(tmp_path):
    """A folder of a version that did not authenticate its clients."""
    with Member(tmp_path / "mongod") as before, MongoClient(initiate([before])) as client:
        client.site.kept.insert_one({"_id": 1})
    server = Embedded(tmp_path)
    assert has_the_document(server.start())
    server.stop()


def test_data_in_use_by_another_program_are_refused(tmp_path):
    with Member(tmp_path / "mongod") as other:
        with pytest.raises(MongodError, match=rf"process {other.pid}\) uses the data"):
            Embedded(tmp_path).start()
        assert other.alive
