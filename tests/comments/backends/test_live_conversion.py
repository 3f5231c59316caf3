"""Converters that die or stall, and writers that don't have to wait for them."""

import threading

import pytest

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.backends.stored import Place
from marginalia.comments.backends.upkeep.live import LiveConversion
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Order
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import configure, expire_conversion, lively, state
from tests.support.comments.making import imported, new


def killed(target, calls):
    """Let a converter to threaded buckets die after the given number of database calls."""
    with pytest.raises(Crash):
        Interrupted(MongoBackend(), at=calls).convert(target, "buckets", Order.THREADED)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("calls", [8, 11, 14, 17])
def test_next_claim_ends_a_dead_conversion(mongo, settings, target, calls):
    backend = configure(settings)
    posted = lively(backend, target)
    killed(target, calls)
    dead = mongo.discussions.find_one({"_id": target.id})["moving"]["epoch"]
    backend.post(target, new("while it counts as alive"))
    with pytest.raises(ConversionFailed, match="by another process"):
        backend.convert(target, "buckets", Order.OLDEST)
    expire_conversion(mongo, target)
    backend.edit(target, posted[0].slug, source="edited", html="", rev=1, token="e")
    found = mongo.discussions.find_one({"_id": target.id})
    assert (found["moving"], found["touched"]) == (None, [])
    expected = state(backend, target)
    backend.convert(target, "buckets", Order.THREADED)
    assert backend.discussion(target).epoch > dead
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")
    faults = backend.audit(target)
    backend.repair(target, faults)
    assert backend.audit(target) == []
    assert mongo.comment_pages.count_documents({"epoch": dead}) == 0


def test_copy_of_a_stalled_converter_is_not_dropped(mongo, settings, target, monkeypatch):
    """The converter switches just before another one, which considers it dead, takes over."""
    backend = configure(settings)
    lively(backend, target)
    expected, take, switch = state(backend, target), LiveConversion.acquire, LiveConversion.switch

    def stalled(run):
        expire_conversion(mongo, target)
        monkeypatch.setattr(LiveConversion, "switch", switch)
        monkeypatch.setattr(LiveConversion, "acquire", lambda other: switch(run) or take(other))
        with pytest.raises(ConversionFailed, match="by another process"):
            MongoBackend().convert(target, "buckets", Order.OLDEST)

    monkeypatch.setattr(LiveConversion, "switch", stalled)
    backend.convert(target, "buckets", Order.THREADED)
    assert backend.discussion(target).order is Order.THREADED
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")


def test_worker_ends_a_dead_conversion(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    killed(target, 13)
    backend.tidy()
    assert backend.discussion(target).moving == "buckets"
    expire_conversion(mongo, target)
    backend.tidy()
    assert backend.discussion(target).moving == ""


def test_dead_conversion_does_not_block_another_order(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    killed(target, 13)
    now = mongo.discussions.find_one({"_id": target.id})["order"]
    other = Order.OLDEST if now == "threaded" else Order.THREADED
    with pytest.raises(ConversionFailed):
        backend.convert(target, "documents", other)
    expire_conversion(mongo, target)
    backend.convert(target, "documents", other)
    found = mongo.discussions.find_one({"_id": target.id})
    assert (found["order"], found["moving"]) == (other.value, None)
    audit.stored(target, "auth_user", crashed=True)


def test_failed_conversion_leaves_nothing(mongo, settings, target, monkeypatch):
    monkeypatch.setattr("marginalia.comments.backends.upkeep.live.BATCH", 5)
    backend = configure(settings)
    lively(backend, target)
    with pytest.raises(ZeroDivisionError):
        backend.convert(target, "buckets", Order.OLDEST, progress=lambda copied: 1 // (10 - copied))
    found = mongo.discussions.find_one({"_id": target.id})
    assert (found["moving"], found["touched"], mongo.comment_pages.count_documents({})) == (None, [], 0)
    assert backend.audit(target) == []


@pytest.mark.slow
def test_switch_with_a_lost_response_keeps_the_new_copy(mongo, settings, target, monkeypatch):
    """The converter dies after the switch. The new copy must not be cleaned up as an unfinished one."""
    backend = configure(settings)
    lively(backend, target)
    expected = state(backend, target)
    switch = LiveConversion.switch

    def lost(run):
        switch(run)
        raise ConnectionError

    monkeypatch.setattr(LiveConversion, "switch", lost)
    with pytest.raises(ConnectionError):
        backend.convert(target, "buckets", Order.OLDEST)
    assert backend.discussion(target).layout == "buckets"
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")


def test_writers_wait_while_too_much_must_be_copied_again(mongo, settings, target, monkeypatch):
    """Each writer would add touched comments, and delay the switch further."""
    monkeypatch.setattr("marginalia.comments.backends.discussions.MAX_TOUCHED", 5)
    backend = configure(settings)
    lively(backend, target)
    waited, threads = [], []

    def touching(copied):
        if threads:
            return
        for n in range(5):
            backend.post(target, new(f"touched {n}"))
        threads.append(threading.Thread(target=MongoBackend().post, args=(target, new("one too many"))))
        threads[0].start()
        threads[0].join(0.3)
        waited.append(threads[0].is_alive())
        assert len(mongo.discussions.find_one({"_id": target.id})["touched"]) == 5

    backend.convert(target, "buckets", Order.OLDEST, progress=touching)
    threads[0].join()
    assert waited == [True]
    sources = [c.source for c in backend.iterate(target)]
    assert sources[-6:] == [*(f"touched {n}" for n in range(5)), "one too many"]
    audit.stored(target, "auth_user")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("stalls_in", ["compare", "recopy_touched", "switch"])
def test_stalled_converter_delays_no_writer(mongo, settings, target, monkeypatch, stalls_in):
    """Waiting writers end the stalled conversion. When the converter continues, it changes nothing."""
    monkeypatch.setattr("marginalia.comments.backends.discussions.MAX_TOUCHED", 5)
    backend = configure(settings)
    first = lively(backend, target)[0]
    asleep = getattr(LiveConversion, stalls_in)
    longest = []

    def stalled(run, *changes):
        if not longest:
            expire_conversion(mongo, target)
            for n in range(12):
                backend.post(target, new(f"beside {n}"))
                longest.append(len(mongo.discussions.find_one({"_id": target.id})["touched"]))
            backend.edit(target, first.slug, source="beside", html="", rev=first.rev, token="beside")
        return asleep(run, *changes)

    monkeypatch.setattr(LiveConversion, stalls_in, stalled)
    with pytest.raises(ConversionFailed, match="was stopped"):
        MongoBackend().convert(target, "buckets", Order.OLDEST)
    assert max(longest) <= 5
    expected = state(backend, target)
    assert backend.discussion(target).layout == "documents"
    backend.convert(target, "buckets", Order.OLDEST)
    assert state(backend, target) == expected
    assert backend.get(target, first.slug).source == "beside"
    audit.stored(target, "auth_user")


@pytest.mark.slow
def test_touched_comments_are_left_to_the_comparison(mongo, settings, target, monkeypatch):
    """The list of touched comments stays short, however long the copying takes."""
    monkeypatch.setattr("marginalia.comments.backends.upkeep.live.BATCH", 4)
    backend = configure(settings)
    posted = lively(backend, target)
    copied, drained, longest, drain = [], [], [], LiveConversion.recopy_touched
    monkeypatch.setattr(
        LiveConversion, "recopy_touched", lambda run, *changes: drained.append(drain(run, *changes)) or drained[-1]
    )

    def touching(so_far):
        copied.append(so_far)
        backend.post(target, new(f"beside {so_far}"))
        backend.edit(target, posted[0].slug, source=f"{so_far}", html="", rev=len(copied), token=f"edit {so_far}")
        longest.append(len(mongo.discussions.find_one({"_id": target.id})["touched"]))

    backend.convert(target, "buckets", Order.OLDEST, progress=touching)
    assert len(longest) > 5
    assert set(longest) == {2}
    assert sum(touched for touched, _ in drained) == 0
    assert [c.source for c in backend.iterate(target)][-len(longest) :] == [f"beside {n}" for n in copied]
    assert backend.get(target, posted[0].slug).source == str(copied[-1])
    audit.stored(target, "auth_user")


def test_converting_to_the_same_layout_ends_a_dead_conversion(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    killed(target, 13)
    expire_conversion(mongo, target)
    found = backend.discussion(target)
    assert maintenance.needs_converting(found, "documents", None)
    assert maintenance.convert(target, "documents", found.order) is None
    found = mongo.discussions.find_one({"_id": target.id})
    assert (found["moving"], found["touched"]) == (None, [])
    audit.stored(target, "auth_user", crashed=True)


def test_converting_a_deleted_discussion_leaves_nothing(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    with pytest.raises(ConversionFailed):
        backend.convert(
            target, "buckets", Order.OLDEST, progress=lambda copied: MongoBackend().delete_discussion(target)
        )
    assert mongo.comment_pages.count_documents({}) + mongo.comments.count_documents({}) == 0


def test_restarted_discussion_is_not_dropped_as_an_old_copy(mongo, settings, target, monkeypatch):
    """Old copies are identified by their epochs."""
    backend = configure(settings)
    lively(backend, target)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    backend.convert(target, "buckets", Order.OLDEST)
    documents = backend.store.layouts.all[0]
    clear = documents.clear

    def late(*args):
        other = MongoBackend()
        other.delete_discussion(target)
        other.import_(target, [imported(n) for n in (1, 2, 3)])
        return clear(*args)

    monkeypatch.setattr(documents, "clear", late)
    backend.drop_old_copies(target)
    assert len(list(backend.iterate(target))) == 3
    audit.stored(target, "auth_user")


def test_restarted_discussion_gets_nothing_of_a_late_copy(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    buckets = backend.store.layouts.of(Place(target, "buckets", Order.OLDEST, 0, 1))
    copy, left = buckets.copy, []

    def late(place, documents):
        if not left:
            left.append(place)
            other = MongoBackend()
            other.delete_discussion(target)
            other.import_(target, [imported(n) for n in (1, 2, 3)])
            other.convert(target, "buckets", Order.OLDEST)
        return copy(place, documents)

    monkeypatch.setattr(buckets, "copy", late)
    with pytest.raises(ConversionFailed):
        backend.convert(target, "buckets", Order.OLDEST)
    assert len(list(backend.iterate(target))) == 3
    audit.stored(target, "auth_user")


def test_changes_in_a_split_bucket_reach_the_copy(mongo, settings, target):
    backend = configure(settings)
    posted = lively(backend, target)

    def touching(copied):
        backend.post(target, new("beside", posted[0].slug))
        for number, comment in enumerate(posted):
            now = backend.get(target, comment.slug)
            if not now.removed:
                backend.edit(target, comment.slug, source="beside", html="", rev=now.rev, token=f"beside {number}")

    backend.convert(target, "buckets", Order.THREADED, progress=touching)
    assert [c.source for c in backend.iterate(target)].count("beside") == 23
    audit.stored(target, "auth_user")
    assert backend.audit(target) == []
