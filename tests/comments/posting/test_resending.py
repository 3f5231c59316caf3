"""A form that is sent again, after its first sending stopped: what was left to do is done, and done once."""

from datetime import timedelta

import pytest
from django.core import mail

from comments.backends import backend
from comments.backends.discussions import LEASE
from comments.operations import maintenance
from comments.posting import ip_hash, preparation, services, tokens
from comments.reading import selectors
from comments.types import Author
from mongo.clock import now
from tests.support.comments import site
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.site import work


def stop_before_the_commit(target, data):
    """Do what the view does with a form until the comment is stored; its commit is never made."""
    token = tokens.read_form(data["token"])
    new = preparation.prepare(author=Author(data["name"]), source=data["text"], token=token.nonce, parent=token.parent)
    calls = 1
    while data["text"] not in [comment.source for comment in selectors.iterate(target)]:
        with pytest.raises(Crash):
            Interrupted(backend(), at=calls, after=True).post(target, new)
        calls += 1


def test_what_is_to_follow_a_comment_whose_writer_stopped_is_done_and_the_worker_counts_it(
    client, post_page, subscribed, mongo
):
    mail.outbox.clear()
    data = site.fill(client, post_page, "An answer", parent=subscribed.slug, name="Bob")
    stop_before_the_commit(post_page, data)
    assert (selectors.count(post_page), len(mongo.discussions.find_one()["claims"])) == (1, 1)
    for _ in range(2):
        assert site.send(client, data).status_code == 302
    work()
    assert [message.to or message.bcc for message in mail.outbox] == [["ann@example.org"]]
    (answer,) = [c for c in selectors.iterate(post_page) if c.source == "An answer"]
    assert ip_hash.of_comment(post_page, answer.slug)
    mongo.discussions.update_one({}, {"$set": {"claims.0.at": now() - timedelta(seconds=LEASE + 1)}})
    maintenance.tidy()
    assert (selectors.count(post_page), mongo.discussions.find_one()["claims"]) == (2, [])


def test_notices_that_were_not_put_are_put_when_the_form_is_sent_again(client, post_page, subscribed, mongo):
    mail.outbox.clear()
    data = site.fill(client, post_page, "An answer", parent=subscribed.slug, name="Bob")
    token = tokens.read_form(data["token"])
    services.post(post_page, author=Author("Bob"), source="An answer", token=token.nonce, parent=token.parent)
    for _ in range(2):
        assert site.send(client, data).status_code == 302
    work()
    assert len(mail.outbox) == 1
    assert selectors.count(post_page) == 2
