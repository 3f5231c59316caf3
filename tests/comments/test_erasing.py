"""Authors are erased while others publish, restore and change what they wrote: nothing of them comes back."""

from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from bson import ObjectId

from comments.backends.attempt import Attempt
from comments.backends.mongodb import MongoBackend
from comments.backends.stored import Place
from comments.errors import CommentNotFound, ConversionFailed, NothingToRestore
from comments.types import Author, Order
from tests.comments import audit
from tests.comments.contract import new
from tests.comments.interruptions import Crash
from tests.comments.layouts import FORMS, configure

EVE = Author("Eve", id="666")


@pytest.fixture(params=FORMS[1::2], ids=lambda form: "-".join(form))
def backend(mongo, settings, target, request):
    """A discussion in which Eve has said one thing that stands and another that was removed, after Ann and before her."""
    backend = configure(settings, *request.param)
    backend.post(target, new("ann"))
    for text in ("stands", "removed"):
        backend.post(target, new(text, author=EVE))
    backend.post(target, new("ann again"))
    backend.remove(target, second(backend, target).slug, rev=1, token="r")
    return backend


def second(backend, target):
    return list(backend.iterate(target))[2]


def first(owner, name, work, monkeypatch):
    """Have `work` done before the method is called, once."""
    method, left = getattr(owner, name), [work]

    def called(*args, **kwargs):
        if left:
            left.pop()()
        return method(*args, **kwargs)

    monkeypatch.setattr(owner, name, called)


def gone(mongo, backend, target):
    """Whether nothing of Eve is left anywhere, and everything of Ann."""
    kept = [*mongo["comments.history"].find(), *mongo["comments.pending"].find(), *audit.stored(target, "auth_user")]
    assert [c.source for c in backend.iterate(target) if not c.removed] == ["ann", "ann again"]
    assert list(backend.written_by(id=EVE.id)) == []
    return not [document for document in kept if document["author"]["id"] == EVE.id]


def test_what_is_being_published(mongo, backend, target, monkeypatch):
    held = backend.hold(target, new("waits", author=EVE)).held
    first(backend.posting, "publish", lambda: MongoBackend().erase_author(id=EVE.id), monkeypatch)
    with pytest.raises(CommentNotFound):
        backend.approve(held.id)
    assert gone(mongo, backend, target)


def test_what_is_being_restored(mongo, backend, target, monkeypatch):
    slug = second(backend, target).slug
    first(backend.changing, "_change", lambda: MongoBackend().erase_author(id=EVE.id), monkeypatch)
    with pytest.raises(NothingToRestore):
        backend.restore(target, slug, rev=2, token="u")
    assert gone(mongo, backend, target)


def test_what_is_being_changed(mongo, backend, target, monkeypatch):
    """The text that a change was about to replace goes into the history; the change fails, and so must that."""
    slug = list(backend.iterate(target))[1].slug
    first(backend.changing, "_keep", lambda: MongoBackend().erase_author(id=EVE.id), monkeypatch)
    with pytest.raises(CommentNotFound):
        backend.edit(target, slug, source="edited", html="", rev=1, token="e")
    assert gone(mongo, backend, target)


def test_what_is_restored_and_published_after_it_was_looked_for(mongo, backend, target, monkeypatch):
    held, slug = backend.hold(target, new("waits", author=EVE)).held, second(backend, target).slug

    def meanwhile():
        MongoBackend().restore(target, slug, rev=2, token="u")
        MongoBackend().approve(held.id)

    erasing = MongoBackend()
    first(erasing.changing, "erase", meanwhile, monkeypatch)
    assert erasing.erase_author(id=EVE.id) == 4
    assert gone(mongo, backend, target)


def test_a_removal_that_came_too_late_takes_nothing_along(mongo, backend, target, monkeypatch):
    """It kept what it was about to blank, and takes that back: no sign that the author was erased."""
    slug, history = second(backend, target).slug, mongo["comments.history"]
    removal = history.find_one({"slug": slug})
    late = {**removal, "_id": ObjectId()}
    history.delete_one({"_id": removal["_id"]})
    history.insert_many([late, removal])
    first(backend.changing, "_change", lambda: history.delete_one({"_id": late["_id"]}), monkeypatch)
    assert backend.restore(target, slug, rev=2, token="u").source == "removed"
    assert audit.stored(target, "auth_user")


@pytest.mark.parametrize("what", ["published", "restored"])
def test_what_came_back_by_one_who_died_before_he_could_look(mongo, backend, target, monkeypatch, what):
    """A repair looks in his place."""
    held = backend.hold(target, new("waits", author=EVE)).held
    removed = list(backend.iterate(target))[2]
    assert removed.removed
    work = {
        "published": (lambda: backend.approve(held.id), "put"),
        "restored": (lambda: backend.restore(target, removed.slug, rev=2, token="u"), "change"),
    }
    schema, (bring_back, name) = backend.schemas.of(backend._where(target)[1]), work[what]
    method = getattr(schema, name)

    def dying(*args):
        MongoBackend().erase_author(id=EVE.id)
        method(*args)
        raise Crash

    monkeypatch.setattr(schema, name, dying)
    with pytest.raises(Crash):
        bring_back()
    MongoBackend().repairing.repair_claims(target, older_than=0)
    assert gone(mongo, MongoBackend(), target)


def test_what_was_kept_for_a_change_that_was_not_made(mongo, backend, target, monkeypatch):
    """By an editor who died before it, and kept the old text while its author was being erased."""
    stands = list(backend.iterate(target))[1]
    keep = backend.changing._keep

    def dying(*args):
        MongoBackend().erase_author(id=EVE.id)
        keep(*args)
        raise Crash

    monkeypatch.setattr(backend.changing, "_keep", dying)
    with pytest.raises(Crash):
        backend.edit(target, stands.slug, source="edited", html="", rev=1, token="e")
    MongoBackend().repairing.repair_claims(target, older_than=0)
    assert gone(mongo, MongoBackend(), target)


def test_what_an_editor_keeps_after_a_repair_dropped_his_claim(mongo, backend, target, monkeypatch):
    """He goes on under a new one, which kept nothing."""
    stands = list(backend.iterate(target))[1]

    def asleep():
        MongoBackend().erase_author(id=EVE.id)
        long_ago = datetime(2026, 1, 1, tzinfo=UTC)
        mongo.discussions.update_one({"_id": target.id}, {"$set": {"claims.0.at": long_ago}})
        assert MongoBackend().repairing.repair_claims(target) == 1

    first(backend.changing, "_keep", asleep, monkeypatch)
    with pytest.raises(CommentNotFound):
        backend.edit(target, stands.slug, source="edited", html="", rev=1, token="e")
    assert gone(mongo, backend, target)


def test_what_was_kept_stays_where_another_made_the_change(backend, target, monkeypatch):
    """The same form sent twice: the one keeps the text and falls asleep, the other writes, and a third edits that."""
    stands = list(backend.iterate(target))[1]
    schema = backend.schemas.of(backend._where(target)[1])

    def asleep():
        other = MongoBackend()
        other.edit(target, stands.slug, source="edited", html="", rev=1, token="e")
        other.edit(target, stands.slug, source="again", html="", rev=2, token="f")

    first(schema, "change", asleep, monkeypatch)
    backend.edit(target, stands.slug, source="edited", html="", rev=1, token="e")
    assert [entry.comment.source for entry in backend.history(target, stands.slug)] == ["edited", "stands"]


def holding(mongo, name):
    """How many documents hold something of Eve."""
    return mongo[name].count_documents({"$or": [{"author.id": EVE.id}, {"comments.author.id": EVE.id}]})


@pytest.mark.parametrize(("form", "collection"), [(FORMS[0], "comments"), (FORMS[2], "auth_user")], ids=str)
def test_old_copies_are_not_kept_for_slow_readers(mongo, settings, target, form, collection):
    """Nor in targets of which the setting says by now that they hold none."""
    backend = configure(settings, *form)
    backend.post(target, new("words", author=EVE))
    backend = configure(settings)
    backend.convert(target, "buckets", Order.OLDEST)
    assert holding(mongo, collection) == 1
    backend.erase_author(id=EVE.id)
    assert (holding(mongo, collection), holding(mongo, "comment_pages")) == (0, 0)
    assert mongo.discussions.find_one({"_id": target.id})["leftovers"] == []
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("form", FORMS[1::2], ids=lambda form: "-".join(form))
def test_what_a_late_writer_leaves_of_a_discussion_that_is_gone(mongo, settings, target, monkeypatch, form):
    backend = configure(settings, *form)
    backend.post(target, new("ann"))
    schema = backend.schemas.of(backend._where(target)[1])
    put = schema.put

    def dying(*args):
        MongoBackend().forget(target)
        put(*args)
        raise Crash

    monkeypatch.setattr(schema, "put", dying)
    with pytest.raises(Crash):
        backend.post(target, new("words", author=EVE))
    MongoBackend().erase_author(id=EVE.id)
    assert [holding(mongo, name) for name in ("comments", "comment_pages", "auth_user")] == [0, 0, 0]


@pytest.mark.parametrize("is_heard_of", [False, True])
def test_copies_under_way(mongo, settings, target, monkeypatch, is_heard_of):
    """That of a converter who died goes; that of one at work follows what is erased."""
    backend = configure(settings)
    backend.post(target, new("words", author=EVE))
    compare, left = Attempt._compare, []

    def erased(run):
        if left:
            return compare(run)
        if not is_heard_of:
            long_ago = datetime(2026, 1, 1, tzinfo=UTC)
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.beat": long_ago}})
        MongoBackend().erase_author(id=EVE.id)
        left.append(holding(mongo, "comment_pages"))
        return compare(run)

    monkeypatch.setattr(Attempt, "_compare", erased)
    with nullcontext() if is_heard_of else pytest.raises(ConversionFailed):
        backend.convert(target, "buckets", Order.OLDEST)
    assert left == [int(is_heard_of)]
    assert holding(mongo, "comments") == holding(mongo, "comment_pages") == 0 or is_heard_of
    assert backend.discussion(target).schema == ("buckets" if is_heard_of else "documents")
    assert holding(mongo, "comment_pages") == 0
    audit.stored(target, "auth_user")


@pytest.mark.parametrize("form", FORMS[2:], ids=lambda form: "-".join(form))
def test_what_a_relieved_converter_copies_late(mongo, settings, target, monkeypatch, form):
    """It read that before it fell asleep, and its plan was ended."""
    monkeypatch.setattr("comments.backends.attempt.BATCH", 1)
    backend = configure(settings)
    for text in ("words", "more words"):
        backend.post(target, new(text, author=EVE))
    schema = backend.schemas.of(Place(target, *form, 0, 1))
    copy, copied = schema.copy, []

    def late(place, documents):
        copied.append(documents)
        if len(copied) == 2:
            long_ago = datetime(2026, 1, 1, tzinfo=UTC)
            mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving.beat": long_ago}})
            MongoBackend().erase_author(id=EVE.id)
        return copy(place, documents)

    monkeypatch.setattr(schema, "copy", late)
    with pytest.raises(ConversionFailed, match="taken over"):
        backend.convert(target, *form)
    assert [holding(mongo, name) for name in ("comments", "comment_pages", "auth_user")] == [0, 0, 0]
    assert backend.repairing.audit(target) == []
    audit.stored(target, "auth_user")
