"""Dates: no node expires before it appears, and no public page disappears because of a date in the future."""

from datetime import timedelta

import pytest

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from marginalia.mongo.clock import now
from nodes.actions import CreateNode, Publish, PublishDraft, SaveDraft, SaveNode, Schedule, ScheduleDraft
from nodes.errors import EditConflict, FieldRefused, InvalidField, NotLive
from nodes.services import drafts
from nodes.types import NEVER

HOUR = timedelta(hours=1)
SOON = now() + HOUR
LATER = SOON + HOUR


def draft(page, **fields):
    return drafts.save_draft(EDITOR, page, nonce(page), fields or {"title": "Drafted"}).nonce


def save(user, page, **fields):
    return SaveNode(user=user, node_id=page, seen=nonce(page), fields=fields)


@pytest.mark.parametrize("expires", [SOON, SOON - HOUR / 2])
def test_node_that_expires_before_it_appears_is_refused(mongo, publisher, expires):
    page = node(published=None)
    place = {"title": "New", "slug": "", "parent_id": None}
    dates = {"published": SOON, "expires": expires}
    for action in (
        CreateNode(user=publisher, type="basic-page", fields={**place, **dates}),
        save(publisher, page, **dates),
        SaveDraft(user=publisher, node_id=page, seen=nonce(page), fields=dates),
    ):
        with pytest.raises(InvalidField, match="expiry date") as refusal:
            action.execute()
        assert refusal.value.path == "expires"


def test_dates_set_by_others_count(mongo, publisher):
    page = node(published=None, expires=SOON)
    for action in (
        save(publisher, page, published=LATER),
        Schedule(user=publisher, node_id=page, seen=nonce(page), at=LATER),
    ):
        with pytest.raises(InvalidField, match="expiry date"):
            action.execute()


def test_expiry_before_a_past_date_is_accepted(mongo, publisher):
    page = node()
    save(publisher, page, expires=PAST - HOUR).execute()
    assert stored(page)["expires"] == PAST - HOUR


def test_future_date_on_a_public_page_is_refused(mongo, publisher):
    page = node()
    for action in (
        save(publisher, page, published=SOON),
        Schedule(user=publisher, node_id=page, seen=nonce(page), at=SOON),
        SaveDraft(user=publisher, node_id=page, seen=nonce(page), fields={"published": SOON}),
    ):
        with pytest.raises(InvalidField, match="This item is already public") as refusal:
            action.execute()
        assert refusal.value.path == "published"
    assert stored(page)["published"] == PAST


def test_future_date_decided_in_a_conflict_is_refused(mongo, publisher):
    """The page was not public when its draft was saved."""
    page = node(published=None)
    seen = draft(page, published=SOON)
    Publish(user=publisher, node_id=page, seen=nonce(page)).execute()
    with pytest.raises(EditConflict):
        PublishDraft(user=publisher, node_id=page, seen=seen).execute()
    decided = {"decided_on": nonce(page), "decided": {"published": SOON}}
    with pytest.raises(InvalidField, match="This item is already public"):
        PublishDraft(user=publisher, node_id=page, seen=seen, **decided).execute()
    assert stored(page)["published"] <= now()


@pytest.mark.parametrize(
    "dates", [{"published": None}, {"published": LATER}, {"published": PAST, "expires": PAST + HOUR}]
)
def test_hidden_page_accepts_a_future_date(mongo, publisher, dates):
    page = node(**dates)
    save(publisher, page, published=SOON, expires=None).execute()
    assert (stored(page)["published"], stored(page)["expires"]) == (SOON, NEVER)


def test_time_in_the_past_schedules_nothing(mongo, publisher):
    page, public = node(published=None), node(slug="public")
    seen = draft(public)
    for action in (
        Schedule(user=publisher, node_id=page, seen=nonce(page), at=now()),
        ScheduleDraft(user=publisher, node_id=public, seen=seen, at=PAST),
    ):
        with pytest.raises(InvalidField, match="Choose a time in the future") as refusal:
            action.execute()
        assert refusal.value.path == "at"


def test_draft_is_not_scheduled_after_the_page_expires(mongo, publisher):
    page = node(expires=SOON)
    seen = draft(page)
    with pytest.raises(FieldRefused, match="expires"):
        ScheduleDraft(user=publisher, node_id=page, seen=seen, at=LATER).execute()


def test_draft_of_an_unpublished_page_is_not_scheduled(mongo, publisher):
    page = node(published=None)
    seen = draft(page)
    with pytest.raises(NotLive):
        ScheduleDraft(user=publisher, node_id=page, seen=seen, at=LATER).execute()


def test_publishing_an_expired_page_makes_it_public(mongo, publisher):
    page = node(expires=PAST + HOUR)
    Publish(user=publisher, node_id=page, seen=nonce(page)).execute()
    assert (stored(page)["published"], stored(page)["expires"]) == (PAST, NEVER)


def test_draft_keeps_the_place_of_the_live_page(mongo, publisher):
    page, folder = node(), node("folder", "folder")
    for path, value in {"slug": "other", "parent_id": folder}.items():
        with pytest.raises(InvalidField, match="A draft can't change the page's URL") as refusal:
            SaveDraft(user=publisher, node_id=page, seen=nonce(page), fields={"title": "T", path: value}).execute()
        assert refusal.value.path == path
    unchanged = {"title": "T", "slug": "page", "parent_id": None}
    SaveDraft(user=publisher, node_id=page, seen=nonce(page), fields=unchanged).execute()
