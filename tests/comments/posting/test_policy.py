"""The same policy for new and edited comments: rules, limits, vetoes, and exceptions for moderators."""

import pytest

from marginalia.comments import signals
from marginalia.comments.posting import spam
from marginalia.comments.reading import selectors
from tests.support.comments import site
from tests.support.comments.site import change_url, received

pytestmark = pytest.mark.usefixtures("mongo")

LINKS = "[a](http://a.example) [b](http://b.example) [c](http://c.example)"
asked = []


def refuses_shouting(submission):
    asked.append(submission)
    return spam.SpamHit("shouting", "Not so loud.") if submission.source.isupper() else None


def holds_questions(submission):
    return spam.SpamHit("question") if "?" in submission.source else None


@pytest.fixture(params=["public", "waiting"])
def mine(request, client, post_page, rules):
    rules(
        MODE="open" if request.param == "public" else "hold-all",
        RULES=[f"tests.comments.posting.test_policy.{name}" for name in ("refuses_shouting", "holds_questions")],
    )
    site.post(client, post_page, "Mine")
    asked.clear()
    return stored(post_page)


def stored(target):
    return (*selectors.held(), *selectors.iterate(target))[0]


def edit(client, comment, text):
    form = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    return client.post(change_url("edit", comment), form | {"text": text})


def test_rules_see_the_edited_comment(client, post_page, mine):
    assert edit(client, mine, "Mended").status_code == 302
    (submission,) = asked
    assert (submission.source, submission.html, submission.edited) == ("Mended", "<p>Mended</p>", mine)
    assert (submission.name, submission.token.target, submission.token.parent) == ("Ann", post_page, "")


def test_edit_refused_by_a_rule_returns_the_text(client, post_page, mine):
    refused = edit(client, mine, "LOUD")
    assert (refused.status_code, site.fields_of(refused.content.decode())["text"]) == (422, "LOUD")
    assert "Not so loud." in refused.content.decode()
    assert stored(post_page) == mine
    assert edit(client, mine, "Quiet").status_code == 302


def test_edit_that_a_rule_would_hold_is_refused_if_public(client, post_page, mine, request):
    answer = edit(client, mine, "Why?")
    if "waiting" in request.node.callspec.id:
        assert (answer.status_code, stored(post_page).source) == (302, "Why?")
    else:
        assert (answer.status_code, site.fields_of(answer.content.decode())["text"]) == (422, "Why?")
        assert "would need a moderator" in answer.content.decode()
        assert stored(post_page) == mine


def test_receiver_can_veto_an_edit(client, post_page, mine):
    with received(signals.comment_will_be_posted, False) as told:
        refused = edit(client, mine, "Mended")
    assert (refused.status_code, site.fields_of(refused.content.decode())["text"]) == (422, "Mended")
    assert [one["comment"].edited for one in told] == [mine]
    assert stored(post_page) == mine
    assert edit(client, mine, "Mended").status_code == 302


def test_rules_about_forms_ignore_edits(client, post_page, rules):
    site.post(client, post_page, "Mine")
    rules(MIN_SECONDS=60)
    comment = stored(post_page)
    for text in ("Mended", "Mine"):
        assert edit(client, comment, text).status_code == 302
    assert stored(post_page).source == "Mine"


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("mode", ["hold-first", "hold-all", "members"])
def test_comment_by_a_moderator_is_always_public(client, post_page, rules, moderator, mode):
    rules(MODE=mode, RATE=(0, 600), MIN_SECONDS=60, WORDS=["casino"])
    client.force_login(moderator)
    for _ in range(2):
        assert site.post(client, post_page, f"The casino {LINKS}").status_code == 302
    assert selectors.count(post_page) == 2
    comment = stored(post_page)
    assert edit(client, comment, f"The same casino {LINKS}").status_code == 302
    assert stored(post_page).source == f"The same casino {LINKS}"


def test_comments_by_other_accounts_are_held(client, post_page, rules, ann):
    rules(MODE="hold-first")
    client.force_login(ann)
    site.post(client, post_page, "Hello")
    assert selectors.count(post_page) == 0


def test_moderators_cannot_post_into_a_closed_discussion(client, post_page, rules, moderator):
    client.force_login(moderator)
    data = site.fill(client, post_page, "Late")
    rules(MODE="closed")
    refused = site.send(client, data)
    assert (refused.status_code, site.fields_of(refused.content.decode())["text"]) == (422, "Late")
