"""A service with Akismet's interface, played by a local web server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from marginalia.comments.moderation import pending
from marginalia.comments.notices import reasons
from marginalia.comments.posting import services, spam
from marginalia.comments.types import CommentAuthor, Verdict
from tests.support.comments import site
from tests.support.comments.submissions import submission

RULE = "marginalia.comments.posting.spam_service.SpamService"


class Service(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.answer = (200, b"false")


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.path, {name: values[0] for name, values in parse_qs(body).items()}))
        status, content = self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service(mongo, rules) -> Iterator[Service]:
    with Service() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/1.1/"
        rules(RULES=(RULE,), SPAM_SERVICE={"URL": url, "KEY": "k", "SITE": "https://example.org"})
        yield server
        server.shutdown()


def test_service_receives_the_comment(service):
    sent = submission("Hello", email="ann@example.org", address="192.0.2.1", user_agent="Browser")
    assert spam.judge(sent).held_by == ()
    ((path, fields),) = service.asked
    assert path == "/1.1/comment-check"
    assert (
        fields.items()
        >= {
            "api_key": "k",
            "blog": "https://example.org",
            "user_ip": "192.0.2.1",
            "user_agent": "Browser",
            "comment_author": "Ann",
            "comment_author_email": "ann@example.org",
            "comment_content": "Hello",
        }.items()
    )


def test_spam_is_held(service):
    service.answer = (200, b"true")
    assert spam.judge(submission()).held_by == ("service: spam",)


@pytest.mark.parametrize("answer", [(500, b"true"), (200, b"invalid"), (200, b"x" * 100_000)])
def test_comment_is_held_if_the_service_fails(service, answer):
    service.answer = answer
    assert spam.judge(submission()).held_by == ("service: unavailable",)


def test_comment_is_held_if_the_service_is_down(service):
    service.shutdown()
    service.server_close()
    assert spam.judge(submission()).held_by == ("service: unavailable",)


@pytest.mark.parametrize(("verdict", "path"), [(Verdict.SPAM, "submit-spam"), (Verdict.APPROVED, "submit-ham")])
def test_decision_is_reported_by_the_worker(service, target, verdict, path):
    held = services.hold(
        target, author=CommentAuthor("Bea"), source="Hello", token="t" * 16, reasons=("service: spam",)
    ).held
    assert held
    assert reasons.sentences(held) == ["The spam service considers this comment spam"]
    if verdict is Verdict.SPAM:
        pending.reject(held.id, by="1", verdict=verdict)
    else:
        pending.approve(held.id, by="1")
    assert service.asked == []
    site.work()
    ((asked, fields),) = service.asked
    assert asked == f"/1.1/{path}"
    assert fields["comment_content"] == "Hello"
