"""The spam filter learns from single and bulk decisions, once from each, and forgets those that are undone."""

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory

from marginalia.comments.backends import backend
from marginalia.comments.moderation import batches, lessons, pending
from marginalia.comments.posting import services
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Selection, TermKind, Verdict
from tests.support.comments import site
from tests.support.comments.layouts import FORMS, configure

forms = pytest.mark.parametrize("form", FORMS, ids=" ".join)
SPAM = "Win one million dollars in our casino"
OF_SPAM = Selection(terms=(TermKind.WORD.term("casino"),))


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr("marginalia.comments.backends.writing.batches.CHUNK", 3)
    monkeypatch.setattr("marginalia.comments.backends.writing.batches.APPROVED_CHUNK", 2)
    monkeypatch.setattr(batches, "SECONDS", 60)


@pytest.fixture
def sender(mongo) -> Sender:
    request = RequestFactory().get("/")
    request.user = User.objects.create_superuser("chief")
    return Sender(request, ())


@pytest.fixture
def learned(mongo):
    def learned() -> dict[str, int]:
        """Return how many comments of each kind have been counted. The decisions must agree."""
        site.work()
        counts = mongo["comments.features"].find_one({"_id": "every comment"}) or {}
        counted = {kind: counts.get(kind, 0) for kind in ("spam", "approved")}
        stored = {kind: mongo["comments.lessons"].count_documents({"kind": kind}) for kind in counted}
        assert counted == stored
        return counted

    return learned


def wave(target, public=4, held=4) -> None:
    for n in range(public):
        services.post(target, author=CommentAuthor("A"), source=f"{SPAM} {n}", token=f"p{n}")
    for n in range(held):
        services.hold(target, author=CommentAuthor("A"), source=f"{SPAM}, {n}", token=f"h{n}")
    services.post(target, author=CommentAuthor("B"), source="An answer", token="b")


@pytest.mark.slow_after(1)
@forms
def test_bulk_decision_teaches_each_comment_once_and_its_undo_forgets(settings, mongo, target, sender, learned, form):
    configure(settings, *form)
    wave(target)
    before = list(mongo["comments.features"].find())
    batch = batches.hide(sender, OF_SPAM)
    assert learned() == {"spam": 8, "approved": 0}
    assert mongo["comments.features"].count_documents({"spam": 8}) > 5
    batches.undo(sender, batch.id)
    assert learned() == {"spam": 0, "approved": 0}
    left = [entry for entry in mongo["comments.features"].find() if entry.get("spam") or entry.get("approved")]
    assert left == before == []


def test_rejection_in_bulk_teaches_nothing(target, sender, learned):
    wave(target)
    batches.hide(sender, OF_SPAM, verdict=Verdict.REJECTED)
    assert learned() == {"spam": 0, "approved": 0}


def test_repeated_task_counts_nothing_twice(target, sender, learned):
    wave(target)
    batches.hide(sender, OF_SPAM)
    assert learned()["spam"] == 8
    places = [(held.target, held.slug) for held in selectors.held(verdict=Verdict.SPAM)]
    lessons.teach(places, Verdict.SPAM)
    lessons.teach(places[:1], Verdict.SPAM)
    assert learned()["spam"] == 8
    lessons.teach(places, Verdict.APPROVED)
    assert learned() == {"spam": 4, "approved": 4}


def test_comment_restored_before_the_lesson_is_not_learned_as_spam(target, sender, learned):
    wave(target, held=0)
    batches.hide(sender, OF_SPAM)
    hidden = next(comment for comment in selectors.iterate(target) if comment.removed)
    services.restore(target, hidden.slug)
    assert learned()["spam"] == 3


def test_text_of_an_erased_author_is_not_learned(target, sender, learned):
    services.hold(target, author=CommentAuthor("A", id="66"), source=SPAM, token="h")
    batches.hide(sender, OF_SPAM)
    backend().erase_author(id="66")
    assert learned()["spam"] == 0


def test_single_decision_leaves_learning_to_a_task(target, mongo, commands, learned):
    held = services.hold(target, author=CommentAuthor("A"), source=SPAM, token="h").held
    with commands.recorded():
        pending.reject(held.id, by="1", verdict=Verdict.SPAM)
    assert not any("features" in str(event.command) or "lessons" in str(event.command) for event in commands.sent)
    assert learned()["spam"] == 1


def test_without_a_rule_that_learns_there_is_no_task(target, mongo, rules):
    rules(RULES=["marginalia.comments.posting.spam.words"])
    held = services.hold(target, author=CommentAuthor("A"), source=SPAM, token="h").held
    pending.reject(held.id, by="1", verdict=Verdict.SPAM)
    assert mongo.jobs.count_documents({"name": "comments.learn"}) == 0


@pytest.mark.slow_after(1)
@forms
def test_bulk_approval_publishes_pending_comments_and_is_undone(settings, mongo, target, sender, learned, form):
    configure(settings, *form)
    wave(target)
    batch = batches.approve(sender, OF_SPAM)
    assert (batch.total, batch.left, batch.skipped) == (4, 0, 0)
    assert (selectors.count(target), selectors.held()) == (9, ())
    assert learned() == {"spam": 0, "approved": 4}
    assert pending.approve(selectors.held(verdict=Verdict.APPROVED)[0].id).removed is False
    undone = batches.undo(sender, batch.id)
    assert (undone.restored, undone.left) == (4, 0)
    assert selectors.count(target) == 5
    assert learned() == {"spam": 0, "approved": 0}


def test_text_changed_during_a_bulk_approval_still_waits(target, sender, monkeypatch):
    wave(target)
    monkeypatch.setattr(batches, "SECONDS", 0)
    batch = batches.approve(sender, OF_SPAM)
    changed = selectors.held()[-1]
    services.change_held(changed.id, source="Changed", rev=1)
    site.work()
    assert batches.get(batch.id).is_finished
    assert [held.source for held in selectors.held()] == ["Changed"]
    assert selectors.count(target) == 8


def test_undo_during_a_bulk_approval_leaves_the_rest_pending(target, sender, monkeypatch):
    wave(target)
    monkeypatch.setattr(batches, "SECONDS", 0)
    batch = batches.approve(sender, OF_SPAM)
    monkeypatch.setattr(batches, "SECONDS", 60)
    batches.undo(sender, batch.id)
    assert selectors.count(target) == 5
    assert len(selectors.held()) in (2, 4)


def test_subscribers_hear_of_comments_approved_in_bulk(subscribed, sender, mailoutbox):
    reply = services.hold(
        subscribed.target, author=CommentAuthor("B"), source="An answer", token="r", parent=subscribed.slug
    ).held
    batches.approve(sender, Selection(comments=((reply.target.id, reply.slug),)))
    before = len(mailoutbox)
    site.work()
    assert len(mailoutbox) == before + 1
