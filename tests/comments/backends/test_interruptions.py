"""A writer stops before and after each of its database calls, and the same request is repeated."""

import pytest

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.errors import CommentNotFound, ConversionFailed
from marginalia.comments.types import Order, Verdict
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import BUCKETS, FORMS, THREADED_BUCKETS, configure
from tests.support.comments.making import imported, new

# More calls than any of these needs.
MOST_CALLS = 60


def stopped_everywhere(mongo, target, prepare, work, check, every=1):
    """Stop `work(backend, prepared)` before and after every n-th call.

    Then repeat it, and run `check(prepared, answer)`.
    """
    for after in (False, True):
        for at in range(1, MOST_CALLS, every):
            prepared = prepare()
            stopping = Interrupted(MongoBackend(), at=at, after=after)
            try:
                work(stopping, prepared)
            except Crash:
                check(prepared, work(MongoBackend(), prepared))
            else:
                check(prepared, None)
                break
        else:
            pytest.fail("It never came to its end.")


def fresh(backend, target, comments=9):
    """Create the discussion again: a root with replies, and almost full buckets."""
    backend.delete_discussion(target)
    first = backend.post(target, new("first", email="first@example.org")).comment
    for n in range(comments - 1):
        backend.post(target, new(f"{n}", first.slug if n % 2 else ""))
    return first


# Quick cases always run, the rest in `make test-slow`.
def _quick(*quick):
    return [pytest.param(form, marks=() if form in quick else pytest.mark.slow, id="-".join(form)) for form in FORMS]


EACH = pytest.mark.parametrize("form", _quick(THREADED_BUCKETS))
# Every third call always, every call in `make test-slow`.
SOME = pytest.mark.parametrize(
    ("form", "every"),
    [
        pytest.param(THREADED_BUCKETS, 3, id="now and then"),
        *(pytest.param(form, 1, marks=pytest.mark.slow, id="-".join(form)) for form in FORMS),
    ],
)


class TestInterruptions:
    @EACH
    def test_interrupted_post_is_whole_or_absent(self, mongo, settings, target, form):
        backend = configure(settings, *form)

        def check(prepared, again):
            stored = audit.stored(target, "auth_user", crashed=True)
            assert [item["source"] for item in stored].count("late") == 1
            assert len(stored) == 10

        stopped_everywhere(
            mongo,
            target,
            lambda: fresh(backend, target),
            lambda b, first: b.post(target, new("late", first.slug)),
            check,
        )

    @pytest.mark.slow
    @EACH
    def test_interrupted_edit_is_whole_or_absent(self, mongo, settings, target, form):
        backend = configure(settings, *form)

        def edit(stopping, first):
            return stopping.edit(target, first.slug, source="edited", html="", rev=1, token="e")

        def check(first, again):
            stored = {item["slug"]: item for item in audit.stored(target, "auth_user", crashed=True)}[first.slug]
            assert (stored["source"], stored["rev"]) == ("edited", 2)
            assert [entry.comment.source for entry in backend.history(target, first.slug)] == ["first"]

        stopped_everywhere(mongo, target, lambda: fresh(backend, target, 5), edit, check)

    @pytest.mark.slow
    @SOME
    def test_interrupted_removal_or_restore_is_whole_or_absent(self, mongo, settings, target, form, every):
        backend = configure(settings, *form)

        def there_and_back(stopping, first):
            stopping.remove(target, first.slug, rev=1, token="r")
            return stopping.restore(target, first.slug, rev=2, token="u")

        def check(first, again):
            stored = {item["slug"]: item for item in audit.stored(target, "auth_user", crashed=True)}[first.slug]
            assert (stored["source"], stored["rev"], stored["author"]["email"]) == ("first", 3, "first@example.org")

        stopped_everywhere(mongo, target, lambda: fresh(backend, target, 5), there_and_back, check, every)

    @pytest.mark.slow
    @SOME
    def test_interrupted_removal_or_restore_of_many_is_completed(self, mongo, settings, target, form, every):
        """Another group is repeated first, so that the claim of the interrupted one is found."""
        backend = configure(settings, *form)

        def there_and_back(stopping, first):
            chosen = [comment.slug for comment in backend.iterate(target)][:4]
            if stopping.get(target, first.slug).source:
                stopping.remove_many(target, chosen, token="t")
            stopping.remove_many(target, chosen[:2], token="t")
            stopping.restore_many(target, chosen[:2], token="t")
            stopping.restore_many(target, chosen, token="t")

        def check(first, again):
            stored = audit.stored(target, "auth_user", crashed=True)
            assert [item["source"] for item in stored if not item["source"]] == []
            assert {item["rev"] for item in stored} <= {1, 3}

        stopped_everywhere(mongo, target, lambda: fresh(backend, target, 5), there_and_back, check, every)

    @pytest.mark.slow
    @SOME
    def test_interrupted_decision_is_whole_or_absent(self, mongo, settings, target, form, every):
        backend = configure(settings, *form)

        def hold_and_approve(stopping, first):
            waiting = stopping.hold(target, new("held", first.slug)).held
            return stopping.approve(waiting.id) if waiting else None

        def check(first, again):
            # The queue still shows comments whose decision was not completed.
            for held in backend.held(target=target, verdict=Verdict.WAITING):
                assert backend.approve(held.id) == backend.get(target, held.slug)
            assert [item["source"] for item in audit.stored(target, "auth_user", crashed=True)].count("held") == 1
            assert backend.held(target=target) == ()

        stopped_everywhere(mongo, target, lambda: fresh(backend, target, 5), hold_and_approve, check, every)

    @pytest.mark.slow
    @SOME
    def test_interrupted_import_is_whole_or_absent(self, mongo, settings, target, form, every):
        backend = configure(settings, *form)
        old = [imported(n) for n in (1, 2)]

        def check(first, again):
            stored = audit.stored(target, "auth_user", crashed=True)
            assert [item["source"] for item in stored if item["posted"].year == 2020] == ["1", "2"]

        stopped_everywhere(
            mongo,
            target,
            lambda: backend.delete_discussion(target),
            lambda b, prepared: b.import_(target, old),
            check,
            every,
        )


@pytest.mark.parametrize(
    ("after", "every"),
    [
        pytest.param(BUCKETS, 6, id="now and then"),
        *(pytest.param(form, 1, marks=pytest.mark.slow, id="-".join(form)) for form in FORMS[1:]),
    ],
)
def test_interrupted_conversion_is_taken_over(mongo, settings, target, after, every, monkeypatch):
    """Comments are posted, edited and removed between the interruption and the next conversion."""
    monkeypatch.setattr("marginalia.comments.backends.discussions.DEAD_AFTER", -1)
    monkeypatch.setattr("marginalia.comments.backends.upkeep.live.BATCH", 4)
    configure(settings, "embedded")
    embedding = settings.COMMENTS
    backend = configure(settings)

    def prepare():
        settings.COMMENTS = {}
        backend = configure(settings)
        first = fresh(backend, target)
        settings.COMMENTS = embedding
        return first

    def work(stopping, first):
        found = backend.discussion(target)
        if found.moving or found.layout != "documents":
            backend.edit(target, first.slug, source="edited", html="", rev=1, token="e")
            backend.post(target, new("meanwhile", first.slug))
        stopping.convert(target, *after)

    def check(first, again):
        found = backend.discussion(target)
        if (found.layout, found.order) != after:
            backend.convert(target, *after)
        stored = audit.stored(target, "auth_user", crashed=True)
        sources = [item["source"] for item in stored]
        assert len(sources) == 9 + sources.count("meanwhile")
        assert sources.count("edited") + sources.count("first") == 1
        assert sources.count("edited") == sources.count("meanwhile")

    stopped_everywhere(mongo, target, prepare, work, check, every)


@pytest.mark.slow
def test_interrupted_promotion_is_completed_by_the_next(mongo, settings, target, monkeypatch):
    monkeypatch.setattr("marginalia.comments.backends.discussions.DEAD_AFTER", -1)
    monkeypatch.setattr("marginalia.comments.backends.discussions.ABANDONED", 0)

    def prepare():
        backend = configure(settings, "embedded", BOUND=10)
        fresh(backend, target, 9)

    def work(stopping, prepared):
        stopping.post(target, new("one more"))
        stopping.post(target, new("and another"))

    def check(prepared, again):
        stored = audit.stored(target, "auth_user", crashed=True)
        assert len(stored) == 11
        backend = MongoBackend()
        backend.post(target, new("the next"))
        assert backend.discussion(target).layout == "buckets"
        assert len(audit.stored(target, "auth_user", crashed=True)) == 12

    stopped_everywhere(mongo, target, prepare, work, check)


def test_conversion_yields_to_a_running_one(mongo, settings, target):
    backend = configure(settings)
    fresh(backend, target)
    with pytest.raises(Crash):
        Interrupted(MongoBackend(), at=8).convert(target, "buckets", Order.OLDEST)
    with pytest.raises(ConversionFailed, match="by another process"):
        backend.convert(target, "buckets", Order.OLDEST)


def test_author_cannot_edit_while_a_moderator_publishes(mongo, settings, target):
    """The shown text is published, even if the moderator's process stops halfway and another one continues."""
    backend = configure(settings)
    held = backend.hold(target, new("as it was shown")).held
    with pytest.raises(Crash):
        Interrupted(MongoBackend(), at=2, after=True).approve(held.id, rev=1)
    assert list(backend.iterate(target)) == []
    for change in (
        lambda: backend.change_held(held.id, source="x", html="x", rev=1),
        lambda: backend.withdraw(held.id),
    ):
        with pytest.raises(CommentNotFound):
            change()
    assert backend.approve(held.id, rev=1).source == "as it was shown"
