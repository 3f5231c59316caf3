"""The web server as `manage.py serve` starts it, asked over real sockets; what holds of both that SERVER may name."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from cms.serving import receiving
from tests.support.nodes import photo_build, pictures
from tests.support.nodes.build import node
from tests.support.processes import until
from tests.support.raw_posts import BODY, POST
from tests.support.running import Web, served

THREADS = 12  # of a worker


@pytest.fixture(scope="module", params=["waitress", "gunicorn"])
def web(request, tmp_path_factory, django_db_setup) -> Iterator[Web]:
    with served(tmp_path_factory.mktemp("web"), SERVER=request.param) as web:
        yield web


@pytest.fixture(scope="module")
def buffering(tmp_path_factory, django_db_setup) -> Iterator[Web]:
    """The default, for what it alone holds."""
    with served(tmp_path_factory.mktemp("buffering")) as web:
        yield web


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "PATH_INFO", "Script-Name", "X-Forwarded-Prefix"])
@pytest.mark.parametrize("value", ["/gone", "/page", "/nothing", "//evil.example", "gone", "/\xff"])
def test_no_header_moves_the_site_to_another_path(web, mongo, name, value):
    node(title="Ours")
    for path in ("/page", "/", "/feed/atom", "/sitemap.xml"):
        for headers in ({name: value}, {}):
            status, _headers, body = web.get(path, **headers)
            assert status == 200, (path, headers)
            addresses = re.findall(r'(?:href="|<loc>|<id>)(?:http://localhost:\d+)?(/[^"<]*)', body.decode())
            assert addresses, path
            assert not [one for one in addresses if one.startswith((f"{value}/", "/gone", "//"))], (path, headers)


@pytest.mark.parametrize("value", ["https", "gopher"])
def test_no_header_says_that_the_connection_was_protected(web, mongo, value):
    node()
    _status, _headers, body = web.get("/page", **{"X-Forwarded-Proto": value, "X-Forwarded-Ssl": "on"})
    assert b"https://localhost" not in body


@pytest.mark.parametrize("server", ["waitress", "gunicorn"])
def test_what_a_proxy_says_is_believed_where_there_is_one(mongo, tmp_path, server):
    node()
    with served(tmp_path, SERVER=server, BEHIND_PROXY="on") as web:
        _status, _headers, feed = web.get("/sitemap.xml", **{"X-Forwarded-Proto": "https"})
        assert b"<loc>https://localhost" in feed


def test_what_one_worker_has_made_no_other_makes(mongo, tmp_path):
    node()
    with served(tmp_path, WEB_CONCURRENCY="2", LOG_FORMAT="json") as web, ThreadPoolExecutor(16) as readers:
        first = web.get("/page")
        # Many at once, which the kernel deals out to both.
        answers = list(readers.map(lambda _number: web.get("/page"), range(200)))
    assert {(status, body) for status, _headers, body in answers} == {(200, first[2])}
    lines = [json.loads(line) for line in web.log.read_text().splitlines() if '"/page"' in line]
    assert Counter(line["cache"] for line in lines) == {"miss": 1, "hit": 200}


def test_no_answer_names_the_server(web, mongo):
    for path in ("/", "/nothing-here", "/healthz", "/%00"):
        _status, headers, body = web.get(path)
        assert headers.get("server", "") == "", path
        assert b"waitress" not in body.lower(), path
        assert b"gunicorn" not in body.lower(), path


def test_200_slow_senders_keep_no_reader_waiting(buffering, mongo):
    """Headers and bodies that do not come to an end, and connections that say nothing: many more than there are threads."""
    node(title="Ours")
    slow = POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    senders = [buffering.opened(slow) for _ in range(150)]
    others = [buffering.opened(sent) for sent in (b"", b"GET /page HTTP/1.1\r\nHost: local") for _ in range(25)]
    assert len(senders) > 10 * THREADS
    answered = []
    for number, byte in enumerate(BODY[:-1]):
        for sender in senders:
            sender.sendall(bytes([byte]))
        status, _headers, body = buffering.get(f"/page?number={number}")
        answered.append((status, b"Ours" in body))
    assert answered == [(200, True)] * (len(BODY) - 1)
    for sender in senders:
        sender.sendall(BODY[-1:])
    assert [sender.recv(12) for sender in senders] == [b"HTTP/1.1 422"] * len(senders), "they are answered as well"
    for one in (*senders, *others):
        one.close()


def test_what_waits_for_longest_gives_way_to_readers(buffering, mongo):
    node(title="Ours")
    idle = [buffering.opened(POST + b"Content-Length: 9\r\n\r\n") for _ in range(receiving.CONNECTIONS + 20)]
    until(lambda: buffering.get("/page")[0] == 200)
    idle[0].settimeout(receiving.BODY_SECONDS / 2)
    assert idle[0].recv(1) == b"", "the first was closed, long before its deadline"
    idle[-1].sendall(b"token=nil")
    assert idle[-1].recv(12) == b"HTTP/1.1 422", "the last was not"
    for one in idle:
        one.close()


def peak(web: Web) -> float:
    """Return the highest resident set of the server's worker so far, in MiB."""
    [worker] = psutil.Process(web.process.pid).children()
    lines = Path(f"/proc/{worker.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("megabytes", [0, 60])
def test_pictures_arrive_in_flat_memory(web, mongo, megabytes):
    admin = Client()
    admin.force_login(get_user_model().objects.create_superuser("root", "root@example.org", "pw"))
    gallery = photo_build.gallery("gallery")
    path = reverse("admin:nodes_photo_upload", args=[gallery])
    assert path.startswith(receiving.UPLOADS)
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
    sender = web.opened(head.encode() + begun)
    for _ in range(megabytes):
        sender.sendall(block)
    sender.sendall(ended)
    answer = b"".join(iter(lambda: sender.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 200"), answer[:1_000]
    assert b'"ok": true' in answer
    [photo] = mongo["cms.assets.files"].find({"metadata.type": "photo"})
    assert photo_build.shown(photo["_id"])
    assert peak(web) - before < 40  # MiB, of which the picture's own reading is most


@pytest.mark.slow
def test_a_form_is_no_place_for_a_large_body(buffering, mongo):
    sender = buffering.opened(POST + b"Content-Length: %d\r\n\r\n" % (receiving.FORM_BYTES + 1))
    assert sender.recv(12) == b"HTTP/1.1 413"


def test_a_request_with_two_lengths_is_refused(web, mongo):
    two = POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    sender = web.opened(two + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = b"".join(iter(lambda: sender.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert "ip=127" not in web.log.read_text()
