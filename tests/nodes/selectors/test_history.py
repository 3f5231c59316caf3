"""History describes each save."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from marginalia.mongo.clock import now
from nodes.access import System
from nodes.actions import PublishListed
from nodes.selectors import history
from nodes.services import drafts, editing, trash
from nodes.types import Act, Actor
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, replace, upload

ANN = Actor(ObjectId(), "Ann")
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


def told(node_id, present=None):
    """Return the descriptions of the saves of a node, the first one first."""
    found, _more = history.newest(node_id, present or nonce(node_id))
    return [revision.acts for revision in reversed(found)]


@pytest.fixture
def page(mongo):
    return editing.create(ANN, type="basic-page", parent_id=None, slug="page", title="Page").id


@pytest.mark.parametrize(
    ("dates", "acts"),
    [
        ([{"title": "Other"}], [Act.SAVED]),
        ([{"published": PAST}], [Act.PUBLISHED]),
        ([{"published": PAST}, {"published": PAST - timedelta(days=1)}], [Act.PUBLISHED, Act.SAVED]),
        ([{"published": PAST}, {"title": "Other"}], [Act.PUBLISHED, Act.SAVED]),
        ([{"published": PAST}, {"published": None}], [Act.PUBLISHED, Act.UNPUBLISHED]),
        ([{"published": PAST}, {"expires": PAST + timedelta(days=1)}], [Act.PUBLISHED, Act.UNPUBLISHED]),
        ([{"published": FUTURE}], [Act.SCHEDULED]),
        ([{"published": FUTURE}, {"published": FUTURE + timedelta(days=1)}], [Act.SCHEDULED, Act.SCHEDULED]),
        ([{"published": FUTURE}, {"published": PAST}], [Act.SCHEDULED, Act.PUBLISHED]),
        ([{"published": FUTURE}, {"published": None}], [Act.SCHEDULED, Act.UNPUBLISHED]),
        (
            [{"published": PAST}, {"published": None}, {"published": FUTURE}],
            [Act.PUBLISHED, Act.UNPUBLISHED, Act.SCHEDULED],
        ),
        ([{"published": None, "expires": FUTURE}], [Act.SAVED]),
    ],
)
def test_changed_dates_are_described_by_their_effect(page, dates, acts):
    for fields in dates:
        save(page, nonce(page), **fields)
    assert told(page) == [(Act.CREATED,), *((act,) for act in acts)]


def test_page_created_public_was_created_and_published(mongo):
    made = editing.create(ANN, type="basic-page", parent_id=None, slug="page", title="Page", fields={"published": PAST})
    assert told(made.id) == [(Act.CREATED, Act.PUBLISHED)]


def test_page_without_an_account_or_with_a_source_was_imported(mongo):
    assert told(node(published=None)) == [(Act.IMPORTED,)]
    said = {"detail.source": "http://old.example/?p=1"}
    made = editing.create(ANN, type="basic-page", parent_id=None, slug="other", title="Page", fields=said)
    assert told(made.id) == [(Act.IMPORTED,)]


def test_moves_and_renames_are_listed_together(page):
    save(page, nonce(page), slug="other", parent_id=node("folder", "folder"))
    assert told(page)[-1] == (Act.MOVED, Act.RENAMED)


def test_second_of_two_concurrent_edits_is_a_merge(page):
    save(page, nonce(page), detail__text="one\n\ntwo\n\nthree")
    seen = nonce(page)
    save(page, seen, detail__text="ONE\n\ntwo\n\nthree")
    save(page, seen, detail__text="one\n\ntwo\n\nTHREE")
    assert stored(page)["detail"]["text"] == "ONE\n\ntwo\n\nTHREE"
    assert told(page)[-2:] == [(Act.SAVED,), (Act.MERGED,)]


def test_published_draft_of_a_public_page_is_listed_as_changes(page):
    save(page, nonce(page), published=PAST)
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"title": "Drafted"})
    drafts.publish_draft(EDITOR, page, draft.nonce)
    assert told(page)[-1] == (Act.CHANGES_PUBLISHED,)


def test_bulk_publish_is_listed_as_publishing(page):
    PublishListed(user=System(EDITOR), node_id=page, seen=nonce(page)).execute()
    assert told(page)[-1] == (Act.PUBLISHED,)


def test_restored_version_is_listed_as_restored(page, editor):
    first = nonce(page)
    save(page, first, title="Other")
    ann, address = editor(), f"/admin/nodes/node/{page}/history/{first}/"
    form = ann.client.get(address).context["form"]
    sent = {field.name: field.value() for field in form}
    assert ann.client.post(address, {name: value or "" for name, value in sent.items()}).status_code == 302
    assert stored(page)["title"] == "Page"
    assert told(page)[-1] == (Act.RESTORED,)
    html = ann.client.get(f"/admin/nodes/node/{page}/history/").content.decode()
    assert re.search(r'<span class="acts">\s*Restored\s*</span>', html)


def test_restore_to_another_slug_is_listed_with_the_rename(page):
    trash.trash(EDITOR, page, nonce(page))
    trash.restore(EDITOR, page, slug="other")
    assert told(page)[-1] == (Act.RESTORED, Act.RENAMED)


def test_replaced_file_of_a_photo_is_listed(mongo):
    photo = upload(gallery(), pictures.jpeg())
    replace(photo, pictures.jpeg(size=(30, 20)))
    assert told(photo, document(photo)["metadata"]["nonce"])[-1] == (Act.REPLACED,)


def test_missing_revisions_are_not_guessed(page, mongo):
    first = nonce(page)
    save(page, first, slug="other")
    mongo["cms.revisions"].delete_one({"_id": first})
    assert told(page) == [(Act.SAVED,)]


def sittings(page):
    """Return the resulting title of each group of saves, newest first, with the number of saves."""
    found, _more = history.newest(page, nonce(page))
    return [(one.revisions[0].version.fields["title"], len(one.revisions)) for one in history.sittings(found)]


def test_consecutive_saves_of_an_editor_are_grouped(page, editor, mongo):
    for number in range(3):
        save(page, nonce(page), ANN, title=f"Ann {number}")
    assert sittings(page) == [("Ann 2", 3), ("Page", 1)]
    html = editor().client.get(f"/admin/nodes/node/{page}/history/").content.decode()
    assert (html.count('class="initials"'), "3 saves since" in html) == (2, True)
    each = editor("bob").client.get(f"/admin/nodes/node/{page}/history/?each=1").content.decode()
    assert (each.count('class="initials"'), "saves since" in each) == (4, False)


def test_saves_of_drafts_are_listed_with_what_they_changed(page, editor):
    first = nonce(page)
    draft = drafts.save_draft(ANN, page, first, {"title": "Drafted"})
    again = drafts.save_draft(ANN, page, draft.nonce, {"summary": "In short"})
    save(page, first, title="Other")
    found, _more = history.newest(page, nonce(page))
    assert [(save.acts[0], save.parent, save.changed) for save in found] == [
        (Act.SAVED, first, ("title",)),
        (Act.DRAFTED, draft.nonce, ("summary",)),
        (Act.DRAFTED, first, ("title",)),
        (Act.CREATED, None, ()),
    ]
    assert [len(sitting.revisions) for sitting in history.sittings(found)] == [1, 2, 1]
    html = editor().client.get(f"/admin/nodes/node/{page}/history/").content.decode()
    assert f"/compare/?old={first}&amp;new={again.nonce}" in html
    assert ("Draft saved" in html, "Current draft" in html, "Today" in html) == (True, True, True)


def test_saves_of_published_and_discarded_drafts_stay_in_the_history(page):
    draft = drafts.save_draft(ANN, page, nonce(page), {"title": "Published"})
    drafts.publish_draft(EDITOR, page, draft.nonce)
    draft = drafts.save_draft(ANN, page, nonce(page), {"title": "Discarded"})
    drafts.discard_draft(page, draft.nonce)
    assert told(page) == [(Act.CREATED,), (Act.DRAFTED,), (Act.CHANGES_PUBLISHED,), (Act.DRAFTED,)]


def test_scheduled_draft_is_listed_as_scheduled(page):
    save(page, nonce(page), published=PAST)
    draft = drafts.save_draft(ANN, page, nonce(page), {"title": "Later"})
    drafts.schedule(EDITOR, page, draft.nonce, FUTURE)
    assert told(page)[-1] == (Act.DRAFTED, Act.SCHEDULED)


def test_older_saves_follow_on_the_next_page(page, monkeypatch):
    monkeypatch.setattr(history, "SHOWN", 2)
    draft = drafts.save_draft(ANN, page, nonce(page), {"title": "Drafted"})
    save(page, nonce(page), title="Other")
    newest, has_older = history.newest(page, nonce(page))
    oldest, has_more = history.newest(page, nonce(page), skip_until=draft.nonce)
    assert [save.acts for save in (*newest, *oldest)] == [(Act.SAVED,), (Act.DRAFTED,), (Act.CREATED,)]
    assert (has_older, has_more) == (True, False)


def test_group_ends_with_another_editor_a_pause_or_publication(page, mongo):
    save(page, nonce(page), ANN, title="Ann 1")
    save(page, nonce(page), Actor(ObjectId(), "Bob"), title="Bob")
    save(page, nonce(page), ANN, title="Ann 2")
    before = now() - history.PAUSE - timedelta(minutes=1)
    mongo["cms.revisions"].update_many({}, {"$set": {"saved_at": before}})
    save(page, nonce(page), ANN, title="Ann after a pause")
    save(page, nonce(page), ANN, published=PAST)
    save(page, nonce(page), ANN, title="Ann of what is public")
    assert [count for _title, count in sittings(page)] == [1] * 7


def test_circular_versions_are_listed_once(mongo, page):
    first = nonce(page)
    save(page, first, title="Other")
    last = nonce(page)
    mongo["cms.revisions"].update_one({"_id": first}, {"$set": {"parent": last}})
    assert [revision.version.nonce for revision in history.newest(page, last)[0]] == [last, first]
    assert history.savers_since(page, ObjectId(), last) == (EDITOR, ANN)
    # A form whose version is not among them.
    editing.save(ANN, page, ObjectId(), {"title": "Other"}, form=ObjectId())
