"""A form sent again after an interruption: the remaining steps are completed once."""

from datetime import timedelta

import pytest
from django.core import mail

from marginalia.comments.backends import backend
from marginalia.comments.backends.discussions import LEASE
from marginalia.comments.moderation import pending
from marginalia.comments.operations import maintenance
from marginalia.comments.posting import ip_hash, preparation, services, tokens
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.clock import now
from tests.support.comments import site
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.site import work


def stop_before_the_commit(target, data):
    """Process a form as the view does until the comment is stored, and never commit it."""
    token = tokens.read_form(data["token"])
    new = preparation.prepare(
        author=CommentAuthor(data["name"]), source=data["text"], token=token.nonce, parent=token.parent
    )
    calls = 1
    while data["text"] not in [comment.source for comment in selectors.iterate(target)]:
        with pytest.raises(Crash):
            Interrupted(backend(), at=calls, after=True).post(target, new)
        calls += 1


def test_interrupted_post_is_completed_by_resend_or_worker(client, post_page, subscribed, mongo):
    mail.outbox.clear()
    data = site.fill(client, post_page, "An answer", parent=subscribed.slug, name="Bob")
    stop_before_the_commit(post_page, data)
    assert (selectors.count(post_page), len(mongo.discussions.find_one()["claims"])) == (1, 1)
    for _ in range(2):
        assert site.send(client, data).status_code == 302
    work()
    assert [message.to for message in mail.outbox] == [["ann@example.org"]]
    (answer,) = [c for c in selectors.iterate(post_page) if c.source == "An answer"]
    assert ip_hash.find(post_page, answer.slug)
    mongo.discussions.update_one({}, {"$set": {"claims.0.at": now() - timedelta(seconds=LEASE + 1)}})
    maintenance.tidy()
    assert (selectors.count(post_page), mongo.discussions.find_one()["claims"]) == (2, [])


def test_missing_notices_are_sent_when_the_form_is_resent(client, post_page, subscribed, mongo):
    mail.outbox.clear()
    data = site.fill(client, post_page, "An answer", parent=subscribed.slug, name="Bob")
    token = tokens.read_form(data["token"])
    services.post(post_page, author=CommentAuthor("Bob"), source="An answer", token=token.nonce, parent=token.parent)
    for _ in range(2):
        assert site.send(client, data).status_code == 302
    work()
    assert len(mail.outbox) == 1
    assert selectors.count(post_page) == 2


@pytest.mark.parametrize("mode", ["open", "hold-all"])
def test_form_resent_with_other_addresses_sends_one_email(client, post_page, rules, mode):
    rules(MODE=mode)
    data = site.fill(client, post_page, "Ask me", email="ann@example.org", notify="on")
    for address in ("ann@example.org", "bob@example.org", "ANN@example.org"):
        assert site.send(client, data | {"email": address}).status_code == 302
    work()
    assert [message.to for message in mail.outbox] == [["ann@example.org"]]


@pytest.mark.parametrize("store", [services.post, services.hold])
def test_resent_form_asks_to_confirm_after_an_interruption(client, post_page, store):
    data = site.fill(client, post_page, "Ask me", email="Ann@example.org", notify="on")
    token = tokens.read_form(data["token"])
    store(post_page, author=CommentAuthor("Ann"), source="Ask me", token=token.nonce, email="Ann@example.org")
    assert site.send(client, data).status_code == 302
    work()
    assert [message.to for message in mail.outbox] == [["ann@example.org"]]


def test_resending_a_rejected_form_does_not_publish_it(client, post_page, rules):
    rules(MODE="hold-all")
    data = site.fill(client, post_page, "No")
    site.send(client, data)
    pending.reject(selectors.held()[0].id, by="9")
    rules(MODE="open")
    site.send(client, data)
    assert selectors.count(post_page) == 0
    assert site.send(client, data | {"text": "Something else"}).status_code == 422


def test_resending_a_withdrawn_form_does_not_publish_it(client, post_page, rules):
    rules(MODE="hold-all", RATE=(1, 600))
    data = site.fill(client, post_page, "Mine")
    site.send(client, data)
    services.withdraw(selectors.held()[0].id)
    rules(MODE="open", RATE=(1, 600))
    assert site.send(client, data).status_code == 422
    assert selectors.count(post_page) == 0
    # It counts once all the same.
    assert site.send(client, site.fill(client, post_page, "Another")).status_code == 422


def test_concurrent_copies_of_a_form_count_once(client, post_page, rules, monkeypatch):
    rules(MODE="open", RATE=(1, 600))
    data = site.fill(client, post_page, "One")
    site.send(client, data)
    with monkeypatch.context() as at_once:
        at_once.setattr(services, "find_earlier", lambda submission: None)
        assert site.send(client, data | {"text": "Two"}).status_code == 422
    assert site.send(client, site.fill(client, post_page, "Three")).status_code == 422
    assert [comment.source for comment in selectors.iterate(post_page)] == ["One"]
