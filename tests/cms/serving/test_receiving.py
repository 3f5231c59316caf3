"""Deadlines of senders and readers, by the clock that they are asked about."""

import socket
import time
from collections.abc import Iterator

import pytest
from waitress.server import create_server

from cms.serving import receiving

HEADER = b"POST /comments/post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"


class Listening:
    """waitress with a socket of its own; what its loop would do is done by the test, and nothing is answered."""

    def __init__(self) -> None:
        self.connections: dict[int, object] = {}
        self.server = create_server(
            lambda environ, start: [], map=self.connections, listen="127.0.0.1:0", **receiving.options(1_000_000)
        )
        self.server.channel_class = receiving.Channel
        self.opened: list[socket.socket] = []

    def receive(self, sent: bytes) -> receiving.Channel:
        """Return a connection on which these bytes came."""
        self.opened.append(socket.create_connection(self.server.socket.getsockname(), timeout=30))
        self.server.handle_accept()
        channel = self.channels()[-1]
        if sent:
            self.opened[-1].sendall(sent)
            while not (channel.request and channel.request.header_bytes_received):
                channel.handle_read()
        return channel

    def channels(self) -> list[receiving.Channel]:
        return [one for one in self.connections.values() if isinstance(one, receiving.Channel)]

    def close(self) -> None:
        for one in (*self.channels(), self.server, *self.opened):
            one.close()
        self.server.task_dispatcher.shutdown()


@pytest.fixture
def listening() -> Iterator[Listening]:
    made = Listening()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (b"", receiving.IDLE_SECONDS),
        (b"POST /comments/post HTTP/1.1\r\nHost: local", receiving.HEADER_SECONDS),
        (HEADER, receiving.BODY_SECONDS),
        (HEADER + b"x" * 20_000, receiving.BODY_SECONDS + 20_000 / receiving.LEAST_BYTES_A_SECOND),
    ],
    ids=["nothing", "header", "body", "more of a body"],
)
def test_a_sender_has_so_many_seconds(listening, sent, seconds):
    channel = listening.receive(sent)
    while sent and channel.request.headers_finished and channel.received_bytes < len(sent) - len(HEADER):
        channel.handle_read()
    began = time.monotonic()
    assert not channel.is_overdue(began + seconds - 5)
    assert channel.is_overdue(began + seconds + 1)


def test_connections_that_are_late_are_closed(listening):
    late, other = listening.receive(HEADER), listening.receive(HEADER)
    late.request.began -= receiving.BODY_SECONDS + 1
    receiving.tend(listening.channels())
    assert listening.channels() == [other]


def test_what_holds_most_for_longest_gives_way(listening):
    first, second, third = (listening.receive(HEADER) for _ in range(3))
    first.request.body_bytes_received = second.request.body_bytes_received = receiving.UNFINISHED_BYTES
    receiving.tend(listening.channels())
    assert listening.channels() == [second, third]


def test_a_request_that_is_answered_is_never_late(listening):
    channel = listening.receive(HEADER)
    channel.requests, channel.request = [channel.request], None
    assert not channel.is_overdue(time.monotonic() + 10_000)
    assert not channel.is_idle
    channel.requests = []


@pytest.mark.parametrize(
    "header",
    [
        b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    ],
    ids=["address", "number"],
)
def test_a_header_that_cannot_be_read_is_a_400(listening, header):
    request = receiving.Parser(listening.server.adj)
    request.received(header)
    assert request.error.code == 400
