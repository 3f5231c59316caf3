"""Held comments, with a writer that stops at a bad moment."""

from datetime import timedelta

import pytest

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import Verdict
from marginalia.mongo.clock import now
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import configure
from tests.support.comments.making import new


def stopped_approvals(backend, target):
    """Yield held comments whose approval stopped at each of its calls, until one completes."""
    for at in range(1, 30):
        held = backend.hold(target, new(f"held {at}")).held
        try:
            Interrupted(MongoBackend(), at=at, after=True).approve(held.id)
        except Crash:
            yield held
        else:
            return


@pytest.mark.parametrize("verdict", [Verdict.REJECTED, Verdict.SPAM])
def test_rejected_comment_is_never_public(mongo, settings, target, verdict):
    """Another moderator stopped between publishing and updating the queue, so the comment still appears to wait."""
    backend = configure(settings)
    stopped = 0
    for held in stopped_approvals(backend, target):
        stopped += 1
        if backend.reject(held.id, verdict=verdict).verdict is verdict:
            assert held.source not in [c.source for c in backend.iterate(target)]
    assert stopped > 4
    backend.repair_claims(target, older_than=0)
    audit.stored(target, "auth_user")


def test_published_comment_stays_public_when_sent_back(mongo, settings, target):
    backend = configure(settings)
    for held in stopped_approvals(backend, target):
        backend.reject(held.id, verdict=Verdict.WAITING)
        assert backend.approve(held.id).source == held.source
    assert backend.discussion(target).count == len(list(backend.iterate(target)))


def test_rejected_comment_being_published_is_not_deleted(mongo, settings, target):
    backend = configure(settings)
    held = backend.hold(target, new("held")).held
    backend.reject(held.id)
    mongo["comments.pending"].update_one({}, {"$set": {"decided": now() - timedelta(days=30)}})
    with pytest.raises(Crash):
        Interrupted(MongoBackend(), at=2, after=True).approve(held.id)
    assert mongo["comments.pending"].find_one()["decided"] > now() - timedelta(minutes=1)
    backend.approve(held.id)
    assert backend.get_held(held.id).verdict is Verdict.APPROVED
