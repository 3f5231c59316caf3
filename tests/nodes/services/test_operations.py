"""Moving, copying, trashing and restoring: old URLs, and refusals."""

from datetime import UTC, datetime

import pytest
from bson import ObjectId

from marginalia.mongo.clock import now
from nodes import errors
from nodes.collections import ASSET_FILES, NODES
from nodes.services import drafts, duplicating, editing, integrity, trash
from nodes.signals import node_deleted
from tests.support.interrupting import Stopped
from tests.support.nodes.build import EDITOR, PAST, node, nonce, stored
from tests.support.nodes.photo_build import audit, document, gallery, upload

FUTURE = datetime(2900, 1, 1, tzinfo=UTC)


def save(node_id, **mine):
    editing.save(EDITOR, node_id, nonce(node_id), mine)


def test_old_urls_of_a_moved_section_redirect_once(mongo, client):
    target, section = node("folder", "target"), node("folder", "section")
    node(slug="inside", parent=section, text="Found")
    save(section, parent_id=target)
    save(section, slug="renamed")
    save(target, slug="aim")
    for old in ("/section/inside", "/target/section/inside", "/target/renamed/inside", "/aim/section/inside"):
        answer = client.get(old)
        assert (answer.status_code, answer["Location"]) == (301, "/aim/renamed/inside"), old
    assert "Found" in client.get("/aim/renamed/inside").content.decode()


def test_new_page_at_an_old_url_is_shown(mongo, client):
    page = node(slug="old", text="First")
    save(page, slug="new")
    node(slug="old", text="Second")
    assert "Second" in client.get("/old").content.decode()


def test_hidden_section_at_an_old_url_keeps_the_redirect(mongo, client):
    section = node("blog", "news")
    node("blog-entry", "post", parent=section)
    save(section, slug="archive-of-news")
    begun = node("blog", "news", published=None)
    assert client.get("/news/post")["Location"] == "/archive-of-news/post"
    assert client.get("/news")["Location"] == "/archive-of-news"
    save(begun, published=PAST)
    assert client.get("/news/post")["Location"] == "/archive-of-news/post", "the new section has no such post"
    node("blog-entry", "post", parent=begun)
    assert client.get("/news/post").status_code == 200


class TestExistingRedirect:
    """/about redirects to the page that was there and is now at /about-us, whatever else is at /about for a while."""

    @pytest.fixture
    def about_us(self, mongo):
        page = node(slug="about")
        save(page, slug="about-us")
        return page

    def test_permanent_deletion_of_an_earlier_page_keeps_it(self, mongo, client):
        old = node(slug="about")
        trash.trash(EDITOR, old, nonce(old))
        save(node(slug="about"), slug="about-us")
        trash.delete(old)
        assert client.get("/about")["Location"] == "/about-us"

    @pytest.mark.parametrize("published", [None, FUTURE], ids=["draft", "scheduled"])
    def test_renaming_a_page_never_public_there_keeps_it(self, about_us, client, published):
        save(node(slug="about", published=published), slug="about-team")
        assert client.get("/about")["Location"] == "/about-us"

    def test_renaming_a_page_public_there_replaces_it(self, about_us, client):
        save(node(slug="about"), slug="about-team")
        assert client.get("/about")["Location"] == "/about-team"

    @pytest.mark.parametrize("published", [None, PAST], ids=["draft", "public"])
    def test_refused_rename_keeps_it(self, about_us, mongo, published):
        other = node(slug="about", published=published)
        with pytest.raises(errors.SlugTaken):
            save(other, slug="about-us")
        assert mongo["cms.redirects"].find_one()["node_id"] == about_us

    def test_permanently_deleted_page_keeps_no_redirect(self, mongo, client):
        gone = node(slug="about")
        trash.trash(EDITOR, gone, nonce(gone))
        trash.delete(gone)
        draft = node(slug="about", published=None)
        save(draft, slug="about-us")
        save(draft, published=PAST)
        assert client.get("/about")["Location"] == "/about-us"
        assert "deleted_at" not in mongo["cms.redirects"].find_one()


def test_copy_contains_nothing_specific_to_the_original(mongo, bob):
    """Comments in the node's own document and counters are not copied. The draft is, as the editor's latest text."""
    page = node(title="Page", text="Text", **{"detail.source": {"id": 7}})
    drafts.save_draft(bob, page, nonce(page), {"title": "Drafted", "detail.text": "More text"})
    beside = {"comments": [], "comments_epoch": 3, "views": {"2024-01": 9}}
    mongo["cms.nodes"].update_one({"_id": page}, {"$set": beside})
    copied = mongo["cms.nodes"].find_one({"_id": duplicating.duplicate(bob, page, parent_id=None).id})
    assert set(copied) == {"_id", "metadata", "derived"}
    assert (copied["metadata"]["title"], copied["metadata"]["detail"]["text"]) == ("Copy of Drafted", "More text")
    assert set(copied["metadata"]) == set(stored(page))
    drafted = mongo["cms.nodes"].find_one({"_id": page})["draft"]["metadata"]["detail"]
    assert set(copied["metadata"]["detail"]) == set(drafted) - {"source"}
    assert copied["metadata"]["nonce"] != nonce(page)
    assert mongo["cms.revisions"].count_documents({"node_id": copied["_id"]}) == 1


def test_copy_is_unpublished_and_made_once(mongo, bob):
    folder = node("folder", "folder")
    page, chosen = node(title="Page", text="Text", tags=("a",)), ObjectId()
    for _ in range(2):
        assert duplicating.duplicate(bob, page, parent_id=folder, new_id=chosen).id == chosen
    copy = stored(chosen)
    assert (copy["title"], copy["detail"]["text"], copy["tags"]) == ("Copy of Page", "Text", ["a"])
    assert (copy["published"], copy["author"]["name"], copy["parent_id"]) == (None, "Bob", folder)
    assert mongo["cms.nodes"].count_documents({}) == 3
    with pytest.raises(errors.InvalidPlace):
        duplicating.duplicate(bob, page, parent_id=node("blog", "blog"))


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
    save(page, title="Changed")
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
    save(page, title="Changed")
    trash.trash(EDITOR, page, nonce(page))
    with pytest.raises(errors.NodeGone):
        trash.restore(EDITOR, page, stale)
    assert mongo["cms.trash"].count_documents({}) == 1


def test_section_with_contents_cannot_be_deleted_permanently(mongo):
    folder = node("folder", "folder")
    inside = node(slug="inside", parent=folder)
    trash.trash(EDITOR, folder, nonce(folder))
    with pytest.raises(errors.InvalidPlace, match="not empty"):
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
