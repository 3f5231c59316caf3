"""Erasing authors while others publish, restore and change their comments.

Readers find nothing when the erasure returns, and nothing is left after the sweep.
"""

from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from bson import ObjectId

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.backends.stored import Place, read_place
from marginalia.comments.backends.upkeep.live import LiveConversion
from marginalia.comments.errors import CommentNotFound, ConversionFailed
from marginalia.comments.types import CommentAuthor, Order
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash
from tests.support.comments.layouts import BUCKETS, DOCUMENTS, EMBEDDED, THREADED_BUCKETS, THREADED_DOCUMENTS, configure
from tests.support.comments.making import imported, new

EVE = CommentAuthor("Eve", id="666")


@pytest.fixture(params=[THREADED_DOCUMENTS, BUCKETS], ids=lambda form: "-".join(form))
def backend(mongo, settings, target, request):
    """A discussion with comments by Ann, a visible and a removed one by Eve, and another one by Ann."""
    backend = configure(settings, *request.param)
    backend.post(target, new("ann"))
    for text in ("stands", "removed"):
        backend.post(target, new(text, author=EVE))
    backend.post(target, new("ann again"))
    backend.remove(target, second(backend, target).slug, rev=1, token="r")
    return backend


def layout_of(backend, target):
    return backend.store.layouts.of(read_place(backend.store.discussions.find(target)))


def second(backend, target):
    return list(backend.iterate(target))[2]


def first(owner, name, work, monkeypatch):
    """Run `work` once, before the method is called."""
    method, left = getattr(owner, name), [work]

    def called(*args, **kwargs):
        if left:
            left.pop()()
        return method(*args, **kwargs)

    monkeypatch.setattr(owner, name, called)


def gone(mongo, backend, target):
    """Return whether nothing of Eve is left anywhere after the sweep, and everything of Ann."""
    assert backend.sweep_erasures() == 1
    kept = [*mongo["comments.history"].find(), *mongo["comments.pending"].find(), *audit.stored(target, "auth_user")]
    assert [c.source for c in backend.iterate(target) if not c.removed] == ["ann", "ann again"]
    assert list(backend.written_by(id=EVE.id)) == []
    return not [document for document in kept if document["author"]["id"] == EVE.id]


def test_comment_being_published_is_erased(mongo, backend, target, monkeypatch):
    held = backend.hold(target, new("waits", author=EVE)).held
    first(backend.store.discussions, "claim", lambda: MongoBackend().erase_author(id=EVE.id), monkeypatch)
    with pytest.raises(CommentNotFound):
        backend.approve(held.id)
    assert gone(mongo, backend, target)


def test_comment_being_restored_is_erased(mongo, backend, target, monkeypatch):
    slug = second(backend, target).slug
    first(backend.store.discussions, "claim", lambda: MongoBackend().erase_author(id=EVE.id), monkeypatch)
    backend.restore(target, slug, rev=2, token="u")
    assert gone(mongo, backend, target)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("work", ["post", "import"])
def test_comment_being_written_is_erased(mongo, backend, target, monkeypatch, work):
    """The comment was claimed before the erasure, and stored after it."""
    layout = layout_of(backend, target)
    name = "put" if work == "post" else "copy"
    first(layout, name, lambda: MongoBackend().erase_author(id=EVE.id), monkeypatch)
    if work == "post":
        backend.post(target, new("late", author=EVE))
    else:
        backend.import_(target, [imported(1, author=EVE)])
    assert gone(mongo, backend, target)


def test_comment_written_after_the_erasure_is_kept(backend, target):
    backend.erase_author(id=EVE.id)
    assert backend.post(target, new("later", author=EVE)).comment.source == "later"
    assert backend.sweep_erasures() == 1
    assert [c.source for c in backend.iterate(target) if not c.removed] == ["ann", "ann again", "later"]


def test_comment_being_edited_is_erased(mongo, backend, target, monkeypatch):
    """The old text goes into the history before the edit. The edit fails, so the history entry must be removed."""
    slug = list(backend.iterate(target))[1].slug
    first(backend.store.history, "insert_one", lambda: MongoBackend().erase_author(id=EVE.id), monkeypatch)
    with pytest.raises(CommentNotFound):
        backend.edit(target, slug, source="edited", html="", rev=1, token="e")
    assert gone(mongo, backend, target)


def test_late_removal_keeps_no_erased_text(mongo, backend, target, monkeypatch):
    """The removal stored the text that it was about to blank, and deletes it again. The tombstone names no author."""
    slug, history = second(backend, target).slug, mongo["comments.history"]
    removal = history.find_one({"slug": slug})
    late = {**removal, "_id": ObjectId()}
    history.delete_one({"_id": removal["_id"]})
    history.insert_many([late, removal])
    first(backend.store.discussions, "claim", lambda: history.delete_one({"_id": late["_id"]}), monkeypatch)
    assert backend.restore(target, slug, rev=2, token="u").source == "removed"
    assert audit.stored(target, "auth_user")


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("change", ["published", "restored"])
def test_sweep_erases_what_dead_writers_stored_later(mongo, backend, target, monkeypatch, change):
    """The worker sweeps for it."""
    held = backend.hold(target, new("waits", author=EVE)).held
    removed = list(backend.iterate(target))[2]
    assert removed.removed
    work = {
        "published": (lambda: backend.approve(held.id), "put"),
        "restored": (lambda: backend.restore(target, removed.slug, rev=2, token="u"), "change"),
    }
    layout, (bring_back, name) = layout_of(backend, target), work[change]
    method = getattr(layout, name)

    def dying(*args):
        MongoBackend().erase_author(id=EVE.id)
        method(*args)
        raise Crash

    monkeypatch.setattr(layout, name, dying)
    with pytest.raises(Crash):
        bring_back()
    MongoBackend().repair_claims(target, older_than=0)
    assert gone(mongo, MongoBackend(), target)


def test_history_of_an_unmade_edit_is_erased(mongo, backend, target, monkeypatch):
    """The editor died before the edit, after storing the old text while its author was being erased."""
    stands = list(backend.iterate(target))[1]
    keep = backend.store.history.insert_one

    def dying(entry):
        MongoBackend().erase_author(id=EVE.id)
        keep(entry)
        raise Crash

    monkeypatch.setattr(backend.store.history, "insert_one", dying)
    with pytest.raises(Crash):
        backend.edit(target, stands.slug, source="edited", html="", rev=1, token="e")
    MongoBackend().repair_claims(target, older_than=0)
    assert gone(mongo, MongoBackend(), target)


def test_history_of_an_edit_made_by_another_copy_is_kept(backend, target, monkeypatch):
    """One copy of the form stores the text and stalls, another one makes the edit, and a third writer edits that."""
    stands = list(backend.iterate(target))[1]

    def asleep():
        other = MongoBackend()
        other.edit(target, stands.slug, source="edited", html="", rev=1, token="e")
        other.edit(target, stands.slug, source="again", html="", rev=2, token="f")

    first(layout_of(backend, target), "change", asleep, monkeypatch)
    backend.edit(target, stands.slug, source="edited", html="", rev=1, token="e")
    assert [entry.comment.source for entry in backend.history(target, stands.slug)] == ["edited", "stands"]


def test_erasure_ends_when_no_writer_can_be_left(mongo, backend, target):
    backend.erase_author(id=EVE.id)
    assert backend.sweep_erasures() == 1
    mongo["comments.erasures"].update_one({}, {"$set": {"at": datetime(2026, 1, 1, tzinfo=UTC)}})
    assert backend.sweep_erasures() == 0
    assert mongo["comments.erasures"].count_documents({}) == 0


def holding(mongo, name):
    """Return how many documents contain something of Eve."""
    return mongo[name].count_documents({"$or": [{"author.id": EVE.id}, {"comments.author.id": EVE.id}]})


@pytest.mark.parametrize(("form", "collection"), [(DOCUMENTS, "comments"), (EMBEDDED, "auth_user")], ids=str)
def test_old_copies_are_erased(mongo, settings, target, form, collection):
    """Also in targets whose setting no longer allows embedded comments."""
    backend = configure(settings, *form)
    backend.post(target, new("words", author=EVE))
    backend = configure(settings)
    backend.convert(target, "buckets", Order.OLDEST)
    assert holding(mongo, collection) == 1
    backend.erase_author(id=EVE.id)
    assert (holding(mongo, collection), holding(mongo, "comment_pages")) == (0, 0)
    assert mongo.discussions.find_one({"_id": target.id})["leftovers"] == []
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("form", [THREADED_DOCUMENTS, BUCKETS], ids=lambda form: "-".join(form))
def test_late_writer_leaves_nothing_of_a_deleted_discussion(mongo, settings, target, monkeypatch, form):
    backend = configure(settings, *form)
    backend.post(target, new("ann"))
    layout = layout_of(backend, target)
    put = layout.put

    def dying(*args):
        MongoBackend().delete_discussion(target)
        put(*args)
        raise Crash

    monkeypatch.setattr(layout, "put", dying)
    with pytest.raises(Crash):
        backend.post(target, new("words", author=EVE))
    MongoBackend().erase_author(id=EVE.id)
    assert [holding(mongo, name) for name in ("comments", "comment_pages", "auth_user")] == [0, 0, 0]


@pytest.mark.parametrize("is_heard_of", [False, True])
def test_copies_in_progress_are_erased(mongo, settings, target, monkeypatch, is_heard_of):
    """The copy of a dead converter is deleted. A running converter applies the erasure to its copy."""
    backend = configure(settings)
    backend.post(target, new("words", author=EVE))
    compare, left = LiveConversion.compare, []

    def erased(run):
        if left:
            return compare(run)
        if not is_heard_of:
            long_ago = datetime(2026, 1, 1, tzinfo=UTC)
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.beat": long_ago}})
        other = MongoBackend()
        other.erase_author(id=EVE.id)
        other.tidy()
        left.append(holding(mongo, "comment_pages"))
        return compare(run)

    monkeypatch.setattr(LiveConversion, "compare", erased)
    with nullcontext() if is_heard_of else pytest.raises(ConversionFailed):
        backend.convert(target, "buckets", Order.OLDEST)
    assert left == [int(is_heard_of)]
    assert backend.discussion(target).layout == ("buckets" if is_heard_of else "documents")
    assert holding(mongo, "comment_pages") == 0
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("form", [EMBEDDED, BUCKETS, THREADED_BUCKETS], ids=lambda form: "-".join(form))
def test_text_copied_late_by_a_stalled_converter_is_erased(mongo, settings, target, monkeypatch, form):
    """The converter read the text before it stalled, and its conversion was stopped."""
    monkeypatch.setattr("marginalia.comments.backends.upkeep.live.BATCH", 1)
    backend = configure(settings)
    for text in ("words", "more words"):
        backend.post(target, new(text, author=EVE))
    layout = backend.store.layouts.of(Place(target, *form, 0, 1))
    copy, copied = layout.copy, []

    def late(place, documents):
        copied.append(documents)
        if len(copied) == 2:
            long_ago = datetime(2026, 1, 1, tzinfo=UTC)
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.beat": long_ago}})
            MongoBackend().erase_author(id=EVE.id)
        return copy(place, documents)

    monkeypatch.setattr(layout, "copy", late)
    with pytest.raises(ConversionFailed, match="was stopped"):
        backend.convert(target, *form)
    assert [holding(mongo, name) for name in ("comments", "comment_pages", "auth_user")] == [0, 0, 0]
    assert backend.audit(target) == []
    audit.stored(target, "auth_user")
