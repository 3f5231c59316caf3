"""Requests while the database hangs: a limited number waits for it, the others get a response at once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import HttpResponse
from django.test import Client

from cms.middleware import GateMiddleware
from cms.requests import gate as module
from cms.requests.gate import Gate
from tests.support.processes import until


@pytest.fixture
def database():
    """A database that responds or hangs, and counts the checks."""

    class Database:
        well, asked = True, 0

        def answers(self):
            self.asked += 1
            return self.well

    return Database()


@pytest.fixture
def gate(database, monkeypatch):
    """A gate for two requests, which wait only briefly."""
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(module, "CHECK_INTERVAL", 0.2)
    return Gate(2, lambda: database.answers())


def test_gate_with_room_checks_nothing(gate, database):
    for _ in range(10):
        assert gate.enter()
        gate.leave()
    assert database.asked == 0


def test_request_waits_until_a_place_is_free(gate, database, monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS", 30)
    assert gate.enter()
    assert gate.enter()
    with ThreadPoolExecutor(1) as pool:
        third = pool.submit(gate.enter)
        gate.leave()
        assert third.result()
    assert database.asked == 0


def test_healthy_database_blocks_no_request(gate, database):
    assert all(gate.enter() for _ in range(5))
    assert database.asked == 3


def test_hanging_database_is_checked_by_one_request(gate, database):
    assert gate.enter()
    assert gate.enter()
    database.well = False
    asked, go = threading.Event(), threading.Event()
    answers = database.answers
    database.answers = lambda: (asked.set(), go.wait(30), False)[-1]
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(gate.enter) for _ in range(3)]
        assert asked.wait(30)
        go.set()
        assert not any(one.result() for one in waiting)
    began = time.monotonic()
    database.answers = answers
    assert not any(gate.enter(counted=counted) for counted in (True, False) for _ in range(50))
    assert database.asked <= 1 + (time.monotonic() - began) / 0.2


def test_gate_opens_again_when_the_database_recovers(gate, database):
    assert gate.enter()
    assert gate.enter()
    database.well = False
    assert not gate.enter()
    gate.leave()
    gate.leave()
    assert not gate.enter()
    database.well = True
    until(gate.enter)
    assert gate.enter()


def test_uncounted_request_uses_no_place(gate, database):
    assert all(gate.enter(counted=False) for _ in range(5))
    gate.leave(counted=False)
    assert gate.enter()
    assert gate.enter()
    assert database.asked == 0


def test_failed_check_leaves_the_gate_usable(gate, database):
    assert gate.enter()
    assert gate.enter()

    def fail():
        raise RuntimeError("no threads")

    answers, database.answers = database.answers, fail
    with pytest.raises(RuntimeError):
        gate.enter()
    database.answers = answers
    until(gate.enter)


def test_closed_gate_returns_503_with_the_form(mongo, monkeypatch):
    monkeypatch.setattr(Gate, "enter", lambda self, counted: False)
    text = "What was typed, and is long enough to stand in a box of its own when it is given back."
    answer = Client().post("/comments/post", {"text": text})
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert f"{text}</textarea>" in answer.content.decode()
    assert Client().get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("length", "status"),
    [("0", 503), ("20", 503), ("2000000", 200), ("many", 200)],
    ids=["page", "form", "upload", "?"],
)
def test_only_uploads_leave_their_place_to_others(mongo, rf, monkeypatch, settings, length, status):
    """A page is requested during another request, at a gate for one, while the database hangs."""
    settings.REQUESTS_AT_ONCE = 1
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr("cms.middleware.primary_answers", lambda: False)
    page = rf.get("/page")

    def respond(request):
        return HttpResponse() if request is page else middleware(page)

    middleware = GateMiddleware(respond)
    assert middleware(rf.generic("POST", "/", b"x", CONTENT_LENGTH=length)).status_code == status
