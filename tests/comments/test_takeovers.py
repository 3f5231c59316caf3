"""Converters that die, stall or are relieved, and writers who need not wait for them."""

import threading
from datetime import UTC, datetime

import pytest

from comments.backends.attempt import Attempt
from comments.backends.mongodb import MongoBackend
from comments.errors import ConversionFailed
from comments.operations import maintenance
from comments.types import Order
from tests.comments import audit
from tests.comments.contract import imported, new
from tests.comments.layouts import configure, lively, state, unheard


def test_dead_converter_is_relieved_where_it_had_got_to(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    expected = state(backend, target)
    monkeypatch.setattr("comments.backends.attempt.BATCH", 5)

    class Killed(BaseException):
        """Not to be caught by anyone."""

    def killed(copied):
        if copied == 10:
            raise Killed

    with pytest.raises(Killed):
        backend.convert(target, "buckets", Order.OLDEST, progress=killed)
    unheard(mongo, target)
    with pytest.raises(ConversionFailed):
        backend.convert(target, "buckets", Order.OLDEST)
    backend.post(target, new("meanwhile"))
    first = expected[0][0]
    backend.edit(target, first.slug, source="meanwhile", html="", rev=first.rev, token="m")
    monkeypatch.setattr("comments.backends.claims.UNHEARD", -1)
    done = backend.convert(target, "buckets", Order.OLDEST)
    assert done.comments < len(expected[0])
    assert len(list(backend.iterate(target))) == len(expected[0]) + 1
    assert backend.get(target, first.slug).source == "meanwhile"
    audit.stored(target, "auth_user")


def test_another_plan_begins_afresh(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    monkeypatch.setattr("comments.backends.attempt.BATCH", 5)
    monkeypatch.setattr("comments.backends.claims.UNHEARD", -1)
    with pytest.raises(ZeroDivisionError):
        backend.convert(target, "buckets", Order.OLDEST, progress=lambda copied: 1 // (10 - copied))
    expected = state(backend, target)
    configure(settings, "embedded")
    backend.convert(target, "embedded", Order.THREADED)
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")
    faults = backend.repairing.audit(target)
    assert [fault.kind for fault in faults] == ["copies"]
    assert backend.repairing.mend(target, faults) == 1
    assert backend.repairing.audit(target) == []


def test_dead_converter_does_not_stand_in_the_way_of_another_order(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    monkeypatch.setattr("comments.backends.attempt.BATCH", 5)
    with pytest.raises(ZeroDivisionError):
        backend.convert(target, "buckets", Order.OLDEST, progress=lambda copied: 1 // (10 - copied))
    unheard(mongo, target)
    now = mongo.discussions.find_one({"_id": target.id})["order"]
    other = Order.OLDEST if now == "threaded" else Order.THREADED
    with pytest.raises(ConversionFailed):
        backend.convert(target, "documents", other)
    monkeypatch.setattr("comments.backends.claims.UNHEARD", -1)
    backend.convert(target, "documents", other)
    found = mongo.discussions.find_one({"_id": target.id})
    assert (found["order"], found["moving"]) == (other.value, None)
    audit.stored(target, "auth_user", crashed=True)


def test_relieved_converter_whose_copy_is_gone_says_so(mongo, settings, target, monkeypatch):
    """It is brought to nothing in the middle of raising a comment to a newer revision, by one with another plan."""
    monkeypatch.setattr("comments.backends.claims.UNHEARD", -1)
    backend = configure(settings)
    first = lively(backend, target)[0]
    stalling, drain = MongoBackend(), Attempt._drain

    def edited_and_relieved(run):
        monkeypatch.setattr(Attempt, "_drain", drain)
        backend.edit(target, first.slug, source="edited", html="", rev=1, token="late")
        change = run.schemas.of(run.to).change

        def relieved(*args):
            backend.convert(target, "buckets", Order.THREADED)
            return change(*args)

        monkeypatch.setattr(run.schemas.of(run.to), "change", relieved)
        return drain(run)

    monkeypatch.setattr(Attempt, "_drain", edited_and_relieved)
    with pytest.raises(ConversionFailed, match="taken over"):
        stalling.convert(target, "buckets", Order.OLDEST)
    assert backend.discussion(target).order is Order.THREADED
    assert backend.get(target, first.slug).source == "edited"
    audit.stored(target, "auth_user")


def test_writers_wait_while_too_much_is_to_be_copied_again(mongo, settings, target, monkeypatch):
    """Each of them would carry along what was touched, and make it longer."""
    monkeypatch.setattr("comments.backends.claims.MOST_TOUCHED", 5)
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


@pytest.mark.parametrize("dies_in", ["_compare", "_drain", "_switched"])
def test_converter_that_stalls_holds_up_nobody(mongo, settings, target, monkeypatch, dies_in):
    """Not heard of, it is relieved by those who wait for it; what it does when it wakes up leaves everything as it is."""
    monkeypatch.setattr("comments.backends.claims.MOST_TOUCHED", 5)
    backend = configure(settings)
    first = lively(backend, target)[0]
    asleep = getattr(Attempt, dies_in)
    longest = []

    def stalled(run, **fields):
        if not longest:
            mongo.discussions.update_one(
                {"_id": target.id}, {"$set": {"moving.gate": None, "moving.beat": datetime(2026, 1, 1, tzinfo=UTC)}}
            )
            for n in range(12):
                backend.post(target, new(f"meanwhile {n}"))
                longest.append(len(mongo.discussions.find_one({"_id": target.id})["touched"]))
            backend.edit(target, first.slug, source="meanwhile", html="", rev=first.rev, token="meanwhile")
        return asleep(run, **fields)

    monkeypatch.setattr(Attempt, dies_in, stalled)
    with pytest.raises(ConversionFailed, match="taken over"):
        MongoBackend().convert(target, "buckets", Order.OLDEST)
    assert max(longest) == 5
    expected = state(backend, target)
    assert backend.discussion(target).schema == "documents"
    backend.convert(target, "buckets", Order.OLDEST)
    assert state(backend, target) == expected
    assert backend.get(target, first.slug).source == "meanwhile"
    audit.stored(target, "auth_user")


def test_what_is_touched_while_copying_is_left_to_the_comparison(mongo, settings, target, monkeypatch):
    """However long the copying takes, the list does not grow with it."""
    monkeypatch.setattr("comments.backends.attempt.BATCH", 4)
    backend = configure(settings)
    posted = lively(backend, target)
    copied, drained, longest, drain = [], [], [], Attempt._drain
    monkeypatch.setattr(Attempt, "_drain", lambda run, **fields: drained.append(drain(run, **fields)) or drained[-1])

    def touching(so_far):
        copied.append(so_far)
        backend.post(target, new(f"beside {so_far}"))
        backend.edit(target, posted[0].slug, source=f"{so_far}", html="", rev=len(copied), token=f"edit {so_far}")
        longest.append(len(mongo.discussions.find_one({"_id": target.id})["touched"]))

    backend.convert(target, "buckets", Order.OLDEST, progress=touching)
    assert len(longest) > 5
    assert set(longest) == {2}
    assert sum(drained) == 0
    assert [c.source for c in backend.iterate(target)][-len(longest) :] == [f"beside {n}" for n in copied]
    assert backend.get(target, posted[0].slug).source == str(copied[-1])
    audit.stored(target, "auth_user")


def test_converter_that_ends_with_an_error_keeps_nobody_waiting(mongo, settings, target, monkeypatch):
    """Nor the one that goes on from where it had got to."""
    monkeypatch.setattr("comments.backends.attempt.BATCH", 5)
    monkeypatch.setattr("comments.backends.claims.MOST_TOUCHED", 3)
    backend = configure(settings)
    lively(backend, target)
    expected = state(backend, target)
    with pytest.raises(ZeroDivisionError):
        backend.convert(target, "buckets", Order.OLDEST, progress=lambda copied: 1 // (10 - copied))
    posted = [backend.post(target, new(f"meanwhile {n}")).comment for n in range(5)]
    assert backend.convert(target, "buckets", Order.OLDEST).comments < len(expected[0] + posted)
    assert list(backend.iterate(target)) == expected[0] + posted
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("removed", [False, True], ids=["edited", "removed"])
@pytest.mark.parametrize("order", [Order.OLDEST, Order.THREADED])
def test_what_a_relieved_converter_copies_late_is_raised(mongo, settings, target, monkeypatch, order, removed):
    """It was about to copy a comment that its successor finds changed and not copied yet."""
    monkeypatch.setattr("comments.backends.claims.UNHEARD", -1)
    backend = configure(settings)
    first = lively(backend, target)[0]
    held = backend.hold(target, new("late")).held
    backend.post(target, new("last"))
    compare, schema, late = Attempt._compare, {}, []

    def passed_over(place, documents):
        """The first one's copy, between the other's look and its own."""
        if late[0] in [document["slug"] for document in documents] and len(late) == 1:
            late.append("copied")
            schema["copy"](place, schema["old"])
        return schema["copy"](place, documents)

    def stalling(place, documents):
        assert [document["rev"] for document in documents] == [1]
        schema["old"] = list(documents)
        if removed:
            backend.remove(target, late[0], rev=1, token="r")
        else:
            backend.edit(target, late[0], source="edited", html="", rev=1, token="e")
        other = MongoBackend()
        monkeypatch.setattr(other.schemas.of(schema["to"]), "copy", passed_over)
        other.convert(target, "buckets", order)
        raise ConversionFailed("taken over")

    def stalled(run):
        if not late:
            late.append(passed_by().slug)
            schema.update(to=run.to, copy=run.schemas.of(run.to).copy)
            monkeypatch.setattr(run.schemas.of(run.to), "copy", stalling)
        return compare(run)

    def passed_by():
        """A comment before what was copied last."""
        if order is Order.THREADED:
            return backend.post(target, new("late", first.slug)).comment
        return backend.approve(held.id)

    monkeypatch.setattr(Attempt, "_compare", stalled)
    with pytest.raises(ConversionFailed):
        MongoBackend().convert(target, "buckets", order)
    assert late[1:] == ["copied"]
    assert backend.discussion(target).schema == "buckets"
    assert backend.get(target, late[0]).rev == 2
    assert backend.get(target, late[0]).removed is removed
    audit.stored(target, "auth_user")


def test_numbering_that_was_broken_off_is_not_gone_on_with_as_a_move(mongo, settings, target, monkeypatch):
    """Half of the copy has numbers that the other half would not get."""
    monkeypatch.setattr("comments.backends.attempt.BATCH", 5)
    backend = configure(settings, "embedded", BOUND=1000)
    for n in range(20):
        backend.posting.post(target, imported(20 - n))
    before = {c.slug: c.number for c in backend.iterate(target)}
    with pytest.raises(ZeroDivisionError):
        backend.conversion.convert(
            target, "embedded", Order.OLDEST, renumber=True, progress=lambda copied: 1 // (10 - copied)
        )
    backend.convert(target, "documents", Order.OLDEST)
    assert {c.slug: c.number for c in backend.iterate(target)} == before
    audit.stored(target, "auth_user")


def test_move_that_nobody_goes_on_with_is_ended(mongo, settings, target, monkeypatch):
    """A numbering of documents that died is a move to documents: there is nothing to do but to say so."""
    backend = configure(settings)
    lively(backend, target)
    with pytest.raises(ZeroDivisionError):
        backend.conversion.convert(target, "documents", Order.OLDEST, renumber=True, progress=lambda copied: 1 // 0)
    backend.post(target, new("meanwhile"))
    assert backend.discussion(target).moving == "documents"
    order = backend.discussion(target).order
    assert maintenance.needs_converting(backend.discussion(target), "documents", None)
    assert maintenance.convert(target, "documents", order) is None
    found = mongo.discussions.find_one({"_id": target.id})
    assert (found["moving"], found["touched"]) == (None, [])
    audit.stored(target, "auth_user", crashed=True)


def test_converting_what_is_deleted_leaves_nothing_behind(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    with pytest.raises(ConversionFailed):
        backend.convert(target, "buckets", Order.OLDEST, progress=lambda copied: MongoBackend().forget(target))
    assert mongo.comment_pages.count_documents({}) + mongo.comments.count_documents({}) == 0


def test_what_was_deleted_and_begun_anew_is_not_dropped_as_an_old_copy(mongo, settings, target, monkeypatch):
    """Whoever drops the old copies of a discussion knows them by their epochs."""
    backend = configure(settings)
    lively(backend, target)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    backend.convert(target, "buckets", Order.OLDEST)
    clear = backend.schemas.documents.clear

    def late(*args):
        other = MongoBackend()
        other.forget(target)
        other.import_(target, [imported(n) for n in (1, 2, 3)])
        return clear(*args)

    monkeypatch.setattr(backend.schemas.documents, "clear", late)
    backend.conversion.drop_leftovers(target)
    assert len(list(backend.iterate(target))) == 3
    audit.stored(target, "auth_user")


def test_what_was_deleted_and_begun_anew_gets_nothing_of_a_late_copy(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    copy, left = backend.schemas.pages.copy, []

    def late(place, documents):
        if not left:
            left.append(place)
            other = MongoBackend()
            other.forget(target)
            other.import_(target, [imported(n) for n in (1, 2, 3)])
            other.convert(target, "buckets", Order.OLDEST)
        return copy(place, documents)

    monkeypatch.setattr(backend.schemas.pages, "copy", late)
    with pytest.raises(ConversionFailed):
        backend.convert(target, "buckets", Order.OLDEST)
    assert len(list(backend.iterate(target))) == 3
    audit.stored(target, "auth_user")
