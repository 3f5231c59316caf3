"""Converting a discussion between all layouts and orders, while it is written to."""

import itertools
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from marginalia.comments.backends.layouts import Buckets, Documents
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.backends.stored import Place, comment_document, content_document
from marginalia.comments.backends.upkeep.live import SHUT_GATE, LiveConversion
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Order
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import BUCKETS, DOCUMENTS, FORMS, THREADED_BUCKETS, configure, lively, state
from tests.support.comments.making import new

# Each layout once as the source and once as the target. `make test-slow` runs the rest.
ROUND = set(pairwise((*FORMS, FORMS[0])))
PAIRS = [
    pytest.param(*pair, marks=() if pair in ROUND else pytest.mark.slow, id="-".join(itertools.chain(*pair)))
    for pair in itertools.permutations(FORMS, 2)
]


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_conversion_changes_only_the_layout(mongo, settings, target, before, after):
    backend = configure(settings, *before)
    posted = lively(backend, target)
    expected = state(backend, target)
    version = backend.discussion(target).version
    configure(settings, "embedded")
    assert backend.convert(target, *after) is not None
    found = backend.discussion(target)
    assert (found.layout, found.order, found.moving) == (*after, "")
    assert found.version != version
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")
    # Repeated tokens and edits work as if nothing had happened.
    assert not backend.post(target, new("5 $$ROOT", posted[1].slug)).new
    assert backend.restore(target, posted[9].slug, rev=2, token="u").source == "9 $$ROOT"
    assert backend.post(target, new("later", posted[0].slug)).new
    audit.stored(target, "auth_user")


def test_converting_to_the_same_layout_does_nothing(mongo, settings, target):
    backend = configure(settings)
    backend.post(target, new("one"))
    assert backend.convert(target, "documents", Order.OLDEST) is None


def test_old_copy_is_dropped_after_its_time(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    backend.convert(target, "buckets", Order.OLDEST)
    assert backend.drop_old_copies(target) == 1
    assert mongo.comments.count_documents({"discussion_id": target.id}) > 0
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    backend.convert(target, "buckets", Order.THREADED)
    assert backend.tidy() == 1
    epochs = mongo.comment_pages.distinct("epoch", {"discussion_id": target.id})
    assert epochs == [backend.discussion(target).epoch]
    assert mongo.discussions.find_one({"_id": target.id})["leftovers"] != []


def test_waiting_old_copy_is_not_a_fault(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    backend.convert(target, "buckets", Order.OLDEST)
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"leftovers.0.due": long_ago}})
    assert maintenance.examine(target).faults == ()
    assert mongo.comments.count_documents({"discussion_id": target.id}) > 0
    assert maintenance.examine(target, fix=True).faults == ()
    assert mongo.comments.count_documents({"discussion_id": target.id}) == 0


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("form", [DOCUMENTS, BUCKETS], ids=lambda form: "-".join(form))
def test_old_copy_is_deleted_by_its_keys(mongo, settings, target, form, commands, monkeypatch):
    """Finding each batch by the discussion again would scan the rest every time."""
    monkeypatch.setattr(Documents, "delete_batch", 10)
    monkeypatch.setattr(Buckets, "delete_batch", 3)
    backend = configure(settings, *form)
    lively(backend, target)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    old = backend.discussion(target).epoch
    backend.convert(target, *THREADED_BUCKETS)
    with commands.recorded():
        assert backend.drop_old_copies(target) == 0
    deletes = [event.command["deletes"][0] for event in commands.sent if event.command_name == "delete"]
    assert len(deletes) > 1
    assert {delete["hint"] for delete in deletes} == {"_id_"}
    collection = "comments" if form == DOCUMENTS else "comment_pages"
    assert mongo[collection].count_documents({"discussion_id": target.id, "epoch": old}) == 0


STRANGER = {
    **comment_document(content_document(new("stranger")), "z" * 16, 2, datetime(2020, 1, 1, tzinfo=UTC)),
    "full_slug": "3",
}
TAMPERED = {
    "other text": ({"$set": {"comments.1.source": "other"}}, False),
    "one that the source never had": ({"$push": {"comments": STRANGER}}, False),
    "one is missing": ({"$pop": {"comments": 1}}, True),
    "an earlier revision": ({"$set": {"comments.1.rev": 0, "comments.1.source": "earlier"}}, True),
}


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("tampered", TAMPERED)
@pytest.mark.parametrize(
    ("before", "after"),
    [(DOCUMENTS, BUCKETS), (DOCUMENTS, THREADED_BUCKETS), (BUCKETS, THREADED_BUCKETS)],
    ids=lambda form: "-".join(form),
)
def test_copy_is_verified_before_the_switch(mongo, settings, target, monkeypatch, tampered, before, after):
    """Missing comments are copied again. A copy with different or more comments is never used."""
    backend = configure(settings, *before)
    lively(backend, target)
    expected = state(backend, target)
    change, is_mended = TAMPERED[tampered]
    compare = LiveConversion.compare

    def tampering(run):
        query = {"discussion_id": target.id, "epoch": run.to.epoch, "count": {"$gt": 2}}
        assert mongo.comment_pages.update_one(query, change, bypass_document_validation=True).modified_count
        mongo.comment_pages.update_many(
            {"discussion_id": target.id, "epoch": run.to.epoch}, [{"$set": {"count": {"$size": "$comments"}}}]
        )
        compare(run)

    monkeypatch.setattr(LiveConversion, "compare", tampering)
    if is_mended:
        backend.convert(target, *after)
        audit.stored(target, "auth_user")
    else:
        with pytest.raises(ConversionFailed):
            backend.convert(target, *after)
        assert backend.discussion(target).layout == before[0]
    assert state(backend, target) == expected


def test_too_many_comments_are_not_embedded(mongo, settings, target):
    backend = configure(settings)
    for n in range(45):
        backend.post(target, new(str(n)))
    configure(settings, "embedded")
    with pytest.raises(ConversionFailed):
        backend.convert(target, "embedded", Order.OLDEST)
    assert (backend.discussion(target).layout, backend.discussion(target).moving) == ("documents", "")
    assert backend.convert(target, "buckets", Order.OLDEST) is not None


def at_the_switch(monkeypatch, mongo, target, work):
    """Run `work` while the converter stalls before its switch, so long that the gate opens by itself."""
    drain, left = LiveConversion.recopy_touched, [work]

    def stalled(run, *changes):
        drained = drain(run, *changes)
        if left and SHUT_GATE in changes:
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.gate": None}})
            left.pop()(run)
        return drained

    monkeypatch.setattr(LiveConversion, "recopy_touched", stalled)
    return left


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("stops_at", [0, 3])
def test_switch_waits_for_writers_and_touched_comments(mongo, settings, target, monkeypatch, stops_at):
    """Only the filter of the switch protects a concurrent post. The poster stops before its commit, or finishes."""
    backend = configure(settings)
    lively(backend, target)
    stopped = []

    def post(run):
        try:
            Interrupted(MongoBackend(), at=stops_at).post(target, new("late"))
        except Crash:
            stopped.append("stopped")
            long_ago = datetime(2026, 1, 1, tzinfo=UTC)
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"claims.0.at": long_ago}})

    left = at_the_switch(monkeypatch, mongo, target, post)
    backend.convert(target, "buckets", Order.THREADED)
    assert (left, len(stopped)) == ([], int(bool(stops_at)))
    assert [c.source for c in backend.iterate(target)].count("late") == 1
    assert backend.post(target, new("late")).new is False
    audit.stored(target, "auth_user")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("change", [False, True], ids=["post", "edit"])
def test_write_without_its_claim_is_not_lost_by_a_conversion(mongo, settings, target, monkeypatch, change):
    """A claim can vanish while its holder is about to write, because it was considered abandoned.

    The converter doesn't wait for that write, so its writer must not acknowledge it.
    """
    backend = configure(settings)
    first = lively(backend, target)[0]
    lost = []

    def write(run):
        layout, name = backend.store.layouts.of(run.source), "change" if change else "put"
        method = getattr(layout, name)

        def lose_first(*args):
            if not lost:
                lost.append("lost")
                assert backend.repair_claims(target, older_than=0) == 1
                assert run.recopy_touched()[0] == 1
            return method(*args)

        monkeypatch.setattr(layout, name, lose_first)
        if change:
            backend.edit(target, first.slug, source="late", html="", rev=1, token="late")
        else:
            backend.post(target, new("late"))

    left = at_the_switch(monkeypatch, mongo, target, write)
    backend.convert(target, "buckets", Order.OLDEST)
    assert (left, lost) == ([], ["lost"])
    assert backend.discussion(target).layout == "buckets"
    assert [c.source for c in backend.iterate(target)].count("late") == 1
    faults = backend.audit(target)
    assert {fault.kind for fault in faults} <= {"count", "numbers"}
    backend.repair(target, faults)
    audit.stored(target, "auth_user")


@pytest.mark.slow
def test_few_comments_are_copied_into_a_bucket_with_room(mongo, settings, target, monkeypatch):
    """Otherwise each comment would have its own bucket, and the last page would be read from a hundred."""
    backend = configure(settings, SIZE=10)
    lively(backend, target)
    compare = LiveConversion.compare

    def busy(run):
        for n in range(30):
            backend.post(target, new(f"again {n}"))
            run.recopy_touched()
        return compare(run)

    settings.COMMENTS["TARGETS"]["auth.user"]["OPTIONS"] = {}
    monkeypatch.setattr(LiveConversion, "compare", busy)
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"bucket": 10}})
    backend.convert(target, "buckets", Order.THREADED)
    counts = [bucket["count"] for bucket in mongo.comment_pages.find({"discussion_id": target.id})]
    assert sum(counts) > 50
    assert len(counts) <= 8
    audit.stored(target, "auth_user")


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_long_reads_use_no_long_lived_cursor(mongo, settings, target, form, monkeypatch, commands):
    """Batch by batch, also if a batch ends between comments with the same number."""
    for module in ("documents", "buckets"):
        monkeypatch.setattr(f"marginalia.comments.backends.layouts.{module}.BATCH", 4)
    backend = configure(settings, *form)
    backend.post(target, new("first"))
    held = [backend.hold(target, new(f"held {n}")).held for n in range(3)]
    for n in range(20):
        backend.post(target, new(str(n)))
    for waiting in held:
        backend.approve(waiting.id)
    with commands.recorded():
        found = list(backend.iterate(target))
    assert [c.source for c in found] == ["first", "held 0", "held 1", "held 2", *map(str, range(20))]
    assert "getMore" not in commands.names
    audit.stored(target, "auth_user")


def test_long_discussion_is_converted_through_documents(mongo, settings, target, monkeypatch):
    backend = configure(settings, "buckets")
    lively(backend, target)
    expected = state(backend, target)
    monkeypatch.setattr("marginalia.comments.backends.upkeep.conversions.SORTED_IN_MEMORY", 5)
    first = backend.discussion(target).epoch
    backend.convert(target, "buckets", Order.THREADED)
    assert backend.discussion(target).epoch == first + 2
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")


def test_many_comments_of_one_range_are_copied_at_once(mongo, settings, target, commands):
    """Like comments of a growing discussion: not bucket by bucket, each with a query for missing comments."""
    backend = configure(settings, *THREADED_BUCKETS, SIZE=10)
    backend.post(target, new("first"))
    stored = backend.discussion(target)
    where = Place(target, "buckets", Order.THREADED, stored.epoch, 10)
    documents = [
        comment_document(content_document(new(f"copied {n}")), f"copied{n:04}", n + 2, datetime(2026, 1, 1, tzinfo=UTC))
        for n in range(300)
    ]
    with commands.recorded():
        backend.store.layouts.of(where).copy(where, documents)
    assert commands.names.count("find") <= 3
    assert commands.names.count("commitTransaction") == 1
    counts = [bucket["count"] for bucket in mongo.comment_pages.find({"discussion_id": target.id})]
    assert sum(counts) == 301
    assert max(counts) == 10
    assert not list(backend.store.layouts.of(where).faults(where))
