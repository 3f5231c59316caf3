"""The contract of a back end, as tests; test_contract.py runs it for every schema and for the specification."""

from datetime import UTC, datetime, timedelta

import pytest

from comments.errors import (
    CommentNotFound,
    DiscussionClosed,
    EditConflict,
    HeldChanged,
    InvalidParent,
    NothingToRestore,
)
from comments.types import Author, Kind, NewComment, Order, State, Verdict

ANN = Author("Ann", id="7", url="https://ann.example.org/")
BOB = Author("Bob")
NOWHERE = "aaaaaaaaaaaaaaaa"


def new(token, parent="", author=ANN, **kwargs):
    """A comment whose source is its token."""
    return NewComment(author, kwargs.pop("source", token), f"<p>{token}</p>", token, parent, **kwargs)


class Contract:
    """Subclasses give the fixtures `backend` and `targets`, and `audit(target)`: the stored comments, checked."""

    # What the schema cannot do without sorting in memory is still right for discussions as short as these.
    @pytest.fixture
    def target(self, targets):
        return targets[0]

    def audit(self, target):
        """Return the stored comments by number, after checking them; None where nothing is stored to be checked."""
        return

    def got(self, backend, target):
        """Every comment by number, each way of reading compared with the others and with what is stored."""
        oldest = list(backend.iterate(target))
        assert oldest == sorted(oldest, key=lambda c: (c.number, c.posted, c.slug))
        threaded = list(backend.iterate(target, order=Order.THREADED))
        assert threaded == sorted(oldest, key=lambda c: c.full_slug)
        for size in (3, 10):
            assert walk(backend, target, Order.OLDEST, size) == oldest
            assert walk(backend, target, Order.NEWEST, size) == oldest[::-1]
            assert walk(backend, target, Order.THREADED, size) == threaded
        assert backend.count(target) == sum(not c.removed for c in oldest)
        if (stored := self.audit(target)) is not None:
            assert [(c.slug, c.number, c.source, c.rev) for c in oldest] == [
                (item["slug"], item["number"], item["source"], item["rev"]) for item in stored
            ]
        for comment in oldest:
            assert backend.get(target, comment.slug) == comment
        return oldest

    def sources(self, backend, target):
        return [comment.source for comment in self.got(backend, target)]

    # Posting ---------------------------------------------------------------------------------------------------------

    def test_discussion_nobody_began_is_empty(self, backend, target):
        assert self.got(backend, target) == []
        assert backend.count(target) == 0
        assert backend.page(target, order=Order.NEWEST).comments == ()
        with pytest.raises(CommentNotFound):
            backend.get(target, NOWHERE)

    def test_post_returns_what_is_stored(self, backend, target):
        posted = backend.post(target, new("one", author=ANN, kind=Kind.PINGBACK))
        comment = posted.comment
        assert (posted.new, comment.number, comment.rev, comment.depth) == (True, 1, 1, 0)
        assert (comment.author, comment.source, comment.html) == (ANN, "one", "<p>one</p>")
        assert (comment.kind, comment.state, comment.edited) == (Kind.PINGBACK, State.PUBLIC, None)
        assert self.got(backend, target) == [comment]

    def test_numbers_and_times_rise(self, backend, target):
        posted = [backend.post(target, new(str(n))).comment for n in range(30)]
        assert [comment.number for comment in posted] == list(range(1, 31))
        assert all(a.posted < b.posted for a, b in zip(posted, posted[1:], strict=False))
        assert self.got(backend, target) == posted

    def test_token_sent_again_posts_nothing(self, backend, target):
        first = backend.post(target, new("one")).comment
        again = backend.post(target, new("one", source="changed"))
        assert (again.new, again.comment) == (False, first)
        assert self.got(backend, target) == [first]

    def test_token_sent_after_removal_finds_the_tombstone(self, backend, target):
        first = backend.post(target, new("one")).comment
        removed = backend.remove(target, first.slug, rev=1, token="r")
        again = backend.post(target, new("one"))
        assert (again.new, again.comment) == (False, removed)

    def test_same_token_elsewhere_is_another_comment(self, backend, targets):
        for target in targets:
            assert backend.post(target, new("one")).new
        assert all(self.sources(backend, target) == ["one"] for target in targets)

    @pytest.mark.parametrize("text", ["$$ROOT", "$100 off", "{$gt: 1}", "a.b.$[]", "' \" \\ \u2028 语"])
    def test_text_full_of_signs_is_stored_as_typed(self, backend, target, text):
        comment = backend.post(target, new(text, author=Author(text, id=text, url=text), email=text)).comment
        edited = backend.edit(target, comment.slug, source=text + "!", html=text, rev=1, token=text, by=text)
        assert (edited.source, edited.html, edited.author) == (text + "!", text, Author(text, id=text, url=text))
        assert self.got(backend, target) == [edited]

    @pytest.mark.parametrize("slug", ["$$ROOT", "$slug", "", "a" * 15, "a.b", "a" * 16 + "/"])
    def test_what_is_no_slug_names_nothing(self, backend, target, slug):
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

    def test_reply_hangs_below_its_parent(self, backend, target):
        a = backend.post(target, new("a")).comment
        b = backend.post(target, new("b")).comment
        aa = backend.post(target, new("aa", a.slug)).comment
        assert (aa.parent, aa.answers, aa.depth) == (a.slug, a.slug, 1)
        assert aa.slug.startswith(a.slug + "/")
        self.got(backend, target)
        assert [c.slug for c in backend.iterate(target, order=Order.THREADED)] == [a.slug, aa.slug, b.slug]

    def test_reply_to_nothing_is_refused(self, backend, target):
        backend.post(target, new("a"))
        with pytest.raises(InvalidParent):
            backend.post(target, new("b", NOWHERE))
        assert self.sources(backend, target) == ["a"]

    def test_reply_to_a_removed_comment_is_refused(self, backend, target):
        a = backend.post(target, new("a")).comment
        backend.remove(target, a.slug, rev=1, token="r")
        with pytest.raises(InvalidParent):
            backend.post(target, new("b", a.slug))

    def test_parent_in_another_discussion_is_none(self, backend, targets):
        a = backend.post(targets[0], new("a")).comment
        with pytest.raises(InvalidParent):
            backend.post(targets[1], new("b", a.slug))

    def test_deep_replies_say_whom_they_answer(self, backend, target):
        slug, chain = "", []
        for n in range(12):
            chain.append(backend.post(target, new(str(n), slug)).comment)
            slug = chain[-1].slug
        assert [c.depth for c in chain] == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7]
        assert [c.answers for c in chain[1:]] == [c.slug for c in chain[:-1]]
        assert {c.parent for c in chain[8:]} == {chain[6].slug}
        assert self.got(backend, target) == chain

    def test_closed_discussion_takes_no_posts_but_changes(self, backend, target):
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

    # Reading ---------------------------------------------------------------------------------------------------------

    def test_pages_are_ranges_of_numbers(self, backend, target):
        self.gappy(backend, target)
        for size in (2, 5, 7):
            for number in range(1, 30 // size + 2):
                page = backend.page(target, order=Order.OLDEST, size=size, number=number)
                assert all((c.number - 1) // size + 1 == page.number for c in page.comments)

    def gappy(self, backend, target):
        """Twenty comments among thirty numbers: others were given, and not used."""
        for n in range(30):
            if n % 3 == 1 or 9 < n < 16:
                with pytest.raises(InvalidParent):
                    backend.post(target, new(str(n), NOWHERE))
            else:
                backend.post(target, new(str(n)))

    def test_pages_without_comments_are_passed_over(self, backend, target):
        self.gappy(backend, target)
        self.got(backend, target)
        ahead = backend.page(target, order=Order.OLDEST, size=2, number=6)
        assert [c.number for c in ahead.comments] == [18]
        behind = backend.page(target, order=Order.NEWEST, size=2, number=8)
        assert [c.number for c in behind.comments] == [10, 9]

    def test_page_beyond_the_last_is_the_last(self, backend, target):
        for n in range(5):
            backend.post(target, new(str(n)))
        page = backend.page(target, order=Order.OLDEST, size=2, number=99)
        assert ([c.source for c in page.comments], page.number, page.pages) == (["4"], 3, 3)

    @pytest.mark.parametrize("order", list(Order))
    def test_permalink_opens_the_page_that_holds_it(self, backend, target, order):
        roots = [backend.post(target, new(str(n))).comment for n in range(6)]
        for n in range(6, 30):
            backend.post(target, new(str(n), roots[n % 6].slug))
        for comment in self.got(backend, target):
            alone = backend.page(target, order=order, size=1, at=comment.slug)
            assert [c.slug for c in alone.comments] == [comment.slug]
            page = backend.page(target, order=order, size=4, at=comment.slug)
            assert comment in page.comments
            assert len(page.comments) <= 4
        with pytest.raises(CommentNotFound):
            backend.page(target, order=order, at=NOWHERE)

    def test_subdiscussion_is_a_comment_and_all_below_it(self, backend, target):
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

    def test_threaded_pages_go_back_too(self, backend, target):
        roots = [backend.post(target, new(str(n))).comment for n in range(9)]
        for n in range(9, 20):
            backend.post(target, new(str(n), roots[n % 9].slug))
        everything = list(backend.iterate(target, order=Order.THREADED))
        for at in range(1, 20):
            page = backend.page(target, order=Order.THREADED, size=6, before=everything[at].full_slug)
            assert list(page.comments) == everything[max(0, at - 6) : at]

    def test_many_discussions_are_looked_up_at_once(self, backend, targets):
        backend.post(targets[0], new("one"))
        found = backend.discussions(targets)
        assert [found[target].count for target in targets] == [1] + [0] * (len(targets) - 1)

    # Changing --------------------------------------------------------------------------------------------------------

    def test_edit_raises_the_revision_and_keeps_the_old_text(self, backend, target):
        first = backend.post(target, new("one", email="ann@example.org")).comment
        edited = backend.edit(target, first.slug, source="two", html="<p>two</p>", rev=1, token="e", by="9")
        assert (edited.source, edited.rev, edited.number, edited.posted) == ("two", 2, first.number, first.posted)
        assert edited.edited is not None
        assert self.got(backend, target) == [edited]
        assert [(entry.comment.source, entry.comment.rev) for entry in backend.history(target, first.slug)] == [
            ("one", 1)
        ]
        assert backend.email_of(target, first.slug) == "ann@example.org"

    def test_edit_sent_again_is_made_once(self, backend, target):
        first = backend.post(target, new("one")).comment
        edited = backend.edit(target, first.slug, source="two", html="", rev=1, token="e")
        assert backend.edit(target, first.slug, source="two", html="", rev=1, token="e") == edited
        later = backend.edit(target, first.slug, source="three", html="", rev=2, token="f")
        assert backend.edit(target, first.slug, source="two", html="", rev=1, token="e") == later
        assert self.got(backend, target) == [later]

    def test_stale_edit_shows_what_is_stored(self, backend, target):
        first = backend.post(target, new("one")).comment
        edited = backend.edit(target, first.slug, source="two", html="", rev=1, token="e")
        with pytest.raises(EditConflict) as conflict:
            backend.edit(target, first.slug, source="other", html="", rev=1, token="f")
        assert conflict.value.theirs == edited
        assert backend.edit(target, first.slug, source="two", html="", rev=1, token="g") == edited
        assert self.got(backend, target) == [edited]

    def test_removed_leaves_a_tombstone_in_its_place(self, backend, target):
        a = backend.post(target, new("a", email="ann@example.org")).comment
        backend.post(target, new("aa", a.slug))
        removed = backend.remove(target, a.slug, rev=1, token="r")
        assert (removed.state, removed.source, removed.html, removed.author) == (State.REMOVED, "", "", Author(""))
        assert (removed.number, removed.slug, removed.rev) == (1, a.slug, 2)
        assert backend.remove(target, a.slug, rev=1, token="other") == removed
        assert backend.email_of(target, a.slug) == ""
        assert self.sources(backend, target) == ["", "aa"]
        with pytest.raises(CommentNotFound):
            backend.edit(target, a.slug, source="x", html="", rev=2, token="e")

    def test_removal_of_what_was_edited_meanwhile_conflicts(self, backend, target):
        a = backend.post(target, new("a")).comment
        backend.edit(target, a.slug, source="b", html="", rev=1, token="e")
        with pytest.raises(EditConflict):
            backend.remove(target, a.slug, rev=1, token="r")
        assert self.sources(backend, target) == ["b"]

    def test_restore_brings_everything_back(self, backend, target):
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
    def test_changing_nothing_fails(self, backend, target, change):
        text = {"source": "", "html": ""} if change == "edit" else {}
        with pytest.raises(CommentNotFound):
            getattr(backend, change)(target, NOWHERE, rev=1, token="t", **text)
        backend.post(target, new("one"))
        with pytest.raises(CommentNotFound):
            getattr(backend, change)(target, NOWHERE, rev=1, token="t", **text)
        assert self.sources(backend, target) == ["one"]

    # The queue -------------------------------------------------------------------------------------------------------

    def test_held_comment_is_nowhere_until_approved_in_its_place(self, backend, target):
        backend.post(target, new("1"))
        held = backend.hold(target, new("2", email="ann@example.org"), ("first-time",)).held
        backend.post(target, new("3"))
        assert (held.verdict, held.reasons, held.email) == (Verdict.WAITING, ("first-time",), "ann@example.org")
        assert self.sources(backend, target) == ["1", "3"]
        assert backend.held() == (held,) == backend.held(target=target)
        assert backend.held_by_token(target, "2") == held
        backend.approve(held.id, by="9")
        assert self.sources(backend, target) == ["1", "2", "3"]
        assert (backend.held(), backend.held_by_token(target, "2")) == ((), None)
        assert backend.get_held(held.id).verdict is Verdict.APPROVED

    def test_held_reply_is_approved_below_its_parent(self, backend, target):
        a = backend.post(target, new("a")).comment
        held = backend.hold(target, new("aa", a.slug)).held
        backend.post(target, new("b"))
        approved = backend.approve(held.id)
        assert (approved.parent, approved.answers) == (a.slug, a.slug)
        assert self.sources(backend, target) == ["a", "aa", "b"]
        with pytest.raises(InvalidParent):
            backend.hold(target, new("c", NOWHERE))

    def test_held_reply_is_approved_below_a_tombstone_too(self, backend, target):
        a = backend.post(target, new("a")).comment
        held = backend.hold(target, new("aa", a.slug)).held
        backend.remove(target, a.slug, rev=1, token="r")
        assert backend.approve(held.id).parent == a.slug
        assert self.sources(backend, target) == ["", "aa"]

    def test_first_comment_may_be_a_held_one(self, backend, target):
        held = backend.hold(target, new("1")).held
        assert backend.approve(held.id).number == 1
        backend.post(target, new("2"))
        assert self.sources(backend, target) == ["1", "2"]

    def test_token_is_held_once_and_published_once(self, backend, target):
        held = backend.hold(target, new("1"))
        again = backend.hold(target, new("1"))
        assert (held.new, again.new, again.held) == (True, False, held.held)
        comment = backend.approve(held.held.id)
        assert backend.approve(held.held.id) == comment
        assert backend.hold(target, new("1")).comment == comment
        assert backend.post(target, new("1")).comment == comment
        assert self.got(backend, target) == [comment]

    def test_rejected_leaves_no_gap(self, backend, target):
        for n in range(12):
            spam = backend.hold(target, new(f"spam {n}")).held
            backend.reject(spam.id, verdict=Verdict.SPAM)
            backend.post(target, new(str(n)))
        assert [c.number for c in self.got(backend, target)] == list(range(1, 13))
        assert len(backend.held(verdict=Verdict.SPAM)) == 12

    def test_numbers_that_many_were_approved_under_are_given_anew(self, backend, target, monkeypatch):
        monkeypatch.setattr("comments.backends.numbering.CROWD", 6)
        backend.post(target, new("first"))
        held = [backend.hold(target, new(f"held {n}")).held for n in range(9)]
        later = backend.hold(target, new("later")).held
        backend.post(target, new("last"))
        numbers = [backend.approve(one.id).number for one in reversed(held[:7])]
        assert numbers == [1, 1, 1, 1, 1, 1, 2]
        assert [c.number for c in self.got(backend, target)] == list(range(1, 10))
        assert [backend.get_held(one.id).number for one in (*held[7:], later)] == [8, 8, 8]
        for one in (*held[7:], later):
            backend.approve(one.id)
        sources = ["first", *(f"held {n}" for n in range(9)), "later", "last"]
        assert self.sources(backend, target) == sources

    def test_comment_held_for_days_appears_at_its_original_place(self, backend, target):
        backend.import_(target, [imported(n) for n in (1, 2)])
        held = backend.hold(target, imported(3)).held
        reply = backend.hold(target, imported(4, parent=next(backend.iterate(target)).slug)).held
        backend.import_(target, [imported(n) for n in (5, 6, 7, 8, 9)])
        backend.post(target, new("now"))
        comments = [backend.approve(one.id) for one in (reply, held)]
        assert [c.posted for c in comments] == [reply.posted, held.posted]
        assert self.sources(backend, target) == ["1", "2", "3", "4", "5", "6", "7", "8", "9", "now"]
        threaded = [c.source for c in backend.iterate(target, order=Order.THREADED)]
        assert threaded == ["1", "4", "2", "3", "5", "6", "7", "8", "9", "now"]
        page = backend.page(target, order=Order.OLDEST, size=2, number=1)
        assert [c.source for c in page.comments] == ["1", "2", "3", "4"]

    def test_rejection_can_be_taken_back(self, backend, target):
        held = backend.hold(target, new("1")).held
        assert backend.reject(held.id).verdict is Verdict.REJECTED
        assert backend.reject(held.id, verdict=Verdict.WAITING).verdict is Verdict.WAITING
        backend.reject(held.id)
        backend.approve(held.id)
        assert backend.reject(held.id).verdict is Verdict.APPROVED
        assert self.sources(backend, target) == ["1"]
        with pytest.raises(CommentNotFound):
            backend.approve("nothing")

    def test_held_comment_is_changed_by_its_author_until_a_moderator_decides(self, backend, target):
        backend.post(target, new("0"))
        held = backend.hold(target, new("1")).held
        changed = backend.change_held(held.id, source="1 $$ROOT", html="<p>1</p>", rev=1)
        assert (changed.source, changed.html, changed.rev, changed.posted) == ("1 $$ROOT", "<p>1</p>", 2, held.posted)
        assert backend.change_held(held.id, source="1 $$ROOT", html="<p>1</p>", rev=1) == changed
        with pytest.raises(HeldChanged):
            backend.change_held(held.id, source="other", html="", rev=1)
        assert backend.held(target=target) == (changed,)
        with pytest.raises(HeldChanged):
            backend.approve(held.id, rev=1)
        assert self.sources(backend, target) == ["0"]
        comment = backend.approve(held.id, rev=2)
        assert (comment.source, comment.rev) == ("1 $$ROOT", 1)
        for late in (
            lambda: backend.change_held(held.id, source="2", html="", rev=2),
            lambda: backend.withdraw(held.id),
        ):
            with pytest.raises(CommentNotFound):
                late()
        assert self.sources(backend, target) == ["0", "1 $$ROOT"]

    def test_withdrawn_comment_is_never_published_and_its_token_posts_nothing(self, backend, target):
        backend.post(target, new("0"))
        held = backend.hold(target, new("1", email="ann@example.org"), ("links",)).held
        gone = backend.withdraw(held.id)
        assert (gone.verdict, gone.source, gone.html, gone.author) == (Verdict.WITHDRAWN, "", "", Author(""))
        assert (gone.email, gone.reasons) == ("", ())
        again = backend.hold(target, new("1"))
        assert (again.new, again.held.verdict) == (False, Verdict.WITHDRAWN)
        with pytest.raises(CommentNotFound):
            backend.approve(held.id)
        assert backend.reject(held.id, verdict=Verdict.WAITING).verdict is Verdict.WITHDRAWN
        assert (backend.held(), self.sources(backend, target)) == ((), ["0"])

    def test_queue_is_read_by_author_and_by_slug(self, backend, targets):
        held = [backend.hold(target, new("1")).held for target in targets]
        bobs = backend.hold(targets[0], new("2", author=BOB)).held
        assert backend.held(author_id="7") == tuple(held)
        assert backend.held(target=targets[1], author_id="7") == (held[1],)
        assert backend.held(target=targets[0], slug=bobs.slug) == (bobs,)

    def test_queue_is_read_by_pages(self, backend, target):
        held = [backend.hold(target, new(str(n))).held for n in range(7)]
        first = backend.held(limit=3)
        assert first + backend.held(after=first[-1].id) == tuple(held)

    # Over discussions --------------------------------------------------------------------------------------------------

    def test_recent_and_own_comments_are_of_all_discussions(self, backend, targets):
        posted = []
        for n in range(24):
            author = ANN if n % 3 else BOB
            posted.append(backend.post(targets[n * n % len(targets)], new(str(n), author=author)).comment)
        gone = posted.pop()
        backend.remove(gone.target, gone.slug, rev=1, token="r")
        posted.sort(key=lambda c: (c.posted, c.slug), reverse=True)
        assert backend.recent(5) == tuple(posted[:5])
        assert backend.recent(100) == tuple(posted)
        mine = [c for c in posted if c.author == ANN]
        assert backend.by_author("7", limit=4) == tuple(mine[:4])
        assert backend.by_author("7", limit=100, before=mine[3].posted) == tuple(mine[4:])
        assert backend.by_author("8") == ()

    def test_all_that_an_author_wrote_is_found_and_nothing_else(self, backend, targets):
        for target in targets:
            a = backend.post(target, new("a", email="ann@example.org")).comment
            backend.post(target, new("b", author=BOB, email="bob@example.org"))
            backend.edit(target, a.slug, source="edited", html="", rev=1, token="e")
            backend.hold(target, new("held", email="ann@example.org"))
        for asked in ({"id": "7"}, {"email": "ann@example.org"}):
            found = list(backend.written_by(**asked))
            texts = sorted(getattr(one, "comment", one).source for one in found)
            assert texts == sorted(["a", "edited", "held"] * len(targets))
        assert list(backend.written_by(email="nobody@example.org")) == []

    def test_begun_discussions_and_their_addresses_are_listed(self, backend, targets):
        for target in targets:
            backend.post(target, new("a", email="ann@example.org"))
            backend.post(target, new("b"))
            assert [(c.source, email) for c, email in backend.with_addresses(target)] == [
                ("a", "ann@example.org"),
                ("b", ""),
            ]
        assert list(backend.targets()) == sorted(targets, key=lambda t: t.id)
        assert list(backend.targets(label="no.such")) == []

    def test_erased_author_is_nowhere(self, backend, targets):
        for target in targets:
            a = backend.post(target, new("a", email="ann@example.org")).comment
            b = backend.post(target, new("b", author=BOB, email="bob@example.org")).comment
            backend.edit(target, a.slug, source="edited", html="", rev=1, token="e")
            gone = backend.post(target, new("gone")).comment
            backend.remove(target, gone.slug, rev=1, token="r")
            backend.hold(target, new("held"))
        assert backend.erase_author(id="7") == 2 * len(targets)
        for target in targets:
            assert [(c.source, c.author) for c in self.got(backend, target)] == [
                ("", Author("")),
                ("b", BOB),
                ("", Author("")),
            ]
            with pytest.raises(NothingToRestore):
                backend.restore(target, gone.slug, rev=2, token="u")
            assert backend.held() == ()
            assert [entry.comment.author for entry in backend.history(target, a.slug)] == []
        assert backend.erase_author(email="bob@example.org") == len(targets)
        assert backend.erase_author(email="bob@example.org") == 0
        assert not any(c.source for target in targets for c in self.got(backend, target))
        assert backend.get(targets[0], b.slug).removed

    def test_forgotten_discussion_begins_anew(self, backend, targets):
        for target in targets[:2]:
            backend.post(target, new("one"))
            backend.hold(target, new("two"))
        assert backend.forget(targets[0]) == 1
        assert (self.got(backend, targets[0]), self.sources(backend, targets[1])) == ([], ["one"])
        assert len(backend.held()) == 1
        assert backend.forget(targets[0]) == 0
        assert backend.post(targets[0], new("one")).new

    # Imports ---------------------------------------------------------------------------------------------------------

    def test_import_keeps_times_and_is_made_once(self, backend, target):
        old = [imported(n) for n in range(6)]
        assert backend.import_(target, old) == 6
        assert backend.import_(target, old) == 0
        assert [c.posted for c in self.got(backend, target)] == [n.posted for n in old]
        assert backend.post(target, new("now")).comment.number == 7

    def test_import_of_threads_and_tombstones(self, backend, target):
        top = imported(1, state=State.REMOVED)
        backend.import_(target, [top])
        (tombstone,) = self.got(backend, target)
        backend.import_(target, [imported(2, parent=tombstone.slug)])
        assert self.sources(backend, target) == ["", "2"]
        assert backend.count(target) == 1
        with pytest.raises(NothingToRestore):
            backend.restore(target, tombstone.slug, rev=1, token="r")

    def test_older_comments_take_their_place_among_those_that_were_there(self, backend, target):
        backend.import_(target, [imported(n) for n in (2, 4, 6)])
        a = backend.post(target, new("now")).comment
        reply = backend.post(target, new("reply", a.slug)).comment
        held = backend.hold(target, new("held")).held
        assert backend.import_(target, [imported(n) for n in (1, 3, 5, 7)]) == 4
        assert self.sources(backend, target) == ["1", "2", "3", "4", "5", "6", "7", "now", "reply"]
        assert [c.number for c in self.got(backend, target)] == list(range(1, 10))
        assert backend.get(target, reply.slug).parent == a.slug
        backend.post(target, new("last"))
        backend.approve(held.id)
        assert self.sources(backend, target)[-3:] == ["reply", "held", "last"]


def imported(n, **kwargs):
    posted = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=n)
    return new(str(n), kwargs.pop("parent", ""), posted=posted, **kwargs)


def walk(backend, target, order, size):
    """Return all comments, page by page as a reader follows the links."""
    found = []
    page = backend.page(target, order=order, size=size)
    while True:
        assert page.order is page.asked is order
        found += page.comments
        if not page.next:
            return found
        if order is Order.THREADED:
            assert len(page.comments) <= size
            page = backend.page(target, order=order, size=size, after=page.next)
        else:
            seen, page = page.number, backend.page(target, order=order, size=size, number=int(page.next))
            if page.number == seen or (page.number > seen) is (order is Order.NEWEST):
                return found  # the pages ahead were all empty, and it turned back
