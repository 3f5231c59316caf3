"""The contract of back ends as tests. test_contract*.py runs it for every layout and for the specification."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from marginalia.comments.backends import discussions
from marginalia.comments.errors import CommentNotFound, DiscussionClosed, EditConflict, InvalidParent, TooManyLocked
from marginalia.comments.types import CommentAuthor, Kind, Order, Restrictions, State
from tests.support.comments.making import ANN, NOWHERE, new


class Contract:
    """Subclasses provide the fixtures `backend` and `targets`, and `stored(target)`: the stored comments, checked."""

    # Operations that sort in memory in this layout are correct for discussions as short as these.
    @pytest.fixture
    def target(self, targets):
        return targets[0]

    def stored(self, target):
        """Return the stored comments by number after checking them, or None if nothing is stored."""
        return

    def got(self, backend, target):
        """Return every comment by number, after comparing all ways of reading with the stored comments."""
        oldest = list(backend.iterate(target))
        assert oldest == sorted(oldest, key=lambda c: (c.number, c.posted, c.slug))
        threaded = list(backend.iterate(target, order=Order.THREADED))
        assert threaded == sorted(oldest, key=lambda c: c.full_slug)
        for size in (3, 10):
            assert walk(backend, target, Order.OLDEST, size) == oldest
            assert walk(backend, target, Order.NEWEST, size) == oldest[::-1]
            assert walk(backend, target, Order.THREADED, size) == threaded
        assert backend.discussion(target).count == sum(not c.removed for c in oldest)
        if (stored := self.stored(target)) is not None:
            assert [(c.slug, c.number, c.source, c.rev) for c in oldest] == [
                (item["slug"], item["number"], item["source"], item["rev"]) for item in stored
            ]
        for comment in oldest:
            assert backend.get(target, comment.slug) == comment
        return oldest

    def sources(self, backend, target):
        return [comment.source for comment in self.got(backend, target)]

    # Posting ---------------------------------------------------------------------------------------------------------

    def test_discussion_without_comments_is_empty(self, backend, target):
        assert self.got(backend, target) == []
        assert backend.discussion(target).count == 0
        assert backend.page(target, order=Order.NEWEST).comments == ()
        with pytest.raises(CommentNotFound):
            backend.get(target, NOWHERE)

    def test_post_returns_the_stored_comment(self, backend, target):
        posted = backend.post(target, new("one", author=ANN, kind=Kind.PINGBACK))
        comment = posted.comment
        assert (posted.new, comment.number, comment.rev, comment.depth) == (True, 1, 1, 0)
        assert (comment.author, comment.source, comment.html) == (ANN, "one", "<p>one</p>")
        assert (comment.kind, comment.state, comment.edited) == (Kind.PINGBACK, State.PUBLIC, None)
        assert self.got(backend, target) == [comment]

    def test_numbers_and_times_increase(self, backend, target):
        posted = [backend.post(target, new(str(n))).comment for n in range(30)]
        assert [comment.number for comment in posted] == list(range(1, 31))
        assert all(a.posted < b.posted for a, b in zip(posted, posted[1:], strict=False))
        assert self.got(backend, target) == posted

    def test_token_sent_again_posts_nothing(self, backend, target):
        first = backend.post(target, new("one")).comment
        again = backend.post(target, new("one", source="changed"))
        assert (again.new, again.comment) == (False, first)
        assert self.got(backend, target) == [first]

    def test_token_sent_after_removal_returns_the_tombstone(self, backend, target):
        first = backend.post(target, new("one")).comment
        removed = backend.remove(target, first.slug, rev=1, token="r")
        again = backend.post(target, new("one"))
        assert (again.new, again.comment) == (False, removed)

    def test_same_token_in_another_discussion_posts_a_comment(self, backend, targets):
        for target in targets:
            assert backend.post(target, new("one")).new
        assert all(self.sources(backend, target) == ["one"] for target in targets)

    @pytest.mark.parametrize("text", ["$$ROOT", "$100 off", "{$gt: 1}", "a.b.$[]", "' \" \\ \u2028 语"])
    def test_text_with_special_characters_is_stored_as_typed(self, backend, target, text):
        comment = backend.post(target, new(text, author=CommentAuthor(text, id=text, url=text), email=text)).comment
        edited = backend.edit(target, comment.slug, source=text + "!", html=text, rev=1, token=text, by=text)
        assert (edited.source, edited.html, edited.author) == (text + "!", text, CommentAuthor(text, id=text, url=text))
        assert self.got(backend, target) == [edited]

    @pytest.mark.parametrize("slug", ["$$ROOT", "$slug", "", "a" * 15, "a.b", "a" * 16 + "/"])
    def test_invalid_slug_finds_no_comment(self, backend, target, slug):
        backend.post(target, new("$$ROOT"))
        for work in (
            lambda: backend.get(target, slug),
            lambda: backend.subdiscussion(target, slug),
            lambda: backend.edit(target, slug, source="x", html="x", rev=1, token="$$ROOT"),
            lambda: backend.remove(target, slug, rev=1, token="$$ROOT"),
        ):
            with pytest.raises(CommentNotFound):
                work()
        assert self.sources(backend, target) == ["$$ROOT"]

    def test_reply_is_listed_below_its_parent(self, backend, target):
        a = backend.post(target, new("a")).comment
        b = backend.post(target, new("b")).comment
        aa = backend.post(target, new("aa", a.slug)).comment
        assert (aa.parent, aa.answers, aa.depth) == (a.slug, a.slug, 1)
        assert aa.slug.startswith(a.slug + "/")
        self.got(backend, target)
        assert [c.slug for c in backend.iterate(target, order=Order.THREADED)] == [a.slug, aa.slug, b.slug]

    def test_reply_to_a_missing_comment_is_refused(self, backend, target):
        backend.post(target, new("a"))
        with pytest.raises(InvalidParent):
            backend.post(target, new("b", NOWHERE))
        assert self.sources(backend, target) == ["a"]

    def test_reply_to_a_removed_comment_is_refused(self, backend, target):
        a = backend.post(target, new("a")).comment
        backend.remove(target, a.slug, rev=1, token="r")
        with pytest.raises(InvalidParent):
            backend.post(target, new("b", a.slug))

    def test_parent_in_another_discussion_is_refused(self, backend, targets):
        a = backend.post(targets[0], new("a")).comment
        with pytest.raises(InvalidParent):
            backend.post(targets[1], new("b", a.slug))

    def test_deep_replies_record_whom_they_answer(self, backend, target):
        slug, chain = "", []
        for n in range(12):
            chain.append(backend.post(target, new(str(n), slug)).comment)
            slug = chain[-1].slug
        assert [c.depth for c in chain] == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7]
        assert [c.answers for c in chain[1:]] == [c.slug for c in chain[:-1]]
        assert {c.parent for c in chain[8:]} == {chain[6].slug}
        assert self.got(backend, target) == chain

    def test_closed_discussion_refuses_posts_and_accepts_edits(self, backend, target):
        first = backend.post(target, new("one")).comment
        backend.close(target)
        assert not backend.discussion(target).open
        with pytest.raises(DiscussionClosed):
            backend.post(target, new("two"))
        assert backend.post(target, new("one")).comment == first
        backend.edit(target, first.slug, source="edited", html="", rev=1, token="e")
        backend.open(target)
        assert backend.post(target, new("two")).new
        assert self.sources(backend, target) == ["edited", "two"]

    def test_restrictions_are_changed_one_by_one(self, backend, target):
        moment = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)
        backend.restrict(target, slow_seconds=60, hours=(540, 1020))
        backend.restrict(target, hold_until=moment, pinned="a")
        expected = Restrictions(60, moment, (540, 1020), "a")
        assert backend.discussion(target).restrictions == expected
        backend.restrict(target, hours=None, pinned="")
        assert backend.discussion(target).restrictions == replace(expected, hours=None, pinned="")
        assert backend.post(target, new("one")).new

    def test_threads_are_locked_once_and_unlocked(self, backend, target):
        first = backend.post(target, new("one")).comment
        reply = backend.post(target, new("two", first.slug)).comment
        for slug in (reply.slug, first.slug, first.slug):
            backend.lock_thread(target, slug, locked=True)
        restrictions = backend.discussion(target).restrictions
        assert restrictions.locked == (reply.slug, first.slug)
        assert restrictions.is_locked(reply.slug)
        backend.lock_thread(target, first.slug, locked=False)
        assert not backend.discussion(target).restrictions.is_locked(first.slug)
        with pytest.raises(CommentNotFound):
            backend.lock_thread(target, "missing", locked=True)

    def test_number_of_locked_threads_is_limited(self, backend, target, monkeypatch):
        monkeypatch.setattr(discussions, "MAX_LOCKED", 3)
        slugs = [backend.post(target, new(str(n))).comment.slug for n in range(4)]
        for slug in slugs[:-1]:
            backend.lock_thread(target, slug, locked=True)
        with pytest.raises(TooManyLocked):
            backend.lock_thread(target, slugs[-1], locked=True)
        backend.lock_thread(target, slugs[0], locked=True)

    # Reading ---------------------------------------------------------------------------------------------------------

    def test_pages_are_ranges_of_numbers(self, backend, target):
        self.gappy(backend, target)
        for size in (2, 5, 7):
            for number in range(1, 30 // size + 2):
                page = backend.page(target, order=Order.OLDEST, size=size, number=number)
                assert all((c.number - 1) // size + 1 == page.number for c in page.comments)

    def gappy(self, backend, target):
        """Return twenty comments among thirty numbers. The other numbers were assigned and not used."""
        for n in range(30):
            if n % 3 == 1 or 9 < n < 16:
                with pytest.raises(InvalidParent):
                    backend.post(target, new(str(n), NOWHERE))
            else:
                backend.post(target, new(str(n)))

    def test_pages_without_comments_are_skipped(self, backend, target):
        self.gappy(backend, target)
        self.got(backend, target)
        ahead = backend.page(target, order=Order.OLDEST, size=2, number=6)
        assert [c.number for c in ahead.comments] == [18]
        behind = backend.page(target, order=Order.NEWEST, size=2, number=8)
        assert [c.number for c in behind.comments] == [10, 9]

    def test_last_page_without_comments_is_empty_and_leads_back(self, backend, target):
        for text in "ab":
            backend.post(target, new(text))
        with pytest.raises(InvalidParent):
            backend.post(target, new("c", NOWHERE))
        page = backend.page(target, order=Order.OLDEST, size=2, number=2)
        assert (page.comments, page.number, page.pages, page.next) == ((), 2, 2, "")
        first = backend.page(target, order=Order.NEWEST, size=2)
        assert ([c.source for c in first.comments], first.number, first.next) == (["b", "a"], 1, "")

    def test_page_beyond_the_last_returns_the_last(self, backend, target):
        for n in range(5):
            backend.post(target, new(str(n)))
        page = backend.page(target, order=Order.OLDEST, size=2, number=99)
        assert ([c.source for c in page.comments], page.number, page.pages) == (["4"], 3, 3)

    @pytest.mark.parametrize("order", list(Order))
    def test_permalink_opens_the_page_with_its_comment(self, backend, target, order):
        roots = [backend.post(target, new(str(n))).comment for n in range(6)]
        for n in range(6, 30):
            backend.post(target, new(str(n), roots[n % 6].slug))
        for comment in self.got(backend, target)[::4]:
            alone = backend.page(target, order=order, size=1, at=comment.slug)
            assert [c.slug for c in alone.comments] == [comment.slug]
            page = backend.page(target, order=order, size=4, at=comment.slug)
            assert comment in page.comments
            assert len(page.comments) <= 4
        with pytest.raises(CommentNotFound):
            backend.page(target, order=order, at=NOWHERE)

    def test_subdiscussion_contains_a_comment_and_its_replies(self, backend, target):
        roots = [backend.post(target, new(f"r{n}")).comment for n in range(4)]
        mine = [roots[1]]
        for n in range(24):
            parent = mine[n // 2] if n % 2 else roots[n % 4]
            reply = backend.post(target, new(str(n), parent.slug)).comment
            if reply.slug.startswith(roots[1].slug):
                mine.append(reply)
        mine.sort(key=lambda c: c.full_slug)
        for size in (1, 2, 5, 50):
            found, after = [], ""
            while True:
                page = backend.subdiscussion(target, roots[1].slug, size=size, after=after)
                found += page.comments
                assert len(page.comments) <= size
                if not page.next:
                    break
                after = page.next
            assert found == mine
        with pytest.raises(CommentNotFound):
            backend.subdiscussion(target, NOWHERE)

    def test_threaded_pages_lead_back_too(self, backend, target):
        roots = [backend.post(target, new(str(n))).comment for n in range(9)]
        for n in range(9, 20):
            backend.post(target, new(str(n), roots[n % 9].slug))
        everything = list(backend.iterate(target, order=Order.THREADED))
        for at in range(1, 20):
            page = backend.page(target, order=Order.THREADED, size=6, before=everything[at].full_slug)
            assert list(page.comments) == everything[max(0, at - 6) : at]

    def test_newest_returns_the_last_public_comments(self, backend, target):
        posted = [backend.post(target, new(str(n))).comment for n in range(23)]
        for n in (22, 20, 3):
            backend.remove(target, posted[n].slug, rev=1, token=f"r{n}")
        public = [c for n, c in enumerate(posted) if n not in (22, 20, 3)]
        for limit in (1, 5, 20, 50):
            found = backend.newest(target, limit)
            assert list(found.comments) == public[::-1][:limit]
            assert (found.next, found.previous, found.discussion.count) == ("", "", 20)

    def test_many_discussions_are_read_at_once(self, backend, targets):
        backend.post(targets[0], new("one"))
        found = backend.discussions(targets)
        assert [found[target].count for target in targets] == [1] + [0] * (len(targets) - 1)

    # Changing --------------------------------------------------------------------------------------------------------

    def test_edit_increases_the_revision_and_keeps_the_old_text(self, backend, target):
        first = backend.post(target, new("one", email="ann@example.org")).comment
        edited = backend.edit(target, first.slug, source="two", html="<p>two</p>", rev=1, token="e", by="9")
        assert (edited.source, edited.rev, edited.number, edited.posted) == ("two", 2, first.number, first.posted)
        assert edited.edited is not None
        assert self.got(backend, target) == [edited]
        assert [(entry.comment.source, entry.comment.rev) for entry in backend.history(target, first.slug)] == [
            ("one", 1)
        ]
        assert backend.email_of(target, first.slug) == "ann@example.org"

    def test_repeated_edit_is_applied_once(self, backend, target):
        first = backend.post(target, new("one")).comment
        edited = backend.edit(target, first.slug, source="two", html="", rev=1, token="e")
        assert backend.edit(target, first.slug, source="two", html="", rev=1, token="e") == edited
        later = backend.edit(target, first.slug, source="three", html="", rev=2, token="f")
        assert backend.edit(target, first.slug, source="two", html="", rev=1, token="e") == later
        assert self.got(backend, target) == [later]

    def test_stale_edit_returns_the_stored_comment(self, backend, target):
        first = backend.post(target, new("one")).comment
        edited = backend.edit(target, first.slug, source="two", html="", rev=1, token="e")
        with pytest.raises(EditConflict) as conflict:
            backend.edit(target, first.slug, source="other", html="", rev=1, token="f")
        assert conflict.value.current == edited
        assert backend.edit(target, first.slug, source="two", html="", rev=1, token="g") == edited
        assert self.got(backend, target) == [edited]

    def test_removed_comment_becomes_a_tombstone(self, backend, target):
        a = backend.post(target, new("a", email="ann@example.org")).comment
        backend.post(target, new("aa", a.slug))
        removed = backend.remove(target, a.slug, rev=1, token="r")
        assert (removed.state, removed.source, removed.html, removed.author) == (
            State.REMOVED,
            "",
            "",
            CommentAuthor(""),
        )
        assert (removed.number, removed.slug, removed.rev) == (1, a.slug, 2)
        assert backend.remove(target, a.slug, rev=1, token="other") == removed
        assert backend.email_of(target, a.slug) == ""
        assert self.sources(backend, target) == ["", "aa"]
        with pytest.raises(CommentNotFound):
            backend.edit(target, a.slug, source="x", html="", rev=2, token="e")

    def test_removal_after_a_concurrent_edit_conflicts(self, backend, target):
        a = backend.post(target, new("a")).comment
        backend.edit(target, a.slug, source="b", html="", rev=1, token="e")
        with pytest.raises(EditConflict):
            backend.remove(target, a.slug, rev=1, token="r")
        assert self.sources(backend, target) == ["b"]

    def test_restore_brings_back_the_whole_comment(self, backend, target):
        a = backend.post(target, new("a", email="ann@example.org")).comment
        edited = backend.edit(target, a.slug, source="b", html="<b>", rev=1, token="e")
        backend.remove(target, a.slug, rev=2, token="r")
        restored = backend.restore(target, a.slug, rev=3, token="u")
        assert (restored.source, restored.html, restored.author) == ("b", "<b>", ANN)
        assert (restored.edited, restored.rev, restored.state) == (edited.edited, 4, State.PUBLIC)
        assert backend.email_of(target, a.slug) == "ann@example.org"
        assert backend.restore(target, a.slug, rev=3, token="u") == restored
        assert self.got(backend, target) == [restored]
        again = backend.remove(target, a.slug, rev=4, token="r")
        assert backend.restore(target, a.slug, rev=again.rev, token="u2").source == "b"
        assert self.sources(backend, target) == ["b"]

    @pytest.mark.parametrize("change", ["edit", "remove", "restore"])
    def test_changing_a_missing_comment_fails(self, backend, target, change):
        text = {"source": "", "html": ""} if change == "edit" else {}
        with pytest.raises(CommentNotFound):
            getattr(backend, change)(target, NOWHERE, rev=1, token="t", **text)
        backend.post(target, new("one"))
        with pytest.raises(CommentNotFound):
            getattr(backend, change)(target, NOWHERE, rev=1, token="t", **text)
        assert self.sources(backend, target) == ["one"]


def walk(backend, target, order, size):
    """Return all comments, page by page, following the links."""
    found = []
    page = backend.page(target, order=order, size=size)
    while True:
        assert page.order is page.requested_order is order
        found += page.comments
        if not page.next:
            return found
        if order is Order.THREADED:
            assert len(page.comments) <= size
            page = backend.page(target, order=order, size=size, after=page.next)
        else:
            page = backend.page(target, order=order, size=size, number=int(page.next))
