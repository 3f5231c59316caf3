"""Posting over HTTP by the rules of the form, and changing and deleting own comments."""

import json

import pytest
from django.core import mail
from django.test import Client

from api.rights.scopes import Scope
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Verdict
from tests.api.comments.conftest import KEY, MISSING, Writer, of, said
from tests.api.conftest import Asker
from tests.markup.policy import violations
from tests.support.comments import site
from tests.support.concurrency import run_concurrently
from tests.support.payloads import ALL

# Only every n-th payload is posted.
FEW = 40


def stored(target):
    return [comment.source for comment in selectors.iterate(target)]


@pytest.fixture
def member(account, asker):
    """An account that posts with a token, and its writer."""
    user = account("own")
    return user, Writer(asker(user, Scope.WRITE))


def test_visitor_posts_once_per_key(writer, discussed, mongo):
    answers = [writer.post(discussed, "As **typed**", email="ann@example.org") for _again in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    told = said(answers[0])
    assert (told["state"], told["author"]["name"], told["parent"]) == ("public", "Ann", None)
    assert "<strong>typed</strong>" in told["body_html"]
    assert said(answers[1]) == told
    found = writer.asker.client.get(answers[0]["Location"])
    assert (said(found)["slug"], found["ETag"].partition(".")[0]) == (told["slug"], '"1')
    other = writer.post(discussed, "Something else")
    assert (other.status_code, said(other)["type"]) == (422, "/api/v1/#key-reused")
    assert stored(discussed) == ["As **typed**"]
    assert selectors.email_of(selectors.get(discussed, told["slug"])) == "ann@example.org"
    reply = writer.post(discussed, "A reply", parent=told["slug"], key=KEY[::-1])
    assert said(reply)["parent"] == told["slug"]


def test_concurrent_posts_with_one_key_store_one_comment(discussed, writer):
    answers = run_concurrently(20, lambda _number: Writer(Asker()).post(discussed, "Once"))
    told = [said(answer) for answer in answers if answer.status_code == 201]
    # A client that must wait retries with the same key.
    assert {answer.status_code for answer in answers} <= {201, 503}
    assert len({one["slug"] for one in [*told, said(writer.post(discussed, "Once"))]}) == 1
    assert stored(discussed) == ["Once"]
    assert selectors.count(discussed) == 1


def test_held_comment_is_shown_only_to_its_author(writer, post_page, rules, member):
    rules(MODE="hold-all")
    user, own = member
    for who, sees in ((writer, 404), (own, 200)):
        answers = [who.post(post_page, "Please wait") for _again in range(2)]
        assert [(answer.status_code, said(answer)["state"]) for answer in answers] == [(201, "pending")] * 2
        assert who.asker.client.get(answers[0]["Location"]).status_code == sees
        assert writer.asker.client.get(answers[0]["Location"]).status_code == 404
    assert (stored(post_page), len(selectors.held(target=post_page))) == ([], 2)
    assert selectors.held(author_id=str(user.pk))[0].source == "Please wait"


def test_accounts_comment_under_their_own_name(post_page, account, asker, writer, member):
    user, own = member
    told = said(own.post(post_page, "By token", name="Another"))
    assert (told["author"]["name"], told["source"]) == ("own", "By token")
    assert selectors.get(post_page, told["slug"]).author.id == str(user.pk)
    for scopes in ((), (Scope.READ, Scope.MODERATE)):
        refused = Writer(asker(user, *scopes)).post(post_page, "No scope")
        assert (refused.status_code, said(refused)["scope"]) == (403, "write")
    # A key belongs to one account.
    assert Writer(asker(account("oth"), Scope.WRITE)).post(post_page, "Mine").status_code == 201
    assert own.post(post_page, "By token", key="1").status_code == 409
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    sent = {"data": json.dumps({"text": "By session"}), "content_type": "application/json"}
    url, key = f"/api/v1{of(post_page)}", {"Idempotency-Key": KEY[::-1]}
    assert browser.post(url, headers=key, **sent).status_code == 403
    browser.cookies["csrftoken"] = token = "a" * 32
    assert browser.post(url, headers={**key, "X-CSRFToken": token}, **sent).status_code == 201
    assert sorted(stored(post_page)) == ["By session", "By token", "Mine"]


WRONG = (
    ({"text": ""}, "body.text"),
    ({"text": "x" * 10_001}, "body.text"),
    ({"text": "a\x00b"}, "body.text"),
    ({"text": {"$ne": 1}}, "body.text"),
    ({"name": ""}, "body.name"),
    ({"name": "x" * 201}, "body.name"),
    ({"email": "no"}, "body.email"),
    ({"notify": True}, "body.email"),
    ({"parent": MISSING}, "body.parent"),
    ({"parent": "$ne"}, "body.parent"),
    ({"homepage": "x"}, "body.homepage"),
    ({"$where": "1"}, "body.$where"),
    ({"key": "short"}, "header.Idempotency-Key"),
    ({"key": "ü" * 20}, "header.Idempotency-Key"),
)


def test_invalid_field_is_named_in_the_error(writer, post_page):
    for wrong, field in WRONG:
        answer = writer.post(post_page, **{"text": "Hello", **wrong})
        assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json"), wrong
        assert field in [one["field"] for one in said(answer)["errors"]], wrong
    # Half a surrogate pair is no text.
    assert writer.post(post_page, "\ud800").status_code == 400
    assert stored(post_page) == []


def test_refused_comment_reports_the_rule(writer, post_page, rules):
    assert writer.post(post_page, "First").status_code == 201
    repeated = writer.post(post_page, "First", key=KEY[::-1])
    assert (repeated.status_code, said(repeated)["rule"]) == (409, "repeat")
    rules(RATE=(1, 600))
    often = writer.post(post_page, "Second", key=KEY[::-1])
    assert (often.status_code, often["Retry-After"]) == (429, "600")
    rules(MODE="members")
    assert said(writer.post(post_page, "Third", key=KEY[::-1]))["rule"] == "members"
    rules(MODE="closed")
    closed = writer.post(post_page, "Fourth", key=KEY[::-1])
    assert (closed.status_code, said(closed)["rule"]) == (403, "closed")
    assert said(writer.asker.get(of(post_page)))["discussion"]["open"] is False
    # A repeated post gets the same response, also after the discussion was closed.
    assert writer.post(post_page, "First").status_code == 201
    assert stored(post_page) == ["First"]


def test_author_who_asked_is_notified_of_replies(writer, post_page, member):
    _user, own = member
    asked = said(own.post(post_page, "Tell me", notify=True))
    site.work()
    Client().post(site.last_link("subscribe"))
    mail.outbox.clear()
    assert writer.post(post_page, "An answer", parent=asked["slug"]).status_code == 201
    site.work()
    assert [one.recipients() for one in mail.outbox] == [["own@example.org"]]


def test_repeated_post_sends_no_email_to_other_addresses(writer, post_page):
    for address in ("ann@example.org", "bob@example.org"):
        assert writer.post(post_page, "Tell me", email=address, notify=True).status_code == 201
    site.work()
    assert [one.recipients() for one in mail.outbox] == [["ann@example.org"]]


def test_author_changes_each_version_of_a_comment_once(post_page, rules, member, account, asker, writer):
    user, own = member
    path = of(post_page, said(own.post(post_page, "First"))["slug"])
    etag = own.asker.get(path)["ETag"]
    assert own.send("patch", path, {"text": "Mended"}).status_code == 428
    assert own.send("patch", path, {"text": "Mended"}, If_Match="*").status_code == 428
    assert own.send("patch", path, {"text": "Mended"}, If_Match='"x"').status_code == 412
    answers = [own.send("patch", path, {"text": "Mended"}, If_Match=etag) for _again in range(2)]
    assert [(one.status_code, said(one)["rev"]) for one in answers] == [(200, 2), (200, 2)]
    assert {one["ETag"].partition(".")[0] for one in answers} == {'"2'}
    stale = own.send("patch", path, {"text": "Too late"}, If_Match=etag)
    assert (stale.status_code, said(stale)["stored"]["source"]) == (412, "Mended")
    assert own.send("patch", path, {"text": " "}, If_Match="2").status_code == 422
    for other in (Writer(asker(account("oth"), Scope.WRITE)), Writer(asker(user, Scope.READ))):
        assert other.send("patch", path, {"text": "Not mine"}, If_Match="2").status_code == 403
    assert writer.send("patch", path, {"text": "Not mine"}, If_Match="2").status_code == 401
    rules(EDIT_MINUTES=0)
    assert own.send("patch", path, {"text": "An hour later"}, If_Match="2").status_code == 403
    assert stored(post_page) == ["Mended"]


def test_concurrent_changes_of_one_version_store_one(discussed, member):
    _user, own = member
    path = of(discussed, said(own.post(discussed, "First"))["slug"])
    answers = run_concurrently(6, lambda n: own.send("patch", path, {"text": f"Change {n}"}, If_Match="1"))
    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 5]
    (won,) = (said(answer)["source"] for answer in answers if answer.status_code == 200)
    assert stored(discussed) == [won]


def test_author_changes_and_withdraws_a_held_comment(post_page, rules, member, writer):
    _user, own = member
    rules(MODE="hold-all")
    path = of(post_page, said(own.post(post_page, "First"))["slug"])
    assert said(own.send("patch", path, {"text": "Mended"}, If_Match="1"))["rev"] == 2
    assert own.send("delete", path, If_Match="1").status_code == 412
    (held,) = selectors.held(target=post_page)
    assert held.source == "Mended"
    assert own.send("delete", path, If_Match="2").status_code == 204
    assert selectors.get_held(held.id).verdict is Verdict.WITHDRAWN
    assert own.asker.get(path).status_code == 404


def test_authors_delete_their_own_comments(discussed, rules, member, account, asker):
    _user, own = member
    path = of(discussed, said(own.post(discussed, "First"))["slug"])
    assert own.send("delete", path).status_code == 428
    other = Writer(asker(account("oth"), Scope.WRITE))
    assert other.send("delete", path, If_Match="1").status_code == 403
    assert own.send("delete", path, If_Match="9").status_code == 412
    assert stored(discussed) == ["First"]
    assert [own.send("delete", path, If_Match="1").status_code for _again in range(2)] == [204, 204]
    assert said(own.asker.get(path))["state"] == "removed"
    assert selectors.count(discussed) == 0
    # The key was used, and the comment it created is deleted.
    assert own.post(discussed, "First").status_code == 422


def test_posted_payloads_never_run(writer, post_page, rules):
    rules(MAX_LINKS=1_000)
    for number, payload in enumerate(ALL[::FEW]):
        writer.post(post_page, f"{payload} n{number}", key=f"{number:020}", name=payload[:200] or "x")
    services.post(
        post_page, author=CommentAuthor("<script>alert(1)</script>"), source="<script>alert(1)</script>", token="s"
    )
    answer = writer.asker.get(f"{of(post_page)}?limit=100")
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/json", "nosniff")
    items = said(answer)["items"]
    assert len(items) > len(ALL[::FEW]) // 2
    for one in items:
        assert violations(one["body_html"], "comment") == [], one
        assert one["author"]["url"] == ""
