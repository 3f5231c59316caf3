"""The JSON line of a request, and the lines of slow commands."""

import json
import logging
import os
import subprocess
import sys

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from api.rights import tokens
from cms.requests.logs import JsonFormatter, OneLineFormatter
from reader import page_cache
from tests.support.nodes.build import node
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
    answer = client.get("/search?q=words")
    slow = [line for line in kept if "Slow command" in line]
    assert any("Slow command: find cms.site " in line or "Slow command: aggregate cms.site " in line for line in slow)
    assert all(f" WARNING cms.requests.commands {answer['X-Request-ID']} Slow command: " in line for line in slow)
    assert not [line for line in slow if "words" in line]
    settings.SLOW_COMMAND_MS = 0
    del kept[:]
    client.get("/")
    assert not [line for line in kept if "Slow command" in line]


GUNICORN = """
import sys
import django
from gunicorn.config import Config
from gunicorn.glogging import Logger
log = Logger(Config())
django.setup()
log.error("Worker (pid:%s) was sent %s!", 7, "SIGKILL")
"""


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
