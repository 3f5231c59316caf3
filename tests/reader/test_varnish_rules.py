"""deploy/varnish.vcl in a real Varnish, in front of one or two stand-ins for the site."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from reader import cdn, purging
from reader.page_cache import stamps
from tests.support.processes import until
from tests.support.varnish import VCL, Varnish, varnish

pytestmark = pytest.mark.slow
KEPT = {
    "Cache-Control": "public, max-age=0, s-maxage=50, stale-while-revalidate=10, stale-if-error=3600",
    "Surrogate-Key": "lists node-1 discussion-3fa9:nodes.node:1",
    "Cache-Tag": "lists,node-1",
    "ETag": 'W/"one"',
}
BRIEF = {**KEPT, "Cache-Control": KEPT["Cache-Control"].replace("s-maxage=50", "s-maxage=1")}
SHORT = {**KEPT, "Cache-Control": "public, max-age=0, s-maxage=1"}


class Stand(ThreadingHTTPServer):
    """A stand-in that responds with the headers set for each URL, or 304, and counts the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.pages: dict[str, dict[str, str]] = {}
        self.asked: Counter[str] = Counter()
        self.said: list[dict[str, str]] = []
        self.is_broken = self.is_unchanged = False
        self.failures = 0
        self.hangs_up = False
        self.slowness = 0.0


class _Answering(BaseHTTPRequestHandler):
    server: Stand
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        stand = self.server
        # An unread body would be parsed as the next request of the connection.
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b""
        if self.path == "/healthz":
            status, headers = 200, {}
        else:
            stand.asked[self.path] += 1
            stand.said.append({name.lower(): value for name, value in self.headers.items()})
            fails, stand.failures = stand.is_broken or stand.failures > 0, stand.failures - 1
            status, headers = (503, {}) if fails else (200, stand.pages.get(self.path, {}))
            body = f"{self.path} {stand.asked[self.path]}".encode()
            if stand.is_unchanged and self.headers.get("If-None-Match") == headers.get("ETag", ""):
                status, body = 304, b""
            if stand.slowness:
                threading.Event().wait(stand.slowness)
            if stand.hangs_up:
                self.close_connection = True
                return
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Stand, Varnish]]:
    with Stand() as stand:
        threading.Thread(target=stand.serve_forever, args=(0.01,), daemon=True).start()
        with varnish(stand.server_port) as cache:
            yield stand, cache
        stand.shutdown()


@pytest.fixture
def both(running) -> tuple[Stand, Varnish]:
    """The stand-in, and an empty Varnish."""
    stand, cache = running
    cdn.varnish(cache.purge_url, {"lists"})
    stand.pages.clear()
    stand.asked.clear()
    stand.said.clear()
    stand.is_broken = stand.is_unchanged = False
    stand.failures = 0
    stand.slowness = 0.0
    return running


def test_page_with_keys_is_cached_without_showing_them(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    for _ in range(3):
        status, headers, body = cache.ask("/page", Cookie="csrftoken=abc; other=1")
        assert (status, body, headers["cache-control"]) == (200, b"/page 1", "no-cache")
        assert not {"surrogate-key", "cache-tag", "xkey", "set-cookie", "warning"} & headers.keys()
    assert cache.ask("/page", If_None_Match='W/"one"')[0] == 304
    assert stand.asked["/page"] == 1
    assert stand.said[0]["cookie"] == "csrftoken=abc; other=1"


@pytest.mark.parametrize("key", ["lists", "node-1", "discussion-3fa9:nodes.node:1"])
def test_page_is_purged_by_any_of_its_keys(both, key):
    stand, cache = both
    stand.pages["/page"] = KEPT
    cache.ask("/page")
    cdn.varnish(cache.purge_url, {"node-11", "texts", "node", "1"})
    assert cache.ask("/page")[2] == b"/page 1"
    cdn.varnish(cache.purge_url, {key, "node-11", *(f"node-{number}" for number in range(1000, 1300))})
    assert cache.ask("/page")[2] == b"/page 2"


def test_readers_cannot_purge(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    cache.ask("/page")
    assert cache.ask("/page", "PURGE", Xkey_Purge="lists")[0] != 200
    assert cache.ask("/page")[2] == b"/page 1"
    assert cache.ask("/page", port=cache.purges)[0] == 405


@pytest.mark.parametrize("cookie", ["sessionid=x", "a=b; sessionid=x", "messages=x"])
def test_sessions_bypass_the_cache(both, cookie):
    stand, cache = both
    stand.pages["/page"] = KEPT
    cache.ask("/page")
    assert cache.ask("/page", Cookie=cookie)[2] == b"/page 2"
    assert cache.ask("/page", Authorization="Bearer x")[2] == b"/page 3"
    assert cache.ask("/page", Cookie="xsessionid=x")[2] == b"/page 1"


def test_reader_sees_own_submission_at_once(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    cache.ask("/page")
    stand.pages["/send"] = {"Set-Cookie": "own=1"}
    _status, headers, body = cache.ask("/send", "POST")
    assert body == b"/send 1"
    assert "just_sent=1; Max-Age=2" in headers["set-cookie"]
    assert cache.ask("/send", "POST")[2] == b"/send 2"
    assert cache.ask("/page", Cookie="own=1; just_sent=1")[2] == b"/page 2"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Cache-Control": "no-cache"},
        {"Cache-Control": "public, max-age=31536000, immutable"},
        {**KEPT, "Set-Cookie": "a=b"},
    ],
    ids=["nothing", "no-cache", "photo", "cookie"],
)
def test_page_without_keys_is_not_cached(both, headers):
    stand, cache = both
    stand.pages["/media/photo"] = headers
    assert [cache.ask("/media/photo")[2] for _ in range(2)] == [b"/media/photo 1", b"/media/photo 2"]


def test_files_with_hashed_names_are_cached(both):
    stand, cache = both
    stand.pages["/static/site.123.css"] = {"Cache-Control": "max-age=315360000, public, immutable"}
    for _ in range(2):
        _status, headers, body = cache.ask("/static/site.123.css")
        assert (body, headers["cache-control"]) == (b"/static/site.123.css 1", "max-age=315360000, public, immutable")


def test_slow_page_is_not_cached(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    assert f"> {purging.MAX_RESPONSE_TIME}s" in VCL
    stand.slowness = purging.MAX_RESPONSE_TIME + 0.1
    cache.ask("/page")
    stand.slowness = 0.0
    assert [cache.ask("/page")[2] for _ in range(2)] == [b"/page 2", b"/page 2"]


def test_page_rendered_during_a_purge_is_purged_again(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    stand.slowness = 0.15
    reader = threading.Thread(target=cache.ask, args=("/page",))
    reader.start()
    until(lambda: stand.asked["/page"])
    cdn.varnish(cache.purge_url, {"lists"})
    reader.join()
    assert cache.ask("/page")[2] == b"/page 1"
    cdn.varnish(cache.purge_url, {"lists"})
    assert cache.ask("/page")[2] == b"/page 2"
    assert purging.REPEAT_AFTER > stamps.HEARD_WITHIN / 1e9 + purging.MAX_RESPONSE_TIME


def test_revalidated_page_has_the_keys_of_the_304(both):
    stand, cache = both
    stand.pages["/page"] = BRIEF
    cache.ask("/page")
    stand.is_unchanged = True
    stand.pages["/page"] = {**KEPT, "Surrogate-Key": "lists node-2"}
    threading.Event().wait(1.1)
    assert cache.ask("/page")[2] == b"/page 1"
    until(lambda: stand.asked["/page"] == 2)
    stand.is_unchanged = False
    assert cache.ask("/page")[2] == b"/page 1"
    cdn.varnish(cache.purge_url, {"node-1"})
    assert cache.ask("/page")[2] == b"/page 1"
    cdn.varnish(cache.purge_url, {"node-2"})
    assert cache.ask("/page")[2] == b"/page 3"


def test_expired_page_is_served_with_a_warning_during_an_outage(both):
    stand, cache = both
    stand.pages["/page"] = BRIEF
    stand.pages["/short"] = SHORT
    cache.ask("/page")
    cache.ask("/short")
    stand.is_broken = True
    ended = threading.Event()
    ended.wait(1.1)
    # Within stale-while-revalidate. The next request is made in vain.
    assert cache.ask("/page")[2] == b"/page 1"
    # Without it, the site is asked twice, because the page falls due.
    assert cache.ask("/short")[0] == 503
    assert cache.ask("/never")[0] == 503
    ended.wait(cdn.STALE_WHILE_REVALIDATE)
    status, headers, body = cache.ask("/page")
    assert (status, body, headers["warning"]) == (200, b"/page 1", '110 - "Response is Stale"')
    # Never a purged page. Then the site's own response.
    cdn.varnish(cache.purge_url, {"node-1"})
    status, headers, body = cache.ask("/page")
    assert (status, body[:6]) == (503, b"/page ")
    stand.is_broken = False
    assert "warning" not in cache.ask("/page")[1]


def test_site_gets_the_address_of_the_client(both):
    stand, cache = both
    cache.ask("/x", X_Forwarded_For="spoofed, 203.0.113.9")
    assert stand.said[-1]["x-forwarded-for"] == "spoofed, 203.0.113.9"
    cache.ask("/x")
    assert stand.said[-1]["x-forwarded-for"] == "127.0.0.1"
    stand.failures = 1
    assert cache.ask("/again", X_Forwarded_For="spoofed, 203.0.113.9")[0] == 200
    assert [said["x-forwarded-for"] for said in stand.said[-2:]] == ["spoofed, 203.0.113.9"] * 2


def test_successful_retry_is_not_marked_stale(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    stand.failures = 1
    status, headers, _body = cache.ask("/page")
    assert (status, "warning" in headers) == (200, False)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[list[Stand], Varnish]]:
    """Varnish in front of two processes of a site."""
    stands = [Stand(), Stand()]
    for stand in stands:
        threading.Thread(target=stand.serve_forever, args=(0.01,), daemon=True).start()
    with varnish(*(stand.server_port for stand in stands)) as cache:
        yield stands, cache
    for stand in stands:
        stand.shutdown()
        stand.server_close()


@pytest.fixture
def two(pair) -> tuple[list[Stand], Varnish]:
    for stand in pair[0]:
        stand.asked.clear()
        stand.is_broken, stand.hangs_up, stand.slowness = False, False, 0.0
    return pair


def total(stands: list[Stand]) -> Counter[str]:
    return sum((stand.asked for stand in stands), Counter())


def test_two_processes_share_the_requests(two):
    stands, cache = two
    for number in range(60):
        assert cache.ask(f"/page{number}")[0] == 200
    assert min(sum(stand.asked.values()) for stand in stands) > 10


@pytest.mark.parametrize("trouble", ["is_broken", "hangs_up"])
def test_failed_request_is_retried_on_the_other_process(two, trouble):
    stands, cache = two
    setattr(stands[0], trouble, True)
    for number in range(30):
        status, headers, body = cache.ask(f"/page{number}")
        assert (status, body) == (200, f"/page{number} 1".encode())
        assert "warning" not in headers
    assert sum(stands[0].asked.values()) > 5
    setattr(stands[1], trouble, True)
    assert cache.ask("/none")[0] == 503


def test_hanging_process_delays_no_reader(two):
    stands, cache = two
    stands[0].slowness = 15.0
    asked = 0
    while not stands[0].asked:
        asked += 1
        began = time.monotonic()
        assert cache.ask(f"/page{asked}")[2] == f"/page{asked} 1".encode()
    assert 10 <= time.monotonic() - began < 14
    assert stands[1].asked[f"/page{asked}"] == 1


def test_request_that_may_have_arrived_is_not_repeated(two):
    stands, cache = two
    # Also over existing connections.
    for number in range(10):
        cache.ask(f"/page{number}")
    for stand in stands:
        stand.asked.clear()
    for stand in stands:
        stand.hangs_up = True
    for number in range(10):
        status, headers, _body = cache.ask(f"/send{number}", "POST", content=b"text=once")
        assert (status, headers["retry-after"]) == (503, "5")
    assert set(total(stands).values()) == {1}
    assert len(total(stands)) == 10


def test_request_to_a_stopped_process_reaches_the_other(two):
    stands, cache = two
    gone = stands.pop()
    gone.shutdown()
    gone.server_close()
    # Nothing listens there, and no other process can take the port.
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(gone.server_address)
        for number in range(30):
            assert cache.ask(f"/send{number}", "POST", content=b"text=once")[0] == 200
            assert cache.ask(f"/page{number}")[0] == 200
    assert len(stands[0].asked) == 60
    assert set(stands[0].asked.values()) == {1}


def test_schemes_and_hosts_are_cached_separately(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    assert cache.ask("/page", X_Forwarded_Proto="http")[2] == b"/page 1"
    assert cache.ask("/page", X_Forwarded_Proto="https")[2] == b"/page 2"
    assert cache.ask("/page", X_Forwarded_Proto="https", Host="example.org")[2] == b"/page 3"
    assert cache.ask("/page", X_Forwarded_Proto="https")[2] == b"/page 2"
    # One host in any spelling.
    assert cache.ask("/page", X_Forwarded_Proto="https", Host="Example.ORG.")[2] == b"/page 3"
