"""The HTTP API of the comments app: reading, posting, changing, reporting, liking, counting, and who can do it."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client

from api import problems
from marginalia.comments.api import rejections, urls
from marginalia.comments.backends import backend
from marginalia.comments.posting import flags, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from tests.comments.api.conftest import KEY, PREFIX, Visitor
from tests.support.concurrency import run_concurrently

OTHER = KEY[::-1]


def test_visitor_posts_and_replies(visitor, post_page):
    first = visitor.posted("As **typed**")
    reply = visitor.posted("Indeed", key=OTHER, parent=first, name="Bob")
    listed = visitor.read("?order=threaded")
    assert [(item["slug"], item["parent"], item["depth"]) for item in listed["items"]] == [
        (first, None, 0),
        (reply, first, 1),
    ]
    assert "<strong>typed</strong>" in listed["items"][0]["body_html"]
    assert listed["discussion"] == {
        "count": 2,
        "open": True,
        "likes": False,
        "order": "threaded",
        "members_only": False,
    }
    assert [comment.author.name for comment in selectors.iterate(post_page)] == ["Ann", "Bob"]


def test_request_that_is_sent_again_posts_nothing(visitor, post_page):
    answers = run_concurrently(8, lambda _number: Visitor(post_page).post())
    assert {answer.status_code for answer in answers} <= {201, 503}
    assert visitor.post().json()["comment"]["can_edit"]
    assert selectors.count(post_page) == 1
    refused = visitor.post("Another text")
    assert (refused.status_code, refused.json()["kind"]) == (422, "key-reused")


def test_pages_of_a_discussion_contain_each_comment_once(visitor):
    slugs = [visitor.posted(f"Number {n}", key=f"{KEY}{n}") for n in range(5)]
    for order in ("oldest", "newest", "threaded"):
        seen, cursor = [], ""
        while cursor is not None:
            page = visitor.read(f"?order={order}&limit=2&cursor={cursor}")
            seen += [item["slug"] for item in page["items"]]
            cursor = page["next"]
        assert seen == (slugs[::-1] if order == "newest" else slugs)


def test_pending_comment_is_shown_only_to_its_author(visitor, rules, post_page):
    rules(MODE="hold-all")
    slug = visitor.posted("Please wait")
    assert [item["source"] for item in visitor.read()["pending"]] == ["Please wait"]
    assert visitor.send("GET", visitor.of(slug)).json()["state"] == "pending"
    changed = visitor.send("PATCH", visitor.of(slug), {"text": "Changed"}, If_Match="1")
    assert (changed.status_code, changed.json()["source"]) == (200, "Changed")
    stranger = Visitor(post_page)
    assert (stranger.read()["items"], stranger.read()["pending"]) == ([], [])
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/flag"), ("PUT", "/like")):
        body = {"text": "Mine"} if method == "PATCH" else None
        assert stranger.send(method, visitor.of(slug) + path, body, If_Match="2").status_code == 404, method
    assert visitor.send("DELETE", visitor.of(slug), If_Match="1").status_code == 412
    assert visitor.send("DELETE", visitor.of(slug), If_Match="2").status_code == 204
    assert selectors.held() == ()


def test_author_edits_and_deletes_a_comment(visitor, post_page):
    slug = visitor.posted("First")
    stranger = Visitor(post_page)
    body = {"text": "Second"}
    assert stranger.send("PATCH", visitor.of(slug), body, If_Match="1").status_code == 403
    assert visitor.send("PATCH", visitor.of(slug), body).status_code == 428
    assert visitor.send("PATCH", visitor.of(slug), body, If_Match="1").json()["source"] == "Second"
    assert visitor.send("PATCH", visitor.of(slug), {"text": "Third"}, If_Match="1").status_code == 412
    assert stranger.send("DELETE", visitor.of(slug), If_Match="2").status_code == 403
    assert visitor.send("DELETE", visitor.of(slug), If_Match="2").status_code == 204
    assert visitor.send("DELETE", visitor.of(slug), If_Match="2").status_code == 204
    assert visitor.read()["discussion"]["count"] == 0


def test_moderator_edits_and_hides_comments_with_a_session(visitor, post_page, moderator):
    slug = visitor.posted("First")
    client = Client()
    client.force_login(moderator)
    staff = Visitor(post_page, client)
    assert staff.send("PATCH", visitor.of(slug), {"text": "Edited"}, If_Match="1").status_code == 200
    assert staff.send("DELETE", visitor.of(slug), If_Match="2").status_code == 204
    assert (
        visitor.send("GET", visitor.of(slug)).json() | {"author": None, "body_html": ""}
        == visitor.send("GET", visitor.of(slug)).json()
    )


def test_session_needs_a_csrf_token(visitor, post_page):
    user = get_user_model()._default_manager.create_user("bea", "bea@example.org", "pw")
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    member = Visitor(post_page, client)
    slug = Visitor(post_page).posted()
    forged = [
        member.post(key=OTHER),
        member.send("PATCH", member.of(slug), {"text": "x"}, If_Match="1"),
        member.send("POST", f"{member.of(slug)}/flag"),
    ]
    assert {answer.status_code for answer in forged} == {403}
    assert "CSRF" in forged[0].json()["detail"]
    client.cookies["csrftoken"] = token = _get_new_csrf_string()
    posted = member.send("POST", member.on, {"text": "Mine"}, Idempotency_Key="1", X_CSRFToken=token)
    assert posted.status_code == 201
    assert selectors.get(post_page, posted.json()["comment"]["slug"]).author.id == str(user.pk)
    # Without a session cookie, no token is needed.
    assert Visitor(post_page, Client(enforce_csrf_checks=True)).post("Again", key=KEY * 2).status_code == 201


def test_each_reader_is_counted_once(visitor, post_page, rules):
    rules(LIKES=True)
    slug = visitor.posted()
    like = f"{visitor.of(slug)}/like"
    visitor.guest = visitor.send("PUT", like).json()["guest"]
    assert visitor.send("PUT", like).json() == {"likes": 1, "liked": True, "guest": visitor.guest}
    assert Visitor(post_page).send("PUT", like).json()["likes"] == 2
    assert [(item["likes"], item["liked"]) for item in visitor.read()["items"]] == [(2, True)]
    assert visitor.send("DELETE", like).json()["likes"] == 1
    assert not visitor.send("GET", visitor.of(slug)).json()["liked"]
    rules(LIKES=False)
    assert visitor.send("PUT", like).status_code == 403


def test_report_reaches_the_moderators(visitor):
    slug = visitor.posted()
    assert [visitor.send("POST", f"{visitor.of(slug)}/flag").status_code for _ in range(2)] == [204, 204]
    assert [(flagged.slug, flagged.count) for flagged in flags.list_flagged()] == [(slug, 1)]


def test_counts_of_many_objects_take_one_request(visitor, post_page):
    visitor.posted()
    hidden = f"nodes.node:{'0' * 24}"
    shown = f"nodes.node:{post_page.pk}"
    asked = "&".join(f"target={name}" for name in (hidden, shown, shown, "auth.user:1", "nothing", "$ne:1"))
    assert visitor.send("GET", f"/counts?{asked}").json() == {"items": [{"target": shown, "count": 1}]}
    assert visitor.send("GET", f"/counts?{f'target={shown}&' * 101}").status_code == 422


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"text": ""}, "body.text"),
        ({"name": ""}, "body.name"),
        ({"email": "no"}, "body.email"),
        ({"text": {"$ne": 1}}, "body.text"),
        ({"parent": "mfzwizltoq2gk3tu"}, "body.parent"),
        ({"parent": "1111111111111111"}, "body.parent"),
        ({"unknown": 1}, "body.unknown"),
        ({"key": "short"}, "header.Idempotency-Key"),
    ],
)
def test_invalid_comment_names_its_fields(visitor, post_page, sent, field):
    answer = visitor.post(**{"text": "Hello", **sent})
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert [error["field"] for error in json.loads(answer.content)["errors"]] == [field]
    assert selectors.count(post_page) == 0


def test_hidden_and_unknown_objects_are_not_found(visitor, post_page):
    for path in (f"/on/nodes.node/{'0' * 24}", "/on/auth.user/1", "/on/no.model/1", "/on/nodes.node/x"):
        assert visitor.send("GET", path).status_code == 404, path
        assert visitor.send("POST", path, {"text": "x", "name": "A"}, Idempotency_Key=KEY).status_code == 404, path


def test_responses_are_never_cached(visitor):
    slug = visitor.posted()
    for path in (visitor.on, visitor.of(slug), "/counts?target=nodes.node:1", "/on/no.model/1"):
        assert "no-store" in visitor.send("GET", path)["Cache-Control"], path


def test_signed_values_of_other_purposes_give_no_rights(visitor, post_page, rules):
    rules(LIKES=True)
    slug = visitor.posted()
    guest = visitor.send("PUT", f"{visitor.of(slug)}/like").json()["guest"]
    stranger = Visitor(post_page)
    for wrong in (guest, visitor.own[:-1] + "x", "x" * 5_000, "[]", ""):
        stranger.own = stranger.guest = wrong
        assert stranger.send("DELETE", visitor.of(slug), If_Match="1").status_code == 403
        assert not stranger.read()["items"][0]["can_edit"]
    stranger.guest = visitor.own
    assert stranger.send("PUT", f"{visitor.of(slug)}/like").json()["guest"] not in (visitor.own, guest)


def test_spam_rules_and_bans_apply(visitor, rules, post_page):
    rules(MAX_LINKS=0)
    assert visitor.post("http://spam.example/").json()["comment"]["state"] == "pending"
    rules(RATE=(1, 600))
    assert visitor.post("Too fast", key=OTHER).status_code == 429
    assert selectors.count(post_page) == 0


def test_comment_of_another_discussion_is_not_found(visitor, post_page, mongo):
    """The slug alone isn't enough."""
    user = get_user_model()._default_manager.create_user("bea", "bea@example.org", "pw")
    slug = services.post(user, author=CommentAuthor("A"), source="Elsewhere", token="t").comment.slug
    assert backend().get(selectors.discussion(user).target, slug).source == "Elsewhere"
    assert visitor.send("GET", visitor.of(slug)).status_code == 404


def test_description_lists_every_endpoint(visitor):
    described = visitor.client.get(f"{PREFIX}/openapi.json").json()
    listed = {name["operationId"] for operations in described["paths"].values() for name in operations.values()}
    named = {pattern.name for pattern in urls.router.urls_paths("")}
    assert listed == named | {"unlike", "change", "delete", "post"} - {""}
    assert described["components"]["schemas"]["Comment"]["properties"]["can_reply"]


def test_kinds_of_errors_have_the_same_status_in_all_apis():
    assert {kind: problems.KINDS[kind][0] for kind in rejections.STATUS} == rejections.STATUS
