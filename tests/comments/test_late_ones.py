"""Readers and writers who stop between two looks, for longer than a replaced copy is kept."""

from datetime import timedelta

import pytest
from pymongo.errors import AutoReconnect

from comments import slugs
from comments.backends.attempt import Attempt
from comments.backends.claims import Intent
from comments.backends.mongodb import MongoBackend
from comments.errors import DiscussionFull, InvalidParent
from comments.types import Order, Verdict
from mongo.connection import now
from tests.comments import audit
from tests.comments.contract import imported, new
from tests.comments.interruptions import Crash
from tests.comments.layouts import configure, lively


def meanwhile(monkeypatch, owner, name, work, *, after=False):
    """Have `work` done once, just before the next call of a method, or after it."""
    method, left = getattr(owner, name), [work]

    def called(*args, **kwargs):
        if left and not after:
            left.pop()()
        result = method(*args, **kwargs)
        if left and after:
            left.pop()()
        return result

    monkeypatch.setattr(owner, name, called)


READS = {
    "comment": lambda backend, target, slug: [backend.get(target, slug)],
    "page": lambda backend, target, slug: backend.page(target, order=Order.OLDEST).comments,
    "page around it": lambda backend, target, slug: backend.page(target, order=Order.OLDEST, at=slug).comments,
    "threads": lambda backend, target, slug: backend.page(target, order=Order.THREADED).comments,
    "threads around it": lambda backend, target, slug: backend.page(target, order=Order.THREADED, at=slug).comments,
    "what is below it": lambda backend, target, slug: backend.subdiscussion(target, slug).comments,
    "what it said": lambda backend, target, slug: backend.history(target, slug),
    "its address": lambda backend, target, slug: [backend.email_of(target, slug)],
}


@pytest.mark.parametrize("kept", [0, 3], ids=["all is dropped", "a part is dropped"])
@pytest.mark.parametrize("name", READS)
def test_who_slept_until_an_old_copy_was_dropped_reads_the_present_one(
    mongo, settings, target, monkeypatch, name, kept
):
    backend = configure(settings)
    slug = lively(backend, target)[1].slug
    expected = READS[name](backend, target, slug)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    find = backend._where

    def asleep(target):
        found = find(target)
        monkeypatch.undo()
        other = MongoBackend()
        other.convert(target, "buckets", Order.THREADED)
        rest = list(mongo.comments.find({"discussion_id": target.id}).sort("number", -1).limit(kept))
        assert other.conversion.drop_leftovers(target) == 0
        if kept:
            mongo.comments.insert_many(rest)
        return found

    monkeypatch.setattr(backend, "_where", asleep)
    assert READS[name](backend, target, slug) == expected


@pytest.mark.parametrize("name", READS)
def test_who_looks_while_an_embedded_copy_is_written_over_looks_again(mongo, settings, target, monkeypatch, name):
    """It is not kept beside the next one, as others are."""
    settings.COMMENTS = {}
    backend = configure(settings, "embedded")
    slug = lively(backend, target)[1].slug
    expected = [comment.slug if hasattr(comment, "slug") else comment for comment in READS[name](backend, target, slug)]
    meanwhile(monkeypatch, backend, "_where", lambda: MongoBackend().renumber(target), after=True)
    read = READS[name](backend, target, slug)
    assert [comment.slug if hasattr(comment, "slug") else comment for comment in read] == expected


def test_what_is_restored_is_found_where_it_is_by_then(mongo, settings, target, monkeypatch):
    backend = configure(settings, "embedded")
    slug = backend.post(target, new("one")).comment.slug
    backend.remove(target, slug, rev=1, token="r")
    meanwhile(monkeypatch, backend.discussions_, "find", lambda: MongoBackend().renumber(target), after=True)
    assert backend.restore(target, slug, rev=2, token="s").source == "one"


def test_export_is_whole_though_its_copy_is_dropped_under_it(mongo, settings, target, monkeypatch):
    monkeypatch.setattr("comments.backends.attempt.BATCH", 5)
    monkeypatch.setattr("comments.backends.documents.BATCH", 5)
    backend = configure(settings)
    posted = [backend.post(target, new(str(n))).comment.slug for n in range(20)]
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    reading, first = backend.iterate(target), backend.discussion(target).epoch
    read = [next(reading).slug]
    MongoBackend().convert(target, "buckets", Order.OLDEST)
    # Whoever drops it has come so far when the reader goes on.
    mongo.comments.delete_many({"discussion_id": target.id, "epoch": first, "number": {"$lte": 12}})
    assert read + [comment.slug for comment in reading] == posted


def test_export_has_everything_once_though_it_is_numbered_anew_meanwhile(mongo, settings, target, monkeypatch):
    monkeypatch.setattr("comments.backends.attempt.BATCH", 5)
    backend = configure(settings)
    for n in range(10):
        backend.post(target, new(f"now {n}"))
    for n in (1, 2, 3):
        backend.posting.post(target, imported(n))
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    reading = backend.iterate(target)
    read = [next(reading).slug for _ in range(3)]
    other = MongoBackend()
    other.renumber(target)
    other.conversion.drop_leftovers(target)
    read += [comment.slug for comment in reading]
    assert sorted(read) == sorted(comment.slug for comment in backend.iterate(target))


def test_rejected_after_an_approval_that_nobody_saw_is_not_public(mongo, settings, target, monkeypatch):
    """The approver comes between the two looks of who rejects, publishes, and stops before the queue says so."""
    backend, other = configure(settings), MongoBackend()
    held = backend.hold(target, new("held")).held

    def dying(*args):
        raise Crash

    def approved():
        with pytest.raises(Crash):
            other.approve(held.id)

    monkeypatch.setattr(other.holding, "decide", dying)
    meanwhile(monkeypatch, backend.holding, "get", approved, after=True)
    assert backend.reject(held.id).verdict is Verdict.REJECTED
    assert [comment.source for comment in backend.iterate(target) if not comment.removed] == []


def test_who_is_refused_does_not_strike_the_claim_of_who_joined_it(mongo, settings, target, monkeypatch):
    """Both send one form: what they answer is removed after the second has looked, and before the first does."""
    backend, first = configure(settings), MongoBackend()
    parent = backend.post(target, new("parent")).comment
    backend.post(target, new("keeps the tombstone", parent.slug))
    reply = new("reply", parent.slug)
    part = slugs.part("reply")
    intent = Intent(op=part, slug=f"{parent.slug}/{part}", kind="post", number="next", delta=1, needs_open=True)
    claim = first.discussions_.claim(target, intent)

    def refused():
        MongoBackend().remove(target, parent.slug, rev=1, token="r")
        monkeypatch.setattr(first.discussions_, "claim", lambda target, intent: claim)
        with pytest.raises(InvalidParent):
            first.post(target, reply)

    meanwhile(monkeypatch, backend.posting, "_put", refused)
    assert backend.post(target, reply).new
    assert backend.count(target) == sum(not comment.removed for comment in backend.iterate(target))
    audit.stored(target, "auth_user")


def test_approval_is_safe_before_the_queue_forgets_it(mongo, settings, target, commands):
    """Of a claim that a failover brought back nobody could tell any more that its author was not erased."""
    backend = configure(settings)
    held = backend.hold(target, new("held")).held
    with commands.recorded():
        backend.approve(held.id)
    commits = [event.command for event in commands.sent if event.command.get("update") == "discussions"]
    assert [command["writeConcern"]["w"] for command in commits] == ["majority"]


def test_rejected_comment_that_is_being_published_is_not_forgotten(mongo, settings, target):
    backend = configure(settings)
    held = backend.hold(target, new("held")).held
    backend.reject(held.id)
    mongo["comments.pending"].update_one({}, {"$set": {"decided": now() - timedelta(days=30)}})
    assert backend.holding.settle(held.id, 0)["decided"] > now() - timedelta(minutes=1)
    backend.approve(held.id)
    decided = backend.holding.get(held.id)["decided"]
    assert decided is not None
    assert backend.holding.settle(held.id, 0)["decided"] == decided


@pytest.mark.parametrize("fails", ["convert", "drop_leftovers"])
def test_who_posted_is_not_told_of_what_could_not_be_tidied_up(mongo, settings, target, monkeypatch, fails):
    backend = configure(settings, "embedded", BOUND=3)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    for n in range(2):
        backend.post(target, new(str(n)))
    backend.convert(target, "documents", Order.OLDEST)
    backend.convert(target, "embedded", Order.OLDEST)

    def down(*args, **kwargs):
        raise AutoReconnect("no primary")

    monkeypatch.setattr(backend.conversion, fails, down)
    assert backend.post(target, new("z")).new
    assert backend.count(target) == 3


def test_who_finds_a_discussion_full_that_another_has_moved_posts_there(mongo, settings, target, monkeypatch):
    backend = configure(settings, "embedded")
    backend.post(target, new("x"))

    def full():
        MongoBackend().convert(target, "buckets", Order.OLDEST)
        raise DiscussionFull(target.id)

    meanwhile(monkeypatch, backend.posting, "post", full)
    assert backend.post(target, new("y")).new


def test_what_was_held_while_others_posted_keeps_its_place_when_all_is_numbered_anew(
    mongo, settings, target, monkeypatch
):
    backend = configure(settings)
    for n in range(3):
        backend.post(target, new(str(n)))
    backend.posting.post(target, imported(100))
    held = []

    def busy():
        for n in range(3, 7):
            backend.post(target, new(str(n)))
        held.append(backend.hold(target, new("held")).held)

    meanwhile(monkeypatch, Attempt, "_compare", busy)
    backend.renumber(target)
    backend.post(target, new("7"))
    backend.approve(held[0].id)
    assert [comment.source for comment in backend.iterate(target)] == ["100", *"0123456", "held", "7"]


def test_what_is_held_as_soon_as_all_is_numbered_anew_is_not_numbered_again(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    for n in range(3):
        backend.post(target, new(str(n)))
    for n in range(100, 103):
        backend.posting.post(target, imported(n))
    # Numbers become more, as where many share one.
    mongo.comments.update_many({"discussion_id": target.id}, {"$set": {"number": 1}})
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"last_number": 1}})
    held = []
    meanwhile(
        monkeypatch, Attempt, "_renumber_queue", lambda: held.append(MongoBackend().hold(target, new("held")).held)
    )
    backend.renumber(target)
    assert backend.holding.get(held[0].id)["number"] == backend.discussion(target).last_number == 6
