"""Imported comments come into the order of time, and an export has them all, whatever happens meanwhile."""

import pytest

from comments.backends.mongodb import MongoBackend
from comments.types import Order, Verdict
from tests.comments import audit
from tests.comments.contract import imported, new
from tests.comments.interruptions import Crash
from tests.comments.test_conversion import FORMS, configure
from tests.comments.test_conversion import target as target  # noqa: PLC0414


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
