"""A commit doesn't wait for the journal.

If a failing server loses it, its claim remains beside the acknowledged comment.
"""

from datetime import timedelta

import pytest

from marginalia.comments.backends.discussions import LEASE, Discussions, Intent
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Fault, Order
from marginalia.mongo.clock import now
from tests.support.comments.layouts import configure
from tests.support.comments.making import new

# target is a fixture.

WRITES = {
    "post": lambda backend, target, slug, held: backend.post(target, new("late")),
    "reply": lambda backend, target, slug, held: backend.post(target, new("late", slug)),
    "approve": lambda backend, target, slug, held: backend.approve(held),
    "edit": lambda backend, target, slug, held: backend.edit(target, slug, source="late", html="", rev=1, token="late"),
    "remove": lambda backend, target, slug, held: backend.remove(target, slug, rev=1, token="late"),
}


@pytest.fixture(params=WRITES)
def lost(request, mongo, settings, target, monkeypatch):
    """A back end whose last write, one of WRITES, is stored and acknowledged, but its commit is lost."""
    backend = configure(settings)
    slug = backend.post(target, new("first")).comment.slug
    held = backend.hold(target, new("held")).held.id
    with monkeypatch.context() as failing:
        failing.setattr(Discussions, "commit", lambda *arguments, **more: True)
        WRITES[request.param](backend, target, slug, held)
    assert len(mongo.discussions.find_one({"_id": target.id})["claims"]) == 1
    return backend


def age(mongo, target, seconds):
    then = now() - timedelta(seconds=seconds)
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"claims.0.at": then}})


@pytest.mark.slow_after(2)
def test_conversion_waits_no_longer_than_a_writer_can_take(mongo, target, lost, monkeypatch):
    monkeypatch.setattr("marginalia.comments.backends.upkeep.live.GATE_MS", 100)
    with pytest.raises(ConversionFailed, match="writes were still in progress"):
        lost.convert(target, "buckets", Order.OLDEST, patience=0)
    age(mongo, target, LEASE + 1)
    lost.convert(target, "buckets", Order.OLDEST, patience=0)
    assert lost.audit(target) == []


def test_worker_removes_an_abandoned_claim(mongo, target, lost):
    lost.tidy()
    assert len(mongo.discussions.find_one({"_id": target.id})["claims"]) == 1
    age(mongo, target, LEASE + 1)
    lost.post(target, new("next"))
    assert len(mongo.discussions.find_one({"_id": target.id})["claims"]) == 1, "no poster repairs for others"
    lost.tidy()
    assert mongo.discussions.find_one({"_id": target.id})["claims"] == []
    assert lost.audit(target) == []


@pytest.mark.parametrize("kind", ["post", "approve", "edit"])
def test_claim_that_could_still_be_written_under_is_kept(mongo, settings, target, kind):
    backend = configure(settings)
    slug = backend.post(target, new("first")).comment.slug
    intent = Intent("op", slug if kind == "edit" else "op", kind, number=None if kind == "edit" else True, rev=1)
    backend.store.discussions.claim(target, intent)
    age(mongo, target, LEASE + 1)
    backend.post(target, new("next"))
    assert backend.repair_claims(target) == 0
    assert len(mongo.discussions.find_one({"_id": target.id})["claims"]) == 1


def test_crowded_bucket_is_left_during_a_conversion(mongo, target, settings, monkeypatch):
    backend = configure(settings)
    backend.post(target, new("first"))

    def busy(*arguments):
        raise ConversionFailed("Another conversion is at work.")

    monkeypatch.setattr(MongoBackend, "renumber", busy)
    monkeypatch.setattr(MongoBackend, "audit", lambda *arguments: [Fault(str(target), "crowded", "")])
    examined = maintenance.examine(target, fix=True)
    assert (examined.comments, len(examined.faults), examined.repaired) == (1, 1, 0)


def test_faults_name_the_discussion_as_commands_do(mongo, target, settings):
    backend = configure(settings)
    backend.post(target, new("first"))
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"count": 7}})
    assert {fault.discussion for fault in backend.audit(target)} == {str(target)}
