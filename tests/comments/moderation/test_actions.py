"""Moderators' actions: permission, write and signal of each."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.test import RequestFactory

from marginalia.comments import signals
from marginalia.comments.moderation import actions
from marginalia.comments.posting import flags, services
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Verdict

pytestmark = pytest.mark.usefixtures("mongo")


def sender(user) -> Sender:
    request = RequestFactory().post("/")
    request.user = user
    return Sender(request, ())


@pytest.fixture
def comment(post_page):
    return services.post(post_page, author=CommentAuthor("Ann"), source="Said", token="t" * 24).comment


@pytest.fixture
def held(post_page):
    author = CommentAuthor("Bob")
    return services.hold(post_page, author=author, source="Held", token="h" * 24, reasons=["links"]).held


@pytest.fixture
def sent(comment):
    """Return the flags that receivers of the signal got."""
    received = []

    def receive(flag, **_kwargs):
        received.append(flag)

    signals.comment_was_flagged.connect(receive, weak=False, dispatch_uid="sent")
    yield received
    signals.comment_was_flagged.disconnect(dispatch_uid="sent")


@pytest.mark.parametrize("kind", ["anonymous", "reader"])
def test_only_moderators_can_act(post_page, comment, held, sent, kind):
    user = AnonymousUser() if kind == "anonymous" else get_user_model().objects.create_user("reader")
    stranger = sender(user)
    for act in (
        lambda: actions.decide(stranger, "approve", [held.id], seen=Verdict.WAITING),
        lambda: actions.approve(stranger, held.id, rev=0),
        lambda: actions.restore(stranger, post_page, comment.slug),
        lambda: actions.edit(stranger, post_page, comment.slug, text="Other", rev=comment.rev, nonce="n"),
        lambda: actions.clear_flags(stranger, post_page, comment.slug),
    ):
        with pytest.raises(PermissionDenied):
            act()
    with pytest.raises(Refused):
        services.delete(stranger, comment)
    assert selectors.get(post_page, comment.slug) == comment
    assert selectors.get_held(held.id).verdict is Verdict.WAITING
    assert sent == []


def test_decision_publishes_and_is_announced(post_page, held, moderator, sent):
    decisions = actions.decide(sender(moderator), "approve", [held.id], seen=Verdict.WAITING)
    assert decisions.done == (held.id,)
    assert selectors.get(post_page, held.slug).source == "Held"
    assert sent == ["approval"]


def test_approval_publishes_and_is_announced(post_page, held, moderator, sent):
    assert actions.approve(sender(moderator), held.id, rev=0).slug == held.slug
    assert sent == ["approval"]


def test_removal_and_restoring_clear_the_flags(post_page, comment, moderator, sent):
    mona = sender(moderator)
    flags.flag(comment, "user:1")
    services.delete(mona, comment)
    assert selectors.get(post_page, comment.slug).removed
    assert (flags.count(), sent) == (0, ["removal"])
    flags.flag(comment, "user:2")
    assert actions.restore(mona, post_page, comment.slug).source == "Said"
    assert flags.count() == 0


def test_edit_replaces_the_text_and_clears_the_flags(post_page, comment, moderator):
    flags.flag(comment, "user:1")
    edited = actions.edit(sender(moderator), post_page, comment.slug, text="Other", rev=comment.rev, nonce="n")
    assert (edited.source, flags.count()) == ("Other", 0)
