"""Lists over all discussions while one is switched: nothing appears twice, and nothing of an erased author is left."""

import pytest

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import CommentAuthor, Order
from tests.support.comments import audit
from tests.support.comments.layouts import configure
from tests.support.comments.making import new

EVE = CommentAuthor("Eve", id="666")
DOCUMENTS, EMBEDDED = ("documents", Order.OLDEST), ("embedded", Order.OLDEST)
PAGES, LEAVES = ("buckets", Order.OLDEST), ("buckets", Order.THREADED)
# The initial layout, and the next layout after each scan: of documents, of targets, of buckets, and so on.
SWITCHES = {
    "to what was read": (PAGES, [None, DOCUMENTS]),
    "from what was read": (DOCUMENTS, [None, PAGES]),
    "into its target": (PAGES, [None, EMBEDDED]),
    "out of its target": (EMBEDDED, [DOCUMENTS]),
    "within what is read": (PAGES, [None, None, LEAVES]),
    "to and fro": (PAGES, [None, DOCUMENTS, PAGES, None, DOCUMENTS, PAGES, None, DOCUMENTS]),
}


@pytest.fixture(params=SWITCHES)
def backend(mongo, settings, target, request, monkeypatch):
    """A back end whose lists switch the discussion with comments by Ann and Eve."""
    form, switches = SWITCHES[request.param]
    backend = configure(settings, *form)
    backend.post(target, new("ann"))
    backend.post(target, new("eve", author=EVE))
    left = list(switches)

    def watched(scan):
        def scanned(*args, **options):
            yield from scan(*args, **options)
            if form := left.pop(0) if left else None:
                MongoBackend().convert(target, *form)

        return scanned

    for layout in backend.store.layouts.all:
        monkeypatch.setattr(layout, "by_author", watched(layout.by_author))
    return backend


def test_export_contains_nothing_twice(backend):
    assert [comment.source for comment in backend.written_by(id=EVE.id)] in (["eve"], [])
    assert [comment.source for comment in MongoBackend().written_by(id=EVE.id)] == ["eve"]


def test_list_for_readers_contains_nothing_twice(backend):
    assert [comment.source for comment in backend.by_author(EVE.id)] in (["eve"], [])


@pytest.mark.slow_after(2)
def test_erasure_during_a_switch_is_complete(mongo, backend, target, request):
    backend.erase_author(id=EVE.id)
    # Already when the call returns, unless the discussion switches back and forth during the search.
    if request.node.callspec.id != "to and fro":
        assert "eve" not in [comment.source for comment in MongoBackend().iterate(target)]
    MongoBackend().sweep_erasures()
    assert [comment.source for comment in MongoBackend().iterate(target)] == ["ann", ""]
    for name in ("comments", "comment_pages", "auth_user"):
        assert mongo[name].count_documents({"$or": [{"author.id": EVE.id}, {"comments.author.id": EVE.id}]}) == 0
    audit.stored(target, "auth_user")
