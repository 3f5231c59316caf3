"""Converting a discussion from any schema and order to any, while it is written to."""

import itertools
import threading
from datetime import UTC, datetime

import pytest
from bson import ObjectId

from comments import maintenance
from comments.backends.claims import Intent
from comments.backends.conversion import _Run
from comments.backends.mongodb import MongoBackend
from comments.backends.stored import body, placed
from comments.errors import ConversionFailed, DiscussionBusy
from comments.types import Order, Target, Verdict
from tests.comments import audit
from tests.comments.contract import imported, new
from tests.comments.holders import account
from tests.comments.interruptions import Crash, Interrupted

FORMS = [
    ("documents", Order.OLDEST),
    ("documents", Order.THREADED),
    ("embedded", Order.OLDEST),
    ("buckets", Order.OLDEST),
    ("buckets", Order.THREADED),
]
OPTIONS = {"SIZE": 4, "BOUND": 40}


def configure(settings, schema="documents", order=Order.OLDEST, **options):
    """Keep discussions of auth.user in a schema, buckets and bounds small."""
    known = {"documents": ("CAP",), "embedded": ("BOUND", "BOUND_BYTES"), "buckets": ("SIZE", "CAP")}
    chosen = {key: value for key, value in {**OPTIONS, **options}.items() if key in known[schema]}
    settings.COMMENTS = {"TARGETS": {"auth.user": {"SCHEMA": schema, "ORDER": str(order), "OPTIONS": chosen}}}
    return MongoBackend()


@pytest.fixture
def target(mongo):
    key = ObjectId()
    mongo.auth_user.insert_one(account(key))
    return Target("auth.user", str(key))


def lively(backend, target):
    """A discussion of everything that there can be: threads, edits, tombstones, gaps, shared numbers, a queue."""
    posted = []
    for n in range(24):
        parent = posted[n // 3].slug if n % 3 else ""
        posted.append(backend.post(target, new(f"{n} $$ROOT", parent, email=f"{n}@example.org")).comment)
        if n % 8 == 2:
            backend.edit(target, posted[n].slug, source=f"edited {n}", html="", rev=1, token=f"e{n}")
        if n % 11 == 5:
            backend.approve(backend.hold(target, new(f"held {n}")).held.id)
    for n in (4, 9):
        backend.remove(target, posted[n].slug, rev=1, token=f"r{n}")
    backend.hold(target, new("waiting"))
    return posted


def unheard(mongo, target):
    """Take back what a converter said at its end: one that was killed would not have said it."""
    mongo.discussions.update_one({"_id": target.id}, {"$currentDate": {"moving.beat": True}})


def state(backend, target):
    """All that readers can see, in every order."""
    return (
        list(backend.iterate(target)),
        list(backend.iterate(target, order=Order.THREADED)),
        backend.count(target),
        backend.held(target=target),
        [backend.email_of(target, c.slug) for c in backend.iterate(target)],
        [backend.history(target, c.slug) for c in backend.iterate(target)],
    )


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(FORMS, 2)), ids=lambda form: "-".join(form))
def test_nothing_changes_but_the_form(mongo, settings, target, before, after):
    backend = configure(settings, *before)
    posted = lively(backend, target)
    expected = state(backend, target)
    version = backend.discussion(target).version
    configure(settings, "embedded")
    assert backend.convert(target, *after) is not None
    found = backend.discussion(target)
    assert (found.schema, found.order, found.moving) == (*after, "")
    assert found.version != version
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")
    # Tokens sent again, and changes, go on as if nothing had happened.
    assert not backend.post(target, new("5 $$ROOT", posted[1].slug)).new
    assert backend.restore(target, posted[9].slug, rev=2, token="u").source == "9 $$ROOT"
    assert backend.post(target, new("later", posted[0].slug)).new
    audit.stored(target, "auth_user")


def test_converting_to_what_it_is_does_nothing(mongo, settings, target):
    backend = configure(settings)
    backend.post(target, new("one"))
    assert backend.convert(target, "documents", Order.OLDEST) is None


def test_old_copy_goes_when_its_time_has_come(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    backend.convert(target, "buckets", Order.OLDEST)
    assert backend.conversion.drop_leftovers(target) == 1
    assert mongo.comments.count_documents({"discussion_id": target.id}) > 0
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    backend.convert(target, "buckets", Order.THREADED)
    backend.post(target, new("whoever posts next tidies up"))
    assert mongo.comment_pages.distinct("epoch", {"discussion_id": target.id}) == [3]


def test_old_copy_that_nobody_drops_is_noticed_and_mended(mongo, settings, target):
    """Not as soon as its time has come: the next to post would drop it."""
    backend = configure(settings)
    lively(backend, target)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    backend.convert(target, "buckets", Order.OLDEST)
    assert maintenance.examine(backend.discussion(target)).faults == ()
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"leftovers.0.due": long_ago}})
    examined = maintenance.examine(backend.discussion(target), fix=True)
    assert ([fault.kind for fault in examined.faults], examined.mended) == (["leftovers"], 1)
    assert mongo.comments.count_documents({"discussion_id": target.id}) == 0
    assert maintenance.examine(backend.discussion(target)).faults == ()


@pytest.mark.parametrize("form", [FORMS[0], FORMS[3]], ids=lambda form: "-".join(form))
def test_old_copy_is_deleted_by_its_keys(mongo, settings, target, form, commands, monkeypatch):
    """A batch that were found again by the discussion would walk over all the rest: the longer, the slower."""
    monkeypatch.setattr("comments.backends.documents.BATCH", 10)
    monkeypatch.setattr("comments.backends.buckets.DROPPED", 3)
    backend = configure(settings, *form)
    lively(backend, target)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    backend.convert(target, *FORMS[4])
    with commands.recorded():
        assert backend.conversion.drop_leftovers(target) == 0
    deletes = [event.command["deletes"][0] for event in commands.sent if event.command_name == "delete"]
    assert len(deletes) > 1
    assert {delete["hint"] for delete in deletes} == {"_id_"}
    collection = "comments" if form == FORMS[0] else "comment_pages"
    assert mongo[collection].count_documents({"discussion_id": target.id, "epoch": 1}) == 0


def test_dead_converter_is_relieved_where_it_had_got_to(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    expected = state(backend, target)
    monkeypatch.setattr("comments.backends.conversion.BATCH", 5)

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


STRANGER = {**placed(body(new("stranger")), "z" * 16, 2, datetime(2020, 1, 1, tzinfo=UTC)), "full_slug": "3"}
TAMPERED = {
    "other text": ({"$set": {"comments.1.source": "other"}}, False),
    "one that the source never had": ({"$push": {"comments": STRANGER}}, False),
    "one is missing": ({"$pop": {"comments": 1}}, True),
    "an earlier revision": ({"$set": {"comments.1.rev": 0, "comments.1.source": "earlier"}}, True),
}


@pytest.mark.parametrize("tampered", TAMPERED)
@pytest.mark.parametrize(
    ("before", "after"),
    [(FORMS[0], FORMS[3]), (FORMS[0], FORMS[4]), (FORMS[3], FORMS[4])],
    ids=lambda form: "-".join(form),
)
def test_copy_is_compared_before_it_takes_over(mongo, settings, target, monkeypatch, tampered, before, after):
    """What a copy lacks is copied again; one that differs, or has more, never takes over."""
    backend = configure(settings, *before)
    lively(backend, target)
    expected = state(backend, target)
    change, is_mended = TAMPERED[tampered]
    compare = _Run._compare

    def tampering(run):
        query = {"discussion_id": target.id, "epoch": run.to.epoch, "count": {"$gt": 2}}
        assert mongo.comment_pages.update_one(query, change, bypass_document_validation=True).modified_count
        mongo.comment_pages.update_many(
            {"discussion_id": target.id, "epoch": run.to.epoch}, [{"$set": {"count": {"$size": "$comments"}}}]
        )
        compare(run)

    monkeypatch.setattr(_Run, "_compare", tampering)
    if is_mended:
        backend.convert(target, *after)
        audit.stored(target, "auth_user")
    else:
        with pytest.raises(ConversionFailed):
            backend.convert(target, *after)
        assert backend.discussion(target).schema == before[0]
    assert state(backend, target) == expected


def test_another_plan_begins_afresh(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    monkeypatch.setattr("comments.backends.conversion.BATCH", 5)
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
    monkeypatch.setattr("comments.backends.conversion.BATCH", 5)
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


def test_embedded_discussion_promotes_itself_at_its_bound(mongo, settings, target):
    backend = configure(settings, "embedded", BOUND=10)
    posted = [backend.post(target, new(str(n))).comment for n in range(25)]
    assert backend.discussion(target).schema == "buckets"
    assert list(backend.iterate(target)) == posted
    audit.stored(target, "auth_user")


def test_embedded_discussion_promotes_itself_by_bytes(mongo, settings, target):
    backend = configure(settings, "embedded", Order.THREADED, BOUND=1000, BOUND_BYTES=20_000)
    posted = [backend.post(target, new(str(n), source="x" * 3_000)).comment for n in range(12)]
    assert (backend.discussion(target).schema, backend.discussion(target).order) == ("buckets", Order.THREADED)
    assert list(backend.iterate(target)) == posted


def test_embedded_discussion_promotes_itself_whoever_commits(mongo, settings, target, monkeypatch):
    """A form sent twice at once: the one writes, the other finds it and commits for both."""
    backend = configure(settings, "embedded", BOUND=5)
    for n in range(4):
        backend.post(target, new(str(n)))
    commit, met = backend.discussions_.commit, []

    def overtaken(claim, **kwargs):
        if not met:
            met.append(MongoBackend().post(target, new("last")))
        return commit(claim, **kwargs)

    monkeypatch.setattr(backend.posting.discussions, "commit", overtaken)
    assert backend.post(target, new("last")).comment == met[0].comment
    assert backend.discussion(target).schema == "buckets"
    audit.stored(target, "auth_user")


def test_embedded_discussion_promotes_itself_when_comments_are_approved(mongo, settings, target):
    """One that every comment waits for is never posted to."""
    backend = configure(settings, "embedded", BOUND=10)
    waiting = [backend.hold(target, new(str(n))).held for n in range(12)]
    approved = [backend.approve(held.id) for held in waiting]
    assert backend.discussion(target).schema == "buckets"
    assert list(backend.iterate(target)) == approved
    audit.stored(target, "auth_user")


def test_embedded_discussion_promotes_itself_when_comments_get_longer(mongo, settings, target):
    """Else it could be edited to the server's limit of a document, beyond which its target cannot be saved."""
    backend = configure(settings, "embedded", BOUND=1000, BOUND_BYTES=20_000)
    posted = [backend.post(target, new(str(n))).comment for n in range(4)]
    edited = [backend.edit(target, c.slug, source="x" * 6_000, html="", rev=1, token="e") for c in posted]
    assert backend.discussion(target).schema == "buckets"
    assert list(backend.iterate(target)) == edited
    audit.stored(target, "auth_user")


def test_too_many_comments_do_not_go_into_their_target(mongo, settings, target):
    backend = configure(settings)
    for n in range(45):
        backend.post(target, new(str(n)))
    configure(settings, "embedded")
    with pytest.raises(ConversionFailed):
        backend.convert(target, "embedded", Order.OLDEST)
    assert (backend.discussion(target).schema, backend.discussion(target).moving) == ("documents", "")
    assert backend.convert(target, "buckets", Order.OLDEST) is not None


@pytest.mark.parametrize("stops_at", [0, 3])
def test_switch_waits_for_who_writes_and_for_what_was_touched(mongo, settings, target, monkeypatch, stops_at):
    """The gate opens by itself while the converter stalls before its switch: the filter alone keeps a post from getting
    lost. The poster stops before its commit (its third call after looking at the discussion), or ends."""
    backend = configure(settings)
    lively(backend, target)
    switched, late = _Run._switched, []

    def stalled(run):
        if not late:
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.gate": None}})
            late.append("late")
            try:
                Interrupted(MongoBackend(), at=stops_at).post(target, new("late"))
            except Crash:
                late.append("stopped")
        return switched(run)

    monkeypatch.setattr(_Run, "_switched", stalled)
    monkeypatch.setattr("comments.backends.repairing.ABANDONED", 0)
    backend.convert(target, "buckets", Order.THREADED)
    assert late == ["late", "stopped"] if stops_at else ["late"]
    assert backend.post(target, new("late")).new is False
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("change", [False, True], ids=["post", "edit"])
def test_write_whose_claim_is_gone_is_not_passed_by(mongo, settings, target, monkeypatch, change):
    """A claim can go while its holder is about to write: who shares it gave it back, or it was taken for abandoned. What is
    written then is in no list that a converter waits for, so that its writer must not acknowledge it as it is."""
    backend = configure(settings)
    first = lively(backend, target)[0]
    switched, late = _Run._switched, []

    def losing(schema, name, run):
        write = getattr(schema, name)

        def lose_first(*args):
            if late == ["late"]:
                late.append("lost")
                assert backend.repairing.repair_claims(target, older_than=0) == 1
                assert run._drain() == 1
            return write(*args)

        return lose_first

    def stalled(run):
        if not late:
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.gate": None}})
            late.append("late")
            schema = backend.schemas.of(run.source)
            name = "change" if change else "put"
            monkeypatch.setattr(schema, name, losing(schema, name, run))
            if change:
                backend.edit(target, first.slug, source="late", html="", rev=1, token="late")
            else:
                backend.post(target, new("late"))
        return switched(run)

    monkeypatch.setattr(_Run, "_switched", stalled)
    backend.convert(target, "buckets", Order.OLDEST)
    assert late == ["late", "lost"]
    assert backend.discussion(target).schema == "buckets"
    assert [c.source for c in backend.iterate(target)].count("late") == 1
    faults = backend.repairing.audit(target)
    assert {fault.kind for fault in faults} <= {"count", "numbers"}
    backend.repairing.mend(target, faults)
    audit.stored(target, "auth_user")


def test_relieved_converter_whose_copy_is_gone_says_so(mongo, settings, target, monkeypatch):
    """It is brought to nothing in the middle of raising a comment to a newer revision, by one with another plan."""
    monkeypatch.setattr("comments.backends.claims.UNHEARD", -1)
    backend = configure(settings)
    first = lively(backend, target)[0]
    stalling, drain = MongoBackend(), _Run._drain

    def edited_and_relieved(run):
        monkeypatch.setattr(_Run, "_drain", drain)
        backend.edit(target, first.slug, source="edited", html="", rev=1, token="late")
        change = run.schemas.of(run.to).change

        def relieved(*args):
            backend.convert(target, "buckets", Order.THREADED)
            return change(*args)

        monkeypatch.setattr(run.schemas.of(run.to), "change", relieved)
        return drain(run)

    monkeypatch.setattr(_Run, "_drain", edited_and_relieved)
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
    asleep = getattr(_Run, dies_in)
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

    monkeypatch.setattr(_Run, dies_in, stalled)
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
    monkeypatch.setattr("comments.backends.conversion.BATCH", 4)
    backend = configure(settings)
    posted = lively(backend, target)
    copied, drained, longest, drain = [], [], [], _Run._drain
    monkeypatch.setattr(_Run, "_drain", lambda run, **fields: drained.append(drain(run, **fields)) or drained[-1])

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
    monkeypatch.setattr("comments.backends.conversion.BATCH", 5)
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
    compare, schema, late = _Run._compare, {}, []

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

    monkeypatch.setattr(_Run, "_compare", stalled)
    with pytest.raises(ConversionFailed):
        MongoBackend().convert(target, "buckets", order)
    assert late[1:] == ["copied"]
    assert backend.discussion(target).schema == "buckets"
    assert backend.get(target, late[0]).rev == 2
    assert backend.get(target, late[0]).removed is removed
    audit.stored(target, "auth_user")


def test_numbering_that_was_broken_off_is_not_gone_on_with_as_a_move(mongo, settings, target, monkeypatch):
    """Half of the copy has numbers that the other half would not get."""
    monkeypatch.setattr("comments.backends.conversion.BATCH", 5)
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


def test_few_comments_are_copied_again_into_a_bucket_that_has_room(mongo, settings, target, monkeypatch):
    """Otherwise each of them would have one of its own, and the last page be read from a hundred."""
    backend = configure(settings, SIZE=10)
    lively(backend, target)
    compare = _Run._compare

    def busy(run):
        for n in range(30):
            backend.post(target, new(f"again {n}"))
            run._drain()
        return compare(run)

    settings.COMMENTS["TARGETS"]["auth.user"]["OPTIONS"] = {}
    monkeypatch.setattr(_Run, "_compare", busy)
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"bucket": 10}})
    backend.convert(target, "buckets", Order.THREADED)
    counts = [bucket["count"] for bucket in mongo.comment_pages.find({"discussion_id": target.id})]
    assert sum(counts) > 50
    assert len(counts) <= 8
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_reading_all_begins_no_cursor_that_outlives_a_time_limit(mongo, settings, target, form, monkeypatch, commands):
    """Batch after batch, also where comments that share a number are parted by the end of one."""
    for module in ("documents", "buckets"):
        monkeypatch.setattr(f"comments.backends.{module}.BATCH", 4)
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


def test_long_discussion_goes_by_way_of_documents(mongo, settings, target, monkeypatch):
    backend = configure(settings, "buckets")
    lively(backend, target)
    expected = state(backend, target)
    monkeypatch.setattr("comments.backends.conversion.SORTED_IN_MEMORY", 5)
    backend.convert(target, "buckets", Order.THREADED)
    assert backend.discussion(target).epoch == 3
    assert state(backend, target) == expected
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_numbering_anew_moves_the_queue_along(mongo, settings, target, form):
    backend = configure(settings, *form)
    backend.import_(target, [imported(n) for n in (10, 20, 30)])
    held = backend.hold(target, new("held")).held
    backend.post(target, new("now"))
    backend.import_(target, [imported(n) for n in (5, 15, 25)])
    assert [c.source for c in backend.iterate(target)] == ["5", "10", "15", "20", "25", "30", "now"]
    assert backend.get_held(held.id).number == 6
    backend.approve(held.id)
    assert [c.source for c in backend.iterate(target)] == ["5", "10", "15", "20", "25", "30", "held", "now"]
    assert backend.held(verdict=Verdict.APPROVED)[0].number == 6
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("how", ["post", "approve"])
def test_embedded_discussion_that_is_full_promotes_itself_before_it_takes_more(
    mongo, settings, target, monkeypatch, how
):
    """One stopped writer can keep it from that, until nothing could be posted any more."""
    monkeypatch.setattr("comments.backends.embedded.FULL", 3_000)
    monkeypatch.setattr("comments.backends.mongodb.PROMOTION_PATIENCE", 0)
    monkeypatch.setattr("comments.backends.conversion.GATE_MS", 20)
    monkeypatch.setattr("comments.backends.conversion.PACE", 0.01)
    backend = configure(settings, "embedded", BOUND=3)
    held = backend.hold(target, new("held")).held
    backend.discussions_.claim(target, Intent(op="z" * 16, slug="z" * 16, kind="post", number="next", delta=1))

    def fill():
        for n in range(20):
            backend.post(target, new(f"{n} " + "x" * 200))

    with pytest.raises(DiscussionBusy):
        fill()
    assert backend.discussion(target).schema == "embedded"
    backend.repairing.repair_claims(target, older_than=0)
    if how == "post":
        assert backend.post(target, new("at last")).new
    else:
        assert backend.approve(held.id).source == "held"
    assert backend.discussion(target).schema == "buckets"
    audit.stored(target, "auth_user", crashed=True)


def test_imported_comments_are_put_in_order_whoever_stopped_before(mongo, settings, target, monkeypatch):
    backend = configure(settings)
    backend.post(target, new("young"))
    old = [imported(n) for n in (1, 2)]

    def dying(*args):
        raise Crash

    with monkeypatch.context() as stopped:
        stopped.setattr(MongoBackend, "renumber", dying)
        with pytest.raises(Crash):
            backend.import_(target, old)
    assert backend.import_(target, old) == 0
    assert [c.source for c in backend.iterate(target)] == ["1", "2", "young"]


def test_imported_comments_are_put_in_order_whoever_posts_between_them(mongo, settings, target):
    backend = configure(settings)

    def lines():
        yield imported(1)
        backend.post(target, new("reader"))
        yield imported(2)

    assert backend.import_(target, lines()) == 2
    assert [c.source for c in backend.iterate(target)] == ["1", "2", "reader"]


def test_export_outlives_the_copy_that_it_began_in(mongo, settings, target, monkeypatch):
    monkeypatch.setattr("comments.backends.documents.BATCH", 3)
    backend = configure(settings)
    posted = [backend.post(target, new(f"{n}", email=f"{n}@example.org")).comment for n in range(10)]
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    reading = backend.with_addresses(target)
    found = [next(reading)]
    backend.convert(target, "buckets", Order.OLDEST)
    backend.conversion.drop_leftovers(target)
    found += reading
    assert found == [(comment, f"{n}@example.org") for n, comment in enumerate(posted)]


@pytest.mark.parametrize("verdict", [Verdict.REJECTED, Verdict.SPAM, Verdict.WAITING])
def test_what_the_queue_calls_rejected_is_not_public(mongo, settings, target, monkeypatch, verdict):
    """Another moderator stopped between publishing and saying so: to this one it still waited."""
    backend = configure(settings)
    held = backend.hold(target, new("held")).held

    def dying(*args):
        raise Crash

    with monkeypatch.context() as stopped:
        stopped.setattr(backend, "_decide", dying)
        with pytest.raises(Crash):
            backend.approve(held.id)
    assert backend.reject(held.id, verdict=verdict).verdict is verdict
    is_left = verdict is Verdict.WAITING
    assert [c.source for c in backend.iterate(target) if not c.removed] == ["held"] * is_left
    audit.stored(target, "auth_user")
