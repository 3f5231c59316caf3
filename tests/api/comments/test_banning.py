"""Bans over HTTP: preview, hide, undo, list and lift."""

import pytest
from django.test import Client

from api.rights.scopes import Scope
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from tests.api.comments.conftest import Writer, said
from tests.support.comments import site

TERM = {"kind": "link-domain", "value": "http://www.casino.example/"}


@pytest.fixture
def chief(account, asker):
    """A moderator with a token for moderation."""
    return Writer(asker(account("mod", "Moderators"), Scope.MODERATE))


def spam(target, n=3):
    for number in range(n):
        text = f"{number} http://a.casino.example"
        services.post(target, author=CommentAuthor("A"), source=text, token=f"s{number}")


@pytest.mark.slow
@pytest.mark.usefixtures("patient_requests")
def test_ban_is_previewed_hides_comments_and_is_undone(chief, post_page):
    spam(post_page)
    services.hold(post_page, author=CommentAuthor("A"), source="http://casino.example", token="held")
    counted = said(chief.send("post", "/comments/bans/preview", TERM))
    assert counted == {"published": 3, "pending": 1, "discussions": 1, "more": False}
    answer = chief.send("post", "/comments/bans", {**TERM, "hide": True, "reason": "A wave"})
    assert answer.status_code == 201
    result = said(answer)
    assert (result["ban"]["kind"], result["ban"]["value"]) == ("link-domain", "casino.example")
    assert (result["decision"]["state"], result["decision"]["total"]) == ("done", 4)
    assert (selectors.count(post_page), selectors.held()) == (0, ())
    assert site.post(Client(), post_page, "Again http://casino.example").status_code == 422
    decision = f"/comments/bulk-decisions/{result['decision']['id']}"
    for _again in range(2):
        undone = said(chief.send("post", f"{decision}/undo"))
        assert (undone["state"], undone["restored"]) == ("undone", 4)
    assert said(chief.send("get", decision)) == undone
    assert (selectors.count(post_page), len(selectors.held())) == (3, 1)


def test_bans_are_listed_searched_and_lifted(chief, post_page):
    ids = [
        said(chief.send("post", "/comments/bans", {"kind": "words", "value": value}))["ban"]["id"]
        for value in ("casino*", "cheap pills")
    ]
    listed = said(chief.send("get", "/comments/bans?limit=1"))
    assert [ban["id"] for ban in listed["items"]] == ids[1:]
    rest = said(chief.send("get", f"/comments/bans?limit=1&cursor={listed['next']}"))
    assert ([ban["id"] for ban in rest["items"]], rest["next"]) == (ids[:1], None)
    assert [ban["value"] for ban in said(chief.send("get", "/comments/bans?q=pil"))["items"]] == ["cheap pills"]
    for _again in range(2):
        assert chief.send("delete", f"/comments/bans/{ids[0]}").status_code == 204
    assert len(said(chief.send("get", "/comments/bans"))["items"]) == 1


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"value": "no domain"}, "body.value"),
        ({"kind": "network", "value": "10.0.0.0/8"}, "body.value"),
        ({"kind": "name"}, "body.kind"),
        ({"kind": "account", "value": "mod"}, "body.value"),
        ({"reason": "x" * 501}, "body.reason"),
        ({"expires": "9999-12-31T23:59:59-14:00"}, "body.expires"),
        ({"expires": "0001-01-01T00:00:00+14:00"}, "body.expires"),
        ({"expires": "2001-01-01T00:00:00Z"}, "body.expires"),
        ({"expires": "2099-01-01T00:00:00"}, "body.expires"),
        ({"hide": 1}, "body.hide"),
        ({"by": "me"}, "body.by"),
    ],
)
def test_invalid_ban_is_refused_with_its_field(chief, post_page, wrong, path):
    answer = chief.send("post", "/comments/bans", {**TERM, **wrong})
    assert answer.status_code == 422
    assert [error["field"] for error in said(answer)["errors"]] == [path]


def test_only_moderators_see_and_make_bans(chief, account, asker, post_page):
    spam(post_page)
    others = (
        Writer(asker(account("mod2", "Moderators"), Scope.READ)),
        Writer(asker(account("ed", "Editors"), Scope.WRITE)),
        Writer(asker(account("reader"), Scope.WRITE)),
    )
    for who in others:
        for method, path, body in (
            ("get", "/comments/bans", None),
            ("post", "/comments/bans", {**TERM, "hide": True}),
            ("post", "/comments/bans/preview", TERM),
            ("delete", f"/comments/bans/{'0' * 24}", None),
            ("get", f"/comments/bulk-decisions/{'0' * 24}", None),
            ("post", f"/comments/bulk-decisions/{'0' * 24}/undo", None),
        ):
            assert who.send(method, path, body).status_code in (401, 403), (method, path)
    assert selectors.count(post_page) == 3
    assert chief.send("get", f"/comments/bulk-decisions/{'0' * 24}").status_code == 404
