"""deploy/varnish.vcl in a real Varnish, before a stand-in for the site that answers as it is told."""

import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from api.changes import purging
from cms.serving import cdn
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
    """Answers each address with the headers that are set for it, or by 304; counts what is asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.pages: dict[str, dict[str, str]] = {}
        self.asked: Counter[str] = Counter()
        self.said: list[dict[str, str]] = []
        self.is_broken = self.is_unchanged = False
        self.slowness = 0.0


class _Answering(BaseHTTPRequestHandler):
    server: Stand
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        stand = self.server
        body = b""
        if self.path == "/healthz":
            status, headers = 200, {}
        else:
            stand.asked[self.path] += 1
            stand.said.append({name.lower(): value for name, value in self.headers.items()})
            status, headers = (503, {}) if stand.is_broken else (200, stand.pages.get(self.path, {}))
            body = f"{self.path} {stand.asked[self.path]}".encode()
            if stand.is_unchanged and self.headers.get("If-None-Match") == headers.get("ETag", ""):
                status, body = 304, b""
            if stand.slowness:
                threading.Event().wait(stand.slowness)
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
    """The stand-in, and Varnish with nothing in it."""
    stand, cache = running
    cdn.varnish(cache.purge_url, {"lists"})
    stand.pages.clear()
    stand.asked.clear()
    stand.said.clear()
    stand.is_broken = stand.is_unchanged = False
    stand.slowness = 0.0
    return running


def test_a_page_with_keys_is_kept_and_readers_see_none_of_that(both):
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
def test_a_page_is_dropped_by_any_of_its_keys(both, key):
    stand, cache = both
    stand.pages["/page"] = KEPT
    cache.ask("/page")
    cdn.varnish(cache.purge_url, {"node-11", "texts", "node", "1"})
    assert cache.ask("/page")[2] == b"/page 1"
    cdn.varnish(cache.purge_url, {key, "node-11", *(f"node-{number}" for number in range(1000, 1300))})
    assert cache.ask("/page")[2] == b"/page 2"


def test_readers_drop_nothing(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    cache.ask("/page")
    assert cache.ask("/page", "PURGE", Xkey_Purge="lists")[0] != 200
    assert cache.ask("/page")[2] == b"/page 1"
    assert cache.ask("/page", port=cache.purges)[0] == 405


@pytest.mark.parametrize("cookie", ["sessionid=x", "a=b; sessionid=x", "messages=x"])
def test_sessions_pass_it(both, cookie):
    stand, cache = both
    stand.pages["/page"] = KEPT
    cache.ask("/page")
    assert cache.ask("/page", Cookie=cookie)[2] == b"/page 2"
    assert cache.ask("/page", Authorization="Bearer x")[2] == b"/page 3"
    assert cache.ask("/page", Cookie="xsessionid=x")[2] == b"/page 1"


def test_who_has_just_sent_something_sees_what_came_of_it(both):
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
def test_what_is_never_dropped_is_never_kept(both, headers):
    stand, cache = both
    stand.pages["/media/photo"] = headers
    assert [cache.ask("/media/photo")[2] for _ in range(2)] == [b"/media/photo 1", b"/media/photo 2"]


def test_files_whose_names_change_with_them_are_kept(both):
    stand, cache = both
    stand.pages["/static/site.123.css"] = {"Cache-Control": "max-age=315360000, public, immutable"}
    for _ in range(2):
        _status, headers, body = cache.ask("/static/site.123.css")
        assert (body, headers["cache-control"]) == (b"/static/site.123.css 1", "max-age=315360000, public, immutable")


def test_a_page_that_took_long_is_not_kept(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    assert f"> {purging.SLOWEST}s" in VCL
    stand.slowness = purging.SLOWEST + 0.1
    cache.ask("/page")
    stand.slowness = 0.0
    assert [cache.ask("/page")[2] for _ in range(2)] == [b"/page 2", b"/page 2"]


def test_a_page_that_was_being_made_is_dropped_by_the_second_word(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    stand.slowness = 0.3
    reader = threading.Thread(target=cache.ask, args=("/page",))
    reader.start()
    until(lambda: stand.asked["/page"])
    cdn.varnish(cache.purge_url, {"lists"})
    reader.join()
    assert cache.ask("/page")[2] == b"/page 1"
    cdn.varnish(cache.purge_url, {"lists"})
    assert cache.ask("/page")[2] == b"/page 2"
    assert purging.AGAIN > purging.SLOWEST


def test_a_page_that_was_compared_has_the_keys_of_the_answer(both):
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


def test_what_ended_is_shown_while_the_site_is_out_of_order_and_says_so(both):
    stand, cache = both
    stand.pages["/page"] = BRIEF
    stand.pages["/short"] = SHORT
    cache.ask("/page")
    cache.ask("/short")
    stand.is_broken = True
    ended = threading.Event()
    ended.wait(1.1)
    # Within stale-while-revalidate; the next is made in vain.
    assert cache.ask("/page")[2] == b"/page 1"
    # Without it the site is asked, and asked once more: it falls due.
    assert cache.ask("/short")[0] == 503
    assert cache.ask("/never")[0] == 503
    ended.wait(cdn.WHILE_RENEWED)
    status, headers, body = cache.ask("/page")
    assert (status, body, headers["warning"]) == (200, b"/page 1", '110 - "Response is Stale"')
    # Never what was dropped; then the site's own answer.
    cdn.varnish(cache.purge_url, {"node-1"})
    status, headers, body = cache.ask("/page")
    assert (status, body[:6]) == (503, b"/page ")
    stand.is_broken = False
    assert "warning" not in cache.ask("/page")[1]


def test_the_site_hears_whom_the_proxy_speaks_for(both):
    stand, cache = both
    cache.ask("/x", X_Forwarded_For="spoofed, 203.0.113.9")
    assert stand.said[-1]["x-forwarded-for"] == "spoofed, 203.0.113.9"
    cache.ask("/x")
    assert stand.said[-1]["x-forwarded-for"] == "127.0.0.1"


def test_addresses_of_two_schemes_and_hosts_are_two_pages(both):
    stand, cache = both
    stand.pages["/page"] = KEPT
    assert cache.ask("/page", X_Forwarded_Proto="http")[2] == b"/page 1"
    assert cache.ask("/page", X_Forwarded_Proto="https")[2] == b"/page 2"
    assert cache.ask("/page", X_Forwarded_Proto="https", Host="example.org")[2] == b"/page 3"
    assert cache.ask("/page", X_Forwarded_Proto="https")[2] == b"/page 2"
