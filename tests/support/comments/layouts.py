"""Discussions in every layout and order, with small buckets and with limits that tests reach quickly."""

from datetime import UTC, datetime

from marginalia.comments.backends import layout_classes
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import Order
from tests.support.comments.making import new

DOCUMENTS, THREADED_DOCUMENTS = ("documents", Order.OLDEST), ("documents", Order.THREADED)
EMBEDDED = ("embedded", Order.OLDEST)
BUCKETS, THREADED_BUCKETS = ("buckets", Order.OLDEST), ("buckets", Order.THREADED)
FORMS = [DOCUMENTS, THREADED_DOCUMENTS, EMBEDDED, BUCKETS, THREADED_BUCKETS]
OPTIONS = {"SIZE": 4, "BOUND": 40}


def configure(settings, layout="documents", order=Order.OLDEST, **options):
    """Set the layout for discussions on auth.user, with small buckets and limits, and return a backend."""
    known = layout_classes()[layout].options
    chosen = {key: value for key, value in {**OPTIONS, **options}.items() if key in known}
    settings.COMMENTS = {"TARGETS": {"auth.user": {"LAYOUT": layout, "ORDER": str(order), "OPTIONS": chosen}}}
    return MongoBackend()


def lively(backend, target):
    """Fill a discussion with threads, edits, tombstones, gaps, shared numbers, a queue and locks. Return the comments."""
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
    backend.restrict(target, slow_seconds=60, hours=(540, 1020), pinned=posted[1].slug)
    backend.lock_thread(target, posted[0].slug, locked=True)
    return posted


def state(backend, target):
    """Return everything about a discussion that users can see, in every order."""
    return (
        list(backend.iterate(target)),
        list(backend.iterate(target, order=Order.THREADED)),
        backend.discussion(target).count,
        backend.discussion(target).open,
        backend.discussion(target).restrictions,
        backend.held(target=target),
        [backend.email_of(target, c.slug) for c in backend.iterate(target)],
        [backend.history(target, c.slug) for c in backend.iterate(target)],
    )


def expire_conversion(mongo, target):
    """Set a conversion's heartbeat to an old time, so that the conversion looks abandoned."""
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.beat": datetime(2026, 1, 1, tzinfo=UTC)}})
