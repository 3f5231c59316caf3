"""The web server as `manage.py serve` starts it, tested over real sockets."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import psutil
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from cms.testing.build import node
from tests.fuzz.requests import routes
from tests.support.nodes import photo_build, pictures
from tests.support.processes import peak_memory, until
from tests.support.raw_posts import POST
from tests.support.running import Web, served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(tmp_path_factory, django_db_setup) -> Iterator[Web]:
    with served(tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "PATH_INFO", "Script-Name", "X-Forwarded-Prefix"])
def test_no_header_moves_the_site_to_another_path(web, mongo, name):
    node(title="Ours")
    values = ("/gone", "/page", "/nothing", "//evil.example", "gone", "/\xff")
    for value, path in product(values, ("/page", "/", "/feed/atom", "/sitemap.xml")):
        for headers in ({name: value}, {}):
            status, _headers, body = web.get(path, **headers)
            assert status == 200, (path, headers)
            addresses = re.findall(r'(?:href="|<loc>|<id>)(?:http://localhost:\d+)?(/[^"<]*)', body.decode())
            assert addresses, path
            assert not [one for one in addresses if one.startswith((f"{value}/", "/gone", "//"))], (path, headers)


def test_files_of_the_site_are_private_to_its_user(web, mongo):
    metrics = Path(web.log.parent, "metrics")
    assert list(metrics.glob("*.db"))
    assert {
        f"{path}: {path.stat().st_mode & 0o77:o}"
        for path in metrics.parent.rglob("*")
        if path != web.log and path.stat().st_mode & 0o77
    } == set()


def test_one_worker_listens_for_changes(mongo, tmp_path):
    def count_locks() -> int:
        workers = {str(worker.pid) for worker in psutil.Process(web.process.pid).children(recursive=True)}
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        return sum("POSIX" in lock and bool(workers & set(lock)) for lock in locks)

    with served(tmp_path, WEB_CONCURRENCY="2") as web:
        until(count_locks)
        time.sleep(2)  # until the other worker would also have a lock
        assert count_locks() == 1


@pytest.mark.parametrize("value", ["https", "gopher"])
def test_no_header_claims_a_secure_connection(web, mongo, value):
    node()
    _status, _headers, body = web.get("/page", **{"X-Forwarded-Proto": value, "X-Forwarded-Ssl": "on"})
    assert b"https://localhost" not in body


def test_headers_of_a_configured_proxy_are_trusted(mongo, tmp_path):
    node()
    with served(tmp_path, BEHIND_PROXY="on") as web:
        _status, _headers, feed = web.get("/sitemap.xml", **{"X-Forwarded-Proto": "https"})
        assert b"<loc>https://localhost" in feed


def test_page_cached_by_one_worker_is_used_by_all(mongo, tmp_path):
    node()
    with served(tmp_path, WEB_CONCURRENCY="2", LOG_FORMAT="json") as web, ThreadPoolExecutor(16) as readers:
        first = web.get("/page")
        # Many concurrent requests, which the kernel distributes over both workers.
        answers = list(readers.map(lambda _number: web.get("/page"), range(200)))
    assert {(status, body) for status, _headers, body in answers} == {(200, first[2])}
    lines = [json.loads(line) for line in web.log.read_text().splitlines() if '"/page"' in line]
    assert Counter(line["cache"] for line in lines) == {"miss": 1, "hit": 200}


def peak(web: Web) -> float:
    """Return the highest resident set of the server's worker so far, in MiB."""
    [worker] = psutil.Process(web.process.pid).children()
    return peak_memory(worker.pid)


@pytest.mark.parametrize("megabytes", [0, 60])
def test_photos_are_received_in_constant_memory(web, mongo, megabytes):
    admin = Client()
    admin.force_login(get_user_model().objects.create_superuser("root", "root@example.org", "pw"))
    gallery = photo_build.gallery("gallery")
    path = reverse("admin:nodes_photo_upload", args=[gallery])
    form = admin.get(reverse("admin:nodes_photo_changelist")).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[1]
    cookies = "; ".join(f"{name}={cookie.value}" for name, cookie in admin.cookies.items())
    part = '--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n'
    begun = (part % "csrfmiddlewaretoken" + token + "\r\n" + part % 'files"; filename="lake.jpg').encode()
    begun += pictures.jpeg()
    ended, block = b"\r\n--b--\r\n", b"\0" * 2**20
    length = len(begun) + megabytes * len(block) + len(ended)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost:{web.port}\r\nAccept: application/json\r\nCookie: {cookies}\r\n"
        f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    web.get("/page")
    before = peak(web)
    sender = web.open_connection(head.encode() + begun)
    for _ in range(megabytes):
        sender.sendall(block)
    sender.sendall(ended)
    answer = b"".join(iter(lambda: sender.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 200"), answer[:1_000]
    assert b'"ok": true' in answer
    [photo] = mongo["cms.assets.files"].find({"metadata.type": "photo"})
    assert photo_build.shown(photo["_id"])
    assert peak(web) - before < 40  # MiB, mostly for reading the picture itself


def test_request_with_two_lengths_is_refused(web, mongo):
    two = POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    sender = web.open_connection(two + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = b"".join(iter(lambda: sender.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1


# URL parts for each converter that is not listed here.
ANY_ID = "5" * 24
IN_ADDRESSES = {
    "nodepath": "page",
    "tag": "t",
    "slug": "atom",
    "int": "1",
    "year": "2020",
    "month": "01",
    "label": "nodes.node",
    "commentslug": "a" * 16,
    "path": "site/site.css",
}


def test_response_to_head_has_no_body(web, mongo):
    """On one connection, bytes after the header would be read as the start of the next response."""
    node()
    admin = Client()
    admin.force_login(get_user_model().objects.create_superuser("root", "root@example.org", "pw"))
    cookie = f"Cookie: sessionid={admin.cookies['sessionid'].value}\r\n"
    found: Counter[str] = Counter()
    connection, more = web.open_connection(), b""
    for route in routes():
        values = [IN_ADDRESSES.get(converter, ANY_ID) for converter in route.converters]
        path = "/" + "".join(a + b for a, b in zip(route.pieces, [*values, ""], strict=True))
        who = cookie if path.startswith("/admin") else ""
        connection.sendall(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n{who}\r\n".encode())
        answer = more
        while b"\r\n\r\n" not in answer:
            answer += (part := connection.recv(65_536))
            assert part, (path, answer)
        head, _, more = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 "), (path, answer[:200])
        found[head[9:12].decode()] += 1
        if b"\r\nConnection: close" in head:
            more += b"".join(iter(lambda: connection.recv(65_536), b""))  # noqa: B023 - called at once
            assert more == b"", path
            connection.close()
            connection = web.open_connection()
        assert more == b"", path
    connection.close()
    assert found["200"] > 20, found


def test_cached_pages_need_no_command_in_any_worker(mongo, tmp_path):
    node(title="Ours")
    with served(tmp_path, WEB_CONCURRENCY="2", LOG_FORMAT="json") as web:
        for _ in range(60):
            web.get("/page")
            time.sleep(0.05)
    lines = [json.loads(line) for line in web.log.read_text().splitlines() if '"path": "/page"' in line]
    assert [line["commands"] for line in lines[-20:]] == [0] * 20
