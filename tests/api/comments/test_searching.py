"""Searches and bulk decisions over HTTP."""

import pytest
from bson import ObjectId

from api.rights.scopes import Scope
from cms.testing import build
from marginalia.comments.errors import SearchTimeout
from marginalia.comments.moderation import searches
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Target
from tests.api.comments.conftest import Writer, said

pytestmark = pytest.mark.usefixtures("patient_requests")

BULK = "/comments/bulk-decisions"


@pytest.fixture
def chief(account, asker):
    """A moderator with a token for moderation."""
    return Writer(asker(account("mod", "Moderators"), Scope.MODERATE))


@pytest.fixture
def wave(post_page):
    for n in range(3):
        services.post(post_page, author=CommentAuthor(f"A{n}"), source=f"{n} http://casino.example", token=f"p{n}")
        services.hold(post_page, author=CommentAuthor(f"B{n}"), source=f"{n} http://casino.example", token=f"h{n}")
    services.post(post_page, author=CommentAuthor("Ann"), source="An answer", token="a", email="ann@example.org")
    return post_page


def found(chief, query) -> list[str]:
    return [item["source"] for item in said(chief.send("get", f"/comments/search?{query}"))["items"]]


def test_slow_search_is_refused(chief, wave, monkeypatch):
    assert len(found(chief, "q=casin*")) == 6
    monkeypatch.setattr(searches, "SECONDS", 0.000001)
    answer = chief.send("get", "/comments/search?q=casin*")
    assert (answer.status_code, answer.json()["detail"]) == (503, SearchTimeout.sentence)


def test_search_has_the_filters_of_the_admin(chief, wave):
    other = build.node("basic-page", "other")
    services.post(Target("nodes.node", str(other)), author=CommentAuthor("Eve"), source="Elsewhere", token="e")
    assert len(found(chief, "link=casino.example")) == 6
    assert len(found(chief, "link=casino.example&state=waiting")) == 3
    assert found(chief, "author=a1") == ["1 http://casino.example"]
    assert found(chief, "author=ann%40example.org") == found(chief, "q=answ*") == ["An answer"]
    section = build.stored(ObjectId(wave.pk))["parent_id"]
    assert "Elsewhere" not in found(chief, f"section={section}")
    assert len(found(chief, "model=nodes.node")) == 8
    assert found(chief, "model=nodes.photo") == found(chief, "until=2001-01-01") == []
    slug = next(comment.slug for comment in selectors.iterate(wave) if comment.source == "An answer")
    services.remove(wave, slug)
    (item,) = said(chief.send("get", "/comments/search?state=removed"))["items"]
    assert (item["source"], item["author"]["name"], item["state"], item["id"]) == ("An answer", "Ann", "removed", None)
    assert (item["node"], item["path"]) == (wave.pk, "/news/hello")


def test_search_is_paged(chief, wave):
    first = said(chief.send("get", "/comments/search?limit=4"))
    rest = said(chief.send("get", f"/comments/search?limit=4&cursor={first['next']}"))
    assert len({item["slug"] for item in (*first["items"], *rest["items"])}) == 7
    assert rest["next"] is None


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("link=no%20domain", "query.link"),
        ("network=x", "query.network"),
        ("q=%3F", "query.q"),
        ("since=soon", "query.since"),
        ("since=0001-01-01", "query.since"),
        ("until=9999-12-31", "query.until"),
        ("section=x", "query.section"),
        ("section=" + "0" * 24, "query.section"),
        ("model=auth.user", "query.model"),
        ("state=approved", "query.state"),
        ("state=$ne", "query.state"),
        ("cursor=x", "query.cursor"),
        ("cursor=" + "9" * 40, "query.cursor"),
        ("limit=0", "query.limit"),
    ],
)
def test_invalid_search_is_refused_with_its_field(chief, wave, query, field):
    answer = chief.send("get", f"/comments/search?{query}")
    assert answer.status_code == 422
    assert [error["field"] for error in said(answer)["errors"]] == [field]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(("action", "left"), [("spam", (1, 0)), ("reject", (1, 0)), ("approve", (7, 0))])
def test_bulk_decision_is_made_listed_and_undone(chief, wave, action, left):
    before = (selectors.count(wave), len(selectors.held()))
    answer = chief.send("post", BULK, {"action": action, "filters": {"link": "casino.example"}})
    assert answer.status_code == 201
    decision = said(answer)
    assert (decision["action"], decision["state"], decision["left"]) == (action, "done", 0)
    assert (selectors.count(wave), len(selectors.held())) == left
    assert [item["id"] for item in said(chief.send("get", BULK))["items"]] == [decision["id"]]
    undone = said(chief.send("post", f"{BULK}/{decision['id']}/undo"))
    assert (undone["state"], undone["restored"]) == ("undone", decision["total"])
    assert (selectors.count(wave), len(selectors.held())) == (before if action != "approve" else (4, 0))


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"filters": {}}, "body.filters"),
        ({"filters": {"q": ""}}, "body.filters"),
        ({"filters": {"link": "no domain"}}, "body.filters.link"),
        ({"filters": {"state": "public"}}, "body.filters.state"),
        ({"action": "delete"}, "body.action"),
    ],
)
def test_invalid_bulk_decision_is_refused(chief, wave, wrong, field):
    answer = chief.send("post", BULK, {"action": "spam", "filters": {"q": "casino"}, **wrong})
    assert answer.status_code == 422
    assert [error["field"] for error in said(answer)["errors"]] == [field]
    assert selectors.count(wave) == 4


def test_only_moderators_search_and_decide(account, asker, wave):
    others = (
        Writer(asker(account("mod2", "Moderators"), Scope.READ)),
        Writer(asker(account("ed", "Editors"), Scope.WRITE)),
        Writer(asker(account("reader"), *Scope)),
    )
    body = {"action": "spam", "filters": {"link": "casino.example"}}
    for who in others:
        for method, path, sent in (("get", "/comments/search", None), ("get", BULK, None), ("post", BULK, body)):
            assert who.send(method, path, sent).status_code in (401, 403), (method, path)
    assert selectors.count(wave) == 4
