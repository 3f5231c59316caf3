"""Error pages and health."""

import threading

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.test import Client
from pymongo.errors import ServerSelectionTimeoutError

from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor
from nodes.models import stored_site
from nodes.services import site as site_services
from tests.support.processes import until

TEXT = "A long comment that took its author ten minutes to write and must not be lost to a failing database."


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


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [("/admin/nodes/sitesettings/", 403, "Access denied"), ("/admin/nowhere/", 404, "Page not found")],
)
def test_admin_errors_are_shown_to_staff_with_the_rail(mongo, client, path, status, title):
    client.force_login(User.objects.create_user("ann", is_staff=True))
    answer = client.get(path)
    page = answer.content.decode()
    assert answer.status_code == status
    assert f"<h1>{title}</h1>" in page
    assert ("Your account doesn't have permission to view this page" in page) == (status == 403)
    assert '<header class="rail">' in page


def test_strangers_log_in_before_they_see_an_admin_error(mongo, client):
    assert client.get("/admin/nowhere/").headers["Location"] == "/admin/login/?next=/admin/nowhere/"


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
