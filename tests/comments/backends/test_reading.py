"""Readers and writers that stop between two queries, while a discussion is converted."""

import pytest
from pymongo.errors import AutoReconnect

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import Intent
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.backends.reading import pages
from marginalia.comments.backends.stored import read_place
from marginalia.comments.backends.upkeep.live import LiveConversion
from marginalia.comments.errors import DiscussionBusy, DiscussionFull, InvalidParent
from marginalia.comments.types import Order
from tests.support.comments import audit
from tests.support.comments.layouts import configure, lively
from tests.support.comments.making import imported, new


def once(monkeypatch, owner, name, work, *, after=False):
    """Run `work` once, just before or after the next call of a method."""
    method, left = getattr(owner, name), [work]

    def called(*args, **kwargs):
        if left and not after:
            left.pop()()
        result = method(*args, **kwargs)
        if left and after:
            left.pop()()
        return result

    monkeypatch.setattr(owner, name, called)


def layout_of(backend, target):
    return backend.store.layouts.of(read_place(backend.store.discussions.find(target)))


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


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("name", READS)
def test_reader_of_a_dropped_copy_reads_the_current_one(mongo, settings, target, monkeypatch, name):
    backend = configure(settings)
    slug = lively(backend, target)[1].slug
    expected = READS[name](backend, target, slug)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}

    def converted():
        other = MongoBackend()
        other.convert(target, "buckets", Order.THREADED)
        assert other.drop_old_copies(target) == 0

    once(monkeypatch, backend.store.discussions, "find", converted, after=True)
    assert READS[name](backend, target, slug) == expected


# All of these read by the same rule, so some of them suffice.
@pytest.mark.parametrize(
    "name", [name if at % 4 == 0 else pytest.param(name, marks=pytest.mark.slow) for at, name in enumerate(READS)]
)
def test_reader_of_an_overwritten_embedded_copy_reads_again(mongo, settings, target, monkeypatch, name):
    """An embedded copy doesn't exist beside the next one, unlike copies of other layouts."""
    settings.COMMENTS = {}
    backend = configure(settings, "embedded")
    slug = lively(backend, target)[1].slug
    expected = [comment.slug if hasattr(comment, "slug") else comment for comment in READS[name](backend, target, slug)]
    once(monkeypatch, backend.store.discussions, "find", lambda: MongoBackend().renumber(target), after=True)
    read = READS[name](backend, target, slug)
    assert [comment.slug if hasattr(comment, "slug") else comment for comment in read] == expected


def converting_readers(backend, target, monkeypatch, times):
    """Convert and drop the previous copy each time after a reader has looked up its place."""
    find, left = backend.store.discussions.find, [Order.THREADED, Order.OLDEST] * times

    def converted(target):
        found = find(target)
        if len(left) > times:
            other = MongoBackend()
            other.convert(target, "buckets", left.pop(0))
            other.drop_old_copies(target)
        return found

    monkeypatch.setattr(backend.store.discussions, "find", converted)


# All except "all" read by the same rule.
@pytest.mark.parametrize("name", ["comment", "all", pytest.param("page", marks=pytest.mark.slow)])
def test_reader_who_misses_several_copies_reads_the_next(mongo, settings, target, monkeypatch, name):
    backend = configure(settings)
    slug = lively(backend, target)[1].slug
    reads = {**READS, "all": lambda backend, target, slug: list(backend.iterate(target))}
    expected = reads[name](backend, target, slug)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    converting_readers(backend, target, monkeypatch, 8)
    assert reads[name](backend, target, slug) == expected


def test_reader_who_keeps_missing_copies_gets_a_busy_error(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    slug = lively(backend, target)[1].slug
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    monkeypatch.setattr(pages, "PATIENCE", 0)
    converting_readers(backend, target, monkeypatch, 1)
    with pytest.raises(DiscussionBusy):
        backend.get(target, slug)
    assert backend.get(target, slug).slug == slug


def test_overwritten_embedded_copy_is_read_to_the_end(mongo, settings, target):
    backend = configure(settings, "embedded")
    lively(backend, target)
    expected = [comment.slug for comment in backend.iterate(target)]
    reading = backend.iterate(target)
    read = [next(reading).slug]
    MongoBackend().renumber(target)
    assert [*read, *(comment.slug for comment in reading)] == expected


def test_reading_all_uses_the_old_copy_until_it_is_dropped(mongo, settings, target, monkeypatch):
    monkeypatch.setattr("marginalia.comments.backends.layouts.documents.BATCH", 5)
    backend = configure(settings)
    posted = [backend.post(target, new(str(n))).comment for n in range(20)]
    reading, cut_off = backend.iterate(target), backend.iterate(target)
    read = [next(reading)]
    next(cut_off)
    MongoBackend().convert(target, "buckets", Order.OLDEST)
    assert [*read, *reading] == posted
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    mongo.discussions.update_one({"_id": target.id}, {"$currentDate": {"leftovers.0.due": True}})
    assert backend.drop_old_copies(target) == 0
    with pytest.raises(DiscussionBusy):
        list(cut_off)


def test_comment_is_restored_after_a_concurrent_move(mongo, settings, target, monkeypatch):
    backend = configure(settings, "embedded")
    slug = backend.post(target, new("one")).comment.slug
    backend.remove(target, slug, rev=1, token="r")
    once(monkeypatch, backend.store.discussions, "claim", lambda: MongoBackend().renumber(target))
    assert backend.restore(target, slug, rev=2, token="s").source == "one"


def test_refused_writer_keeps_a_claim_that_another_joined(mongo, settings, target, monkeypatch):
    """Both send one form. Its parent is removed after the second has looked, and before the first does."""
    backend, first = configure(settings), MongoBackend()
    parent = backend.post(target, new("parent")).comment
    backend.post(target, new("keeps the tombstone", parent.slug))
    reply = new("reply", parent.slug)
    part = slugs.part("reply")
    intent = Intent(op=part, slug=f"{parent.slug}/{part}", kind="post", number=True, delta=1, needs_open=True)
    claim = first.store.discussions.claim(target, intent)

    def refused():
        MongoBackend().remove(target, parent.slug, rev=1, token="r")
        monkeypatch.setattr(first.store.discussions, "claim", lambda target, intent: claim)
        with pytest.raises(InvalidParent):
            first.post(target, reply)

    once(monkeypatch, layout_of(backend, target), "put", refused)
    assert backend.post(target, reply).new
    assert backend.discussion(target).count == sum(not comment.removed for comment in backend.iterate(target))
    audit.stored(target, "auth_user")


def test_failed_promotion_does_not_fail_the_post(mongo, settings, target, monkeypatch):
    backend = configure(settings, "embedded", BOUND=3)
    for n in range(2):
        backend.post(target, new(str(n)))

    def down(*args, **kwargs):
        raise AutoReconnect("no primary")

    monkeypatch.setattr(backend, "convert", down)
    assert backend.post(target, new("z")).new
    assert backend.discussion(target).count == 3


def test_post_into_a_discussion_promoted_meanwhile_succeeds(mongo, settings, target, monkeypatch):
    backend = configure(settings, "embedded")
    backend.post(target, new("x"))

    def full():
        raise DiscussionFull(target.id)

    once(monkeypatch, layout_of(backend, target), "put", full)
    assert backend.post(target, new("y")).new
    assert backend.discussion(target).layout == "buckets"


def test_held_comment_keeps_its_place_after_renumbering(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    for n in range(3):
        backend.post(target, new(str(n)))
    backend.import_(target, [imported(100)])
    mongo.comments.update_many({"number": 1}, {"$set": {"number": 4}})
    held = []

    def busy():
        for n in range(3, 7):
            backend.post(target, new(str(n)))
        held.append(backend.hold(target, new("held")).held)

    once(monkeypatch, LiveConversion, "compare", busy)
    backend.renumber(target)
    backend.post(target, new("7"))
    backend.approve(held[0].id)
    assert [comment.source for comment in backend.iterate(target)] == ["100", *"0123456", "held", "7"]
