"""Bytes that no client library sends, at the real server."""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cms.testing.build import node
from tests.support.running import served

pytestmark = pytest.mark.slow
# Seconds within which every connection gets a response or is closed.
LONGEST = 5
THREADS = 8
BODY = b"text=x&token=x"
POST = b"POST /comments/post HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture
def site(mongo, log) -> Iterator[int]:
    """The port of the web server as `manage.py serve` starts it, with one worker, on the test database."""
    with served(log.parent, REQUESTS_AT_ONCE=str(THREADS - 4)) as web:
        yield web.port
    assert "Traceback" not in log.read_text()
    assert "WORKER TIMEOUT" not in log.read_text()


@pytest.fixture
def log(tmp_path) -> Path:
    return tmp_path / "web.log"


def said(port: int, data: bytes, *, patience: float = LONGEST + 1) -> bytes:
    """Send bytes, and return the response until the server closes the connection or stops sending."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as opened:
        # A server can close, or stop reading, before it has everything.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            opened.sendall(data)
        with contextlib.suppress(OSError):
            opened.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := opened.recv(65_536):
                answer += part
        return answer


def answers(port: int, path: bytes = b"/healthz") -> bool:
    try:
        return (
            b" 200 " in said(port, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")[:20]
        )
    except OSError:
        return False


def get(path: bytes, *headers: bytes) -> bytes:
    lines = [b"GET " + path + b" HTTP/1.1", *(headers or [b"Host: localhost"]), b"Connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


BAD = {
    "absolute": get(b"http://evil.example/page"),
    "absolute, ours": get(b"http://localhost/page"),
    "absolute, https": get(b"https://evil.example:99999/page"),
    "absolute, file": get(b"file:///etc/passwd"),
    "absolute, open bracket": get(b"http://["),
    "authority": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "no host": get(b"/page", b"X: y"),
    "two hosts": get(b"/page", b"Host: localhost", b"Host: evil.example"),
    "host of bytes": get(b"/page", b"Host: \xff\xfe\x00"),
    "host with a path": get(b"/page", b"Host: localhost/evil.example"),
    "folded header": get(b"/page", b"Host: localhost", b"X: a\r\n b: c"),
    "no colon": get(b"/page", b"Host: localhost", b"nonsense"),
    "space before the colon": get(b"/page", b"Host: localhost", b"Content-Length : 5"),
    "NUL": get(b"/pa\x00ge"),
    "line ends in the path": get(b"/page%0d%0aX-Fuzz:%201"),
    "bare line ends": b"GET /page HTTP/1.1\nHost: localhost\n\n",
    "space in the path": get(b"/a b c"),
    "no slash": get(b"page"),
    "traversal": get(b"/static/../../../../etc/passwd"),
    "traversal, coded": get(b"/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd"),
    "traversal, twice coded": get(b"/static/%252e%252e/%252e%252e/etc/passwd"),
    "traversal, backslash": get(b"/static/..\\..\\..\\etc\\passwd"),
    "two slashes": get(b"//evil.example/%2f.."),
    "long line": get(b"/" + b"a" * 100_000),
    "long header": get(b"/page", b"Host: localhost", b"X: " + b"a" * 100_000),
    "many headers": get(b"/page", b"Host: localhost", *(b"X%d: y" % n for n in range(1_000))),
    "long cookie": get(b"/page", b"Host: localhost", b"Cookie: " + b"a=b; " * 1_500),
    "old": b"GET /page\r\n\r\n",
    "HTTP/9.9": b"GET /page HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 300,
    "noise": bytes(range(256)) * 20,
    "nothing": b"",
    "method of signs": b"<script> /page HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "long method": b"A" * 10_000 + b" /page HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "length below nothing": POST + b"Content-Length: -1\r\n\r\n" + BODY,
    "length of words": POST + b"Content-Length: fuzz\r\n\r\n" + BODY,
    "length beyond all": POST + b"Content-Length: 99999999999999999999\r\n\r\n" + BODY,
    "length of 5,000 digits": POST + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n" + BODY,
    "two lengths": POST + b"Content-Length: 3\r\nContent-Length: 14\r\n\r\n" + BODY,
    "less than announced": POST + b"Content-Length: 5000\r\n\r\n" + BODY,
    "bad chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n" + BODY,
    "huge chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n" + BODY,
    "unended chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nE\r\n" + BODY,
    "both lengths": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get(b"/page"),
    "hidden coding": POST + b"Transfer-Encoding: \x0bchunked\r\nContent-Length: 14\r\n\r\n" + BODY,
    "two codings": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "unended parts": POST.replace(b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=b")
    + b'Content-Length: 60\r\n\r\n--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nunended',
}


def test_invalid_bytes_harm_no_other_request(site, log):
    node(title="Ours")
    for name, data in BAD.items():
        began = time.monotonic()
        answer = said(site, data)
        assert time.monotonic() - began < LONGEST, name
        statuses = [int(found) for found in re.findall(rb"(?m)^HTTP/1\.[01] (\d{3}) ", answer)]
        # The server responds with 501 to an unknown coding, and with 505 to an unknown version.
        assert all(status < 500 or status in (501, 505) for status in statuses), (name, answer[:500])
        assert b"root:" not in answer, name
        assert b"evil.example" not in answer.split(b"\r\n\r\n")[0], name
        assert b"X-Fuzz" not in answer.split(b"\r\n\r\n")[0], name
        assert answers(site), name
    assert b"Ours" not in said(site, BAD["both lengths"]), "the second request in one is not answered"
    assert b" 400 " in said(site, BAD["length of 5,000 digits"])[:20]
    assert "Internal Server Error" not in log.read_text()
    assert "ValueError" not in log.read_text()


def test_slow_senders_delay_no_other_request(site):
    """All but one thread wait for slow bodies. Other requests get responses first, and the slow ones at the end."""
    body, got, done = b"text=slow&token=none", [], threading.Event()

    def slow() -> None:
        with socket.create_connection(("127.0.0.1", site), timeout=60) as opened:
            opened.sendall(POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
            for byte in body[:-1]:
                opened.sendall(bytes([byte]))
                done.wait(0.25)
            opened.sendall(body[-1:])
            got.append(opened.recv(20))

    senders = [threading.Thread(target=slow) for _ in range(THREADS - 1)]
    for sender in senders:
        sender.start()
    for _ in range(20):
        began = time.monotonic()
        assert answers(site, b"/search?q=x")
        assert time.monotonic() - began < LONGEST
    done.set()
    for sender in senders:
        sender.join(60)
    assert [answer[:12] for answer in got] == [b"HTTP/1.1 422"] * (THREADS - 1)
