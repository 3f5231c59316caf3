"""Imported comments are sorted by time, and an export contains all of them, despite concurrent writers."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from marginalia.comments import slugs
from marginalia.comments.backends.layouts.documents import Documents
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.errors import InvalidParent
from marginalia.comments.types import Target, Verdict
from tests.support.comments import audit
from tests.support.comments.holders import account
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import FORMS, configure
from tests.support.comments.making import imported, new

BEGAN = datetime(2021, 1, 1, tzinfo=UTC)


def test_import_is_ordered_after_an_interrupted_import(mongo, settings, target, monkeypatch):
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


def test_batches_are_ordered_by_the_last_call(mongo, settings, target):
    backend = configure(settings)
    assert backend.import_(target, [imported(2)], renumber=False) == 1
    assert backend.import_(target, [imported(1)], renumber=False) == 1
    assert [c.source for c in backend.iterate(target)] == ["2", "1"]
    assert backend.import_(target, []) == 0
    assert [c.source for c in backend.iterate(target)] == ["1", "2"]


def test_import_is_ordered_despite_concurrent_posts(mongo, settings, target):
    backend = configure(settings)

    def lines():
        yield imported(1)
        backend.post(target, new("reader"))
        yield imported(2)

    assert backend.import_(target, lines()) == 2
    assert [c.source for c in backend.iterate(target)] == ["1", "2", "reader"]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_renumbering_also_moves_held_comments(mongo, settings, target, form):
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


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_many_comments_are_stored_in_order_and_once(mongo, settings, target, form):
    """Several batches with threads across them.

    Some comments exist already, and one is posted meanwhile. Then import again.
    """
    backend = configure(settings, *form)
    comments = many(600)
    assert backend.import_(target, comments[:30]) == 30
    backend.post(target, new("now"))
    assert backend.import_(target, comments) == 570
    assert backend.import_(target, comments) == 0
    found = list(backend.iterate(target))
    assert [c.source for c in found] == [*(one.source for one in comments), "now"]
    assert [c.number for c in found] == list(range(1, 602))
    assert backend.discussion(target).count == 601
    audit.stored(target, "auth_user")
    assert backend.audit(target) == []


def test_comments_before_an_orphan_are_imported(mongo, settings, target):
    backend = configure(settings)
    comments = [*many(5), imported(9, parent="b" * 16), imported(10)]
    with pytest.raises(InvalidParent):
        backend.import_(target, comments)
    assert [c.source for c in backend.iterate(target)] == [one.source for one in comments[:5]]
    audit.stored(target, "auth_user")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_concurrent_importers_store_each_comment_once(mongo, settings, target, form):
    backend = configure(settings, *form)
    comments = many(120)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: MongoBackend().import_(target, comments), range(4)))
    assert sorted(c.source for c in backend.iterate(target)) == sorted(one.source for one in comments)
    assert backend.audit(target) == []
    audit.stored(target, "auth_user")


def test_interrupted_import_is_counted_by_a_repair(mongo, settings, target):
    backend = configure(settings)
    for at in range(1, 9):
        backend.delete_discussion(target)
        with pytest.raises(Crash):
            Interrupted(MongoBackend(), at=at, after=True).import_(target, many(20))
        backend.repair_claims(target, older_than=0)
        assert backend.discussion(target).count == len(list(backend.iterate(target)))


class TestManyDiscussions:
    """Comments of many discussions are imported together."""

    @pytest.fixture
    def targets(self, mongo):
        keys = [ObjectId() for _ in range(30)]
        mongo.auth_user.insert_many(account(key) for key in keys)
        return [Target("auth.user", str(key)) for key in keys]

    @pytest.mark.slow_after(1)
    @pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
    def test_each_comment_is_stored_once(self, settings, targets, form):
        """One discussion is long, one exists, one is closed, and one exceeds the limit of its layout."""
        backend = configure(settings, *form)
        discussions = {target: many(3) for target in targets}
        discussions[targets[0]] = many(300)
        discussions[targets[1]] = many(60)
        discussions[targets[2]] = []
        backend.post(targets[3], new("now"))
        backend.close(targets[4])
        assert backend.import_many(discussions) == 300 + 60 + 27 * 3
        assert backend.import_many(discussions) == 0
        for target in targets:
            sources = [one.source for one in discussions[target]]
            sources += ["now"] if target == targets[3] else []
            assert [c.source for c in backend.iterate(target)] == sources
            assert backend.discussion(target).count == len(sources)
            assert backend.discussion(target).begun == bool(sources)
            assert backend.audit(target) == []
            audit.stored(target, "auth_user")

    def test_new_discussions_need_few_commands(self, settings, targets, commands):
        backend = configure(settings)
        discussions = {target: many(3) for target in targets}
        with commands.recorded():
            assert backend.import_many(discussions) == 90
        assert len(commands) <= 5
        with commands.recorded():
            assert len(backend.settled(targets)) == 30
        assert len(commands) <= 2

    def test_comments_are_stored_like_those_of_single_imports(self, mongo, settings, targets):
        backend = configure(settings)
        backend.import_many({targets[0]: many(5), targets[1]: many(5)})
        backend.import_(targets[2], many(5))
        varying = dict.fromkeys(("_id", "discussion_id", "epoch", "last_epoch", "version"), 0)
        for name in ("discussions", "comments", "comments.catalogue"):
            key = "_id" if name == "discussions" else "discussion_id"
            first, second, third = (
                [{**item, **varying} for item in mongo[name].find({key: t.id})] for t in targets[:3]
            )
            assert first == second == third

    def test_comments_before_an_orphan_are_imported(self, settings, targets):
        backend = configure(settings)
        with pytest.raises(InvalidParent):
            backend.import_many({targets[0]: [*many(2), imported(9, parent="b" * 16)], targets[1]: many(2)})
        assert [len(list(backend.iterate(target))) for target in targets[:2]] == [2, 2]
        assert backend.audit(targets[0]) == []

    @pytest.mark.slow_after(1)
    @pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
    def test_interrupted_import_is_repaired_and_completed(self, settings, targets, form):
        backend = configure(settings, *form)
        discussions = {target: many(4) for target in targets[:3]}
        for at in range(1, 20):
            for target in discussions:
                backend.delete_discussion(target)
            interrupted = Interrupted(MongoBackend(), at=at, after=bool(at % 2))
            try:
                interrupted.import_many(discussions)
            except Crash:
                for target in discussions:
                    if backend.discussion(target).writing:
                        assert target not in backend.settled([target])
            if at % 3:
                for target in discussions:
                    backend.repair_claims(target, older_than=0)
                    assert backend.discussion(target).count == len(list(backend.iterate(target)))
            backend.import_many(discussions)
            for target in discussions:
                assert [c.source for c in backend.iterate(target)] == ["0", "1", "2", "3"]
                assert backend.audit(target) == []
                audit.stored(target, "auth_user")

    def test_comment_removed_during_an_import_stays_removed(self, settings, targets, monkeypatch):
        backend = configure(settings)
        copy = Documents.copy_many

        def copy_and_remove(self, copies):
            copy(self, copies)
            for target in targets[:2]:
                first = next(iter(backend.iterate(target)))
                backend.remove(target, first.slug, rev=1, token="moderator")

        monkeypatch.setattr(Documents, "copy_many", copy_and_remove)
        backend.import_many({target: many(3) for target in targets[:2]})
        for target in targets[:2]:
            assert [c.removed for c in backend.iterate(target)] == [True, False, False]
            assert backend.discussion(target).count == 2
            audit.stored(target, "auth_user")

    def test_concurrent_importers_store_each_comment_once(self, settings, targets):
        backend = configure(settings)
        discussions = {target: many(5) for target in targets}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: MongoBackend().import_many(discussions), range(4)))
        for target in targets:
            assert sorted(c.source for c in backend.iterate(target)) == ["0", "1", "2", "3", "4"]
            audit.stored(target, "auth_user")

    def test_settled_leaves_out_unsorted_and_long_discussions(self, settings, targets):
        backend = configure(settings)
        backend.import_many({targets[0]: many(2), targets[1]: many(251)})
        backend.import_(targets[2], [imported(2)], renumber=False)
        backend.import_(targets[2], [imported(1)], renumber=False)
        stored = frozenset(one.slug for one in backend.iterate(targets[0]))
        assert backend.settled(targets[:4]) == {targets[0]: stored, targets[3]: frozenset()}


def many(count):
    """Return imported comments in the order of time. Every third one replies to the first or the last."""
    made = []
    for n in range(count):
        parent = "" if n % 3 or not made else slugs.part(f"t{0 if n % 2 else n - 1}")
        made.append(
            replace(imported(n, parent=parent), token=f"t{n}", source=str(n), posted=BEGAN + timedelta(minutes=n))
        )
    return made
