"""Embedded discussions are moved to buckets at their limit."""

import pytest

from marginalia.comments.backends.discussions import Intent
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.errors import DiscussionBusy
from marginalia.comments.types import Order
from tests.support.comments import audit
from tests.support.comments.layouts import configure
from tests.support.comments.making import new


def test_embedded_discussion_is_promoted_at_its_limit(mongo, settings, target):
    backend = configure(settings, "embedded", BOUND=10)
    posted = [backend.post(target, new(str(n))).comment for n in range(25)]
    assert backend.discussion(target).layout == "buckets"
    assert list(backend.iterate(target)) == posted
    audit.stored(target, "auth_user")


def test_embedded_discussion_is_promoted_by_bytes(mongo, settings, target):
    backend = configure(settings, "embedded", Order.THREADED, BOUND=1000, BOUND_BYTES=20_000)
    posted = [backend.post(target, new(str(n), source="x" * 3_000)).comment for n in range(12)]
    assert (backend.discussion(target).layout, backend.discussion(target).order) == ("buckets", Order.THREADED)
    assert list(backend.iterate(target)) == posted


def test_embedded_discussion_is_promoted_by_another_commit(mongo, settings, target, monkeypatch):
    """A form is sent twice at once: one copy writes the comment, the other one finds it and commits for both."""
    backend = configure(settings, "embedded", BOUND=5)
    for n in range(4):
        backend.post(target, new(str(n)))
    commit, met = backend.store.discussions.commit, []

    def overtaken(claim, **kwargs):
        if not met:
            met.append(MongoBackend().post(target, new("last")))
        return commit(claim, **kwargs)

    monkeypatch.setattr(backend.store.discussions, "commit", overtaken)
    assert backend.post(target, new("last")).comment == met[0].comment
    assert backend.discussion(target).layout == "buckets"
    audit.stored(target, "auth_user")


def test_embedded_discussion_is_promoted_by_approvals(mongo, settings, target):
    """Nobody posts directly to a discussion in which every comment is held."""
    backend = configure(settings, "embedded", BOUND=10)
    waiting = [backend.hold(target, new(str(n))).held for n in range(12)]
    approved = [backend.approve(held.id) for held in waiting]
    assert backend.discussion(target).layout == "buckets"
    assert list(backend.iterate(target)) == approved
    audit.stored(target, "auth_user")


def test_embedded_discussion_is_promoted_by_longer_edits(mongo, settings, target):
    """Otherwise edits could grow it to the server's maximum document size, and its target could no longer be saved."""
    backend = configure(settings, "embedded", BOUND=1000, BOUND_BYTES=20_000)
    posted = [backend.post(target, new(str(n))).comment for n in range(4)]
    edited = [backend.edit(target, c.slug, source="x" * 6_000, html="", rev=1, token="e") for c in posted]
    assert backend.discussion(target).layout == "buckets"
    assert list(backend.iterate(target)) == edited
    audit.stored(target, "auth_user")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("how", ["post", "approve"])
def test_full_embedded_discussion_is_promoted_before_a_post(mongo, settings, target, monkeypatch, how):
    """A stopped writer can prevent the promotion until nothing can be posted."""
    monkeypatch.setattr("marginalia.comments.backends.layouts.embedded.FULL", 3_000)
    monkeypatch.setattr("marginalia.comments.backends.store.PROMOTION_PATIENCE", 0)
    monkeypatch.setattr("marginalia.comments.backends.upkeep.live.GATE_MS", 20)
    monkeypatch.setattr("marginalia.comments.backends.upkeep.live.POLL_SECONDS", 0.01)
    backend = configure(settings, "embedded", BOUND=3)
    held = backend.hold(target, new("held")).held
    backend.store.discussions.claim(target, Intent(op="z" * 16, slug="z" * 16, kind="post", number=True, delta=1))

    def fill():
        for n in range(20):
            backend.post(target, new(f"{n} " + "x" * 200))

    with pytest.raises(DiscussionBusy):
        fill()
    assert backend.discussion(target).layout == "embedded"
    backend.repair_claims(target, older_than=0)
    if how == "post":
        assert backend.post(target, new("at last")).new
    else:
        assert backend.approve(held.id).source == "held"
    assert backend.discussion(target).layout == "buckets"
    audit.stored(target, "auth_user", crashed=True)
