"""Every page of comments handles errors of the back end at any of its calls, without losing text."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from marginalia.comments import urls
from marginalia.comments.admin import ModerationAdmin
from marginalia.comments.backends.base import Backend
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.errors import CommentNotFound, DiscussionBusy
from marginalia.comments.models import Moderation
from marginalia.comments.notices import subscriptions
from marginalia.comments.posting import services
from marginalia.comments.posting.tokens import read_form
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from tests.support.comments import site
from tests.support.comments.site import change_url, post_directly

pytestmark = pytest.mark.usefixtures("mongo")

TEXT = "What took an hour to write"


class Failing:
    """The methods of a back end, whose call number `at` raises."""

    def __init__(self, at, error):
        self.at, self.error, self.calls = at, error, 0

    def instead_of(self, method):
        def call(*args, **kwargs):
            self.calls += 1
            if self.calls == self.at:
                raise self.error(method.__name__)
            return method(*args, **kwargs)

        return call


METHODS = [name for name, member in vars(Backend).items() if callable(member) and not name.startswith("_")]


@pytest.fixture
def ask(client, monkeypatch):
    """A function that sends a request whose back end fails at a call. It returns the response and whether it failed."""

    def asked(request, at, error=DiscussionBusy):
        method, url, data = request
        failing = Failing(at, error)
        with monkeypatch.context() as patched:
            for name in METHODS:
                patched.setattr(MongoBackend, name, failing.instead_of(getattr(MongoBackend, name)))
            answer = getattr(client, method)(url, data)
        return answer, failing.calls >= at

    return asked


def edit(client, url):
    return "post", url, {**site.fields_of(client.get(url).content.decode()), "text": TEXT}


def requests(client, target, comment, held):
    """Return one request for each action of the comment pages, by the name of its URL and the action."""
    of, moderation = [target.label, target.pk], "admin:marginalia_comments_moderation_"
    filled = site.fill(client, target, TEXT, parent=comment.slug)
    post = reverse("comments-post-comment")
    one_page = reverse(f"{moderation}comment", args=[*of, comment.slug])
    approve = reverse("comments-approve", args=[held.id])
    token = subscriptions.token("0" * 40, subscriptions.LEAVE)
    pages = {
        f"comments-{name}": ("get", change_url(name, comment), None)
        for name in ("comment-done", "url-redirect", "thread", "edit", "delete", "flag", "like")
    }
    return pages | {
        "comments-form": ("get", site.form_url(target, comment.slug), None),
        "comments-post-comment": ("post", post, filled),
        "comments-post-comment preview": ("post", post, {**filled, "preview": "1"}),
        "comments-discussion": ("get", reverse("comments-discussion", args=of), None),
        "comments-mine": ("get", reverse("comments-mine"), None),
        "comments-edit sent": edit(client, change_url("edit", comment)),
        "comments-delete sent": ("post", change_url("delete", comment), {}),
        "comments-flag sent": ("post", change_url("flag", comment), {}),
        "comments-like sent": ("post", change_url("like", comment), {"liked": "1"}),
        "comments-approve": ("get", approve, None),
        "comments-approve sent": ("post", approve, {"rev": held.rev}),
        "comments-approve outdated": ("post", approve, {"rev": held.rev + 1}),
        "comments-subscribe": ("get", reverse("comments-subscribe", args=[token]), None),
        "comments-unsubscribe": ("post", reverse("comments-unsubscribe", args=[token]), {}),
        "comments-feed": ("get", reverse("comments-feed", args=of), None),
        f"{moderation}changelist": ("get", reverse(f"{moderation}changelist"), None),
        f"{moderation}decide": ("post", reverse(f"{moderation}decide"), {"action": f"approve:{held.id}"}),
        f"{moderation}reported": ("get", reverse(f"{moderation}reported"), None),
        f"{moderation}comment": ("get", one_page, None),
        f"{moderation}comment sent": ("post", one_page, {"text": TEXT, "rev": comment.rev, "nonce": "n", "edit": "1"}),
    }


@pytest.fixture
def known(client, post_page, moderator):
    """A moderator's requests about a comment with a reply, and about a held one."""
    client.force_login(moderator)
    comment = post_directly(post_page, "First", "first", email="bea@example.org")
    post_directly(post_page, "Answer", "answer", parent=comment.slug)
    held = services.hold(
        post_page, author=CommentAuthor("Carl"), source="Waits", token="waits", parent=comment.slug
    ).held
    return requests(client, post_page, comment, held)


NAMES = (
    *(
        f"comments-{name}"
        for name in (
            "comment-done",
            "url-redirect",
            "thread",
            "edit",
            "edit sent",
            "delete",
            "delete sent",
            "flag",
            "flag sent",
            "like",
            "like sent",
            "form",
            "post-comment",
            "post-comment preview",
            "discussion",
            "mine",
            "approve",
            "approve sent",
            "approve outdated",
            "subscribe",
            "unsubscribe",
            "feed",
        )
    ),
    *(
        f"admin:marginalia_comments_moderation_{name}"
        for name in ("changelist", "decide", "reported", "comment", "comment sent")
    ),
)
# Pages for moderators that have tests of their own, and the redirect from old permalinks.
OTHERS = {
    *(f"comments-{name}" for name in ("old-permalink", "manage", "moderate")),
    *(
        f"admin:marginalia_comments_moderation_{name}"
        for name in ("search", "alike", "batches", "batch", "bans", "ban", "lift")
    ),
}
SENDING_TEXT = [name for name in NAMES if name.split("-")[-1] in ("comment", "comment preview", "edit sent")] + [
    NAMES[-1]
]


def test_every_url_is_tested(known):
    pages = {pattern.name for pattern in urls.urlpatterns}
    pages |= {f"admin:{pattern.name}" for pattern in ModerationAdmin(Moderation, admin.site).get_urls()}
    assert {name.partition(" ")[0] for name in NAMES} == pages - OTHERS
    assert pages >= OTHERS
    assert set(known) == set(NAMES)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("name", NAMES)
def test_every_page_answers_for_a_busy_discussion(known, ask, post_page, name):
    failed, at = True, 0
    while failed:
        at += 1
        answer, failed = ask(known[name], at)
        assert answer.status_code < 500 or (answer.status_code == 503 and failed)
        if TEXT in (known[name][2] or {}).values() and answer.status_code != 302:
            assert TEXT in answer.content.decode()
    assert [comment.source for comment in selectors.iterate(post_page)].count(TEXT) <= 1


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("name", SENDING_TEXT)
def test_text_of_a_deleted_comment_is_returned(known, ask, name):
    failed, at = True, 0
    while failed:
        at += 1
        answer, failed = ask(known[name], at, CommentNotFound)
        assert answer.status_code in (200, 302, 404, 422)
        assert answer.status_code == 302 or TEXT in answer.content.decode()


def test_page_of_a_busy_discussion_is_not_cached(post_page, ask):
    post_directly(post_page)
    shown, failed = ask(("get", "/news/hello", None), 1)
    assert (shown.status_code, failed) == (200, True)
    assert "Comments can't be shown right now." in shown.content.decode()
    assert "Comments can't be shown right now." not in Client().get("/news/hello").content.decode()


def test_form_sent_to_a_busy_discussion_keeps_its_token(client, post_page, ask):
    """It is not known then whether the form was sent before. With another token, it would be posted twice."""
    data = site.fill(client, post_page, TEXT)
    site.send(client, data)
    busy, _failed = ask(("post", reverse("comments-post-comment"), data), 1)
    again = site.fields_of(busy.content.decode())
    assert (busy.status_code, again["text"]) == (422, TEXT)
    assert read_form(again["token"]).nonce == read_form(data["token"]).nonce
    assert site.send(client, again).status_code == 302
    assert selectors.count(post_page) == 1


def test_preview_of_a_reply_to_a_removed_comment_keeps_it(client, post_page):
    parent = post_directly(post_page)
    data = site.fill(client, post_page, TEXT, parent=parent.slug)
    services.remove(post_page, parent.slug)
    refused = site.send(client, {**data, "preview": "1"})
    again = site.fields_of(refused.content.decode())
    assert (refused.status_code, again["text"]) == (422, TEXT)
    assert "was removed. You can post your reply" in refused.content.decode()
    assert site.send(client, again).status_code == 302
    assert [comment.source for comment in selectors.iterate(post_page)][-1] == TEXT
