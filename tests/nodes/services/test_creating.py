"""Ids chosen by a form or an import: an object with such an id is not touched."""

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from marginalia.mongo.connection import database
from nodes import errors
from nodes.services import duplicating, editing, trash
from photos.services import photos
from tests.support.interrupting import before_command
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, document, gallery, replace, send, upload

pytestmark = pytest.mark.usefixtures("mongo")


def make(node_id: ObjectId, **options):
    return editing.create(EDITOR, type="basic-page", parent_id=None, slug="", title="A", node_id=node_id, **options)


def nothing_was_made(before: int) -> bool:
    return database()["cms.revisions"].count_documents({}) == before and not database()["cms.nodes"].count_documents(
        {"metadata.type": "basic-page"}
    )


def test_id_of_a_photo_cannot_be_used_for_a_page():
    photo_id = upload(gallery())
    content_id = replace(photo_id, pictures.png())
    coming = photos.Upload(EDITOR, gallery("other"), "b.jpg")
    before = database()["cms.revisions"].count_documents({})
    for taken in (photo_id, content_id, coming.id):
        with pytest.raises(errors.IdTaken):
            make(taken)
    assert nothing_was_made(before)
    coming.abort()
    audit()


def test_id_of_a_photo_cannot_be_used_for_a_copy():
    photo_id, folder = upload(gallery()), node("folder", "folder")
    with pytest.raises(errors.IdTaken):
        duplicating.duplicate(EDITOR, folder, parent_id=None, new_id=photo_id)


def test_id_of_a_trashed_photo_cannot_be_used_for_a_page():
    photo_id = upload(gallery())
    photos.move_to_trash(EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
    with pytest.raises(errors.NodeGone):
        make(photo_id)


def test_id_with_the_history_of_another_form_is_refused():
    """As after an interrupted deletion, whose history would become the new page's."""
    left = node()
    database()["cms.nodes"].delete_one({"_id": left})
    before = database()["cms.revisions"].count_documents({})
    with pytest.raises(errors.IdTaken):
        make(left)
    assert nothing_was_made(before)


def test_interrupted_creation_is_completed_by_its_form(monkeypatch):
    """The form's revision is stored first."""
    chosen = ObjectId()
    node(slug="taken")
    with pytest.raises(errors.SlugTaken):
        editing.create(EDITOR, type="basic-page", parent_id=None, slug="taken", title="A", node_id=chosen)
    assert database()["cms.revisions"].count_documents({"node_id": chosen}) == 1
    make(chosen)
    assert stored(chosen)["title"] == "A"


def test_id_of_a_page_cannot_be_used_for_a_photo():
    page, thrown, parent = node(), node(slug="thrown"), gallery()
    trash.trash(EDITOR, thrown, nonce(thrown))
    left = node(slug="left")
    database()["cms.nodes"].delete_one({"_id": left})
    before = count()
    for taken in (page, thrown, left):
        with pytest.raises(errors.IdTaken):
            photos.Upload(EDITOR, parent, "a.jpg", photo_id=taken)
    assert count() == before


def test_interrupted_photo_upload_restarts():
    """The revision of a photo is stored first too."""
    parent, chosen = gallery(), ObjectId()
    first = photos.Upload(EDITOR, parent, "a.jpg", photo_id=chosen)
    send(first, pictures.jpeg())
    first.finish()
    database()["cms.assets.files"].delete_one({"_id": chosen})
    database()["cms.assets.chunks"].delete_many({"files_id": chosen})
    assert upload(parent, photo_id=chosen) == chosen
    audit()


def test_creation_time_is_kept_when_the_slug_is_taken_meanwhile():
    """Without a typed slug, the node is created again under another one."""
    made = []
    with before_command("insert", "cms.nodes", lambda: node(slug="a")):
        made.append(editing.create(EDITOR, type="basic-page", parent_id=None, slug="", title="A", created=PAST).id)
    assert (stored(made[0])["slug"], stored(made[0])["created"]) == ("a-2", PAST)


def test_concurrent_creation_keeps_the_first_slug():
    """The second request finds the slug taken, and has stored a first revision with another one."""
    chosen, first = ObjectId(), []
    with before_command(
        "find", "cms.revisions", lambda: first.append(make(chosen)), lambda command: "form" in command["filter"]
    ):
        again = make(chosen)
    assert (again.id, again.nonce) == (chosen, first[0].nonce)
    assert (stored(chosen)["slug"], stored(chosen)["nonce"]) == ("a", again.nonce)
    assert database()["cms.revisions"].distinct("metadata.slug", {"node_id": chosen}) == ["a", "a-2"]
