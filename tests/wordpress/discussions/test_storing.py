"""Imported comments: threads, times, visibility, and pending ones."""

from datetime import UTC, datetime

import pytest

from marginalia.comments.moderation import pending
from marginalia.comments.posting import preparation
from marginalia.comments.reading import selectors
from marginalia.comments.types import Order, Verdict
from tests.support.wxr import comment, export, item, page
from tests.wordpress.stored import snapshot, stored, target

pytestmark = pytest.mark.usefixtures("mongo")


class TestComments:
    def test_threads_keep_order_and_times_in_any_file_order(self, mongo, run):
        comments = (
            comment(5, "reply to the reply", parent=3, gmt="2012-03-05 09:00:00"),
            comment(3, "reply", parent=1, gmt="2012-03-05 08:00:00"),
            comment(4, "second", gmt="2012-03-05 07:30:00"),
            comment(1, "first", gmt="2012-03-05 07:00:00"),
            comment(6, "before what it answers", parent=4, gmt="2012-03-05 01:00:00"),
            comment(7, "answers one that is not there", parent=99, gmt="2012-03-05 10:00:00"),
            comment(8, "spam", approved="spam"),
            comment(9, "answers spam", parent=8, gmt="2012-03-05 11:00:00"),
        )
        run(export(item(1, "One", "x", *comments)))
        there = target(stored(mongo)["blog/post-1"], mongo)
        threaded = [(one.depth, one.source) for one in selectors.iterate(there, order=Order.THREADED)]
        assert threaded == [
            (0, "first"),
            (1, "reply"),
            (2, "reply to the reply"),
            (0, "second"),
            (1, "before what it answers"),
            (0, "answers one that is not there"),
            (0, "answers spam"),
        ]
        oldest = [one.posted for one in selectors.iterate(there)]
        assert oldest == sorted(oldest)
        assert oldest[0] == datetime(2012, 3, 5, 7, tzinfo=UTC)
        assert selectors.count(there) == 7

    def test_circular_and_duplicate_comments_are_handled(self, mongo, run):
        comments = (comment(1, "a", parent=2), comment(2, "b", parent=1), comment(3, "c", parent=3), comment(3, "d"))
        run(export(item(1, "One", "x", *comments, comment(0, "e"), comment(0, "f"))))
        there = target(stored(mongo)["blog/post-1"], mongo)
        assert sorted(one.source for one in selectors.iterate(there)) == ["a", "b", "c", "e", "f"]

    def test_deep_threads_record_whom_they_answer(self, mongo, run):
        comments = [comment(number, f"level {number}", parent=number - 1) for number in range(1, 13)]
        run(export(item(1, "One", "x", *comments)))
        found = list(selectors.iterate(target(stored(mongo)["blog/post-1"], mongo), order=Order.THREADED))
        assert [one.source for one in found] == [f"level {number}" for number in range(1, 13)]
        assert [one.answers for one in found[1:]] == [one.slug for one in found[:-1]]

    def test_pending_comments_are_queued_and_spam_is_dropped(self, mongo, run, client):
        comments = (
            comment(1, "approved"),
            comment(2, "waits", parent=1, approved="0", gmt="2012-03-06 00:00:00"),
            comment(3, "answers what waits", parent=2, approved="0"),
            comment(4, "spam", approved="spam"),
            comment(5, "thrown away", approved="trash"),
        )
        said = run(export(item(1, "One", "x", *comments)))
        waiting = {held.source: held for held in selectors.held()}
        assert set(waiting) == {"waits", "answers what waits"}
        assert waiting["waits"].posted == datetime(2012, 3, 6, tzinfo=UTC)
        assert waiting["waits"].parent == waiting["answers what waits"].parent != ""
        shown = client.get("/blog/post-1").content.decode()
        assert "approved" in shown
        assert not any(text in shown for text in ("waits", "spam", "thrown away"))
        assert "5 comments (1 approved, 1 of them public; 2 pending; 1 spam; 1 in the trash; 2 replies)" in said

    def test_pingbacks_are_counted_separately(self, mongo, run):
        comments = (
            comment(1, "[...] a ping [...]", kind="pingback"),
            comment(2, "b", kind="trackback"),
            comment(3, "c"),
        )
        said = run(export(item(1, "One", "x", *comments)))
        found = selectors.iterate(target(stored(mongo)["blog/post-1"], mongo))
        assert [one.kind.value for one in found] == ["pingback", "trackback", "comment"]
        assert "3 comments (3 approved, among them 2 pingbacks and trackbacks, 3 of them public)" in said

    def test_email_addresses_are_hidden_from_readers(self, mongo, run, client):
        run(
            export(
                item(
                    1,
                    "One",
                    "x",
                    comment(1, author="grace@private.example", url="javascript:x"),
                    creator="ada@x.example",
                )
            )
        )
        there = target(stored(mongo)["blog/post-1"], mongo)
        (found,) = selectors.iterate(there)
        assert (found.author.name, found.author.url) == ("grace", "")
        assert selectors.email_of(found) == "grace@private.example"
        assert "private.example" not in client.get("/blog/post-1").content.decode()
        assert "192.0.2.7" not in str(snapshot(mongo))
        assert stored(mongo)["blog/post-1"]["author"]["name"] == "ada"

    def test_markup_becomes_equivalent_markdown(self, mongo, run):
        run(
            export(item(1, "One", "x", comment(1, "<strong>Yes</strong>\n<a href='https://x.example/'>here</a> a_b_c")))
        )
        (found,) = selectors.iterate(target(stored(mongo)["blog/post-1"], mongo))
        assert found.source == "**Yes**\\\n[here](<https://x.example/>) a\\_b\\_c"
        assert found.html == preparation.render(found.source)

    def test_unstorable_comment_is_reported_and_replies_move_up(self, mongo, run):
        comments = (
            comment(1, "fine"),
            comment(2, "x" * 20_000, parent=1),
            comment(3, "reply", parent=2),
            comment(4, " "),
        )
        said = run(export(item(1, "One", "x", *comments)))
        found = list(selectors.iterate(target(stored(mongo)["blog/post-1"], mongo), order=Order.THREADED))
        assert [(one.depth, one.source) for one in found] == [(0, "fine"), (1, "reply")]
        assert said[said.index("Comments left out:") + 1].startswith("  comment 2 on post 1: ")

    def test_replies_to_comments_approved_since_are_stored_once(self, mongo, run):
        replies = (comment(2, "reply", parent=1), comment(3, "its reply", parent=2, approved="0"))
        run(export(item(1, "One", "x", comment(1, "first", approved="0"), *replies)))
        said = run(export(item(1, "One", "x", comment(1, "first"), *replies, comment(4, "new", parent=2))))
        assert said[-1] == "2 changes: 2 comments"
        there = target(stored(mongo)["blog/post-1"], mongo)
        found = {one.source: one for one in selectors.iterate(there)}
        assert (len(found), selectors.count(there)) == (3, 3)
        assert (found["reply"].depth, found["new"].parent) == (0, found["reply"].slug)
        assert [held.source for held in selectors.held()] == ["its reply"]
        said = run(export(item(1, "One", "x", comment(1, "first", approved="spam"), *replies)))
        assert (said[-1], selectors.count(there)) == ("0 changes", 3)

    def test_rejected_comments_stay_rejected(self, mongo, run):
        run(export(item(1, "One", "x", comment(1, "rejected", approved="0"), comment(2, "waits", approved="0"))))
        (rejected,) = [held for held in selectors.held() if held.source == "rejected"]
        pending.reject(rejected.id, by="1")
        newer = export(item(1, "One", "x", comment(1, "rejected"), comment(2, "waits"), comment(3, "reply", parent=1)))
        assert run(newer, dry_run=True)[-1] == "2 changes: 2 comments"
        assert [held.source for held in selectors.held()] == ["waits"]
        assert run(newer)[-1] == "2 changes: 2 comments"
        there = target(stored(mongo)["blog/post-1"], mongo)
        assert [(one.source, one.depth) for one in selectors.iterate(there)] == [("waits", 0), ("reply", 0)]
        assert (selectors.held(), selectors.get_held(rejected.id).verdict) == ((), Verdict.REJECTED)
        assert run(newer)[-1] == "0 changes"

    def test_closed_discussions_stay_closed(self, mongo, run, client):
        run(export(item(1, "One", "x", comment(1), comment_status="closed"), item(2, "Two", "x", comment(2))))
        assert "This discussion is closed" in client.get("/blog/post-1").content.decode()
        assert "This discussion is closed" not in client.get("/blog/post-2").content.decode()


def test_comments_on_pages_are_shown(mongo, run, client):
    """A page without a comment status shows no comments."""
    pages = [
        page(1, "Open", "", comment(1)),
        page(2, "Shut", "", comment(2), comment_status="closed"),
        page(3, "Silent"),
    ]
    said = run(export(*pages, page(4, "Above", "", comment(4)), page(5, "Below", post_parent=4)))
    assert {path: one["detail"].get("comments", "") for path, one in stored(mongo).items()} == {
        "page-1": "hold-first",
        "page-2": "closed",
        **dict.fromkeys(("page-3", "page-4", "page-4/page-5"), ""),
    }
    assert all("Well said" in client.get(path).content.decode() for path in ("/page-1", "/page-2"))
    assert (
        said[said.index("Comments that readers can't see because folders have no discussion:") + 1]
        == "  page 4 “Above”"
    )
