"""Error pages, health and logs."""

import json
import logging
import threading

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.test import Client
from pymongo.errors import AutoReconnect, ServerSelectionTimeoutError

from cms.requests.logs import MAX_LENGTH, JsonFormatter, OneLineFormatter, PublicPathFilter, redact, request_id
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor
from nodes.models import stored_site
from nodes.services import site as site_services
from tests.support.processes import until

TEXT = "A long comment that took its author ten minutes to write and must not be lost to a failing database."


@pytest.fixture
def outage(mongo, monkeypatch):
    """Let the first read of every request fail as if no primary could be found."""

    def fail():
        raise ServerSelectionTimeoutError("no primary")

    monkeypatch.setattr(stored_site, "read", fail)


@pytest.fixture
def browser():
    return Client(raise_request_exception=False)


def test_outage_returns_503_with_retry_after(outage, browser):
    answer = browser.get("/")
    assert answer.status_code == 503
    assert answer["Retry-After"] == "15"
    assert "no-store" in answer["Cache-Control"]
    assert b"Nothing is lost" in answer.content


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_outage_returns_the_form_with_its_text(outage, browser, kind):
    data = {"text": TEXT, "name": "<b>Ann", "password1": "secret-word"}
    if kind.startswith("multipart"):
        answer = browser.post("/somewhere?a=1", data)
    else:
        answer = browser.post("/somewhere?a=1", "&".join(f"{k}={v}" for k, v in data.items()), content_type=kind)
    page = answer.content.decode()
    assert answer.status_code == 503
    assert 'action="/somewhere?a=1"' in page
    assert f"{TEXT}</textarea>" in page
    assert "&lt;b&gt;Ann" in page
    assert "secret-word" not in page


def test_outage_shows_typed_fields_and_hides_tokens(outage, browser):
    token = "x" * 90
    answer = browser.post("/somewhere", {"title": "Two words", "text": "\n\nIndented\nby lines", "token": token})
    page = answer.content.decode()
    assert '<label>Title<br><input name="title" value="Two words"></label>' in page
    # The first line feed after the tag is not part of the text.
    assert 'rows="4">\n\n\nIndented\nby lines</textarea>' in page
    assert f'<input type="hidden" name="token" value="{token}">' in page


@pytest.mark.parametrize("text", ["页边写满了字。" * 30, "https://example.org/" + "x" * 500])
def test_outage_shows_text_without_spaces(outage, browser, text):
    assert f"{text}</textarea>" in browser.post("/somewhere", {"text": text}).content.decode()


def test_unsaved_session_during_an_outage_returns_503(post_page, browser, monkeypatch):
    """Django returns 400 if a session could not be saved, because it assumes a logout in another window."""
    browser.force_login(User.objects.create_superuser("ann"))
    held = services.hold(post_page, author=CommentAuthor("Bo"), source="Hello", token="t").held

    def fail(*args, **kwargs):
        raise DatabaseError from ServerSelectionTimeoutError("no primary")

    monkeypatch.setattr(Session, "save", fail)
    # Possible undo actions are stored in the session.
    answer = browser.post("/admin/marginalia_comments/moderation/decide", {"action": f"reject:{held.id}.{held.rev}"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "15")


def test_other_failures_return_500_with_the_request_id(mongo, browser, monkeypatch, caplog):
    def fail():
        raise KeyError("oops")

    monkeypatch.setattr(stored_site, "read", fail)
    answer = browser.get("/")
    assert answer.status_code == 500
    assert answer["X-Request-ID"] in answer.content.decode()
    assert "oops" not in answer.content.decode()


def test_health_pages_report_a_healthy_site(mongo, client):
    assert client.get("/healthz").content == b"ok\n"
    assert client.get("/readyz").status_code == 200


def test_site_is_not_ready_during_an_outage(mongo, client, monkeypatch):
    monkeypatch.setattr("cms.middleware.primary_answers", lambda: False)
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_silent_database_blocks_only_one_readiness_check(client, monkeypatch):
    asked, over = [], threading.Event()

    def silent() -> bool:
        asked.append(threading.get_ident())
        over.wait(10)
        return False

    monkeypatch.setattr("cms.middleware.primary_answers", silent)
    monkeypatch.setattr("cms.middleware._last_answer", False)
    first = threading.Thread(target=client.get, args=("/readyz",))
    first.start()
    until(lambda: asked)
    assert [Client().get("/readyz").status_code for _ in range(5)] == [503] * 5
    over.set()
    first.join()
    assert len(asked) == 1


def test_health_pages_accept_any_host(mongo, client):
    assert client.get("/healthz", headers={"host": "10.0.0.7"}).status_code == 200


def test_request_logs_one_line_without_personal_data(mongo, client, caplog):
    with caplog.at_level(logging.INFO, logger="cms.requests"):
        client.get("/?secret=1", REMOTE_ADDR="203.0.113.9")
    (record,) = [r for r in caplog.records if r.name == "cms.requests"]
    assert record.getMessage().startswith("GET / 200 ")
    assert "secret" not in record.getMessage()
    assert "203.0.113.9" not in record.getMessage()


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/preview/eyJub2RlIjoi", "/preview/…"),
        ("/comments/unsubscribe/abc:def", "/comments/unsubscribe/…"),
        ("/admin/password-reset/Nw/set-password/", "/admin/password-reset/…"),
        ("/ann@example.org", "/‹address›"),
    ],
)
def test_urls_with_secrets_are_not_logged(mongo, client, caplog, path, logged):
    with caplog.at_level(logging.INFO, logger="cms.requests"):
        client.get(path)
    (record,) = [r for r in caplog.records if r.name == "cms.requests"]
    assert f" GET {logged} " in OneLineFormatter().format(record)


def test_lines_of_django_are_redacted(mongo, browser, monkeypatch, caplog):
    def fail(*arguments):
        raise KeyError("oops")

    monkeypatch.setattr("reader.views.previews.read_token", fail)
    assert browser.get("/preview/eyJub2RlIjoi").status_code == 500
    (record,) = [r for r in caplog.records if r.name == "django.request"]
    assert PublicPathFilter().filter(record)
    line = OneLineFormatter().format(record)
    assert "/preview/…" in line
    assert "eyJub2RlIjoi" not in line
    assert "KeyError: 'oops'" in line


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/preview/eyJub2RlIjoi:1xU:b4p", "/preview/…"),
        ("/preview/eyJub2RlIjoi:1xU:b4p/", "/preview/…"),
        ("/admin/password-reset/MQ/cx1-eyJub2RlIjoi", "/admin/password-reset/…"),
        ("/comments/unsubscribe/eyJub2RlIjoi/more", "/comments/unsubscribe/…"),
        ("/preview/", "/preview/"),
        ("/news/" + "é" * 2_000, "/news/" + "%C3%A9" * 82 + "%C…"),
    ],
)
def test_secrets_in_urls_are_not_logged_for_any_status(mongo, browser, caplog, path, shown):
    caplog.set_level(logging.INFO, "cms.requests")
    browser.get(path)
    assert [record.getMessage().split()[1] for record in caplog.records if record.name == "cms.requests"] == [shown]


def test_redaction_takes_bounded_time():
    """A request with many "@" must not keep a worker busy for seconds only to log it."""
    assert redact("a" * 100 + "@mail.example") == "a" * 36 + "‹address›"
    assert redact("@" * 100_000) == "@" * MAX_LENGTH + "…"


def test_errors_contain_no_personal_data():
    text = (
        'E11000 duplicate key error dup key: { email: "ann@example.org", name: "Ann" }, full error: {\'keyValue\': '
        "{'email': 'ann@example.org', 'name': 'Ann'}, 'code': 11000}; mail to <o'neil+x@mail.example.co.uk> failed; "
        "mongodb://site:secret@db1,db2/?tls=true; 127.0.0.1:27017: connection refused"
    )
    said = redact(text)
    for personal in ("ann", "Ann", "neil", "secret", "site:"):
        assert personal not in said
    for cause in ("E11000", "'code': 11000", "db1,db2", "127.0.0.1:27017: connection refused"):
        assert cause in said


def test_json_lines_contain_the_same():
    token = request_id.set("abc")
    try:
        raise AutoReconnect("ann@example.org\nwent") from KeyError("first")
    except AutoReconnect as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "bad %s", ("b@example.org",), (type(error), error, None))
        event = json.loads(JsonFormatter().format(record))
    finally:
        request_id.reset(token)
    assert {name: event[name] for name in ("level", "logger", "request", "message")} == {
        "level": "ERROR",
        "logger": "x",
        "request": "abc",
        "message": "bad ‹address›",
    }
    assert event["causes"][0].startswith("AutoReconnect: ‹address› ⏎ went (in test_json_lines_contain_the_same")
    assert event["causes"][1].startswith("KeyError: 'first'")


def test_error_is_one_line_with_its_causes():
    def fail():
        try:
            raise AutoReconnect("closed\nhere")
        except AutoReconnect as cause:
            raise ValueError("later") from cause

    token = request_id.set("abc")
    try:
        fail()
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "bad", (), (ValueError, error, error.__traceback__))
        line = OneLineFormatter().format(record)
    finally:
        request_id.reset(token)
    assert "\n" not in line
    assert "ERROR x abc bad" in line
    assert "ValueError: later" in line
    assert "caused by AutoReconnect: closed" in line


def test_form_that_is_too_large_returns_413(mongo, client, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = client.post("/log-in", {"username": "a" * 200})
    assert answer.status_code == 413
    assert "<h1>Too much data</h1>" in answer.content.decode()
    assert "100\xa0bytes" in answer.content.decode()


def test_invalid_request_returns_400(mongo, client):
    answer = client.get("/", headers={"host": "elsewhere.example"})
    assert answer.status_code == 400
    assert "<h1>Invalid request</h1>" in answer.content.decode()


def test_missing_permission_returns_403_in_the_sites_layout(mongo, client):
    client.force_login(User.objects.create_user("ann", is_staff=True))
    answer = client.get("/admin/nodes/sitesettings/")
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "Access denied</h1>" in page
    assert "Your account doesn't have permission to view this page" in page
    assert "site-header" in page


@pytest.mark.parametrize("path", ["/", "/admin/"])
def test_error_pages_are_in_the_language_of_the_site(mongo, browser, monkeypatch, path):
    site_services.save_settings({"language": "zh-hans"}, {"language": "en"})

    def fail(*arguments, **options):
        raise KeyError("oops")

    monkeypatch.setattr("nodes.selectors.stored_nodes.front_page", fail)
    monkeypatch.setattr("django.contrib.admin.sites.AdminSite.has_permission", fail)
    answer = browser.get(path)
    assert answer.status_code == 500
    assert '<html lang="zh-hans">' in answer.content.decode()


@pytest.fixture
def lines(caplog):
    """Return the lines that the site's own handler has written so far."""
    console = next(one for one in logging.getLogger().handlers if isinstance(one.formatter, OneLineFormatter))
    return lambda: [console.format(record) for record in caplog.records if console.filter(record)]


@pytest.mark.parametrize("path", ["/", "/search?q=x", "/comments/mine", "/admin/", "/feed.xml", "/no-such-page"])
def test_wrong_host_logs_one_warning(mongo, browser, lines, path):
    assert browser.get(path, headers={"host": "evil.example"}).status_code == 400
    said = [line for line in lines() if "cms.requests" not in line]
    assert len(said) == 1
    assert " WARNING django.security.DisallowedHost " in said[0]
    assert "caused by" not in said[0]


def test_form_with_too_many_fields_logs_one_warning(mongo, browser, lines, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 3
    assert browser.post("/comments/post", dict.fromkeys("abcde", "x")).status_code == 413
    (said,) = [line for line in lines() if "cms.requests" not in line]
    assert " WARNING django.security.TooManyFieldsSent " in said


def test_outage_is_logged_as_an_error_with_its_cause(outage, browser, lines):
    browser.get("/")
    (said,) = [line for line in lines() if " ERROR " in line]
    assert "ServerSelectionTimeoutError" in said


def test_announced_503_is_not_logged_as_an_error(mongo, browser, lines, monkeypatch):
    monkeypatch.setattr("cms.middleware.primary_answers", lambda: False)
    assert browser.get("/readyz").status_code == 503
    assert [line for line in lines() if " ERROR " in line] == []
