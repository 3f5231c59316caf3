"""Readers like comments, with a script and without, with an account and without."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from marginalia.comments import signals
from marginalia.comments.moderation import bans
from marginalia.comments.posting import services
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from tests.support.comments import site
from tests.support.comments.site import change_url, post_directly


@pytest.fixture
def comment(post_page, rules):
    rules(LIKES=True)
    return post_directly(post_page)


def press(client, comment, liked=True):
    return client.post(change_url("like", comment), {"liked": "1" if liked else ""})


def likes(comment):
    return selectors.likes(comment.target).get(comment.slug, 0)


def form_of(client, comment, query=""):
    """Return the like form of a comment, as the state, the number of likes and what the button sends."""
    html = client.get(change_url("like", comment) + query).content.decode()
    state = re.search(r'data-comments-liked="(1?)" data-comments-likes="(\d*)"', html)
    sent = re.search(r'name="liked" value="(1?)"', html)
    return bool(state[1]), state[2], sent[1]


def test_guest_likes_and_takes_it_back_without_a_script(client, comment):
    assert 'class="comment-like"' in client.get("/news/hello").content.decode()
    assert form_of(client, comment) == (False, "", "1")
    assert (likes(comment), client.cookies.get("comments_guest")) == (0, None)
    for _again in range(2):
        answer = press(client, comment)
        assert (answer.status_code, likes(comment)) == (302, 1)
    assert answer["Location"].endswith(f"#c-{comment.part}")
    assert form_of(client, comment) == (True, "1", "")
    assert press(Client(), comment).status_code == 302
    assert likes(comment) == 2
    press(client, comment, liked=False)
    assert (likes(comment), form_of(client, comment)[0]) == (1, False)


def test_page_shows_the_new_number(client, comment):
    def shown():
        return re.search(r'class="comment-likes">(\d*)<', client.get("/news/hello").content.decode())[1]

    assert [shown(), shown()] == ["", ""]
    press(client, comment)
    assert shown() == "1"


def test_account_counts_once_in_all_browsers(client, comment, ann):
    browsers = [client, Client()]
    for browser in browsers:
        browser.force_login(ann)
        press(browser, comment)
        assert "comments_guest" not in browser.cookies
    assert likes(comment) == 1
    form = browsers[1].get(site.form_url(comment.target)).content.decode()
    assert f'data-comments-liked="c-{comment.part}"' in form


def test_forged_guest_is_a_new_reader(client, comment):
    client.cookies["comments_guest"] = "forged:1:x"
    assert press(client, comment).status_code == 302
    assert (likes(comment), client.cookies["comments_guest"].value != "forged:1:x") == (1, True)


def test_likes_are_off_by_default(client, comment, rules):
    rules(LIKES=False)
    assert 'class="comment-like"' not in client.get("/news/hello").content.decode()
    assert (client.get(change_url("like", comment)).status_code, press(client, comment).status_code) == (404, 404)
    rules(TARGETS={"nodes.node": {"LIKES": True}})
    assert press(client, comment).status_code == 302


@pytest.mark.parametrize("liked", [True, False])
def test_hidden_comment_cant_be_liked(client, comment, liked):
    press(client, comment)
    services.remove(comment.target, comment.slug)
    assert press(client, comment, liked).status_code == 404
    assert likes(comment) == 1
    assert "comment-likes" not in client.get("/news/hello").content.decode()


def test_held_comment_cant_be_liked(client, comment, rules):
    rules(MODE="hold-all")
    site.post(client, comment.target, "Held")
    held = selectors.held()[0]
    assert client.post(change_url("like", held), {"liked": "1"}).status_code == 404


def test_banned_network_cant_like(comment, rf, moderator):
    request = rf.get("/")
    request.user = moderator
    bans.ban(Sender(request, ()), bans.parse("network", "203.0.113.0/24"), reason="")
    answer = press(Client(REMOTE_ADDR="203.0.113.9"), comment)
    assert (answer.status_code, likes(comment)) == (403, 0)
    assert "accepted here at the moment" in answer.content.decode()
    assert press(Client(REMOTE_ADDR="198.51.100.9"), comment).status_code == 302


def test_banned_email_domain_cant_like(client, comment, rf, moderator, ann):
    request = rf.get("/")
    request.user = moderator
    bans.ban(Sender(request, ()), bans.parse("from", "example.org"), reason="")
    client.force_login(ann)
    assert (press(client, comment).status_code, likes(comment)) == (403, 0)


def test_likes_are_limited(client, comment, rules):
    rules(RATE=(1, 600))
    statuses = [press(client, comment, liked=n % 2 == 0).status_code for n in range(11)]
    assert statuses == [302] * 10 + [429]
    assert press(Client(), comment).status_code == 429


def test_members_like_if_only_members_comment(client, comment, rules, ann):
    rules(MODE="members")
    assert press(client, comment).status_code == 403
    client.force_login(ann)
    assert press(client, comment).status_code == 302


def test_request_without_a_token_likes_nothing(comment):
    assert press(Client(enforce_csrf_checks=True), comment).status_code == 403
    assert likes(comment) == 0


def test_script_gets_only_the_form(client, comment):
    answer = client.post(change_url("like", comment) + "?fragment=1", {"liked": "1"}).content.decode()
    assert "<html" not in answer
    assert form_of(client, comment, "?fragment=1") == (True, "1", "")


def test_signal_is_sent_once_per_change(client, comment):
    with site.received(signals.comment_was_liked) as sent:
        for liked in (True, True, False, False):
            press(client, comment, liked)
    assert [(arguments["comment"].slug, arguments["liked"]) for arguments in sent] == [
        (comment.slug, True),
        (comment.slug, False),
    ]


def test_closed_discussion_can_still_be_liked(client, comment):
    services.close(comment.target)
    assert press(client, comment).status_code == 302


def test_thread_and_separate_page_show_likes(client, comment):
    press(client, comment)
    for name in ("discussion", "thread"):
        args = [comment.target.label, comment.target.pk] + ([comment.slug] if name == "thread" else [])
        assert '"comment-likes">1<' in client.get(reverse(f"comments-{name}", args=args)).content.decode()
