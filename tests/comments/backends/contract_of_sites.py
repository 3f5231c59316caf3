"""The contract of back ends: operations on many or whole discussions, such as imports."""

import pytest

from marginalia.comments.errors import NothingToRestore
from marginalia.comments.types import CommentAuthor, State
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
