"""Cleanup: it deletes leftovers, but nothing that a merge, a draft or an old URL needs."""

from datetime import timedelta
from io import StringIO

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command

from cms.testing.build import EDITOR, node, nonce, stored
from marginalia.mongo.clock import now
from nodes.services import drafts, editing, integrity, revisions, trash, write
from nodes.types import Change


def saved(node_id, times):
    for i in range(times):
        editing.save(EDITOR, node_id, nonce(node_id), {"title": f"Title {i}"})


def age(mongo, days=30, **query):
    mongo["cms.revisions"].update_many(query, {"$set": {"saved_at": now() - timedelta(days=days)}})


def run(name, *arguments):
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def test_purge_keeps_the_newest_and_recent_revisions(mongo):
    node_id = node()
    saved(node_id, 5)
    assert "Deleted 0 revisions" in run("purge_revisions", "--keep", "2", "--older-than", "7")
    age(mongo)
    assert "Dry run: would delete 4 revisions of 1 pages; 2 kept" in run(
        "purge_revisions", "--keep", "2", "--older-than", "7", "--dry-run"
    )
    assert mongo["cms.revisions"].count_documents({}) == 6
    assert "Deleted 4 revisions" in run("purge_revisions", "--keep", "2", "--older-than", "7")
    assert {r["metadata"]["title"] for r in mongo["cms.revisions"].find()} == {"Title 3", "Title 4"}


def test_purge_keeps_the_base_of_a_draft(mongo):
    node_id = node(title="Begun on")
    drafts.save_draft(EDITOR, node_id, nonce(node_id), {"summary": "drafted"})
    saved(node_id, 3)
    age(mongo)
    revisions.purge(1, timedelta(days=7))
    draft = mongo["cms.nodes"].find_one()["draft"]
    drafts.publish_draft(EDITOR, node_id, draft["nonce"])
    assert (stored(node_id)["title"], stored(node_id)["summary"]) == ("Title 2", "drafted")


def test_page_at_a_reserved_slug_is_reported_and_kept(mongo):
    node_id = node(slug="before")
    mongo["cms.nodes"].update_one({"_id": node_id}, {"$set": {"metadata.slug": "healthz"}})
    findings = [finding for finding in integrity.check(fix=True) if finding.kind == integrity.SLUG]
    assert [(finding.about.partition(":")[0], finding.fixed) for finding in findings] == [(str(node_id), False)]
    assert stored(node_id)["slug"] == "healthz"


def test_purge_must_keep_at_least_one(mongo):
    with pytest.raises(CommandError, match="at least 1"):
        run("purge_revisions", "--keep", "0", "--older-than", "7")


def test_revision_of_a_failed_save_is_swept_after_a_day(mongo):
    node_id = node()
    stale = mongo["cms.nodes"].find_one()
    saved(node_id, 1)
    assert write.compare_and_set(EDITOR, stale, Change({"title": "lost the race"})) is None
    assert "0 orphan" in run("check_nodes", "--fix")
    age(mongo)
    with pytest.raises(CommandError, match="1 problems remain. Run with --fix to fix 1 of them."):
        run("check_nodes")
    assert mongo["cms.revisions"].count_documents({}) == 3
    assert "1 orphan revisions" in run("check_nodes", "--fix")
    assert {r["metadata"]["title"] for r in mongo["cms.revisions"].find()} == {"Page", "Title 0"}
    assert "0 fixed" in run("check_nodes")


def test_revisions_of_drafts_and_trashed_nodes_are_kept(mongo):
    node_id, other = node(), node(slug="other")
    drafts.save_draft(EDITOR, node_id, nonce(node_id), {"title": "drafted"})
    trash.trash(EDITOR, other, nonce(other))
    age(mongo)
    before = mongo["cms.revisions"].count_documents({})
    assert list(integrity.check(fix=True)) == []
    assert mongo["cms.revisions"].count_documents({}) == before


def test_saves_of_earlier_drafts_are_kept_until_they_are_old(mongo):
    node_id = node()
    draft = drafts.save_draft(EDITOR, node_id, nonce(node_id), {"title": "drafted"})
    drafts.publish_draft(EDITOR, node_id, draft.nonce)
    age(mongo)
    assert list(integrity.check(fix=True)) == []
    assert revisions.purge(keep=1, older_than=timedelta(days=40)).deleted == 0
    assert revisions.purge(keep=2, older_than=timedelta(hours=1)).deleted == 1
    assert not mongo["cms.revisions"].find_one({"_id": draft.nonce})


def test_revisions_of_a_node_without_its_current_one_are_kept(mongo):
    node_id = node()
    saved(node_id, 2)
    mongo["cms.revisions"].delete_one({"_id": nonce(node_id)})
    age(mongo)
    (finding,) = integrity.check(fix=True)
    assert (finding.kind, finding.fixed) == (integrity.BROKEN_HISTORY, False)
    assert mongo["cms.revisions"].count_documents({}) == 2


def test_redirect_of_a_failed_rename_is_removed(mongo):
    node_id, renamed = node(slug="stays"), node(slug="old")
    editing.save(EDITOR, renamed, nonce(renamed), {"slug": "new"})
    mongo["cms.redirects"].insert_one({"_id": {"parent_id": None, "slug": "stays"}, "node_id": node_id})
    mongo["cms.redirects"].insert_one({"_id": {"parent_id": None, "slug": "gone"}, "node_id": ObjectId()})
    assert [f.kind for f in integrity.check(fix=True)] == [integrity.REDIRECT] * 2
    assert [r["node_id"] for r in mongo["cms.redirects"].find()] == [renamed]


def test_removed_redirect_falls_back_to_an_earlier_node(mongo):
    node_id, earlier = node(slug="stays"), node(slug="old")
    editing.save(EDITOR, earlier, nonce(earlier), {"slug": "new"})
    place = {"parent_id": None, "slug": "stays"}
    mongo["cms.redirects"].insert_one({"_id": place, "node_id": node_id, "earlier": [earlier]})
    assert [f.kind for f in integrity.check(fix=True)] == [integrity.REDIRECT]
    assert mongo["cms.redirects"].find_one({"_id": place}) == {"_id": place, "node_id": earlier, "earlier": []}


def test_redirect_of_a_rename_in_progress_is_kept(mongo):
    node_id = node(slug="stays")
    mongo["cms.redirects"].insert_one(
        {"_id": {"parent_id": None, "slug": "stays"}, "node_id": node_id, "kept_at": now()}
    )
    assert list(integrity.check(fix=True)) == []


def test_node_without_its_section_goes_to_the_trash(mongo):
    folder = node("folder", "folder")
    lost = node(slug="lost", parent=folder, text="Not lost")
    mongo["cms.nodes"].delete_one({"_id": folder})
    mongo["cms.revisions"].delete_many({"node_id": folder})
    assert [f.kind for f in integrity.check(fix=True)] == [integrity.PARENT]
    trash.restore(EDITOR, lost, parent_id=None)
    assert stored(lost)["detail"]["text"] == "Not lost"
    assert list(integrity.check()) == []


def test_contents_of_a_trashed_section_are_kept(mongo):
    folder = node("folder", "folder")
    node(slug="inside", parent=folder)
    trash.trash(EDITOR, folder, nonce(folder))
    assert list(integrity.check(fix=True)) == []
    assert mongo["cms.nodes"].count_documents({}) == 1


def restored_concurrently(monkeypatch, node_id):
    """Restore a node after the check has looked for it among the pages, and before it looks in the trash."""
    real, done = integrity.node_filter, []

    def node_filter(collection):
        if collection == "cms.trash" and not done:
            done.append(trash.restore(EDITOR, node_id))
        return real(collection)

    monkeypatch.setattr(integrity, "node_filter", node_filter)
    return done


def test_contents_of_a_section_being_restored_are_kept(mongo, monkeypatch):
    section = node("folder", "section")
    page = node(slug="page", parent=section)
    trash.trash(EDITOR, section, nonce(section))
    done = restored_concurrently(monkeypatch, section)
    assert not list(integrity.check(fix=True))
    assert done
    assert stored(page)["parent_id"] == section


def test_redirect_to_a_page_being_restored_is_kept(mongo, monkeypatch):
    page = node(slug="old")
    editing.save(EDITOR, page, nonce(page), {"slug": "new"})
    mongo["cms.redirects"].update_many({}, {"$set": {"kept_at": now() - timedelta(days=2)}})
    trash.trash(EDITOR, page, nonce(page))
    done = restored_concurrently(monkeypatch, page)
    assert not list(integrity.check(fix=True))
    assert done
    assert mongo["cms.redirects"].count_documents({}) == 1
