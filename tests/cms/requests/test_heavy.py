"""Long requests: few at a time, so that readers find a thread."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from cms.middleware import HeavyMiddleware
from cms.requests import heavy
from cms.requests.heavy import LONGEST_PAUSE, Slots
from tests.support.processes import until

LONG = b"x" * (heavy.LONG_BODY_BYTES + 1)


def test_request_waits_while_all_slots_are_used():
    places = Slots(2, 1)
    assert places.enter()
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(places.enter)
        with pytest.raises(TimeoutError):
            second.result(0.2)
        places.leave()
        assert second.result(30)


def test_request_without_a_waiting_place_is_refused():
    places = Slots(2, 2)
    assert [places.enter(), places.enter(), places.enter()] == [True, True, False]
    places.leave()
    assert places.enter()


class Clock:
    """A clock on which time passes only if a test moves it, or if a thread sleeps."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("seconds", "pause"), [(0.1, 0.1 * 2 * 2.0), (60.0, LONGEST_PAUSE)])
def test_after_a_request_the_next_one_waits_in_proportion_to_those_that_wait(monkeypatch, seconds, pause):
    clock = Clock()
    monkeypatch.setattr(heavy, "time", clock)
    places = Slots(3, 1, pause=2.0)
    assert places.enter()
    with ThreadPoolExecutor(2) as pool:
        began = [pool.submit(lambda: (places.enter(), clock.now, places.leave())[1]) for _ in range(2)]
        until(lambda: places.is_full)
        clock.now = seconds
        places.leave()
        # Two requests waited while the first one ran, and none waited after the last one.
        assert [one.result(30) for one in began] == [pytest.approx(seconds + pause)] * 2
    assert places.enter()
    assert clock.now == pytest.approx(seconds + pause)


@pytest.mark.parametrize(
    ("method", "path", "length", "is_heavy"),
    [
        ("POST", "/comments/post", "1000", False),
        # Ten thousand footnotes take seconds.
        ("POST", "/api/v1/nodes", "40000", True),
        ("POST", "/comments/post", str(heavy.LONG_BODY_BYTES + 1), True),
        ("PATCH", "/api/v1/nodes/x", "many", True),
        ("POST", reverse("api:api-bulk"), "10", True),
        ("GET", reverse("api:api-bulk"), str(heavy.LONG_BODY_BYTES + 1), False),
    ],
)
def test_long_and_bulk_requests_are_heavy(rf, method, path, length, is_heavy):
    assert heavy.is_heavy(rf.generic(method, path, CONTENT_LENGTH=length)) is is_heavy


def test_long_requests_leave_threads_to_readers(rf, settings):
    settings.REQUESTS_AT_ONCE = 3
    go, inside = threading.Event(), threading.Semaphore(0)

    def answer(request):
        if request.method == "POST":
            inside.release()
            go.wait(30)
        return HttpResponse("done")

    middleware = HeavyMiddleware(answer)

    def post():
        return middleware(rf.post("/", LONG, content_type="text/plain")).status_code

    count = settings.REQUESTS_AT_ONCE + 1
    with ThreadPoolExecutor(count) as pool:
        try:
            posts = [pool.submit(post) for _ in range(count)]
            assert all(inside.acquire(timeout=30) for _ in range(heavy.CONCURRENT))
            refused = next(as_completed(posts, timeout=30))
            assert refused.result() == 503
            assert middleware(rf.get("/")).status_code == 200
        finally:
            go.set()
    assert sorted(one.result() for one in posts) == [200] * settings.REQUESTS_AT_ONCE + [503]


def test_refused_request_returns_its_form_or_a_problem(mongo, monkeypatch):
    monkeypatch.setattr(Slots, "enter", lambda self: False)
    text = "A word of many, which is typed again and again. " * 2_000
    answer = Client().post("/comments/post", {"text": text})
    assert (answer.status_code, bool(answer["Retry-After"])) == (503, True)
    assert f"{text}</textarea>" in answer.content.decode()
    assert escape(str(heavy.TOO_MANY_LONG_REQUESTS)) in answer.content.decode()
    answer = Client().post("/api/v1/bulk", {}, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert Client().get("/healthz").status_code == 200
