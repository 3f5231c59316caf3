"""Discussions of pages on other sites: origins, addresses, posting, changing, counts, and no use of cookies."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from api.models import EmbeddedPage
from marginalia.comments.reading import selectors
from tests.api.embed.conftest import KEY, ORIGIN, PAGE, Browser, target
from tests.support.comments import site
from tests.support.concurrency import run_concurrently


def test_reading_stores_nothing(browser):
    told = browser.read()
    assert (told["items"], told["discussion"]["count"], told["discussion"]["open"]) == ([], 0, True)
    assert not EmbeddedPage.objects.exists()


def test_first_comment_stores_the_page_once(browser):
    answers = run_concurrently(8, lambda _number: Browser().post("As **typed**"))
    assert {answer.status_code for answer in answers} <= {201, 503}
    assert browser.post("As **typed**").status_code == 201
    page = EmbeddedPage.objects.get()
    assert (str(page), page.get_absolute_url()) == ("Seven", PAGE)
    assert [comment.source for comment in selectors.iterate(target())] == ["As **typed**"]
    told = browser.read()["items"]
    assert [(item["author"]["name"], item["can_edit"]) for item in told] == [("Ann", True)]
    assert "<strong>typed</strong>" in told[0]["body_html"]
    assert [item["can_edit"] for item in Browser().read()["items"]] == [False]


def test_page_with_an_id_keeps_its_discussion_under_another_url(browser):
    browser.post(page=f"{PAGE}#seven")
    assert browser.read(f"{ORIGIN}/moved/#seven")["discussion"]["count"] == 1
    assert browser.read(PAGE)["discussion"]["count"] == 0


WRONG_ADDRESSES = (
    "https://evil.example/",
    "https://blog.example.org@evil.example/",
    "https://blog.example.org.evil.example/",
    "https://blog.example.org:8000/",
    "http://blog.example.org/",
    "//blog.example.org/",
    "javascript:alert(1)",
    f"{ORIGIN}/a b",
    f"{ORIGIN}/\n",
    f"{ORIGIN}/ü",
    f"{ORIGIN}/{'x' * 1_000}",
    "https://[::1",
    "",
)


@pytest.mark.parametrize("address", WRONG_ADDRESSES)
def test_address_of_another_site_is_refused(browser, address):
    assert browser.post(page=address).status_code == 422
    assert browser.client.get("/api/v1/embed/comments", {"page": address}).status_code == 422
    assert browser.client.get("/api/v1/embed/counts", {"page": address}).status_code == 422
    assert not EmbeddedPage.objects.exists()


def test_pages_of_other_sites_cannot_write(browser):
    for origin in ("https://evil.example", "null", ""):
        assert Browser(origin).post().status_code == 403
    assert not EmbeddedPage.objects.exists()


def test_browsers_allow_only_registered_sites(browser):
    url = f"{reverse('api:embed-comments')}?page={PAGE}"
    for origin, allowed in ((ORIGIN, ORIGIN), ("https://evil.example", None)):
        preflight = browser.client.options(url, headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
        read = browser.client.get(url, headers={"Origin": origin})
        assert {preflight.get("Access-Control-Allow-Origin"), read.get("Access-Control-Allow-Origin")} == {allowed}
        assert not read.has_header("Access-Control-Allow-Credentials")
        assert "Origin" in read["Vary"]
        if allowed:
            assert "Idempotency-Key" in preflight["Access-Control-Allow-Headers"]
            assert "PATCH" in preflight["Access-Control-Allow-Methods"]
    # Other endpoints still follow API_ORIGINS.
    assert not browser.client.get("/api/v1/tree", headers={"Origin": ORIGIN}).has_header("Access-Control-Allow-Origin")


def test_session_of_a_moderator_gives_no_rights(browser):
    slug = browser.post().json()["comment"]["slug"]
    admin = get_user_model()._default_manager.create_superuser("root", "root@example.org", "pw")
    stranger = Browser()
    stranger.client.force_login(admin)
    told = stranger.read()
    assert (told["sender"], told["items"][0]["can_delete"]) == ({"name": "", "is_moderator": False}, False)
    assert stranger.send("DELETE", f"/comments/{slug}?page={PAGE}", If_Match="1").status_code == 403
    posted = stranger.post("By nobody", key=KEY[::-1])
    assert selectors.get(target(), posted.json()["comment"]["slug"]).author.id is None


def test_author_edits_and_deletes_a_comment(browser):
    browser.post("First")
    slug = browser.read()["items"][0]["slug"]
    body = {"page": PAGE, "text": "Second"}
    assert Browser().send("PATCH", f"/comments/{slug}", body, If_Match="1").status_code == 403
    assert browser.send("PATCH", f"/comments/{slug}", body).status_code == 428
    changed = browser.send("PATCH", f"/comments/{slug}", body, If_Match="1")
    assert (changed.status_code, changed.json()["comment"]["source"]) == (200, "Second")
    other = {**body, "text": "Third"}
    assert browser.send("PATCH", f"/comments/{slug}", other, If_Match="1").status_code == 412
    assert Browser().send("DELETE", f"/comments/{slug}?page={PAGE}", If_Match="2").status_code == 403
    assert browser.send("DELETE", f"/comments/{slug}?page={PAGE}", If_Match="2").status_code == 204
    assert browser.read()["discussion"]["count"] == 0


def test_pending_comment_is_shown_only_to_its_author(browser, rules):
    rules(MODE="hold-all")
    assert browser.post("Please wait").json()["comment"]["state"] == "pending"
    assert [item["source"] for item in browser.read()["pending"]] == ["Please wait"]
    assert Browser().read()["pending"] == []
    assert (
        browser.send(
            "POST",
            f"/comments/{browser.read()['pending'][0]['slug']}/decision",
            {"page": PAGE, "action": "approve"},
            If_Match="1",
        ).status_code
        == 403
    )
    assert browser.read()["items"] == []


def test_counts_of_many_pages_take_one_request(browser):
    browser.post()
    browser.post(page=f"{ORIGIN}/other/", key=KEY[::-1])
    browser.post("Again", page=f"{ORIGIN}/other/", key=f"{KEY}2")
    asked = [PAGE, f"{ORIGIN}/none/", f"{ORIGIN}/other/", PAGE]
    told = browser.client.get("/api/v1/embed/counts", {"page": asked}).json()["items"]
    assert told == [{"page": page, "count": count} for page, count in zip(asked, (1, 0, 2, 1), strict=True)]
    assert browser.client.get("/api/v1/embed/counts", {"page": [PAGE] * 101}).status_code == 422


def test_preview_stores_nothing(browser):
    told = browser.send("POST", "/preview", {"text": "So *it* is <script>alert(1)</script>"}).json()
    assert "<em>it</em>" in told["body_html"]
    assert "<script" not in told["body_html"]
    assert browser.send("POST", "/preview", {"text": "x" * 10_001}).status_code == 422
    assert not EmbeddedPage.objects.exists()


def test_invalid_comment_names_its_fields(browser):
    for wrong, field in (
        ({"text": ""}, "body.text"),
        ({"name": ""}, "body.name"),
        ({"email": "no"}, "body.email"),
        ({"parent": "mfzwizltoq2gk3tu"}, "body.parent"),
        ({"key": "short"}, "header.Idempotency-Key"),
        ({"title": {"$ne": 1}}, "body.title"),
    ):
        answer = browser.post(**{"text": "Hello", **wrong})
        assert answer.status_code == 422, wrong
        assert field in [error["field"] for error in json.loads(answer.content)["errors"]]


def test_title_is_one_short_line(browser):
    browser.post(title="One\n\x00two \u202e" + "x" * 500)
    title = EmbeddedPage.objects.get().title
    assert (title[:7], len(title)) == ("One two", 200)
    assert title.isprintable()


def test_page_is_hidden_when_its_site_is_no_longer_registered(browser, settings):
    slug = browser.post().json()["comment"]["slug"]
    permalink = reverse("comments-url-redirect", args=[target().label, target().pk, slug])
    response = browser.client.get(permalink)
    assert response["Location"] == f"{PAGE}?comments=threaded.at.{slug}#c-{slug}"
    settings.EMBED = {"ORIGINS": [], "KEYS": []}
    assert browser.client.get(permalink).status_code == 404


def test_separate_page_stores_nothing_before_the_first_comment(browser):
    url = f"{reverse('comments-embedded')}?page={PAGE}&title=Seven"
    shown = browser.client.get(url)
    assert (shown.status_code, "no-store" in shown["Cache-Control"]) == (200, True)
    assert "Comments on “Seven”" in shown.content.decode()
    assert not EmbeddedPage.objects.exists()
    assert Client(enforce_csrf_checks=True).post(url).status_code == 403
    sent = browser.client.post(url)
    assert sent["Location"] == reverse("comments-form", args=[target().label, target().pk])
    assert browser.client.get(sent["Location"]).status_code == 200
    assert browser.client.get(url)["Location"] == reverse("comments-discussion", args=[target().label, target().pk])
    for address in WRONG_ADDRESSES:
        assert browser.client.get(reverse("comments-embedded"), {"page": address}).status_code == 404


def test_forms_on_this_site_lead_to_the_discussion_on_this_site(browser, moderator):
    parent = browser.post("The first").json()["comment"]["slug"]
    own_page = reverse("comments-discussion", args=[target().label, target().pk])
    sent = site.post(browser.client, target(), "Without a script", parent=parent)
    assert sent["Location"].startswith(f"{own_page}?comments=threaded.at.{parent}/")
    browser.client.force_login(moderator)
    done = browser.client.post(reverse("comments-delete", args=[target().label, target().pk, parent]))
    assert done["Location"] == f"{own_page}#comments"
