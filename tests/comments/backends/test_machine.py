"""All storage layouts behave alike.

A state machine sends the same random operations to each, and to the specification.
"""

import os
from datetime import UTC, datetime

import pytest
from bson import ObjectId
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from marginalia.comments.backends import layout_classes
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.errors import CommentError, EditConflict
from marginalia.comments.types import CommentAuthor, Order, Selection, State, Target, TermKind, Verdict
from marginalia.mongo.connection import database
from tests.comments.backends.specification import Specification
from tests.support.comments import audit
from tests.support.comments.holders import account
from tests.support.comments.making import imported, new

FORMS = [
    ("documents", Order.OLDEST),
    ("documents", Order.THREADED),
    ("embedded", Order.OLDEST),
    ("buckets", Order.OLDEST),
    ("buckets", Order.THREADED),
]
# One label per layout, so that each has its own setting. The documents of an embedded one must be able to contain
# comments.
LABELS = ["auth.group", "auth.permission", "auth.user", "admin.logentry", "sessions.session"]
MOMENTS, HOURS = [None, datetime(2030, 1, 2, 3, 4, tzinfo=UTC)], [None, (540, 1020), (1020, 540)]
AUTHORS = [CommentAuthor("Ann", id="7"), CommentAuthor("Bob"), CommentAuthor("$$ROOT", id="$1")]


def comments_setting(bound):
    options = {"documents": {}, "embedded": {"BOUND": bound}, "buckets": {"SIZE": 4}}
    entries = {
        label: {"LAYOUT": layout, "ORDER": str(order), "OPTIONS": options[layout]}
        for label, (layout, order) in zip(LABELS, FORMS, strict=True)
    }
    # If discussions can be converted to "embedded", it must be a known layout.
    return {"TARGETS": entries, "MAX_DEPTH": 4}


class Machine(RuleBasedStateMachine):
    """Comments are named by the specification's slugs, which tokens make the same everywhere."""

    comments = Bundle("comments")
    held = Bundle("held")
    batches = Bundle("batches")

    @initialize()
    def begin(self):
        self.specification = Specification()
        self.specification.max_depth = 4
        self.backend = MongoBackend()
        key = ObjectId()
        database().auth_user.insert_one(account(key))
        self.targets = [Target(label, str(key)) for label in LABELS]
        self.model = Target("specification", str(key))
        self.tokens = self.steps = 0
        self.batch_ids = {}  # by token and target

    def everywhere(self, work):
        """Run `work(backend, target)` on all back ends, and return the specification's result after comparing."""
        expected = outcome(work, self.specification, self.model)
        for target in self.targets:
            assert outcome(work, self.backend, target) == expected
        return expected[1]

    def token(self):
        self.tokens += 1
        return str(self.tokens)

    def teardown(self):
        for target in self.targets:
            self.backend.delete_discussion(target)

    @rule(target=comments, author=st.sampled_from(AUTHORS))
    def post(self, author):
        token = self.token()
        made = self.everywhere(lambda b, t: b.post(t, new(token, author=author, email=author.name)).comment)
        return made.slug if made else multiple()

    @rule(target=comments, parent=comments, author=st.sampled_from(AUTHORS), again=st.booleans())
    def reply(self, parent, author, again):
        token = self.token()
        for _ in range(1 + again):
            made = self.everywhere(lambda b, t: b.post(t, new(token, parent, author)).comment)
        return made.slug if made else multiple()

    @rule(slug=comments, back=st.integers(0, 1), text=st.sampled_from(["", "$", "x"]))
    def edit(self, slug, back, text):
        token, rev = self.token(), self.rev(slug) - back
        self.everywhere(lambda b, t: b.edit(t, slug, source=text + token, html=text, rev=rev, token=token))

    @rule(slug=comments, back=st.integers(0, 1))
    def remove(self, slug, back):
        token, rev = self.token(), self.rev(slug) - back
        self.everywhere(lambda b, t: b.remove(t, slug, rev=rev, token=token))

    @rule(slug=comments)
    def restore(self, slug):
        token, rev = self.token(), self.rev(slug)
        self.everywhere(lambda b, t: b.restore(t, slug, rev=rev, token=token))

    def rev(self, slug):
        found = self.specification.threads[self.model].comments.get(slug)
        return found.rev if found else 1

    @rule(author=st.sampled_from(["7", "$1"]))
    def erase(self, author):
        expected = self.specification.erase_author(id=author)
        assert self.backend.erase_author(id=author) == expected * len(self.targets)

    @rule(target=held)
    def hold(self):
        token = self.token()
        slug = self.everywhere(lambda b, t: getattr(b.hold(t, new(token)).held, "slug", None))
        return slug or multiple()

    @rule(slug=held, back=st.integers(0, 1), text=st.sampled_from(["", "$"]))
    def change_held(self, slug, back, text):
        def work(backend, target):
            if waiting := next(iter(backend.held(target=target, slug=slug)), None):
                changed = backend.change_held(waiting.id, source=text + slug, html="", rev=waiting.rev - back)
                return changed.source, changed.rev
            return None

        self.everywhere(work)

    @rule(slug=held)
    def withdraw(self, slug):
        def work(backend, target):
            waiting = next(iter(backend.held(target=target, slug=slug)), None)
            return backend.withdraw(waiting.id).verdict if waiting else None

        self.everywhere(work)

    @rule(slug=consumes(held), spam=st.booleans())
    def decide(self, slug, spam):
        def work(backend, target):
            waiting = next(iter(backend.held(target=target, slug=slug)), None)
            if waiting is None:
                return None
            return backend.reject(waiting.id, verdict=Verdict.SPAM) if spam else backend.approve(waiting.id)

        self.everywhere(lambda b, t: getattr(work(b, t), "slug", None))

    @rule(slugs=st.lists(comments, max_size=6), token=st.sampled_from("tu"), back=st.booleans())
    def change_many(self, slugs, token, back):
        self.everywhere(lambda b, t: (b.restore_many if back else b.remove_many)(t, slugs, token=token))

    @rule(target=batches, author=st.sampled_from(AUTHORS), works=st.booleans())
    def decide_about_all(self, author, works):
        token, term = self.token(), TermKind.ACCOUNT.term(author.id or "")

        def work(backend, target):
            selection = Selection(terms=(term,), discussions=(target.id,))
            counted = backend.count_selected(selection)
            batch = backend.start_batch(selection, Verdict.SPAM)
            self.batch_ids[token, target] = batch.id
            done = backend.work_on_batch(batch.id) if works else batch
            return counted, done.state, done.total, done.left, done.skipped, verdicts(backend, target)

        self.everywhere(work)
        return token

    @rule(batch=batches)
    def undo_all(self, batch):
        def work(backend, target):
            batch_id = self.batch_ids[batch, target]
            backend.undo_batch(batch_id)
            undone = backend.work_on_batch(batch_id)
            return undone.state, undone.restored, undone.skipped, verdicts(backend, target)

        self.everywhere(work)

    @rule(days=st.lists(st.integers(0, 2000), min_size=1, max_size=3, unique=True), gone=st.booleans())
    def bring_in(self, days, gone):
        state = State.REMOVED if gone else State.PUBLIC
        self.everywhere(lambda b, t: b.import_(t, [imported(day, state=state) for day in days]))

    @rule(shut=st.booleans())
    def open_or_close(self, shut):
        self.everywhere(lambda b, t: b.close(t) if shut else b.open(t))

    @rule(slug=comments, locked=st.booleans())
    def lock(self, slug, locked):
        self.everywhere(lambda b, t: b.lock_thread(t, slug, locked=locked))

    @rule(slug=comments, seconds=st.sampled_from([0, 60]), until=st.sampled_from(MOMENTS), hours=st.sampled_from(HOURS))
    def restrict(self, slug, seconds, until, hours):
        self.everywhere(lambda b, t: b.restrict(t, slow_seconds=seconds, pinned=slug, hold_until=until, hours=hours))

    @rule(which=st.integers(0, len(LABELS) - 1), form=st.sampled_from(FORMS))
    def convert(self, which, form):
        target = self.targets[which]
        if form[0] == "embedded":
            most = layout_classes()["embedded"].options_of("auth.user")["BOUND"]
            if target.label != "auth.user" or len(list(self.backend.iterate(target))) > most:
                form = FORMS[3]
        self.backend.convert(target, *form)

    @rule(slug=comments, order=st.sampled_from(list(Order)), size=st.sampled_from([1, 3, 10]))
    def follow_permalink(self, slug, order, size):
        for backend, target in self.all():
            try:
                page = backend.page(target, order=order, size=size, at=slug)
            except CommentError:
                continue
            assert slug in [comment.slug for comment in page.comments]

    @rule(slug=comments, size=st.sampled_from([1, 3, 50]))
    def read_below(self, slug, size):
        self.everywhere(lambda b, t: [c.slug for c in b.subdiscussion(t, slug, size=size).comments])

    @rule(
        order=st.sampled_from(list(Order)),
        size=st.sampled_from([1, 2, 3, 5, 10, 33, 50, 250]),
        number=st.integers(0, 9),
    )
    def read_page(self, order, size, number):
        def work(backend, target):
            page = backend.page(target, order=order, size=size, number=number)
            return [(c.slug, c.number) for c in page.comments], page.number, page.pages

        if order is Order.THREADED:
            self.everywhere(lambda b, t: work(b, t)[0])
        else:
            self.everywhere(work)

    def all(self):
        return [(self.specification, self.model), *((self.backend, target) for target in self.targets)]

    @invariant()
    def same_everywhere(self):
        """Compare lists, trees and counts after every step, and stored documents and totals after every fifth."""
        expected = list(self.specification.iterate(self.model))
        tree = [c.slug for c in sorted(expected, key=lambda c: c.full_slug)]
        self.steps += 1
        for target in self.targets:
            found = list(self.backend.iterate(target))
            assert [told(c) for c in found] == [told(c) for c in expected]
            assert [c.slug for c in sorted(found, key=lambda c: c.full_slug)] == tree
            if self.steps % 5 == 0:
                self.look_closer(target, expected, tree)

    def look_closer(self, target, expected, tree):
        assert [c.slug for c in self.backend.iterate(target, order=Order.THREADED)] == tree
        assert [item["slug"] for item in audit.stored(target, "auth_user")] == [c.slug for c in expected]
        here, there = self.backend.discussion(target), self.specification.discussion(self.model)
        assert (here.count, here.open, here.restrictions) == (there.count, there.open, there.restrictions)
        assert here.last_number == there.last_number


def outcome(work, backend, target):
    """Return ("done", result) or (name of the error, None), without the parts that can differ."""
    try:
        found = work(backend, target)
    except EditConflict as error:
        return "EditConflict", (error.current.slug, error.current.rev)
    except CommentError as error:
        return type(error).__name__, None
    return "done", Same(found) if hasattr(found, "slug") else found


class Same:
    """A comment without its target and times, which differ between back ends."""

    def __init__(self, comment):
        self.slug = comment.slug
        self.told = (comment.number, comment.parent, comment.answers, comment.author, comment.source, comment.state)
        self.rev = comment.rev

    def __eq__(self, other):
        return (self.slug, self.told, self.rev) == (other.slug, other.told, other.rev)


def verdicts(backend, target):
    """Return the verdicts on the queued comments of a discussion."""
    return sorted((held.slug, held.verdict) for held in backend.held(target=target, verdict=None))


def told(c):
    """Return the parts of a comment that must be equal everywhere."""
    return c.slug, c.number, c.source, c.html, c.author, c.state, c.rev, c.parent, c.answers


def play(steps, settings_, examples=None):
    """Run about `steps` steps in games of 50."""
    settings_.COMMENTS = comments_setting(bound=12)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples or max(1, steps // 50),
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate, Phase.shrink],
        ),
    )


@pytest.fixture
def configured(settings):
    return settings


def test_layouts_agree_in_80_steps(mongo, configured):
    play(80, configured)


@pytest.mark.slow
def test_layouts_agree_in_1500_steps(mongo, configured):
    play(int(os.environ.get("MACHINE_STEPS", "1500")), configured)
