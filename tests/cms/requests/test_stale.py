"""Cached pages during an outage: served at once, marked as old, and never if they are known to be removed."""

import time
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client
from pymongo import MongoClient
from pymongo.errors import ServerSelectionTimeoutError

from cms.requests import stale
from cms.requests.stale import WARNING_HEADER
from cms.testing.build import EDITOR, node, nonce, save
from marginalia.mongo import servers
from marginalia.mongo.clock import now
from nodes.models import stored_site, tree, version_cache
from nodes.services import trash
from nodes.services.site import save_settings
from reader import page_cache

LINE = '<div class="messages" role="status"><p class="message warning">This is a stored copy of the page'

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def away(mongo):
    """A function that replaces the server behind Django's connection with none. away(False) restores it."""
    wrapper = connections["default"]
    there = wrapper.database
    with MongoClient("mongodb://127.0.0.1:9/?replicaSet=none", serverSelectionTimeoutMS=50) as nowhere:

        def go(gone=True):
            wrapper.database = nowhere[there.name] if gone else there

        yield go
        go(False)


@pytest.fixture
def browser():
    return Client(raise_request_exception=False)


@pytest.fixture
def post(mongo):
    blog = node("blog", "blog", published=now() - timedelta(days=2))
    return node("blog-entry", "post", parent=blog, text="First text", published=now() - timedelta(days=1))


def test_cached_page_is_served_with_a_notice(post, browser, away):
    fresh = browser.get("/blog/post")
    assert "Warning" not in fresh
    away()
    began = time.monotonic()
    # A browser that has the page gets the notice too.
    answers = [browser.get("/blog/post", headers={"if-none-match": fresh["ETag"]}) for _ in range(20)]
    assert time.monotonic() - began < 20 * 0.2
    for answer in answers:
        assert (answer.status_code, answer["Warning"], answer["Cache-Control"]) == (200, WARNING_HEADER, "no-store")
        assert not answer.has_header("ETag")
        assert not answer.has_header("Last-Modified")
        assert int(answer["Content-Length"]) == len(answer.content)
        page = answer.content.decode()
        assert page.count(LINE) == 1
        assert page.index("skip-link") < page.index(LINE) < page.index("site-header")
        assert "First text" in page
    assert answers[0]["Content-Security-Policy"] == fresh["Content-Security-Policy"]


def test_pages_are_fresh_right_after_an_outage(post, browser, away):
    before = browser.get("/blog/post")
    away()
    assert LINE in browser.get("/blog/post").content.decode()
    away(False)
    assert browser.get("/blog/post").content == before.content
    save(post, nonce(post), detail__text="Second text")
    after = browser.get("/blog/post")
    assert "Warning" not in after
    assert b"Second text" in after.content
    assert LINE not in after.content.decode()


def test_feeds_and_the_api_warn_only_by_header(post, browser, away):
    for path in ("/feed/atom", "/api/v1/nodes"):
        before = browser.get(path)
        away()
        answer = browser.get(path)
        assert (answer.status_code, answer["Warning"]) == (200, WARNING_HEADER)
        assert answer.content == before.content
        away(False)


def test_notice_is_in_the_language_of_the_site(post, browser, away):
    save_settings({"language": "zh-hans"}, {"language": "en"})
    browser.get("/blog/post")
    away()
    answer = browser.get("/blog/post")
    assert answer["Content-Language"] == "zh-hans"
    assert '<div class="messages" role="status">' in answer.content.decode()


def test_uncached_pages_and_sessions_get_a_503(post, browser, away, settings):
    browser.get("/blog/post")
    away()
    assert browser.get("/blog").status_code == 503
    assert browser.post("/blog/post", {"text": "Typed for ten minutes"}).status_code == 503
    browser.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
    assert browser.get("/blog/post").status_code == 503


def test_process_without_a_first_primary_refuses_at_once(post, browser, monkeypatch):
    wrapper = connections["default"]
    # The time that a running site waits for an election.
    nowhere = MongoClient("mongodb://127.0.0.1:9/?replicaSet=none", serverSelectionTimeoutMS=10_000)
    with nowhere, monkeypatch.context() as patched:
        patched.setattr(wrapper, "database", nowhere[wrapper.database.name])
        assert servers.is_cut_off()
        began = time.monotonic()
        assert [browser.get(path).status_code for path in ("/blog/post", "/admin/")] == [503, 503]
        # Less than one wait for a server.
        assert time.monotonic() - began < 5


def test_database_failing_during_a_request_serves_the_cache(post, browser, monkeypatch):
    """The server is known to be the primary, and doesn't respond, because it hangs."""
    browser.get("/blog/post")

    def fail(*others):
        raise ServerSelectionTimeoutError("no primary")

    monkeypatch.setattr(stored_site, "read_with", fail)
    assert servers.knows_primary()
    assert LINE in browser.get("/blog/post").content.decode()


def test_page_that_cannot_be_rendered_in_time_is_served_old(post, browser, monkeypatch):
    browser.get("/blog/post")
    save(post, nonce(post), detail__text="Second text")
    with monkeypatch.context() as patched:
        patched.setattr(page_cache.middleware, "RENDERING_TIMEOUT", 1e-6)
        page = browser.get("/blog/post").content.decode()
    assert LINE in page
    assert "First text" in page
    assert b"Second text" in browser.get("/blog/post").content


def test_request_refused_at_the_gate_gets_the_cached_page(post, browser, monkeypatch):
    browser.get("/blog/post")
    monkeypatch.setattr("cms.requests.gate.Gate.enter", lambda self, *, counted: False)
    assert LINE in browser.get("/blog/post").content.decode()
    assert browser.get("/blog").status_code == 503


def test_trashed_page_is_not_served_during_an_outage(post, browser, away):
    browser.get("/blog/post")
    trash.trash(EDITOR, post, nonce(post))
    away()
    # The worst case: no request since the change.
    assert browser.get("/blog/post").status_code == 200
    away(False)
    browser.get("/blog")
    away()
    assert browser.get("/blog/post").status_code == 503
    assert browser.get("/blog").status_code == 200


def test_page_removed_by_a_shared_entry_is_not_served(post, browser, away):
    browser.get("/blog/post")
    own, site_version = dict(page_cache.storage.cache.entries), page_cache.storage.cache.site_version
    page_cache.storage.cache.clear()
    trash.trash(EDITOR, post, nonce(post))
    browser.get("/blog")  # by another process
    page_cache.storage.cache.clear()
    page_cache.storage.cache.entries.update(own)
    page_cache.storage.cache.site_version = site_version
    assert b"/blog/post" not in browser.get("/blog").content
    away()
    assert [browser.get(path).status_code for path in ("/blog/post", "/blog")] == [503, 200]


def test_process_that_has_sent_no_command_serves_stale_pages(post, browser, away, monkeypatch):
    browser.get("/blog/post")
    page_cache.storage.cache.clear()
    page_cache.storage.cache.site_version = None  # as in a new process, which finds the page in the shared memory
    with monkeypatch.context() as patched:
        patched.setattr(page_cache.stamps, "is_current", lambda proof: True)
        assert browser.get("/blog/post").status_code == 200
    away()
    assert browser.get("/blog/post")["Warning"] == WARNING_HEADER


def test_expired_page_is_not_served_during_an_outage(post, browser, away, monkeypatch):
    save(post, nonce(post), expires=now() + timedelta(minutes=5))
    browser.get("/blog/post")
    away()
    at(monkeypatch, minutes=4)
    assert browser.get("/blog/post").status_code == 200
    at(monkeypatch, minutes=6)
    assert browser.get("/blog/post").status_code == 503


def at(monkeypatch, **later):
    """Let the page cache use a later time."""
    monkeypatch.setattr(page_cache.entries, "now", lambda: now() + timedelta(**later))


def test_cached_page_is_served_for_the_minutes_set(post, browser, away, monkeypatch, settings):
    settings.STALE_MINUTES = 10
    browser.get("/blog/post")
    away()
    at(monkeypatch, minutes=9)
    assert browser.get("/blog/post").status_code == 200
    at(monkeypatch, minutes=11)
    assert browser.get("/blog/post").status_code == 503
    settings.STALE_MINUTES = 0
    at(monkeypatch, minutes=2)
    assert browser.get("/blog/post").status_code == 503


@pytest.mark.parametrize("path", ["/blog/post", "/blog", "/feed/atom"])
def test_pages_read_from_secondaries_are_not_cached(post, browser, commands, settings, monkeypatch, path):
    settings.READ_SECONDARIES = True
    monkeypatch.setattr(stale, "knows_primary", lambda: False)
    # At the start, no server is known.
    fresh = browser.get(path)
    assert "Warning" not in fresh
    monkeypatch.setattr(stale, "knows_secondary", lambda: True)
    for kept in (page_cache.storage, tree, version_cache):
        kept.clear()
    with commands.recorded():
        answer = browser.get(path, headers={"accept-encoding": "gzip"})
    assert (answer.status_code, answer["Warning"], answer["Cache-Control"]) == (200, WARNING_HEADER, "no-store")
    assert (LINE in answer.content.decode()) == (path != "/feed/atom")
    for event in commands.sent:
        assert event.command["$readPreference"] == {"mode": "primaryPreferred", "maxStalenessSeconds": 90}
        assert event.command["readConcern"] == {"level": "majority"}
    assert commands.sent
    assert (page_cache.storage.cache.size, tree._cached, version_cache._cache) == (0, None, (None, {}))
    monkeypatch.undo()
    assert browser.get(path).content == fresh.content


def test_sessions_never_read_from_secondaries(post, browser, settings, monkeypatch, commands):
    settings.READ_SECONDARIES = True
    monkeypatch.setattr(stale, "knows_primary", lambda: False)
    monkeypatch.setattr(stale, "knows_secondary", lambda: True)
    browser.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
    with commands.recorded():
        assert "Warning" not in browser.get("/blog/post")
    assert not any("$readPreference" in event.command for event in commands.sent)


def test_stale_pages_are_counted(post, browser, away, caplog):
    browser.get("/blog/post")
    away()
    with caplog.at_level("INFO", logger="cms.requests"):
        browser.get("/blog/post")
    said = [one.fields["cache"] for one in caplog.records if one.name == "cms.requests"]
    assert said[-1] == "stale"
