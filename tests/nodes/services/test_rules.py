"""The rule for publishing applies to every way of publishing."""

from datetime import timedelta

import pytest

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from marginalia.mongo.clock import now
from nodes.errors import NotReady
from nodes.services import drafts, editing, rules
from transfer import exported, importing_nodes
from transfer.exported import Selection
from transfer.importing_nodes import Outcome

SOON = timedelta(hours=1)


@pytest.fixture(autouse=True)
def rule(mongo, monkeypatch):
    """A published page needs a summary."""

    def check_ready(metadata):
        if metadata["published"] and not metadata["summary"]:
            raise NotReady("The page has no summary.")

    monkeypatch.setattr(rules, "check_ready", check_ready)


def draft_without_summary():
    page = node(summary="A page")
    return page, drafts.save_draft(EDITOR, page, nonce(page), {"summary": ""}).nonce


@pytest.mark.parametrize("published", [PAST, now() + SOON])
def test_creating_a_published_page_is_checked(mongo, published):
    with pytest.raises(NotReady):
        node(published=published)
    assert not mongo["cms.nodes"].count_documents({"metadata.slug": "page"})


@pytest.mark.parametrize("published", [PAST, now() + SOON])
def test_publishing_a_page_is_checked(published):
    page = node(published=None)
    with pytest.raises(NotReady):
        save(page, nonce(page), published=published)
    with pytest.raises(NotReady):
        editing.publish_as_seen(EDITOR, page, nonce(page))
    assert stored(page)["published"] is None


def test_publishing_a_draft_is_checked():
    page, draft = draft_without_summary()
    with pytest.raises(NotReady):
        drafts.publish_draft(EDITOR, page, draft)
    assert stored(page)["summary"] == "A page"


def test_scheduling_a_draft_is_checked(mongo):
    page, draft = draft_without_summary()
    with pytest.raises(NotReady):
        drafts.schedule(EDITOR, page, draft, now() + SOON)
    assert "due" not in mongo["cms.nodes"].find_one({"_id": page})["draft"]


def test_saving_a_scheduled_draft_is_checked(mongo):
    page = node(summary="A page")
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"title": "New"}).nonce
    scheduled = drafts.schedule(EDITOR, page, draft, now() + SOON).nonce
    with pytest.raises(NotReady):
        drafts.save_draft(EDITOR, page, scheduled, {"summary": ""}, may_publish=True)
    assert mongo["cms.nodes"].find_one({"_id": page})["draft"]["nonce"] == scheduled
    assert drafts.save_draft(EDITOR, page, scheduled, {"summary": ""}).unscheduled


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (lambda record: None, Outcome.NEW),
        (lambda record: record["draft"]["metadata"].update(summary=""), Outcome.SKIPPED),
        (lambda record: (record["draft"]["metadata"].update(summary=""), record["draft"].pop("due")), Outcome.NEW),
        (lambda record: record["metadata"].update(summary=""), Outcome.SKIPPED),
    ],
)
def test_importing_pages_and_scheduled_drafts_is_checked(mongo, change, outcome):
    page = node(summary="A page")
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"title": "New"}).nonce
    drafts.schedule(EDITOR, page, draft, now() + SOON)
    (record,) = [record for record in exported.leaves(Selection()) if record["_id"] == page]
    mongo["cms.nodes"].delete_one({"_id": page})
    change(record)
    assert importing_nodes.import_node(record).outcome == outcome
