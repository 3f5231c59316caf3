"""A restart as in docs/how-to/upgrade.md: two instances on one socket restart in turn, while readers send requests."""

import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.db import connection

from cms.testing.build import node
from tests.docs.pages import started_by
from tests.support.nginx import nginx
from tests.support.processes import until
from tests.support.raw_posts import BODY, POST
from tests.support.running import Service

pytestmark = pytest.mark.slow
READERS = 4
PAGE = b"GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture
def instances(mongo, tmp_path) -> Iterator[tuple[int, list[Service]]]:
    """The port, and two running instances."""
    node(title="Ours")
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "WEB_CONCURRENCY": "1",
        "VAR_DIR": str(tmp_path),
        "TEST_MONGODB_NAME": connection.settings_dict["NAME"],
        "SECRET_KEY": settings.SECRET_KEY,
    }
    command = [sys.executable, *started_by("marginalia@.service")[1:]]
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        both = [Service(command, listening, tmp_path, environment) for _ in range(2)]
        try:
            for one in both:
                one.start()
            yield listening.getsockname()[1], both
        finally:
            for one in both:
                one.stop()
            log = (tmp_path / "service.log").read_text()
    assert "Traceback" not in log, log
    assert "SIGKILL" not in log, log


def asked(port: int, sent: bytes) -> bytes:
    """Return the response on a new connection, as a proxy makes them, or nothing if the connection breaks."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as opened:
            opened.sendall(sent)
            return b"".join(iter(lambda: opened.recv(65_536), b""))
    except OSError as error:
        return str(error).encode()


@pytest.mark.parametrize("is_behind_nginx", [False, True], ids=["alone", "behind nginx"])
def test_every_request_during_a_restart_is_answered(instances, tmp_path, is_behind_nginx):
    port, both = instances
    with ExitStack() as stack:
        if is_behind_nginx:
            port = stack.enter_context(nginx(port, tmp_path / "nginx")).port
        restart_while_readers_ask(port, both)


def restart_while_readers_ask(port: int, both: list[Service]) -> None:
    comment = POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
    found: Counter[bytes] = Counter()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            for sent in (PAGE, comment):
                found[asked(port, sent)[:12]] += 1

    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        for instance in both:
            before = found.total()
            instance.restart()
            until(lambda: found.total() > before + 20)  # noqa: B023 - called before the next one
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert set(found) == {b"HTTP/1.1 200", b"HTTP/1.1 422"}, found
    assert found.total() > 100


def test_stopping_instance_finishes_its_requests(instances):
    port, (one, other) = instances
    other.stop()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
        slow.sendall(POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY[:5])
        assert asked(port, PAGE).startswith(b"HTTP/1.1 200"), "the slow one is accepted before"
        one.process.terminate()
        slow.sendall(BODY[5:])
        assert slow.recv(12) == b"HTTP/1.1 422"
