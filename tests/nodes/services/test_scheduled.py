"""Scheduled changes of live pages: what readers see and when, how a schedule ends, and that no text is lost."""

from datetime import timedelta

import pytest

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from marginalia.mongo.clock import now
from nodes import errors
from nodes.access import System
from nodes.actions import Unpublish
from nodes.models import tree
from nodes.selectors import due, history, search, stored_nodes
from nodes.services import drafts, editing, scheduled, trash
from nodes.types import Act, Actor, TagChange
from reader.selectors import sitemap
from tests.support.interrupting import before_command

SOON = timedelta(hours=1)
LATER = now() + 9 * SOON
BOB = Actor(None, "Bob")


def draft_of(mongo, page):
    return mongo["cms.nodes"].find_one({"_id": page}).get("draft")


def planned(page, at=None, /, **mine):
    """Draft changes of a page and schedule them, by default in an hour. Return the draft's nonce."""
    fields = {path.replace("__", "."): value for path, value in mine.items()}
    saved = drafts.save_draft(EDITOR, page, nonce(page), fields)
    return drafts.schedule(EDITOR, page, saved.nonce, at or now() + SOON).nonce


def is_due(mongo, page):
    """Move scheduled changes to their due time."""
    at = now() - timedelta(seconds=1)
    assert (
        mongo["cms.nodes"]
        .update_one({"_id": page, "draft.due": {"$gt": at}}, {"$set": {"draft.due": at}})
        .matched_count
    )
    return at


def test_readers_see_scheduled_changes_from_their_time_on(mongo):
    blog = node("blog", "blog")
    post = node("blog-entry", "post", parent=blog, title="Old", text="The old words.", tags=("a",))
    at = now() + SOON
    draft = planned(post, at, title="New", summary="Newer", detail__text="The new words.")
    shown = []
    for moment in (at - timedelta(milliseconds=1), at):
        sections = tree.current()
        page = stored_nodes.resolve(sections, "blog/post", moment)
        (listed,) = stored_nodes.entries(blog, moment, size=5).nodes
        (by_id,) = stored_nodes.live_by_ids(sections, [post], moment)
        (hit,) = search.search(sections, "words", moment, page=1, size=5).hits
        (line,) = sitemap.entries(sections, "blog-entry", 1, moment)
        assert (listed.metadata.detail, page.metadata.published, page.metadata.slug) == (None, PAST, "post")
        assert {page.metadata.title, listed.metadata.title, by_id.metadata.title, hit.node.metadata.title} == {
            page.metadata.title
        }
        assert page.metadata.updated == line.updated
        said = "".join(piece for piece, _is_found in hit.pieces)
        shown.append((page.metadata.title, page.metadata.detail.text, listed.excerpt, said, page.metadata.summary))
    assert shown == [
        ("Old", "The old words.", "The old words.", "The old words.", ""),
        ("New", "The new words.", "The new words.", "The new words.", "Newer"),
    ]
    assert (page.metadata.nonce, page.metadata.updated) == (draft, at)
    # Nothing was written for it.
    assert (stored(post)["title"], draft_of(mongo, post)["due"]) == ("Old", at)


def test_site_changes_are_due_at_the_scheduled_time(mongo):
    at = now() + SOON
    planned(node(), at, title="New")
    assert due.next_due(now()) == at
    assert due.last_change(at + timedelta(seconds=2)) == at.replace(microsecond=0) + timedelta(seconds=1)


def test_worker_publishes_only_due_changes(mongo):
    page, other = node(title="Old", tags=("a", "b")), node(slug="other", title="Old")
    saved = drafts.save_draft(EDITOR, page, nonce(page), {"title": "New"}, TagChange(frozenset("c"), frozenset("a")))
    drafts.schedule(BOB, page, saved.nonce, now() + SOON)
    planned(other, title="New")
    editing.change_tags(page, TagChange(added=frozenset("d")))
    assert scheduled.publish_due() == 0
    is_due(mongo, page)
    assert scheduled.publish_due() == 1
    assert (stored(page)["title"], stored(page)["tags"], stored(page)["published"]) == ("New", ["b", "c", "d"], PAST)
    assert draft_of(mongo, page) is None
    assert (stored(other)["title"], draft_of(mongo, other)["metadata"]["title"]) == ("Old", "New")
    last = history.newest(page, nonce(page))[0][0]
    assert (last.acts, last.version.saved_by) == ((Act.SCHEDULED_CHANGES,), "Bob")
    assert scheduled.publish_due() == 0


def test_due_changes_are_found_by_an_index(mongo):
    planned(node(), title="New")
    plan = mongo["cms.nodes"].find({"draft.due": {"$lte": now()}}, {"_id": 1}).sort("draft.due", 1).explain()
    assert "by_due" in str(plan["queryPlanner"]["winningPlan"])
    assert "SORT" not in str(plan["queryPlanner"]["winningPlan"]).replace("'sortPattern'", "")


def test_scheduling_merges_live_saves(mongo):
    page = node(title="Old", text="one\n\ntwo")
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": "one of mine\n\ntwo"}).nonce
    save(page, nonce(page), title="Corrected", detail__text="one\n\ntwo of theirs")
    drafts.schedule(EDITOR, page, draft, now() + SOON)
    said = draft_of(mongo, page)
    assert (said["metadata"]["title"], said["metadata"]["detail"]["text"]) == (
        "Corrected",
        "one of mine\n\ntwo of theirs",
    )
    assert said["base_nonce"] == nonce(page)


def test_conflict_is_decided_before_scheduling(mongo):
    page = node(title="Old")
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"title": "Mine"}).nonce
    save(page, nonce(page), title="Theirs")
    with pytest.raises(errors.EditConflict):
        drafts.schedule(EDITOR, page, draft, now() + SOON)
    assert "due" not in draft_of(mongo, page)
    decided = {"seen_nonce": nonce(page), "mine": {"title": "Both"}}
    drafts.schedule(EDITOR, page, draft, now() + SOON, **decided)
    assert (draft_of(mongo, page)["metadata"]["title"], stored(page)["title"]) == ("Both", "Theirs")


@pytest.mark.parametrize("published", [None, now() + timedelta(days=1)])
def test_page_that_is_not_live_cannot_schedule_changes(mongo, published):
    page = node(published=published)
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"title": "New"}).nonce
    with pytest.raises(errors.NotLive):
        drafts.schedule(EDITOR, page, draft, now() + SOON)
    assert "due" not in draft_of(mongo, page)


def test_schedule_does_not_unpublish_a_page(mongo):
    page = node(title="Old")
    planned(page, title="New", published=None)
    is_due(mongo, page)
    assert scheduled.publish_due() == 1
    assert stored(page)["published"] == PAST


def test_another_time_replaces_the_earlier_one(mongo):
    page, later = node(title="Old"), now() + 2 * SOON
    drafts.schedule(EDITOR, page, planned(page, title="New"), later)
    assert draft_of(mongo, page)["due"] == later


def test_cancelled_schedule_keeps_the_draft(mongo):
    page = node(title="Old")
    draft = planned(page, title="New")
    drafts.unschedule(page, draft)
    assert draft_of(mongo, page).keys().isdisjoint({"due", "derived"})
    assert draft_of(mongo, page)["metadata"]["title"] == "New"
    with pytest.raises(errors.DraftGone):
        drafts.unschedule(page, draft)


@pytest.mark.parametrize("act", [drafts.unschedule, drafts.discard_draft])
def test_schedule_visible_to_readers_cannot_be_cancelled(mongo, act):
    page = node(title="Old")
    draft = planned(page, title="New")
    is_due(mongo, page)
    with pytest.raises(errors.DraftGone):
        act(page, draft)
    # Discarding publishes it instead.
    assert scheduled.publish_due() == (act is drafts.unschedule)
    assert (stored(page)["title"], draft_of(mongo, page)) == ("New", None)


def test_live_save_ends_the_schedule_and_reports_it(mongo):
    page, at = node(title="Old", text="one"), now() + SOON
    planned(page, at, title="New")
    saved = save(page, nonce(page), detail__text="two")
    assert saved.unscheduled == at
    assert draft_of(mongo, page).keys().isdisjoint({"due", "derived"})
    assert (draft_of(mongo, page)["metadata"]["title"], stored(page)["detail"]["text"]) == ("New", "two")


def test_live_save_of_place_or_tags_keeps_the_schedule(mongo):
    folder, page, at = node("folder", "folder"), node(title="Old"), now() + SOON
    planned(page, at, title="New")
    moved = save(page, nonce(page), parent_id=folder, slug="moved")
    tagged = save(page, nonce(page), tags=TagChange(added=frozenset("x")))
    assert (moved.unscheduled, tagged.unscheduled, draft_of(mongo, page)["due"]) == (None, None, at)
    is_due(mongo, page)
    assert scheduled.publish_due() == 1
    assert (stored(page)["title"], stored(page)["slug"], stored(page)["tags"]) == ("New", "moved", ["x"])


def test_live_save_continues_from_due_changes(mongo):
    page = node(title="Old", text="one\n\ntwo")
    seen = nonce(page)
    planned(page, detail__text="one of mine\n\ntwo")
    is_due(mongo, page)
    save(page, seen, BOB, detail__text="one\n\ntwo of Bob")
    assert stored(page)["detail"]["text"] == "one of mine\n\ntwo of Bob"
    assert draft_of(mongo, page) is None


def test_live_save_that_conflicts_with_due_changes_is_refused(mongo):
    page = node(title="Old")
    seen = nonce(page)
    planned(page, title="New")
    is_due(mongo, page)
    with pytest.raises(errors.EditConflict):
        save(page, seen, title="Bob's")
    assert stored(page)["title"] == "New"


def test_live_save_keeps_a_schedule_that_falls_due_meanwhile(mongo):
    page = node(title="Old", text="one")
    planned(page, title="New")
    with before_command("update", "cms.nodes", lambda: is_due(mongo, page)):
        assert save(page, nonce(page), detail__text="two").unscheduled is None
    assert (stored(page)["title"], stored(page)["detail"]["text"]) == ("New", "two")


def test_live_save_ends_a_schedule_made_meanwhile(mongo):
    page = node(title="Old", text="one")
    with before_command("update", "cms.nodes", lambda: planned(page, title="New")):
        assert save(page, nonce(page), detail__text="two").unscheduled
    assert (draft_of(mongo, page)["metadata"]["title"], stored(page)["title"]) == ("New", "Old")
    assert "due" not in draft_of(mongo, page)


def test_unpublishing_ends_the_schedule_too(mongo):
    page = node(title="Old")
    planned(page, title="New")
    Unpublish(user=System(EDITOR), node_id=page, seen=nonce(page)).execute()
    assert (stored(page)["published"], "due" in draft_of(mongo, page)) == (None, False)


def test_draft_save_by_a_publisher_keeps_the_schedule(mongo):
    page, at = node(title="Old", text="one"), now() + SOON
    draft = planned(page, at, title="New")
    saved = drafts.save_draft(BOB, page, draft, {"detail.text": "two"}, may_publish=True)
    said = draft_of(mongo, page)
    assert (saved.unscheduled, said["due"], said["derived"]["text"]) == (None, at, "two")


@pytest.mark.parametrize("fields", [{"published": None}, {"expires": now() + SOON / 2}])
def test_draft_save_that_would_unpublish_ends_the_schedule(mongo, fields):
    page, at = node(title="Old"), now() + SOON
    draft = planned(page, at, title="New")
    saved = drafts.save_draft(BOB, page, draft, fields, may_publish=True)
    assert (saved.unscheduled, "due" in draft_of(mongo, page)) == (at, False)


def test_draft_save_by_an_author_ends_the_schedule(mongo):
    page, at = node(title="Old", text="one"), now() + SOON
    draft = planned(page, at, title="New")
    saved = drafts.save_draft(BOB, page, draft, {"detail.text": "two"})
    assert (saved.unscheduled, "due" in draft_of(mongo, page)) == (at, False)
    assert draft_of(mongo, page)["metadata"]["detail"]["text"] == "two"


def test_draft_save_after_the_due_time_stays_hidden(mongo):
    page = node(title="Old", text="one")
    draft = planned(page, title="New")
    is_due(mongo, page)
    drafts.save_draft(BOB, page, draft, {"detail.text": "two"}, may_publish=True)
    assert (stored(page)["title"], stored(page)["detail"]["text"]) == ("New", "one")
    assert draft_of(mongo, page)["metadata"]["detail"]["text"] == "two"
    assert "due" not in draft_of(mongo, page)


def test_draft_save_does_not_restore_an_ended_schedule(mongo):
    page = node(title="Old", text="one")
    draft = planned(page, title="New")
    with before_command("update", "cms.nodes", lambda: save(page, nonce(page), detail__text="two")):
        drafts.save_draft(BOB, page, draft, {"summary": "More"}, may_publish=True)
    said = draft_of(mongo, page)
    assert ("due" in said, said["metadata"]["summary"], stored(page)["detail"]["text"]) == (False, "More", "two")


def test_worker_and_draft_save_lose_nothing(mongo):
    page = node(title="Old", text="one")
    draft = planned(page, title="New")
    is_due(mongo, page)

    def saved() -> None:
        drafts.save_draft(BOB, page, draft, {"detail.text": "two"}, may_publish=True)

    with before_command("update", "cms.nodes", saved):
        assert scheduled.publish_due() == 0
    assert (stored(page)["title"], stored(page)["detail"]["text"]) == ("New", "one")
    assert draft_of(mongo, page)["metadata"]["detail"]["text"] == "two"


def test_one_of_two_workers_publishes(mongo):
    page = node(title="Old")
    planned(page, title="New")
    is_due(mongo, page)
    with before_command("update", "cms.nodes", lambda: scheduled.publish_due()):
        assert scheduled.publish_due() == 0
    assert stored(page)["title"] == "New"
    saves = history.newest(page, nonce(page))[0]
    assert [Act.SCHEDULED_CHANGES in save.acts for save in saves].count(True) == 1


def test_restored_page_is_not_scheduled(mongo):
    page = node(title="Old")
    planned(page, title="New")
    trash.trash(EDITOR, page, nonce(page))
    trash.restore(EDITOR, page)
    assert (draft_of(mongo, page)["metadata"]["title"], "due" in draft_of(mongo, page)) == ("New", False)


def test_visible_due_changes_are_published_before_trashing(mongo):
    page = node(title="Old")
    planned(page, title="New")
    is_due(mongo, page)
    with pytest.raises(errors.EditConflict):
        trash.trash(EDITOR, page, nonce(page))
    assert (stored(page)["title"], draft_of(mongo, page)) == ("New", None)
    trash.trash(EDITOR, page, nonce(page))
    trash.restore(EDITOR, page)
    assert stored_nodes.resolve(tree.current(), "page", now()).metadata.title == "New"


def test_unpublishable_due_changes_are_trashed_with_the_draft(mongo):
    page = node(title="Old")
    planned(page, title="New")
    is_due(mongo, page)
    mongo["cms.nodes"].update_one({"_id": page}, {"$set": {"draft.metadata.schema_version": 99}})
    trash.trash(EDITOR, page, nonce(page))
    assert mongo["cms.trash"].find_one({"_id": page})["draft"]["metadata"]["title"] == "New"


def test_changes_cannot_be_scheduled_after_the_expiry(mongo):
    page = node(expires=now() + SOON)
    end = stored(page)["expires"]
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"title": "New"}).nonce
    with pytest.raises(errors.FieldRefused) as refused:
        drafts.schedule(EDITOR, page, draft, end)
    assert (refused.value.path, "due" in draft_of(mongo, page)) == ("expires", False)
    drafts.schedule(EDITOR, page, draft, end - timedelta(minutes=1))
    assert "due" in draft_of(mongo, page)


def test_unpublishable_changes_are_shown_and_stop_no_others(mongo, caplog):
    page, other = node(title="Old"), node(slug="other", title="Old")
    for one in (page, other):
        planned(one, title="New")
        is_due(mongo, one)
    mongo["cms.nodes"].update_one({"_id": page}, {"$set": {"draft.metadata.schema_version": 99}})
    assert scheduled.publish_due() == 1
    assert (stored(page)["title"], stored(other)["title"]) == ("Old", "New")
    assert str(page) in caplog.text
    assert stored_nodes.resolve(tree.current(), "page", now()).metadata.title == "New"
