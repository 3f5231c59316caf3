"""The catalogue of comments: crashes, audits and repairs. `audit.stored` checks its entries in all other tests."""

from datetime import timedelta

import pytest

from marginalia.comments.backends.discussions import LEASE
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import State
from marginalia.mongo.clock import now
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import FORMS, configure
from tests.support.comments.making import ANN, imported, new

forms = pytest.mark.parametrize("form", FORMS, ids=" ".join)


def entries(mongo):
    return list(mongo["comments.catalogue"].find())


@forms
def test_lost_entries_are_found_and_stored_again(mongo, settings, target, form):
    backend = configure(settings, *form)
    first = backend.post(target, new("first")).comment
    backend.import_(target, [imported(1), imported(2, state=State.REMOVED)])
    backend.hold(target, new("held"))
    backend.edit(target, first.slug, source="second", html="", rev=1, token="e")
    assert backend.audit(target) == []
    mongo["comments.catalogue"].delete_one({"slug": {"$ne": first.slug}})
    mongo["comments.catalogue"].update_one({"slug": first.slug}, {"$set": {"rev": 1, "terms": []}})
    mongo["comments.pending"].update_many({}, {"$unset": {"terms": ""}})
    (fault,) = backend.audit(target)
    assert (fault.kind, fault.repairable) == ("catalogue", True)
    assert fault.description == "3 comments can't be found by searches and bans"
    assert backend.repair(target, [fault]) == 1
    assert backend.audit(target) == []
    audit.stored(target, "auth_user")
    assert "word:held" in mongo["comments.pending"].find_one()["terms"]


def test_writer_that_dies_before_the_entry_leaves_a_claim_with_which_it_is_stored(mongo, settings, target):
    backend = configure(settings)
    backend.post(target, new("first"))
    for at in range(1, 20):
        dying = Interrupted(MongoBackend(), at=at)
        try:
            dying.post(target, new(f"late {at}"))
        except Crash:
            mongo.discussions.update_many(
                {"claims.0": {"$exists": True}}, {"$set": {"claims.$[].at": now() - timedelta(seconds=LEASE + 1)}}
            )
            backend.tidy()
            stored = {comment.source for comment in backend.iterate(target)}
            assert len(entries(mongo)) == len(stored)
        else:
            break
    mongo.discussions.update_many({}, {"$set": {"claims": []}})
    audit.stored(target)


def test_entry_of_a_slow_writer_does_not_replace_a_newer_one(mongo, settings, target):
    backend = configure(settings)
    posted = backend.post(target, new("first")).comment
    before = backend.store.find_comment(target, posted.slug)
    backend.edit(target, posted.slug, source="second", html="", rev=1, token="e")
    backend.store.catalogue.note(target, before)
    (entry,) = entries(mongo)
    assert entry["rev"] == 2
    assert "word:second" in entry["terms"]


def test_removed_comment_keeps_its_terms_until_its_author_is_erased(mongo, settings, target):
    backend = configure(settings)
    gone = backend.post(target, new("gone", email="ann@example.org")).comment
    backend.remove(target, gone.slug, rev=1, token="r")
    (entry,) = entries(mongo)
    assert (entry["state"], "word:gone" in entry["terms"]) == ("removed", True)
    backend.erase_author(id=ANN.id)
    (entry,) = entries(mongo)
    assert (entry["state"], entry["terms"]) == ("removed", [])


def test_erased_author_is_not_catalogued_again_by_a_slow_writer(mongo, settings, target):
    backend = configure(settings)
    posted = backend.post(target, new("mine")).comment
    stored = backend.store.find_comment(target, posted.slug)
    backend.erase_author(id=ANN.id)
    backend.store.catalogue.note(target, stored)
    assert [entry["terms"] for entry in entries(mongo)] == [[]]


def test_deleted_discussion_has_no_entries(mongo, settings, target):
    backend = configure(settings)
    backend.post(target, new("one"))
    backend.delete_discussion(target)
    assert entries(mongo) == []
