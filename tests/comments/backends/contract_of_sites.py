"""The contract of back ends: operations on many or whole discussions, such as imports, bulk decisions and bans."""

from datetime import timedelta

import pytest

from marginalia.comments.errors import NothingToRestore
from marginalia.comments.types import BatchState, CommentAuthor, Selection, State, TermKind, Verdict
from marginalia.mongo.clock import now
from tests.comments.backends.contract import Contract
from tests.support.comments.making import ANN, BOB, NOWHERE, imported, new


class SiteContract(Contract):
    """Operations of a back end on all discussions and authors, and imports."""

    def test_recent_and_own_comments_cover_all_discussions(self, backend, targets):
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

    def test_exactly_the_comments_of_an_author_are_found(self, backend, targets):
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

    def test_many_removed_comments_are_restored_by_their_token(self, backend, target):
        posted = [backend.post(target, new(f"{n}", email=f"{n}@example.org")).comment for n in range(9)]
        reply = backend.post(target, new("reply", posted[2].slug)).comment
        backend.edit(target, posted[3].slug, source="edited", html="", rev=1, token="e")
        backend.remove(target, posted[4].slug, rev=1, token="r")
        chosen = [*(comment.slug for comment in posted[2:7]), NOWHERE]
        assert backend.remove_many(target, chosen, token="t") == 4
        assert backend.remove_many(target, chosen, token="t") == 0
        assert self.sources(backend, target) == ["0", "1", "", "", "", "", "", "7", "8", "reply"]
        assert backend.get(target, reply.slug).parent == posted[2].slug
        assert backend.restore_many(target, chosen, token="another") == 0
        assert backend.restore_many(target, chosen, token="t") == 4
        assert backend.restore_many(target, chosen, token="t") == 0
        assert self.sources(backend, target) == ["0", "1", "2", "edited", "", "5", "6", "7", "8", "reply"]
        assert [backend.email_of(target, comment.slug) for comment in posted[5:7]] == ["5@example.org", "6@example.org"]
        assert [entry.comment.source for entry in backend.history(target, posted[3].slug)] == ["", "edited", "3"]

    def test_comments_changed_since_they_were_removed_are_left_alone(self, backend, target):
        again, gone, erased, kept = (
            backend.post(target, new(text, author=author)).comment
            for text, author in (("again", BOB), ("gone", BOB), ("erased", ANN), ("kept", BOB))
        )
        slugs = [again.slug, gone.slug, erased.slug]
        assert backend.remove_many(target, slugs, token="t") == 3
        backend.restore(target, again.slug, rev=2, token="u")
        assert backend.remove_many(target, slugs, token="t") == 0
        backend.restore(target, gone.slug, rev=2, token="u")
        backend.remove(target, gone.slug, rev=3, token="by hand")
        backend.erase_author(id=ANN.id)
        assert backend.restore_many(target, slugs, token="t") == 0
        assert self.sources(backend, target) == ["again", "", "", "kept"]
        assert backend.get(target, kept.slug).rev == 1

    # Bulk decisions and bans -----------------------------------------------------------------------------------------

    def test_bulk_decision_hides_what_it_counted_and_is_undone(self, backend, targets):
        for target in targets:
            backend.post(target, new("public", email="ann@example.org"))
            backend.hold(target, new("held"))
            backend.post(target, new("other", author=BOB))
        selection = Selection(terms=(TermKind.ACCOUNT.term(ANN.id),))
        counted = backend.count_selected(selection)
        assert (counted.published, counted.pending, counted.discussions) == (len(targets),) * 3
        batch = backend.start_batch(selection, Verdict.SPAM, what="account:7", by="9")
        assert (batch.by, batch.what, batch.total, batch.is_finished) == ("9", "account:7", 0, False)
        done = backend.work_on_batch(batch.id)
        assert (done.state, done.total, done.left, done.skipped) == (BatchState.DONE, counted.comments, 0, 0)
        assert backend.count_selected(selection).comments == 0
        for target in targets:
            assert self.sources(backend, target) == ["", "other"]
            assert [held.verdict for held in backend.held(target=target, verdict=None)] == [Verdict.SPAM]
        assert backend.undo_batch(batch.id).state is BatchState.UNDOING
        assert backend.work_on_batch(batch.id).restored == counted.comments
        for target in targets:
            assert self.sources(backend, target) == ["public", "other"]
            assert [held.source for held in backend.held(target=target)] == ["held"]
        assert backend.undo_batch(batch.id) == backend.work_on_batch(batch.id) == backend.batch(batch.id)

    def test_undo_leaves_what_others_decided_since(self, backend, target):
        texts = ("kept", "restored", "removed again")
        posted = {text: backend.post(target, new(text)).comment for text in texts}
        held = {text: backend.hold(target, new(f"held {text}")).held for text in ("approved", "rejected", "waiting")}
        selection = Selection(terms=(TermKind.ACCOUNT.term(ANN.id),), discussions=(target.id,))
        batch = backend.start_batch(selection, Verdict.SPAM)
        assert backend.work_on_batch(batch.id).total == 6
        for text in texts[1:]:
            backend.restore(target, posted[text].slug, rev=2, token=f"u {text}")
        backend.remove(target, posted["removed again"].slug, rev=3, token="by hand")
        backend.approve(held["approved"].id, by="9")
        backend.reject(held["rejected"].id, by="9")
        backend.undo_batch(batch.id)
        assert backend.work_on_batch(batch.id).restored == 2
        public = [comment.source for comment in self.got(backend, target) if not comment.removed]
        assert sorted(public) == ["held approved", "kept", "restored"]
        verdicts = {one.source: one.verdict for one in backend.held(target=target, verdict=None)}
        assert (verdicts["held rejected"], verdicts["held waiting"]) == (Verdict.REJECTED, Verdict.WAITING)

    def test_undo_of_a_bulk_decision_that_never_began_changes_nothing(self, backend, target):
        backend.post(target, new("public"))
        batch = backend.start_batch(Selection(discussions=(target.id,)), Verdict.SPAM)
        backend.undo_batch(batch.id)
        undone = backend.work_on_batch(batch.id)
        assert (undone.state, undone.total, undone.restored) == (BatchState.UNDONE, 0, 0)
        assert self.sources(backend, target) == ["public"]

    def test_ban_matches_until_it_ends_or_is_lifted(self, backend, targets):
        later, past = now() + timedelta(days=1), now() - timedelta(seconds=1)
        bans = backend.bans
        ban = bans.add(TermKind.LINK_DOMAIN, "casino.example", reason="A wave", by="9", expires=later)
        bans.add(TermKind.EMAIL, "a@b.example", reason="", by="8", expires=past)
        pattern = bans.add(TermKind.PATTERN, "pills cheap*", reason="", by="9", expires=None)
        assert bans.matching(["link:casino.example", "email:a@b.example", "word:pills"]) == [ban, pattern]
        assert bans.matching([]) == [pattern]
        again = bans.add(TermKind.LINK_DOMAIN, "casino.example", reason="Again", by="8", expires=None)
        assert (again.id, again.created, again.reason, again.by) == (ban.id, ban.created, "Again", "8")
        assert (bans.get(ban.id), bans.count_patterns()) == (again, 1)
        bans.forget_moderator("8")
        assert [found.by for found in bans.matching(["link:casino.example"])] == ["", "9"]
        assert bans.lift(ban.id).value == "casino.example"
        assert (bans.lift(ban.id), bans.get(ban.id), bans.matching(["link:casino.example"])) == (None, None, [pattern])
        assert (bans.erase(["words:pills cheap*", "account:7"]), bans.matching([])) == (1, [])

    def test_bans_are_searched_newest_first(self, backend, targets):
        made = [
            backend.bans.add(TermKind.EMAIL_DOMAIN, f"{name}.example", reason=reason, by="", expires=None)
            for name, reason in (("a", "wave"), ("b", "other"), ("c", "wave"))
        ]
        assert backend.bans.find(limit=9) == made[::-1]
        assert backend.bans.find("wave", limit=9) == [made[2], made[0]]
        assert backend.bans.find("wave", limit=9, after=made[2].id) == [made[0]]
        assert backend.bans.find(limit=1) == [made[2]]

    def test_started_discussions_and_their_targets_are_listed(self, backend, targets):
        for target in targets:
            backend.post(target, new("a", email="ann@example.org"))
            backend.post(target, new("b"))
            assert [(c.source, email) for c, email in backend.iterate_with_emails(target)] == [
                ("a", "ann@example.org"),
                ("b", ""),
            ]
        assert list(backend.targets()) == sorted(targets, key=lambda t: t.id)
        assert list(backend.targets(label="no.such")) == []

    def test_erased_author_is_found_nowhere(self, backend, targets):
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
                ("", CommentAuthor("")),
                ("b", BOB),
                ("", CommentAuthor("")),
            ]
            with pytest.raises(NothingToRestore):
                backend.restore(target, gone.slug, rev=2, token="u")
            assert backend.held() == ()
            assert [entry.comment.author for entry in backend.history(target, a.slug)] == []
        assert backend.erase_author(email="bob@example.org") == len(targets)
        assert backend.erase_author(email="bob@example.org") == 0
        assert not any(c.source for target in targets for c in self.got(backend, target))
        assert backend.get(targets[0], b.slug).removed

    def test_deleted_discussion_can_start_again(self, backend, targets):
        for target in targets[:2]:
            backend.post(target, new("one"))
            backend.hold(target, new("two"))
        assert backend.delete_discussion(targets[0]) == 1
        assert (self.got(backend, targets[0]), self.sources(backend, targets[1])) == ([], ["one"])
        assert len(backend.held()) == 1
        assert backend.delete_discussion(targets[0]) == 0
        assert backend.post(targets[0], new("one")).new

    def test_import_keeps_times_and_runs_once(self, backend, target):
        old = [imported(n) for n in range(6)]
        assert backend.import_(target, old) == 6
        assert backend.import_(target, old) == 0
        assert [c.posted for c in self.got(backend, target)] == [n.posted for n in old]
        assert backend.post(target, new("now")).comment.number == 7

    def test_threads_and_tombstones_are_imported(self, backend, target):
        top = imported(1, state=State.REMOVED)
        backend.import_(target, [top])
        (tombstone,) = self.got(backend, target)
        backend.import_(target, [imported(2, parent=tombstone.slug)])
        assert self.sources(backend, target) == ["", "2"]
        assert backend.discussion(target).count == 1
        with pytest.raises(NothingToRestore):
            backend.restore(target, tombstone.slug, rev=1, token="r")

    def test_older_imported_comments_are_sorted_in(self, backend, target):
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
