"""The doctor on pages and photos."""

from bson import ObjectId

from mongo import doctor
from mongo.connection import now
from mongo.doctor import ERROR, WARNING
from nodes.assets.locks import STALE
from nodes.services import photos
from tests.nodes.build import node
from tests.nodes.photo_build import gallery, upload


def findings(name: str) -> list[doctor.Finding]:
    return [finding for finding in doctor.examine() if finding.name == name]


def test_site_with_pages_and_photos_is_well(mongo):
    blog = node("blog", "blog")
    node("blog-entry", "post", parent=blog, tags=("a",), text="Hello")
    upload(gallery())
    assert [finding for finding in doctor.examine() if finding.level != doctor.ADVICE] == []


def test_stalled_upload(mongo):
    photo_id = upload(gallery())
    mongo["cms.assets.files"].update_one({"_id": photo_id}, {"$set": {"metadata.locked": now()}})
    assert findings("stalled-upload") == []
    mongo["cms.assets.files"].update_one({"_id": photo_id}, {"$set": {"metadata.locked": now() - 2 * STALE}})
    (finding,) = findings("stalled-upload")
    assert (finding.level, finding.where, finding.fix) == (WARNING, "cms.assets.files", "manage.py sweep_uploads")


def test_orphan_chunk(mongo):
    photo_id = upload(gallery())
    assert findings("orphan-chunk") == []
    lost = ObjectId()
    mongo["cms.assets.chunks"].insert_one({"_id": ObjectId(), "files_id": lost, "n": 0, "data": b"x"})
    (finding,) = findings("orphan-chunk")
    assert (finding.level, finding.where) == (WARNING, "cms.assets.chunks")
    assert str(lost) in finding.message
    assert str(photo_id) not in finding.message


def test_photo_in_the_trash_keeps_its_chunks(mongo, ann):
    photo_id = upload(gallery())
    nonce = mongo["cms.assets.files"].find_one({"_id": photo_id})["metadata"]["nonce"]
    photos.throw_away(ann, photo_id, nonce)
    assert findings("orphan-chunk") == []


def test_site_document_that_is_gone(mongo):
    node()
    assert findings("site-gone") == []
    mongo["cms.site"].delete_many({})
    (finding,) = findings("site-gone")
    assert (finding.level, finding.where) == (ERROR, "cms.site")


def test_history_that_is_gone(mongo):
    page = node()
    assert findings("history-gone") == []
    mongo["cms.revisions"].delete_many({})
    (finding,) = findings("history-gone")
    assert str(page) in finding.message
