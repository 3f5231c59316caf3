"""Starting the site and the worker while MongoDB is unusable: quick responses, and a first log line with the cause."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pymongo import MongoClient

from marginalia.local.ports import free_port
from marginalia.testing.mongod import EphemeralMongod, Member
from tests.support.processes import ROOT, until
from tests.support.running import served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("django_db_setup")]

# (URI, pattern of the first log line) for servers that end with the stack.
Situation = Callable[[Path, ExitStack], tuple[str, str]]


def away(folder: Path, stack: ExitStack) -> tuple[str, str]:
    port = free_port()
    return f"mongodb://127.0.0.1:{port}/?replicaSet=rs0", rf"MongoDB doesn't answer. 127.0.0.1:{port}: .*refused"


def silent(folder: Path, stack: ExitStack) -> tuple[str, str]:
    """A listening socket that nobody reads from, like a hanging machine."""
    listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    port = listening.getsockname()[1]
    return (
        f"mongodb://127.0.0.1:{port}/?replicaSet=rs0",
        rf"MongoDB doesn't answer. 127.0.0.1:{port}: (silent|timed out)\.",
    )


def wrong_password(folder: Path, stack: ExitStack) -> tuple[str, str]:
    key = folder / "key"
    key.write_text("a" * 32)
    key.chmod(0o600)
    server = stack.enter_context(Member(folder / "data", key=key))
    with server.client() as client:
        client.admin.command(
            "replSetInitiate", {"_id": server.replset, "members": [{"_id": 0, "host": server.address}]}
        )
        until(lambda: client.admin.command("hello")["isWritablePrimary"])
    uri = server.uri.replace("mongodb://", "mongodb://site:wrong@")
    return f"{uri}&authSource=admin", "MongoDB refuses the username or password in MONGODB_URI"


def wrong_ca(folder: Path, stack: ExitStack) -> tuple[str, str]:
    for name in ("server", "other"):
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "server.key").read_text() + (folder / "server.pem").read_text())
    tls = ["--tlsMode", "preferTLS", "--tlsCertificateKeyFile", str(both), "--tlsCAFile", str(folder / "server.pem")]
    tls += ["--tlsAllowConnectionsWithoutCertificates"]
    server = stack.enter_context(EphemeralMongod(extra_args=tls))
    cause = rf"The TLS connection to MongoDB failed. {server.members[0].address}: .*certificate verify failed"
    return f"{server.uri}&tls=true&tlsCAFile={folder}/other.pem", cause


def lost_quorum(folder: Path, stack: ExitStack) -> tuple[str, str]:
    server = stack.enter_context(EphemeralMongod(members=3))
    names = [member.address for member in server.members]
    with MongoClient(server.uri) as client:
        client.admin.command("ping", read_preference=client.read_preference)
    for member in server.members[1:]:
        member.kill()
    with server.members[0].client() as client:
        until(lambda: not client.admin.command("hello")["isWritablePrimary"], seconds=60)
    cause = (
        f"The replica set marginalia has no primary. Reached: {names[0]} .* Not reached: {', '.join(sorted(names[1:]))}"
    )
    return server.uri, cause


@pytest.fixture(params=[away, silent, wrong_password, wrong_ca, lost_quorum], ids=lambda make: make.__name__)
def situation(request, tmp_path) -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        yield request.param(tmp_path, stack)


def first_line(log: Path) -> str:
    return log.read_text().partition("\n")[0]


def test_site_responds_at_once_and_logs_the_cause_first(situation, tmp_path):
    uri, cause = situation
    with served(tmp_path, TEST_MONGODB_URI=uri, METRICS_NETWORKS="127.0.0.0/8") as web:
        for path in ("/", "/", "/about", "/admin/", "/api/v1/nodes"):
            began = time.monotonic()
            status, headers, _body = web.get(path)
            took = time.monotonic() - began
            # Less than any timeout of the driver. The request's log line reports about 0.1 s.
            assert (status, took < 4, "retry-after" in headers) == (503, True, True), (path, took, web.log.read_text())
        assert (web.get("/healthz")[0], web.get("/readyz")[0]) == (200, 503)
        status, _headers, metrics = web.get("/metrics")
        assert (status, b"marginalia_mongodb_up 0.0" in metrics) == (200, True)
        assert re.search(f" ERROR marginalia.mongo.servers - {cause}", first_line(web.log)), web.log.read_text()


def manage(words: list[str], uri: str, folder: Path) -> tuple[int, str]:
    """Run a command of manage.py, and return its exit code and output."""
    own = {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_MONGODB_URI": uri, "VAR_DIR": str(folder)}
    environment = {**os.environ, **own, "MONGODB_TIMEOUT_MS": "10000"}
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


def test_worker_logs_the_cause_first(situation, tmp_path):
    uri, cause = situation
    code, printed = manage(["work"], uri, tmp_path)
    first, last = printed.splitlines()
    assert re.search(f" ERROR marginalia.mongo.servers - {cause}", first), printed
    assert re.match(f"CommandError: {cause}", last), printed
    assert code == 2


@pytest.mark.parametrize("situation", [wrong_password, lost_quorum], indirect=True)
def test_doctor_reports_the_cause_and_no_documents(situation, tmp_path):
    uri, cause = situation
    code, printed = manage(["doctor"], uri, tmp_path)
    assert re.match(rf"error \[unreachable\] default: {cause}", printed), printed
    assert "1 error, 0 warnings" in printed
    assert "malformed" not in printed
    assert code == 2
