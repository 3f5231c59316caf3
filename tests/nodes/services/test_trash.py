"""Trash: refusals, restoring and permanent deletion."""

from datetime import UTC, datetime

import pytest

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from marginalia.mongo.clock import now
from nodes import errors
from nodes.collections import ASSET_FILES, NODES
from nodes.services import integrity, trash
from nodes.signals import node_deleted
from tests.support.interrupting import Stopped
from tests.support.nodes.photo_build import audit, document, gallery, upload

FUTURE = datetime(2900, 1, 1, tzinfo=UTC)


def test_contents_of_a_trashed_section_are_hidden_and_restored(mongo, client):
    outer = node("folder", "outer")
    inner = node("folder", "inner", parent=outer)
    node(slug="page", parent=inner, tags=("found",))
    assert client.get("/outer/inner/page").status_code == 200
    seen = nonce(outer)
    trash.trash(EDITOR, outer, seen)
    assert client.get("/outer/inner/page").status_code == client.get("/tag/found").status_code == 404
    trash.restore(EDITOR, outer, seen)
    assert client.get("/outer/inner/page").status_code == client.get("/tag/found").status_code == 200


def test_trashing_a_page_changed_meanwhile_is_refused(mongo):
    page = node()
    seen = nonce(page)
    save(page, nonce(page), title="Changed")
    with pytest.raises(errors.EditConflict):
        trash.trash(EDITOR, page, seen)
    assert stored(page)["title"] == "Changed"


def test_restore_under_another_slug_is_a_new_save(mongo):
    page = node(slug="page", text="First")
    seen = nonce(page)
    trash.trash(EDITOR, page, seen)
    node(slug="page", text="Second")
    with pytest.raises(errors.SlugTaken) as caught:
        trash.restore(EDITOR, page, seen)
    assert mongo["cms.trash"].count_documents({}) == 1
    trash.restore(EDITOR, page, seen, slug=caught.value.free)
    assert (stored(page)["slug"], stored(page)["detail"]["text"]) == ("page-2", "First")
    revision = mongo["cms.revisions"].find_one({"_id": nonce(page)})
    assert (revision["parent"], revision["metadata"]["slug"]) == (seen, "page-2")
    with pytest.raises(errors.NodeGone):
        trash.restore(EDITOR, page, seen)


def test_page_restored_elsewhere_redirects_from_its_old_url(mongo, client):
    folder, other = node("folder", "folder"), node("folder", "other")
    page = node(slug="page", parent=folder)
    trash.trash(EDITOR, page, nonce(page))
    trash.restore(EDITOR, page, parent_id=other)
    assert client.get("/folder/page")["Location"] == "/other/page"


def test_page_due_in_the_trash_is_restored_as_a_draft(mongo, client):
    begun, page, later = now(), node(published=FUTURE), node(slug="later", published=FUTURE)
    seen = nonce(page)
    for thrown in (page, later):
        trash.trash(EDITOR, thrown, nonce(thrown))
    mongo["cms.trash"].update_one({"_id": page}, {"$set": {"metadata.published": begun, "trashed_at": PAST}})
    assert (trash.restore(EDITOR, page, seen), trash.restore(EDITOR, later)) == (True, False)
    assert (stored(page)["published"], stored(later)["published"]) == (None, FUTURE)
    assert client.get("/page").status_code == 404
    revision = mongo["cms.revisions"].find_one({"_id": nonce(page)})
    assert (revision["parent"], revision["metadata"]["published"], revision["act"]) == (seen, None, "restored")
    assert mongo["cms.redirects"].count_documents({}) == 0
    public = node(slug="public")
    trash.trash(EDITOR, public, nonce(public))
    assert not trash.restore(EDITOR, public)
    assert client.get("/public").status_code == 200, "it was public before"


def test_restore_by_a_stale_page_is_refused(mongo):
    page = node()
    stale = nonce(page)
    save(page, nonce(page), title="Changed")
    trash.trash(EDITOR, page, nonce(page))
    with pytest.raises(errors.NodeGone):
        trash.restore(EDITOR, page, stale)
    assert mongo["cms.trash"].count_documents({}) == 1


def test_section_with_contents_cannot_be_deleted_permanently(mongo):
    folder = node("folder", "folder")
    inside = node(slug="inside", parent=folder)
    trash.trash(EDITOR, folder, nonce(folder))
    with pytest.raises(errors.InvalidPlace, match="isn't empty"):
        trash.delete(folder)
    trash.trash(EDITOR, inside, nonce(inside))
    trash.delete(inside)
    trash.delete(folder)
    assert mongo["cms.trash"].count_documents({}) == 0


def test_history_of_a_photo_with_the_same_id_is_kept(mongo):
    """Forms can no longer choose such an id. A page that an earlier release created is deleted alone."""
    photo_id = upload(gallery())
    page = node(slug="page")
    for name, key in (("cms.nodes", "_id"), ("cms.revisions", "node_id")):
        found = [{**one, key: photo_id} for one in mongo[name].find({key: page})]
        mongo[name].delete_many({key: page})
        mongo[name].insert_many(found)
    trash.trash(EDITOR, photo_id, nonce(photo_id))
    trash.delete(photo_id)
    left = list(mongo["cms.revisions"].find({"node_id": photo_id}))
    assert [one["metadata"]["type"] for one in left] == ["photo"]


def test_permanent_deletion_frees_the_slug_and_sends_a_signal(mongo, client):
    told = []
    node_deleted.connect(lambda node_id, type, **kwargs: told.append((node_id, type)), weak=False, dispatch_uid="test")
    page = node(slug="page")
    trash.trash(EDITOR, page, nonce(page))
    trash.delete(page)
    node_deleted.disconnect(dispatch_uid="test")
    assert told == [(page, "basic-page")]
    assert mongo["cms.revisions"].count_documents({}) == 0
    assert mongo["cms.redirects"].find_one()["deleted_at"]
    assert client.get("/page").status_code == 404
    assert list(integrity.check()) == []
    node(slug="page")
    assert client.get("/page").status_code == 200


@pytest.mark.parametrize("make", [node, lambda: upload(gallery())], ids=["page", "photo"])
def test_interrupted_deletion_is_completed(mongo, make):
    """It stays in the trash until everything that belongs to it is deleted, and can no longer be restored."""
    thrown, told = make(), []
    home, seen = (NODES, nonce(thrown)) if make is node else (ASSET_FILES, document(thrown)["metadata"]["nonce"])
    trash.trash(EDITOR, thrown, seen, home)

    def receive(node_id, **kwargs):
        told.append(node_id)
        if len(told) == 1:
            raise Stopped

    node_deleted.connect(receive, weak=False, dispatch_uid="test")
    try:
        with pytest.raises(Stopped):
            trash.delete(thrown)
        with pytest.raises(errors.NodeGone):
            trash.restore(EDITOR, thrown)
        trash.delete(thrown)
    finally:
        node_deleted.disconnect(dispatch_uid="test")
    assert told == [thrown, thrown]
    assert mongo["cms.trash"].count_documents({}) == 0
    assert mongo["cms.revisions"].count_documents({"node_id": thrown}) == 0
    audit()
