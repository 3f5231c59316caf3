"""Claims: each place that a writer announces is assigned once, however often the same form asks."""

import pytest

from marginalia.comments.backends.discussions import ABANDONED, Discussions, Intent, read_claims
from marginalia.comments.backends.layouts import storage_of
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.backends.stored import read_place
from marginalia.comments.errors import DiscussionBusy, InvalidParent
from marginalia.comments.types import Order
from marginalia.mongo.connection import database
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import DOCUMENTS, configure
from tests.support.comments.making import new

MOST_CLAIMS = 20
FORM, OTHER = "a" * 16, "b" * 16


def place_of(backend, target):
    return read_place(backend.store.discussions.find(target))


def intent(op):
    return Intent(op=op, slug=op, kind="post", number=True, delta=1)


def test_concurrent_copies_of_a_form_share_one_claim(mongo, settings, target):
    configure(settings, *DOCUMENTS)
    discussions = Discussions(database(), storage_of)
    first, again, other = (discussions.claim(target, intent(op)) for op in (FORM, FORM, OTHER))
    assert (first.number, first.posted, first.change) == (again.number, again.posted, again.change)
    assert other.number == first.number + 1
    stored = mongo.discussions.find_one({"_id": target.id})
    assert [claim["op"] for claim in stored["claims"]] == [FORM, OTHER]
    assert stored["last_number"] == 2, "no number is lost"
    assert discussions.commit(first)
    assert not discussions.commit(again), "what was struck off is not counted twice"
    later = discussions.claim(target, intent(FORM))
    assert later.number == 3, "once it is struck off, the same form gets a place of its own, and must look first"
    assert not discussions.commit(again), "which is not the one that another sender holds still"
    assert mongo.discussions.find_one({"_id": target.id})["count"] == 1


def age(mongo, target, seconds):
    """Move all claims of a discussion into the past."""
    earlier = {"$subtract": ["$$this.at", seconds * 1000]}
    older = {"$map": {"input": "$claims", "in": {"$mergeObjects": ["$$this", {"at": earlier}]}}}
    mongo.discussions.update_one({"_id": target.id}, [{"$set": {"claims": older}}])


@pytest.mark.parametrize("order", [Order.OLDEST, Order.THREADED])
def test_joined_claim_is_as_young_as_a_new_one(mongo, settings, target, monkeypatch, order):
    """One writer stops.

    Ten minutes later, a second one sends the same form slowly, and a third one sends it meanwhile.
    """
    backend = configure(settings, "buckets", order)
    for n in range(3):
        backend.post(target, new(f"{n}"))
    with pytest.raises(Crash):
        Interrupted(backend, at=2).post(target, new("same"))
    age(mongo, target, ABANDONED - 1)
    layout = backend.store.layouts.of(place_of(backend, target))
    put = layout.put

    def slow(*args):
        age(mongo, target, 2)
        other = MongoBackend()
        assert other.repair_claims(target) == 0
        other.post(target, new("same"))
        return put(*args)

    monkeypatch.setattr(layout, "put", slow)
    backend.post(target, new("same"))
    assert [c.source for c in backend.iterate(target)].count("same") == 1
    audit.stored(target, "auth_user")


def test_joined_claim_is_not_dropped_as_abandoned(mongo, settings, target):
    """The claim was read as abandoned, and joined before it was removed."""
    backend = configure(settings)
    backend.post(target, new("first"))
    abandoned = backend.store.discussions.claim(target, intent(FORM))
    age(mongo, target, ABANDONED)
    found = mongo.discussions.find_one({"_id": target.id})
    (read,) = read_claims(found)
    joined = backend.store.discussions.claim(target, intent(FORM))
    assert (joined.number, joined.change) == (abandoned.number, abandoned.change)
    backend.store.discussions.drop(read)
    assert backend.store.discussions.commit(joined)


def test_refused_writer_keeps_the_claim_of_another(mongo, settings, target, monkeypatch):
    """The same reply is sent three times: before its parent is removed, meanwhile, and after it was restored."""
    backend = configure(settings, "buckets")
    top = backend.post(target, new("top")).comment.slug
    for n in range(2):
        backend.post(target, new(f"{n}"))
    layout = backend.store.layouts.of(place_of(backend, target))
    put = layout.put

    def slow(*args):
        other = MongoBackend()
        other.remove(target, top, rev=1, token="r")
        with pytest.raises(InvalidParent):
            other.post(target, new("same", top))
        other.restore(target, top, rev=2, token="u")
        other.post(target, new("same", top))
        return put(*args)

    monkeypatch.setattr(layout, "put", slow)
    backend.post(target, new("same", top))
    assert [c.source for c in backend.iterate(target)].count("same") == 1
    assert mongo.discussions.find_one({"_id": target.id})["claims"] == []
    audit.stored(target, "auth_user")


def test_refused_writer_removes_its_own_claim(mongo, settings, target):
    backend = configure(settings)
    top = backend.post(target, new("top")).comment.slug
    backend.remove(target, top, rev=1, token="r")
    with pytest.raises(InvalidParent):
        backend.post(target, new("same", top))
    assert mongo.discussions.find_one({"_id": target.id})["claims"] == []


def test_repair_frees_a_discussion_full_of_abandoned_claims(mongo, settings, target, monkeypatch):
    monkeypatch.setattr("marginalia.comments.backends.discussions.PATIENCE", 0)
    monkeypatch.setattr("marginalia.comments.backends.discussions.MAX_CLAIMS", MOST_CLAIMS)
    backend = configure(settings)
    backend.post(target, new("first"))
    backend.store.discussions.claim(target, intent(FORM))
    (entry,) = mongo.discussions.find_one({"_id": target.id})["claims"]
    many = [{**entry, "op": f"{n:016}", "slug": f"{n:016}", "number": n + 2} for n in range(MOST_CLAIMS)]
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"claims": many}})
    with pytest.raises(DiscussionBusy):
        backend.post(target, new("too early"))
    age(mongo, target, ABANDONED)
    backend.tidy()
    assert backend.post(target, new("at last")).new
    assert mongo.discussions.find_one({"_id": target.id})["claims"] == []
    audit.stored(target, "auth_user", crashed=True)


def test_comment_found_stored_is_acknowledged_when_durable(mongo, settings, target, commands, monkeypatch):
    """A writer waits for its own write before the commit. A process that finds the comment stored has to wait too."""
    backend = configure(settings)
    found = []

    def waits():
        writes = [event.command for event in commands.sent if event.command_name in ("insert", "update")]
        return [
            command["writeConcern"]["w"] for command in writes if command.get("insert") in (None, "comments.catalogue")
        ]

    with commands.recorded():
        backend.post(target, new("same"))
        found.append(waits())
    with commands.recorded():
        assert not backend.post(target, new("same")).new
        found.append(waits())
    # The entry in the catalogue is written first, and needs no majority either.
    assert found == [[1, 1], ["majority"]]
