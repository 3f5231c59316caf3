"""The contract of back ends: comments that wait for a moderator."""

from datetime import timedelta

import pytest

from marginalia.comments.errors import CommentNotFound, HeldChanged, InvalidParent
from marginalia.comments.types import CommentAuthor, Order, Verdict
from marginalia.mongo.clock import now
from tests.comments.backends.contract import Contract
from tests.support.comments.making import BOB, NOWHERE, imported, new


class QueueContract(Contract):
    """Operations of a back end on held comments."""

    def test_held_comment_is_hidden_until_approved_in_its_place(self, backend, target):
        backend.post(target, new("1"))
        held = backend.hold(target, new("2", email="ann@example.org"), ("first-time",)).held
        backend.post(target, new("3"))
        assert (held.verdict, held.reasons, held.email) == (Verdict.WAITING, ("first-time",), "ann@example.org")
        assert self.sources(backend, target) == ["1", "3"]
        assert backend.held() == (held,) == backend.held(target=target)
        assert backend.held(target=target, slug=held.slug) == (held,)
        backend.approve(held.id, by="9")
        assert self.sources(backend, target) == ["1", "2", "3"]
        assert (backend.held(), backend.held(target=target, slug=held.slug)) == ((), ())
        assert [one.verdict for one in backend.held(target=target, slug=held.slug, verdict=None)] == [Verdict.APPROVED]
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

    def test_held_reply_is_approved_below_a_tombstone(self, backend, target):
        a = backend.post(target, new("a")).comment
        held = backend.hold(target, new("aa", a.slug)).held
        backend.remove(target, a.slug, rev=1, token="r")
        assert backend.approve(held.id).parent == a.slug
        assert self.sources(backend, target) == ["", "aa"]

    def test_first_comment_can_be_a_held_one(self, backend, target):
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

    def test_rejected_comments_leave_no_gap(self, backend, target):
        for n in range(12):
            spam = backend.hold(target, new(f"spam {n}")).held
            backend.reject(spam.id, verdict=Verdict.SPAM)
            backend.post(target, new(str(n)))
        assert [c.number for c in self.got(backend, target)] == list(range(1, 13))
        assert len(backend.held(verdict=Verdict.SPAM)) == 12

    def test_comment_held_for_days_gets_its_original_place(self, backend, target):
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

    def test_rejection_can_be_undone(self, backend, target):
        held = backend.hold(target, new("1")).held
        assert backend.reject(held.id).verdict is Verdict.REJECTED
        assert backend.reject(held.id, verdict=Verdict.WAITING).verdict is Verdict.WAITING
        backend.reject(held.id)
        backend.approve(held.id)
        assert backend.reject(held.id).verdict is Verdict.APPROVED
        assert self.sources(backend, target) == ["1"]
        with pytest.raises(CommentNotFound):
            backend.approve("nothing")

    def test_author_edits_a_held_comment_until_it_is_decided(self, backend, target):
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

    def test_withdrawn_comment_is_never_published(self, backend, target):
        backend.post(target, new("0"))
        held = backend.hold(target, new("1", email="ann@example.org"), ("links",)).held
        gone = backend.withdraw(held.id)
        assert (gone.verdict, gone.source, gone.html, gone.author) == (Verdict.WITHDRAWN, "", "", CommentAuthor(""))
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

    def test_queue_omits_comments_leased_to_other_moderators(self, backend, target):
        first, second, third = (backend.hold(target, new(str(n))).held for n in range(3))
        until = now() + timedelta(hours=1)
        assert (backend.lease("ann", until), backend.lease("bob", until)) == (first, second)
        assert backend.held(available_to="ann") == (first, third)
        assert backend.held(available_to="bob", limit=1) == (second,)
        assert backend.held(available_to="cleo") == (third,)
        assert backend.release("ann") == 1
        assert backend.held(available_to="bob") == (first, second, third)

    def test_queue_is_read_by_pages(self, backend, target):
        held = [backend.hold(target, new(str(n))).held for n in range(7)]
        first = backend.held(limit=3)
        assert first + backend.held(after=first[-1].id) == tuple(held)
