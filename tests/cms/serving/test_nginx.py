"""nginx with deploy/nginx.conf in front of the site: slow clients, unauthorized uploads, disk use, request ids."""

import http.client
import itertools
import json
import os
import re
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from PIL import Image

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from marginalia.local.ports import free_port
from marginalia.mongo.connection import database
from tests.docs.pages import tried
from tests.support.nginx import CONF, Nginx, nginx
from tests.support.nodes import photo_build, pictures
from tests.support.processes import until
from tests.support.raw_posts import BODY, POST
from tests.support.running import Web, served

pytestmark = pytest.mark.slow
SLOW = 200
# Bytes of the refused upload.
HUGE = 200 * 2**20


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    assert shutil.which("nginx"), "These tests need nginx: `make nginx`, or apt-get install nginx-light."


@dataclass(frozen=True)
class Front:
    """nginx, and the site behind it."""

    nginx: Nginx
    site: Web

    def opened(self, sent: bytes, visitor: int = 1, room: int = 0) -> socket.socket:
        """Return a connection of a numbered visitor that sent these bytes and has a receive buffer of this size."""
        made = socket.socket()
        made.settimeout(60)
        if room:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        made.bind((f"127.0.{visitor // 250 + 1}.{visitor % 250 + 1}", 0))
        made.connect(("127.0.0.1", self.nginx.port))
        made.sendall(sent)
        return made

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers (lower-case names) and body of a response."""
        asked = http.client.HTTPConnection("127.0.0.1", self.nginx.port, timeout=120)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            asked.request(method, path, body or None, {"Host": "localhost", **named})
            answer = asked.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            asked.close()


@pytest.fixture(scope="module")
def serving(tmp_path_factory, django_db_setup) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("front")
    with (
        served(folder, WEB_CONCURRENCY="2", BEHIND_PROXY="on", LOG_FORMAT="json") as site,
        nginx(site.port, folder / "nginx") as front,
    ):
        yield Front(front, site)


@pytest.fixture
def front(mongo, serving) -> Front:
    return serving


def token(*scopes: Scope) -> str:
    user = get_user_model()._default_manager.create_user("ann", "ann@example.org", "pw", is_staff=True)
    user.groups.set(Group.objects.filter(name="Editors"))
    return f"Bearer {tokens.create(user, 'test', scopes)[1]}"


def noise() -> bytes:
    """Return a photo of 38 MB."""
    size = (3_600, 3_550)
    return pictures.encoded("PNG", Image.frombytes("RGB", size, os.urandom(size[0] * size[1] * 3)), compress_level=0)


def test_slow_clients_delay_no_reader(front):
    """Slow senders and readers of the largest photo, idle connections, bulk requests: more than there are threads."""
    blog = build.node("blog", "news", title="Ours")
    photo = noise()
    key = photo_build.upload(photo_build.gallery(), photo, "noise.png", step=10**6)
    path = f"/media/{key}/{photo_build.document(key)['metadata']['content_id']}/original"
    editor = token(Scope.WRITE, Scope.PUBLISH)
    new = {"type": "blog-entry", "section": str(blog), "detail": {"text": "Word *word*. " * 12_000}}
    bulk = [{"do": "create", "body": {**new, "title": f"Post {number}"}} for number in range(4)]
    sent = json.dumps({"operations": bulk}).encode()
    form = POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    visitors = itertools.count(10)
    senders = [front.opened(form, next(visitors)) for _ in range(SLOW - 10)]
    describing = form.replace(b"/comments/post", b"/admin/nodes/photo/describe/")
    senders += [front.opened(describing, next(visitors)) for _ in range(10)]
    idle = [front.opened(b"", next(visitors)) for _ in range(50)]
    asking = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    readers = [front.opened(asking, next(visitors), room=4_096) for _ in range(SLOW)]
    over, most = threading.Event(), [0]

    def trickle() -> None:
        for byte in BODY[:-1]:
            for sender in senders:
                sender.sendall(bytes([byte]))
            over.wait(0.5)
            most[0] = max(most[0], front.nginx.spooled())

    def bulked(_number: int) -> int:
        return front.ask("POST", "/api/v1/bulk", sent, Authorization=editor, Content_Type="application/json")[0]

    with ThreadPoolExecutor(25) as pool:
        trickling = pool.submit(trickle)
        bulks = [pool.submit(bulked, number) for number in range(24)]
        found = Counter(
            (status, b"Ours" in body) for status, _, body in (front.ask("GET", f"/news?{n}") for n in range(40))
        )
        assert found == {(200, True): 40}
        over.set()
        trickling.result()
        for sender in senders:
            sender.sendall(BODY[-1:])
        answers = Counter(sender.recv(12) for sender in senders)
        assert answers == {b"HTTP/1.1 422": SLOW - 10, b"HTTP/1.1 403": 10}, "senders are answered as well"
        statuses = Counter(bulk.result() for bulk in bulks)
        assert statuses[200] > 0, statuses
        assert database()["cms.nodes"].count_documents({"metadata.parent_id": blog}) == 4 * statuses[200]
        assert all(status in (200, 409, 429, 503) for status in statuses), statuses
    limit = int(re.search(r"limit_conn marginalia_originals (\d+);", CONF)[1])
    # Data in the kernel's buffers is never on disk.
    assert most[0] < limit * len(photo) + 10 * 2**20
    answers = Counter(reader.recv(12) for reader in readers)
    assert answers[b"HTTP/1.1 200"] >= limit
    assert set(answers) <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    for connection in (*senders, *idle, *readers):
        connection.close()


def test_slow_downloads_of_photos_use_bounded_disk_space(front):
    photo = noise()
    key = photo_build.upload(photo_build.gallery(), photo, "noise.png", step=10**6)
    asking = f"GET /api/v1/photos/{key}/file HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    limit = int(re.search(r"limit_conn marginalia_originals (\d+);", CONF)[1])
    readers = [front.opened(asking, visitor, room=4_096) for visitor in range(limit + 30)]
    assert Counter(reader.recv(12) for reader in readers) == {b"HTTP/1.1 200": limit, b"HTTP/1.1 503": 30}
    # The site has sent everything and no thread waits, although hardly a byte was read.
    until(lambda: front.nginx.spooled() > (limit - 1) * (len(photo) - 8 * 2**20), seconds=60)
    assert front.nginx.spooled() < limit * len(photo)
    for reader in readers:
        reader.close()
    until(lambda: front.nginx.spooled() == 0, seconds=60)


UPLOADS = {
    "page": f"/admin/nodes/photo/upload/{'5' * 24}/",
    "library": "/admin/nodes/file/upload/top/",
    "replacement": f"/admin/nodes/photo/{'5' * 24}/replace/",
    "program": "/api/v1/photos",
    "content": f"/api/v1/photos/{'5' * 24}/content",
    "pieces": "/api/v1/photos/uploads",
    "piece": f"/api/v1/photos/uploads/{'5' * 24}",
}


@pytest.mark.parametrize("path", UPLOADS.values(), ids=UPLOADS)
@pytest.mark.parametrize("header", ["", "Authorization: Bearer mrg_none\r\n", "Cookie: sessionid=none\r\n"], ids=len)
@pytest.mark.parametrize("method", ["POST", "GET", "HEAD"])
def test_upload_without_a_token_is_refused_before_spooling(front, method, path, header):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{header}Content-Type: image/png\r\n"
    for body in (
        f"Content-Length: {HUGE}",
        f"Content-Length: {HUGE}\r\nExpect: 100-continue",
        "Transfer-Encoding: chunked",
    ):
        sender = front.opened(f"{head}{body}\r\n\r\n".encode())
        # Before any part of the body was sent.
        assert sender.recv(12) == b"HTTP/1.1 401"
        try:
            for _ in range(20):
                sender.sendall(b"fffff\r\n" + b"\0" * 0xFFFFF + b"\r\n" if "chunked" in body else b"\0" * 2**20)
        except OSError:
            pass
        assert front.nginx.spooled() == 0
        sender.close()
    assert f'"{path}"' not in front.site.log.read_text(), "the site has heard of none"


def test_upload_without_permission_is_refused(front):
    reader = get_user_model()._default_manager.create_user("rea", "rea@example.org", "pw")
    secret = tokens.create(reader, "test", [Scope.READ])[1]
    assert front.ask("POST", "/api/v1/photos", b"x" * 100, Authorization=f"Bearer {secret}")[0] == 403


def test_upload_with_permission_arrives(front):
    gallery = photo_build.gallery("gallery")
    picture = pictures.jpeg()
    status, _headers, said = front.ask(
        "POST",
        f"/api/v1/photos?gallery={gallery}&filename=lake.jpg",
        picture,
        Authorization=token(Scope.WRITE, Scope.PUBLISH),
        Content_Type="image/jpeg",
    )
    assert status == 201, said
    assert photo_build.shown(ObjectId(json.loads(said)["id"]))


def test_reading_photos_sends_no_permission_request(front):
    photo_build.gallery()
    before = front.site.log.read_text().count("may-send")
    status, _headers, _body = front.ask("GET", "/api/v1/photos/" + "5" * 24 + "/content")
    assert status == 405
    assert front.site.log.read_text().count("may-send") == before


def test_request_id_is_in_the_response_and_both_logs(front):
    build.node(title="Ours")
    status, headers, _body = front.ask("GET", "/page?secret=1", X_Request_ID="0" * 32)
    given = headers["x-request-id"]
    assert (status, len(given), given != "0" * 32) == (200, 32, True)
    until(lambda: given in "".join(front.nginx.log))
    [line] = [line for line in front.nginx.log if given in line]
    assert "secret" not in line
    assert "127.0.0" not in line
    lines = [json.loads(line) for line in front.site.log.read_text().splitlines() if given in line]
    assert [line["path"] for line in lines] == ["/page"]


def test_no_response_contains_the_version_of_nginx(front):
    for path in ("/", "/nothing-here", "/%00"):
        assert front.ask("GET", path)[1]["server"] == "nginx"


def test_site_serves_readers_without_varnish(front, tmp_path):
    build.node(title="Ours")
    [lines] = [block.text for block in tried("cdn.md", "nginx")]
    conf = lines + CONF.replace(
        "location / {\n        proxy_pass http://127.0.0.1:8000;", "location / {\n        proxy_pass http://readers;"
    )
    assert conf.count("http://readers") == 1
    with nginx(front.site.port, tmp_path / "nginx", conf.replace("6081", str(free_port()))) as other:
        for _ in range(3):
            assert Front(other, front.site).ask("GET", "/page")[0] == 200
