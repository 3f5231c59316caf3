"""The signals known from Django's comments framework: when, how often and with which arguments they are sent."""

import pytest
from django.test import Client
from django.urls import reverse

from marginalia.comments import signals
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from tests.support.comments import site
from tests.support.comments.site import received

pytestmark = pytest.mark.usefixtures("mongo")


def test_veto_of_a_receiver_returns_the_text(client, post_page):
    data = site.fill(client, post_page, "My text")
    with received(signals.comment_was_posted) as posted, received(signals.comment_will_be_posted, False) as asked:
        refused = site.send(client, data)
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "My text"
    assert (asked[0]["comment"].source, asked[0]["target"]) == ("My text", post_page)
    assert asked[0]["request"].path == reverse("comments-post-comment")
    assert (selectors.count(post_page), posted) == (0, [])
    # A vetoed text was not counted, so it can be sent again.
    assert site.send(client, again).status_code == 302


@pytest.mark.parametrize("answer", [None, True, 0])
def test_comment_without_a_veto_is_signalled_once(client, post_page, answer):
    data = site.fill(client, post_page, "My text")
    with received(signals.comment_was_posted) as posted, received(signals.comment_will_be_posted, answer):
        for _ in range(2):
            assert site.send(client, data).status_code == 302
    (told,) = posted
    assert told["comment"] == next(iter(selectors.iterate(post_page)))
    assert told["target"] == post_page


def test_held_comment_and_its_approval_are_signalled(client, post_page, rules, moderator):
    rules(MODE="hold-all")
    with received(signals.comment_was_posted) as posted:
        for n in range(2):
            site.post(Client(), post_page, f"Held {n}")
    first, second = selectors.held()
    assert [told["comment"] for told in posted] == [first, second]
    client.force_login(moderator)
    with received(signals.comment_was_flagged) as flagged:
        client.post(reverse("comments-approve", args=[first.id]), {"rev": 1})
        decide = reverse("admin:marginalia_comments_moderation_decide")
        client.post(decide, {"action": "approve", "chosen": [f"{second.id}.1"]})
    assert [(told["flag"], told["comment"]) for told in flagged] == [
        ("approval", comment) for comment in selectors.iterate(post_page)
    ]


def test_flags_and_removals_are_signalled(client, post_page, moderator):
    comment = services.post(post_page, author=CommentAuthor("Bea"), source="Rude", token="t").comment
    arguments = [post_page.label, post_page.pk, comment.slug]
    with received(signals.comment_was_flagged) as told:
        for _ in range(2):
            client.post(reverse("comments-flag", args=arguments))
        client.force_login(moderator)
        client.post(reverse("comments-delete", args=arguments))
    assert [(one["flag"], one["created"]) for one in told] == [("flag", True), ("flag", False), ("removal", True)]
    assert told[2]["comment"].removed
