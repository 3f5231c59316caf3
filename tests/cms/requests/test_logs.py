"""Lines of requests, errors and slow commands: one each, and without secrets or personal data."""

import json
import logging
import os
import subprocess
import sys

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pymongo.errors import AutoReconnect

from api.rights import tokens
from cms.requests.logs import MAX_LENGTH, JsonFormatter, OneLineFormatter, PublicPathFilter, redact, request_id
from cms.testing.build import node
from reader import page_cache
from tests.support.processes import ROOT

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Kept(logging.Handler):
    """A handler that stores the formatted lines."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def lines(mongo):
    """The lines logged from now on, in a format: lines(JsonFormatter())."""
    made = []
    logger = logging.getLogger("cms.requests")
    level = logger.level
    logger.setLevel(logging.INFO)

    def begin(formatter):
        made.append(Kept(formatter))
        logger.addHandler(made[-1])
        return made[-1].lines

    yield begin
    for handler in made:
        logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture
def line_of(lines):
    """Request a page, and return the parsed line of the request."""

    def ask(path="/", client=None, **headers):
        kept = lines(JsonFormatter())
        (client or Client()).get(path, headers=headers, REMOTE_ADDR="203.0.113.9")
        return [event for event in map(json.loads, kept) if "path" in event][-1]

    return ask


@pytest.fixture
def console_lines(caplog):
    """Return the lines that the site's own handler has written so far."""
    console = next(one for one in logging.getLogger().handlers if isinstance(one.formatter, OneLineFormatter))
    return lambda: [console.format(record) for record in caplog.records if console.filter(record)]


def test_line_has_its_fields(line_of):
    page_cache.storage.clear()
    node(title="Ours")
    first = line_of("/page?secret=1")
    assert first.keys() == {
        *("time", "level", "logger", "request", "message"),
        *("method", "path", "status", "ms", "commands", "cache", "user"),
    }
    assert (first["method"], first["path"], first["status"], first["user"]) == ("GET", "/page", 200, "anonymous")
    assert first["message"].startswith("GET /page 200 ")
    assert (first["cache"], first["commands"] > 1, first["ms"] > 0) == ("unkeepable", True, True)
    assert line_of("/page")["cache"] == "miss"
    kept = line_of("/page")
    assert (kept["cache"], kept["commands"]) == ("hit", 1)


def test_line_contains_nothing_about_the_reader(line_of):
    said = json.dumps(
        [line_of("/preview/eyJub2RlIjoi"), line_of("/ann@example.org?token=hidden", cookie="sessionid=hidden")]
    )
    for secret in ("eyJub2RlIjoi", "ann@", "hidden", "203.0.113.9"):
        assert secret not in said


def test_all_lines_of_a_request_contain_its_trace(line_of, lines, settings):
    settings.SLOW_COMMAND_MS = 0.001
    kept = lines(JsonFormatter())
    assert line_of(traceparent=f"00-{TRACE}-00f067aa0ba902b7-01")["trace"] == TRACE
    events = list(map(json.loads, kept))
    assert len(events) > 1
    assert {event["trace"] for event in events} == {TRACE}


@pytest.mark.parametrize(
    "header",
    [
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-00f067aa0ba902b7-01",
        f"00-{TRACE}\n-00f067aa0ba902b7-01",
        TRACE,
        "00-" * 10_000,
    ],
)
def test_invalid_trace_is_omitted(line_of, header):
    assert "trace" not in line_of(traceparent=header)


def test_line_contains_the_kind_of_account(line_of):
    accounts = get_user_model().objects
    for name, rights, kind in (("ann", {}, "account"), ("bob", {"is_staff": True}, "staff")):
        client = Client()
        client.force_login(accounts.create_user(name, **rights))
        # A shared page doesn't read the session.
        assert line_of("/search", client)["user"] == kind
    _token, secret = tokens.create(accounts.get(username="bob"), "mirror", ())
    assert line_of("/api/v1/nodes", authorization=f"Bearer {secret}")["user"] == "token"
    assert line_of("/api/v1/nodes")["user"] == "anonymous"


def test_slow_command_is_logged_with_its_request(lines, settings, client):
    kept = lines(OneLineFormatter())
    client.get("/")
    assert not [line for line in kept if "Slow command" in line]
    settings.SLOW_COMMAND_MS = 0.001
    answer = client.get("/search?q=needle")
    slow = [line for line in kept if "Slow command" in line]
    assert any("Slow command: find cms.site " in line or "Slow command: aggregate cms.site " in line for line in slow)
    assert all(f" WARNING cms.requests.commands {answer['X-Request-ID']} Slow command: " in line for line in slow)
    assert not [line for line in slow if "needle" in line]
    settings.SLOW_COMMAND_MS = 0
    del kept[:]
    client.get("/")
    assert not [line for line in kept if "Slow command" in line]


def test_waiting_for_changes_is_not_logged_as_slow(lines, settings, mongo):
    kept = lines(OneLineFormatter())
    settings.SLOW_COMMAND_MS = 1
    with mongo.watch(max_await_time_ms=50) as stream:
        assert stream.try_next() is None
        assert stream.try_next() is None
    assert not [line for line in kept if "getMore" in line]


GUNICORN = """
import sys
import django
from gunicorn.config import Config
from gunicorn.glogging import Logger
log = Logger(Config())
django.setup()
log.error("Worker (pid:%s) was sent %s!", 7, "SIGKILL")
"""


@pytest.mark.slow
def test_lines_of_gunicorn_have_the_same_format(tmp_path):
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "cms.settings",
        "LOG_FORMAT": "json",
        "VAR_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", GUNICORN], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    (line,) = done.stderr.splitlines()
    event = json.loads(line)
    assert (event["logger"], event["message"]) == ("gunicorn.error", "Worker (pid:7) was sent SIGKILL!")


@pytest.mark.parametrize(
    ("is_behind_proxy", "given", "adopted"),
    [(True, TRACE, True), (False, TRACE, False), (True, "a name", False), (True, "a" * 37, False)],
)
def test_request_id_is_accepted_only_from_a_proxy(line_of, settings, is_behind_proxy, given, adopted):
    settings.BEHIND_PROXY = is_behind_proxy
    assert (line_of(X_Request_ID=given)["request"] == given) is adopted


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


@pytest.mark.parametrize("path", ["/", "/search?q=x", "/comments/mine", "/admin/", "/feed.xml", "/no-such-page"])
def test_wrong_host_logs_one_warning(mongo, browser, console_lines, path):
    assert browser.get(path, headers={"host": "evil.example"}).status_code == 400
    said = [line for line in console_lines() if "cms.requests" not in line]
    assert len(said) == 1
    assert " WARNING django.security.DisallowedHost " in said[0]
    assert "caused by" not in said[0]


def test_form_with_too_many_fields_logs_one_warning(mongo, browser, console_lines, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 3
    assert browser.post("/comments/post", dict.fromkeys("abcde", "x")).status_code == 413
    (said,) = [line for line in console_lines() if "cms.requests" not in line]
    assert " WARNING django.security.TooManyFieldsSent " in said


def test_outage_is_logged_as_an_error_with_its_cause(outage, browser, console_lines):
    browser.get("/")
    (said,) = [line for line in console_lines() if " ERROR " in line]
    assert "ServerSelectionTimeoutError" in said


def test_announced_503_is_not_logged_as_an_error(mongo, browser, console_lines, monkeypatch):
    monkeypatch.setattr("cms.middleware.primary_answers", lambda: False)
    assert browser.get("/readyz").status_code == 503
    assert [line for line in console_lines() if " ERROR " in line] == []
