"""Bulk decisions over several discussions, in every layout: hiding, undoing, crashes and other moderators."""

from datetime import timedelta

import pytest
from bson import ObjectId

from marginalia.comments.backends.discussions import ABANDONED
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import BatchState, CommentAuthor, Selection, State, TermKind, Verdict
from marginalia.mongo.clock import now
from tests.support.comments import audit
from tests.support.comments.holders import account
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import BUCKETS, EMBEDDED, FORMS, THREADED_BUCKETS, configure
from tests.support.comments.making import new
from tests.support.crashing import killed_after_writes

forms = pytest.mark.parametrize("form", FORMS, ids=" ".join)
SPAMMER = CommentAuthor("Spam", id="66")
SPAM = Selection(terms=(TermKind.ACCOUNT.term("66"),))
MOST_CALLS = 400


@pytest.fixture
def targets(mongo, target):
    keys = [ObjectId() for _ in range(2)]
    mongo.auth_user.insert_many(account(key) for key in keys)
    return [target, *(type(target)("auth.user", str(key)) for key in keys)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("marginalia.comments.backends.writing.batches.CHUNK", 4)
    monkeypatch.setattr("marginalia.comments.backends.writing.bulk.GROUP", 3)


def fill(backend, targets):
    """In each discussion, post and hold spam between other comments."""
    for target in targets:
        first = backend.post(target, new("first")).comment
        for n in range(5):
            spam = backend.post(target, new(f"spam {n}", author=SPAMMER)).comment
            backend.post(target, new(f"answer {n}", spam.slug))
        backend.hold(target, new("held spam", author=SPAMMER))
        backend.hold(target, new("held", first.slug))


def shown(backend, targets):
    """Return everything that users and moderators see."""
    return [
        (
            [(c.source, c.author) for c in backend.iterate(target)],
            backend.discussion(target).count,
            [(held.source, held.verdict, held.decided_by) for held in backend.held(target=target, verdict=None)],
        )
        for target in targets
    ]


def is_hidden(backend, targets):
    comments = [c for target in targets for c in backend.iterate(target)]
    held = [h for target in targets for h in backend.held(target=target, verdict=None)]
    assert sum(c.removed for c in comments) == 5 * len(targets)
    assert not any(c.author == SPAMMER for c in comments)
    assert sorted(h.source for h in held if h.verdict is Verdict.SPAM) == ["held spam"] * len(targets)
    return all(backend.discussion(target).count == 6 for target in targets)


@pytest.mark.slow_after(1)
@forms
def test_batch_hides_its_selection_and_one_undo_restores_it(mongo, settings, targets, form):
    backend = configure(settings, *form)
    fill(backend, targets)
    before = shown(backend, targets)
    counted = backend.count_selected(SPAM)
    assert (counted.published, counted.pending, counted.discussions, counted.more) == (15, 3, 3, False)
    batch = backend.start_batch(SPAM, Verdict.SPAM, what=SPAM.terms[0], by="1")
    assert shown(backend, targets) == before
    backend.post(targets[0], new("later spam", author=SPAMMER))
    done = backend.work_on_batch(batch.id)
    assert (done.state, done.total, done.left, done.skipped) == (BatchState.DONE, 18, 0, 0)
    assert backend.get(targets[0], backend.recent(1)[0].slug).source == "later spam"
    assert sum(c.removed for target in targets for c in backend.iterate(target)) == 15
    assert backend.count_selected(SPAM).comments == 1
    later = backend.recent(1)[0]
    backend.remove(targets[0], later.slug, rev=1, token="r")
    backend.undo_batch(batch.id, by="2")
    undone = backend.work_on_batch(batch.id)
    assert (undone.state, undone.restored) == (BatchState.UNDONE, 18)
    after = shown(backend, targets)
    assert [state[1:] for state in after] == [state[1:] for state in before]
    assert after[0][0][: len(before[0][0])] == before[0][0]
    assert backend.undo_batch(batch.id) == backend.work_on_batch(batch.id)
    for target in targets:
        audit.stored(target, "auth_user")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("form", "every"),
    [
        pytest.param(FORMS[4], 11, id="now and then"),
        *(pytest.param(form, 1, marks=pytest.mark.slow, id="-".join(form)) for form in FORMS),
    ],
)
def test_batch_and_undo_are_exact_after_a_crash_at_any_call(mongo, settings, targets, form, every, after):
    """A worker continues the batch after the lease of the dead process has expired."""
    backend = configure(settings, *form)
    fill(backend, targets)
    before = shown(backend, targets)

    def interrupted(batch_id, at):
        dying = Interrupted(MongoBackend(), at=at, after=after)
        try:
            dying.work_on_batch(batch_id)
        except Crash:
            continue_batches(mongo, backend)
            return True
        return False

    for at in range(1, MOST_CALLS, every):
        batch = backend.start_batch(SPAM, Verdict.SPAM)
        crashed = interrupted(batch.id, at)
        assert backend.batch(batch.id).state is BatchState.DONE
        assert is_hidden(backend, targets)
        backend.undo_batch(batch.id)
        crashed = interrupted(batch.id, at) or crashed
        assert backend.batch(batch.id).state is BatchState.UNDONE
        assert shown(backend, targets) == before
        if not crashed:
            break
    else:
        pytest.fail("It never ended.")
    for target in targets:
        audit.stored(target, "auth_user")


def continue_batches(mongo, backend):
    """Continue the batches of a dead process, as the worker does after their leases have expired."""
    mongo["comments.batches"].update_many({}, {"$set": {"lease.until": now() - timedelta(seconds=1)}})
    backend.tidy_batches()


def repair(mongo, backend, targets):
    """Repair the claims of a dead process, as the worker does after some minutes, before any batch is continued."""
    old = now() - timedelta(seconds=2 * ABANDONED)
    mongo.discussions.update_many({"claims.0": {"$exists": True}}, {"$set": {"claims.$[].at": old}})
    backend.tidy()
    for target in targets:
        # A promotion that was killed leaves a copy, which only the operator's repair drops.
        backend.repair(target, [fault for fault in backend.audit(target) if fault.kind == "copies"])
        assert backend.audit(target) == []


@pytest.mark.parametrize("is_repaired", [False, True], ids=["continued", "repaired first"])
@pytest.mark.parametrize(
    ("form", "every"),
    [
        pytest.param(FORMS[0], 31, id="now and then"),
        *(pytest.param(form, 1, marks=pytest.mark.slow, id="-".join(form)) for form in FORMS),
    ],
)
def test_batch_and_undo_are_exact_after_a_kill_at_any_write(mongo, settings, targets, form, every, is_repaired):
    """SIGKILL before each write of the decision, and before each write of its undo."""
    backend = configure(settings, *form)
    fill(backend, targets)
    before = shown(backend, targets)

    def killed(batch_id, writes):
        was_killed = killed_after_writes(writes, lambda: MongoBackend().work_on_batch(batch_id))
        if is_repaired:
            repair(mongo, backend, targets)
        continue_batches(mongo, backend)
        return was_killed

    for writes in range(0, MOST_CALLS, every):
        batch = backend.start_batch(SPAM, Verdict.SPAM)
        was_killed = killed(batch.id, writes)
        done = backend.batch(batch.id)
        assert (done.state, done.total, done.left, done.skipped) == (BatchState.DONE, 18, 0, 0)
        assert is_hidden(backend, targets)
        backend.undo_batch(batch.id)
        was_killed = killed(batch.id, writes) or was_killed
        assert backend.batch(batch.id).state is BatchState.UNDONE
        assert shown(backend, targets) == before
        for target in targets:
            audit.stored(target, "auth_user")
        if not was_killed:
            break
    else:
        pytest.fail("It never ended.")


@pytest.mark.parametrize("then", ["continued", "repaired first", "undone at once"])
@pytest.mark.parametrize(
    ("form", "every"),
    [
        pytest.param(FORMS[0], 13, id="now and then"),
        *(pytest.param(form, 1, marks=pytest.mark.slow, id="-".join(form)) for form in FORMS),
    ],
)
def test_approval_and_undo_are_exact_after_a_kill_at_any_write(
    mongo, settings, targets, form, every, then, monkeypatch
):
    """SIGKILL before each write of the approval, and before each write of its undo."""
    monkeypatch.setattr("marginalia.comments.backends.writing.batches.APPROVED_CHUNK", 2)
    backend = configure(settings, *form)
    fill(backend, targets)
    for held in backend.held():
        backend.reject(held.id)
    before = counts(backend, targets)

    def killed(batch_id, writes):
        was_killed = killed_after_writes(writes, lambda: MongoBackend().work_on_batch(batch_id))
        if then == "repaired first":
            repair(mongo, backend, targets)
        if then == "undone at once":
            backend.undo_batch(batch_id)
        continue_batches(mongo, backend)
        return was_killed

    for writes in range(0, MOST_CALLS, every):
        for target in targets:
            for n in range(2):
                backend.hold(target, new(f"held {writes} {n}", author=SPAMMER))
        batch = backend.start_batch(SPAM, Verdict.APPROVED)
        was_killed = killed(batch.id, writes)
        if then != "undone at once":
            done = backend.batch(batch.id)
            assert (done.state, done.total, done.left, done.skipped) == (BatchState.DONE, 6, 0, 0)
            assert counts(backend, targets) == [count + 2 for count in before]
            assert backend.held() == ()
            backend.undo_batch(batch.id)
            was_killed = killed(batch.id, writes) or was_killed
        assert backend.batch(batch.id).state is BatchState.UNDONE
        assert counts(backend, targets) == before
        for target in targets:
            audit.stored(target, "auth_user", crashed=True)
        # Comments that had not been published before the undo still wait for a moderator, and their authors can change
        # them.
        for held in backend.held():
            backend.withdraw(held.id)
        if not was_killed:
            break
    else:
        pytest.fail("It never ended.")


def counts(backend, targets):
    """Return how many comments each discussion shows to readers, which must agree with the stored counts."""
    shown = [sum(not c.removed for c in backend.iterate(target)) for target in targets]
    assert shown == [backend.discussion(target).count for target in targets]
    return shown


@pytest.mark.parametrize(
    ("count", "kills", "form"),
    [
        pytest.param(60, (2, 7), FORMS[0], id="60"),
        *(
            pytest.param(10_000, (3, 40, 150), form, id=f"10000 {' '.join(form)}", marks=pytest.mark.slow)
            for form in FORMS
            if form != EMBEDDED  # long discussions aren't embedded
        ),
    ],
)
def test_killed_process_leaves_a_batch_that_is_completed_exactly(
    mongo, settings, target, count, kills, form, monkeypatch
):
    """SIGKILL after a number of writes, in the decision and in its undo."""
    if count == 10_000:
        monkeypatch.undo()
    backend = configure(settings, *form)
    begun = now() - timedelta(days=30)
    backend.import_(target, [new(str(n), author=SPAMMER, posted=begun + timedelta(seconds=n)) for n in range(count)])
    kept = backend.post(target, new("kept")).comment

    def killed_and_continued(writes, batch_id):
        was_killed = killed_after_writes(writes, lambda: MongoBackend().work_on_batch(batch_id))
        continue_batches(mongo, backend)
        return was_killed

    for writes in kills:
        batch = backend.start_batch(SPAM, Verdict.SPAM)
        was_killed = killed_and_continued(writes, batch.id)
        assert backend.discussion(target).count == 1
        assert [c.slug for c in backend.iterate(target) if not c.removed] == [kept.slug]
        backend.undo_batch(batch.id)
        was_killed = killed_and_continued(writes, batch.id) and was_killed
        assert backend.discussion(target).count == count + 1
        assert not any(c.removed for c in backend.iterate(target))
        assert was_killed or writes == kills[-1]
    audit.stored(target, "auth_user")


def test_undo_during_the_work_restores_what_is_hidden(mongo, settings, targets):
    backend = configure(settings)
    fill(backend, targets)
    before = shown(backend, targets)
    batch = backend.start_batch(SPAM, Verdict.SPAM)
    half = backend.work_on_batch(batch.id, seconds=0)
    half = backend.work_on_batch(batch.id, seconds=0)
    assert (half.state, half.left) == (BatchState.HIDING, 11)
    backend.undo_batch(batch.id)
    assert backend.work_on_batch(batch.id).state is BatchState.UNDONE
    assert shown(backend, targets) == before


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("form", [BUCKETS, THREADED_BUCKETS], ids=" ".join)
def test_decision_and_undo_write_each_bucket_a_few_times(mongo, settings, target, form, commands, monkeypatch):
    """Each group contains comments that were posted one after the other, and not from all over the discussion."""
    monkeypatch.undo()
    monkeypatch.setattr("marginalia.comments.backends.writing.bulk.GROUP", 10)
    backend = configure(settings, *form, SIZE=10)
    begun = now() - timedelta(days=30)
    backend.import_(target, [new(str(n), author=SPAMMER, posted=begun + timedelta(seconds=n)) for n in range(80)])
    buckets = mongo.comment_pages.count_documents({})
    assert buckets >= 8
    batch = backend.start_batch(SPAM, Verdict.SPAM)
    for step in (lambda: None, lambda: backend.undo_batch(batch.id)):
        step()
        with commands.recorded():
            assert backend.work_on_batch(batch.id).is_finished
        updates = [event.command for event in commands.sent if event.command.get("update") == "comment_pages"]
        assert buckets <= sum(len(command["updates"]) for command in updates) <= 2 * buckets


def test_two_processes_never_work_on_one_batch(mongo, settings, targets):
    backend = configure(settings)
    fill(backend, targets)
    batch = backend.start_batch(SPAM, Verdict.SPAM)
    with pytest.raises(Crash):
        Interrupted(MongoBackend(), at=4).work_on_batch(batch.id)
    assert backend.work_on_batch(batch.id).state is BatchState.MARKING
    assert backend.tidy_batches() == 0


def test_undo_leaves_later_decisions_alone(mongo, settings, targets):
    backend = configure(settings)
    fill(backend, targets)
    batch = backend.start_batch(SPAM, Verdict.SPAM)
    backend.work_on_batch(batch.id)
    hidden = [c for c in backend.iterate(targets[0]) if c.removed]
    backend.restore(targets[0], hidden[0].slug, rev=2, token="u")
    backend.remove(targets[0], hidden[0].slug, rev=3, token="by hand")
    held = backend.held(verdict=Verdict.SPAM)[0]
    backend.reject(held.id, by="9", verdict=Verdict.REJECTED)
    backend.undo_batch(batch.id)
    assert backend.work_on_batch(batch.id).restored == 16
    assert backend.get(targets[0], hidden[0].slug).removed
    assert backend.get_held(held.id).verdict is Verdict.REJECTED


def test_comment_restored_by_hand_stays_public_when_the_batch_continues(mongo, settings, targets):
    backend = configure(settings)
    fill(backend, targets)
    batch = backend.start_batch(SPAM, Verdict.SPAM)
    for _step in range(2):
        backend.work_on_batch(batch.id, seconds=0)
    hidden = next(c for target in targets for c in backend.iterate(target) if c.removed)
    backend.restore(hidden.target, hidden.slug, rev=2, token="u")
    backend.work_on_batch(batch.id)
    assert not backend.get(hidden.target, hidden.slug).removed


def test_comment_of_an_erased_author_is_not_restored(mongo, settings, targets):
    backend = configure(settings)
    fill(backend, targets)
    batch = backend.start_batch(SPAM, Verdict.SPAM, what=SPAM.terms[0])
    backend.work_on_batch(batch.id)
    backend.erase_author(id="66")
    backend.undo_batch(batch.id)
    assert backend.work_on_batch(batch.id).restored == 0
    assert backend.batch(batch.id).what == ""
    assert not any(c.author == SPAMMER for target in targets for c in backend.iterate(target))


def test_selections_combine_terms_words_networks_and_times(mongo, settings, targets):
    backend = configure(settings)
    one, two = targets[:2]
    shared = "win a million dollars today in our new casino"
    first = backend.post(one, new("a", source=shared, email="a@mail.example")).comment
    second = backend.post(two, new("b", source=f"{shared} now", author=CommentAuthor("Bob"))).comment
    held = backend.hold(two, new("c", source="casinos are fun")).held
    backend.ip_hashes.record(two, second.slug, "hash", ["wide", "narrow"])
    public = (State.PUBLIC, Verdict.WAITING)

    def found(**properties):
        return {hit.slug for hit in backend.search(Selection(**properties), public, limit=9)}

    assert found() == {first.slug, second.slug, held.slug}
    assert found(terms=("word:casino", "word:now")) == {second.slug}
    assert found(prefixes=("word:casino",)) == {first.slug, second.slug, held.slug}
    assert found(prefixes=("word:cas.no",)) == set()
    assert found(terms=("from:mail.example",)) == {first.slug}
    assert found(terms=("name:bob",)) == {second.slug}
    assert found(terms=("on:auth.user",), discussions=(one.id,)) == {first.slug}
    assert found(network="narrow") == {second.slug}
    assert found(network="unknown") == set()
    assert found(comments=((one.id, first.slug),)) == {first.slug}
    assert found(comments=()) == found(discussions=()) == set()
    assert found(since=second.posted) == {second.slug, held.slug}
    assert found(until=second.posted) == {first.slug}
    alike = tuple(term for term in backend.terms_of(one, first.slug) if term.startswith("like:"))
    assert found(alike=alike) == {first.slug, second.slug}
    assert backend.count_selected(Selection(alike=alike)).comments == 2


def test_empty_selection_of_comments_hides_nothing(mongo, settings, targets):
    backend = configure(settings)
    fill(backend, targets)
    batch = backend.start_batch(Selection(comments=()), Verdict.SPAM)
    assert backend.work_on_batch(batch.id).total == 0
    assert sum(c.removed for target in targets for c in backend.iterate(target)) == 0


def test_search_is_paged_newest_first_over_both_collections(mongo, settings, targets):
    backend = configure(settings)
    fill(backend, targets)
    states = (State.PUBLIC, Verdict.WAITING)
    everything = backend.search(Selection(), states, limit=100)
    assert len(everything) == 39
    assert [hit.posted for hit in everything] == sorted((hit.posted for hit in everything), reverse=True)
    pages, before = [], None
    while page := backend.search(Selection(), states, limit=7, before=before):
        pages += page
        before = page[-1].posted, page[-1].id
    assert pages == everything
