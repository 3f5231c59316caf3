"""A flood of comments: few are accepted at a time, and the others are refused before Django and without the database."""

import io
import re
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from html import unescape

import pytest
from django.core.wsgi import get_wsgi_application
from django.test import RequestFactory
from django.urls import reverse

from cms.requests import comment_flood, errors
from cms.requests.comment_flood import AT_ONCE, CommentLimit, is_comment
from cms.requests.heavy import Slots
from cms.requests.metrics.request_metrics import HEAVY_REFUSED
from marginalia.comments.reading import selectors
from tests.faults.harness.browser import REFUSED_COMMENT
from tests.support.comments import site

POST = "/comments/post"
TYPED = "Two lines <b>&amp; more</b>\r\n\r\n</textarea>“quoted”"


class Response:
    """The response of a WSGI application to a request."""

    def __init__(self, application, request) -> None:
        sent = application(request.environ, self._start)
        self.text = b"".join(sent).decode()

    def _start(self, status, headers, exc_info=None) -> None:
        self.status = int(status.split()[0])
        self.headers = dict(headers)


@pytest.fixture
def full(monkeypatch) -> None:
    """Let other comments occupy all slots."""
    monkeypatch.setattr(Slots, "enter", lambda self: False)


@pytest.fixture
def refusing(full) -> CommentLimit:
    """A limit whose application must never be called."""

    def fail(environ, start_response):
        raise AssertionError("the refused comment reached Django")

    return CommentLimit(fail)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", reverse("comments-post-comment"), True),
        ("POST", "/api/v1/nodes/x/comments", True),
        ("POST", reverse("api:embed-comments"), True),
        ("GET", "/api/v1/nodes/x/comments", False),
        ("POST", "/api/v1/nodes", False),
        ("POST", "/login", False),
    ],
)
def test_forms_and_the_api_send_comments(method, path, expected):
    assert is_comment(method, path) is expected


@pytest.mark.slow
def test_flood_leaves_threads_to_readers(rf):
    go, inside = threading.Event(), threading.Semaphore(0)

    def answer(environ, start_response):
        if is_comment(environ["REQUEST_METHOD"], environ["PATH_INFO"]):
            inside.release()
            go.wait(30)
        start_response("200 OK", [])
        return [b"done"]

    limit = CommentLimit(answer)

    def post():
        return Response(limit, rf.post(POST, {"text": "Hi"})).status

    with ThreadPoolExecutor(AT_ONCE + 1) as pool:
        try:
            posts = [pool.submit(post) for _ in range(AT_ONCE + 1)]
            assert inside.acquire(timeout=30)
            assert next(as_completed(posts, timeout=30)).result() == 503
            assert Response(limit, rf.get("/")).status == 200
            assert Response(limit, rf.post("/login")).status == 200
        finally:
            go.set()
    assert sorted(one.result() for one in posts) == [200] * AT_ONCE + [503]


def test_refused_comment_costs_no_command_and_no_template(refusing, rf, commands, monkeypatch):
    Response(refusing, rf.post(POST, {"text": "the first refusal renders the page"}))
    monkeypatch.setattr(comment_flood.loader, "render_to_string", None)
    before = HEAVY_REFUSED._value.get()
    for path in (POST, "/api/v1/nodes/x/comments"):
        response = Response(refusing, rf.post(path, {"text": TYPED, "name": "Ann"}))
        assert (response.status, response.headers["Retry-After"]) == (503, str(comment_flood.RETRY_AFTER))
    assert not commands.names
    assert HEAVY_REFUSED._value.get() == before + 2


def test_refusal_contains_the_form_and_security_headers(refusing, rf, client):
    response = Response(refusing, rf.post(POST, {"text": TYPED, "name": "Ann", "preview": "1", "password": "x"}))
    [text] = re.findall(r'<textarea name="text" rows="\d+">\n(.*?)</textarea>', response.text, re.DOTALL)
    assert unescape(text) == TYPED
    assert '<input type="hidden" name="name" value="Ann">' in response.text
    assert '<input type="hidden" name="preview" value="1">' in response.text
    assert "password" not in response.text
    assert comment_flood._FIELDS not in response.text
    assert REFUSED_COMMENT.decode() in response.text
    assert REFUSED_COMMENT not in errors.busy(rf.post(POST, {"text": TYPED}), "Busy").content
    assert "no-store" in response.headers["Cache-Control"]
    assert int(response.headers["Content-Length"]) == len(response.text.encode())
    assert {"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options"} <= response.headers.keys()


@pytest.mark.parametrize(
    ("body", "length", "charset"),
    [
        (b"\xff%ff&text=%", None, ""),
        (b"text=x", "many", ""),
        (b"", "0", ""),
        (b"text=x", "99999999999", ""),
        (b"text=x", None, "; charset=latin-1"),
    ],
)
def test_hostile_forms_are_refused_too(refusing, body, length, charset):
    request = RequestFactory().post(POST, body, content_type=f"application/x-www-form-urlencoded{charset}")
    request.environ["wsgi.input"] = io.BytesIO(body)
    if length:
        request.environ["CONTENT_LENGTH"] = length
    assert Response(refusing, request).status == 503


def test_other_sites_can_read_the_refusal_of_an_embedded_comment(refusing, rf, settings):
    settings.EMBED = {"ORIGINS": ["https://other.example"], "KEYS": []}
    request = rf.post(reverse("api:embed-comments"), "{}", content_type="application/json")
    request.environ["HTTP_ORIGIN"] = "https://other.example"
    response = Response(refusing, request)
    assert response.headers["Access-Control-Allow-Origin"] == "https://other.example"
    assert "Retry-After" in response.headers["Access-Control-Expose-Headers"]
    assert response.headers["Content-Type"] == "application/problem+json"


def test_each_acknowledged_comment_is_stored_once_and_no_refused_one(client, post_page, rf):
    django = get_wsgi_application()
    reached = []

    def counting(environ, start_response):
        reached.append(environ)
        return django(environ, start_response)

    limit = CommentLimit(counting)
    forms = [site.fill(client, post_page, f"Comment {number}", name=f"Writer {number}") for number in range(24)]
    rf.cookies = client.cookies
    with ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(lambda form: Response(limit, rf.post(POST, form)).status, forms))
    assert set(statuses) == {302, 503}
    assert len(reached) == statuses.count(302) == selectors.count(post_page)
    again = [form for form, status in zip(forms, statuses, strict=True) if status == 503]
    assert {Response(limit, rf.post(POST, form)).status for form in again} == {302}
    assert sorted(comment.source for comment in selectors.iterate(post_page)) == sorted(form["text"] for form in forms)
