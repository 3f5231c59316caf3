"""Scheduling changes of a live page in the admin: by date, on its page, kept, moved and cancelled."""

import re
from datetime import timedelta
from html import unescape

import pytest

from cms.testing.build import EDITOR, node, nonce, stored
from cms.testing.editors import fields
from marginalia.mongo.clock import now
from nodes.services import drafts, editing, scheduled
from tests.support.nodes.edit_form import (
    FUTURE,
    FUTURE_FIELDS,
    FUTURE_TEXT,
    LIVE,
    change,
    last_message,
    open_bar,
    submit,
)

LIST = "/admin/nodes/node/"
TIME = {"due_0": f"{FUTURE:%Y-%m-%d}", "due_1": "09:00"}


def drafted(page, **mine) -> None:
    drafts.save_draft(EDITOR, page, nonce(page), mine or {"title": "Typed"})


def draft_of(mongo, page):
    return mongo["cms.nodes"].find_one({"_id": page}).get("draft")


def scheduled_page(mongo, **made):
    page = node(title="Live", **made)
    drafted(page)
    drafts.schedule(EDITOR, page, draft_of(mongo, page)["nonce"], FUTURE)
    return page


def confirmed(ann, address, **typed):
    """Open a confirmation page, press its button, and return the response."""
    data = fields(ann.client.get(address).content.decode(), "confirm_form")
    return ann.client.post(address, data | typed, follow=True)


def test_changes_are_scheduled_on_a_page_that_shows_them(mongo, editor):
    ann, page = editor(), node(title="Live")
    drafted(page)
    assert f'href="{change(page, "schedule")}">Schedule changes…' in ann.client.get(change(page)).content.decode()
    shown = ann.client.get(change(page, "schedule")).content.decode()
    assert "Typed" in shown
    assert re.search(r'<input type="date" name="due_0"', shown)
    assert "Time zone: UTC" in shown
    assert "due" not in draft_of(mongo, page)
    words = f"Scheduled. The changes go live on {FUTURE_TEXT}. Until then, readers see the live version."
    assert last_message(confirmed(ann, change(page, "schedule"), **TIME)) == words
    assert (draft_of(mongo, page)["due"], stored(page)["title"]) == (FUTURE, "Live")
    assert draft_of(mongo, page)["saved_by"]["_id"] == ann.user.pk
    assert open_bar(ann, change(page))[0] == f"{LIVE} · changes go live {FUTURE_TEXT}"


@pytest.mark.parametrize(
    ("day", "words"), [("2020-01-01", "Choose a time in the future."), ("", "This field is required.")]
)
def test_past_or_missing_time_is_refused(mongo, editor, day, words):
    ann, page = editor(), node()
    drafted(page)
    response = confirmed(ann, change(page, "schedule"), due_0=day, due_1="09:00" if day else "")
    assert words in str(response.context["form"].errors["due"])
    assert "due" not in draft_of(mongo, page)


def test_schedule_after_the_expiry_is_refused(mongo, editor):
    ann, page = editor(), node(title="Live", expires=FUTURE - timedelta(days=1))
    response = ann.send(change(page), ann.open(change(page)), title="Typed", **FUTURE_FIELDS)
    assert "The expiry date must be after the publication date." in response.content.decode()
    assert (draft_of(mongo, page), stored(page)["title"]) == (None, "Live")
    drafted(page)
    asked = confirmed(ann, change(page, "schedule"), **TIME).content.decode()
    assert "The page expires before its changes go live. Choose an earlier time for the changes." in asked
    assert "due" not in draft_of(mongo, page)


def test_schedule_is_changed_and_cancelled(mongo, editor):
    ann, page = editor(), scheduled_page(mongo)
    later = FUTURE + timedelta(days=1)
    confirmed(ann, change(page, "schedule"), due_0=f"{later:%Y-%m-%d}", due_1="09:00")
    assert draft_of(mongo, page)["due"] == later
    words = "The schedule was cancelled. The changes are saved as a draft."
    assert last_message(confirmed(ann, change(page, "unschedule"))) == words
    assert "due" not in draft_of(mongo, page)
    assert draft_of(mongo, page)["metadata"]["title"] == "Typed"
    assert change(page, "unschedule") not in ann.client.get(change(page)).content.decode()


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("button", ["_draft", "_publish", "_preview"])
def test_draft_of_a_live_page_refuses_a_future_date(mongo, editor, button):
    ann, page = editor(), node(title="Live")
    drafted(page)
    before = draft_of(mongo, page)
    answer = ann.send(change(page), ann.open(change(page)), button, title="Typed", **FUTURE_FIELDS)
    assert "This item is already public" in answer.content.decode()
    assert (draft_of(mongo, page), stored(page)["title"]) == (before, "Live")


def test_draft_saved_by_an_author_ends_its_schedule(mongo, editor, author):
    page = scheduled_page(mongo, author=author_of(author))
    words = submit(editor(), change(page), "_draft", title="Again")
    assert words == f"Saved. The changes go live on {FUTURE_TEXT}. Until then, readers see the live version."
    assert draft_of(mongo, page)["due"] == FUTURE
    words = submit(author, change(page), "_draft", title="By an author")
    assert words.endswith(f"The changes planned for {FUTURE_TEXT} are no longer scheduled. They are saved as a draft.")
    assert (draft_of(mongo, page)["metadata"]["title"], "due" in draft_of(mongo, page)) == ("By an author", False)


def author_of(editor):
    return {"_id": editor.user.pk, "name": "Jo"}


def test_authors_cannot_schedule(mongo, author):
    page = scheduled_page(mongo, author=author_of(author))
    for what in ("schedule", "unschedule"):
        assert author.client.get(change(page, what)).status_code == 403
        assert (
            author.client.post(change(page, what), {"draft": draft_of(mongo, page)["nonce"], **TIME}).status_code == 403
        )
    assert draft_of(mongo, page)["due"] == FUTURE


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("button", ["_continue", "_draft"])
def test_saving_the_live_version_reports_the_ended_schedule(mongo, editor, button):
    ann, page = editor(), scheduled_page(mongo)
    address = f"{change(page)}?version=live"
    assert "the schedule is cancelled and the changes are kept as a draft" in ann.client.get(address).content.decode()
    words = submit(ann, address, button, summary="More")
    assert f"The changes planned for {FUTURE_TEXT} are no longer scheduled. They are saved as a draft." in words
    assert "due" not in draft_of(mongo, page)


def test_conflict_is_decided_and_then_scheduled(mongo, editor):
    ann, page = editor(), node(title="Live")
    drafted(page)
    editing.save(EDITOR, page, nonce(page), {"title": "Theirs"})
    asked = confirmed(ann, change(page, "schedule"), **TIME)
    assert asked.status_code == 409
    html = asked.content.decode()
    assert "Schedule changes</button>" in unescape(html)
    # Nothing was chosen, so the page is shown again with its data.
    undecided = ann.client.post(change(page), {**fields(html), "_publish": "1"})
    assert undecided.status_code == 200
    html = undecided.content.decode()
    assert "Schedule changes</button>" in unescape(html)
    # Another user saves meanwhile, so the conflict is decided again.
    editing.save(EDITOR, page, nonce(page), {"title": "Theirs again"})
    again = ann.client.post(change(page), {**fields(html), "choice-title": "mine", "_publish": "1"})
    assert again.status_code == 409
    html = again.content.decode()
    assert "Schedule changes</button>" in unescape(html)
    decided = ann.client.post(change(page), {**fields(html), "choice-title": "mine", "_publish": "1"}, follow=True)
    assert last_message(decided).startswith(f"Scheduled. The changes go live on {FUTURE_TEXT}.")
    assert (stored(page)["title"], draft_of(mongo, page)["metadata"]["title"]) == (
        "Theirs again",
        "Typed",
    )
    assert draft_of(mongo, page)["due"] == FUTURE


def test_decided_changes_are_published_if_their_time_has_passed(mongo, editor):
    ann, page = editor(), node(title="Live")
    drafted(page)
    editing.save(EDITOR, page, nonce(page), {"title": "Theirs"})
    deciding = fields(confirmed(ann, change(page, "schedule"), **TIME).content.decode())
    late = {**deciding, "due": "2020-01-01T09:00:00+00:00", "choice-title": "mine", "_publish": "1"}
    refused = ann.client.post(change(page), late).content.decode()
    assert "Choose a time in the future." in refused
    assert "Publish changes</button>" in unescape(refused)
    assert stored(page)["title"] == "Theirs"
    again = {**fields(refused), "choice-title": "mine", "_publish": "1"}
    assert last_message(ann.client.post(change(page), again, follow=True)).startswith("Changes published.")
    assert (stored(page)["title"], draft_of(mongo, page)) == ("Typed", None)


def test_page_that_is_not_live_has_no_schedule_of_changes(mongo, editor):
    ann, page = editor(), node(published=None)
    drafted(page)
    assert change(page, "schedule") not in ann.client.get(change(page)).content.decode()
    response = confirmed(ann, change(page, "schedule"), **TIME)
    assert "You can schedule changes only for a published page." in response.content.decode()
    assert "due" not in draft_of(mongo, page)


def test_history_shows_automatic_publication(mongo, editor):
    ann, page = editor(), scheduled_page(mongo)
    mongo["cms.nodes"].update_one({"_id": page}, {"$set": {"draft.due": now() - timedelta(seconds=1)}})
    assert " · changes went live " in open_bar(ann, change(page))[0]
    assert scheduled.publish_due() == 1
    assert "Scheduled changes published" in ann.client.get(change(page, "history")).content.decode()
    assert open_bar(ann, change(page))[0] == LIVE


def test_lists_and_dashboard_show_scheduled_changes(mongo, editor):
    ann, page = editor(), scheduled_page(mongo)
    node(slug="other", title="Other")
    listed = ann.client.get(LIST, {"state": "due"}).content.decode()
    assert ("Live" in listed, "Other" in listed, "scheduled changes" in listed) == (True, False, True)
    start = ann.client.get("/admin/").content.decode().partition('id="coming"')[2]
    assert change(page) in start.partition("</section>")[0]
