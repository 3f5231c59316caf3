"""The doctor on pages and photos."""

from io import StringIO

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command

from cms.testing.build import node
from marginalia.mongo import doctor, indexes
from marginalia.mongo.clock import now
from marginalia.mongo.doctor import ERROR, WARNING
from marginalia.tasks import worker
from nodes.selectors import stored_photos
from photos.addresses import copy_path, original_path
from photos.assets.locks import STALE_AFTER
from photos.assets.reader import MissingChunk
from photos.services import photos
from tests.support.doctor import findings
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload


def test_healthy_site_has_no_findings(mongo):
    blog = node("blog", "blog")
    node("blog-entry", "post", parent=blog, tags=("a",), text=f"[Hello](node:{blog})\n\n:::note\nThere.\n:::")
    upload(gallery())
    assert mongo["cms.nodes"].count_documents({"derived.refs": {"$all": [blog, "note"]}}) == 1
    worker.tend()
    worker.follow()
    for change in indexes.plan():  # drops the indexes of types that other tests registered
        indexes.apply_change(change)
    assert [finding for finding in doctor.examine() if finding.level != doctor.ADVICE] == []


@pytest.mark.slow
def test_stalled_upload_is_reported(mongo):
    photo_id = upload(gallery())
    mongo["cms.assets.files"].update_one({"_id": photo_id}, {"$set": {"metadata.locked": now()}})
    assert findings("stalled-upload") == []
    mongo["cms.assets.files"].update_one({"_id": photo_id}, {"$set": {"metadata.locked": now() - 2 * STALE_AFTER}})
    (finding,) = findings("stalled-upload")
    assert (finding.level, finding.where, finding.fix) == (WARNING, "cms.assets.files", "Run manage.py sweep_uploads.")


@pytest.mark.slow
def test_orphan_chunk_is_reported(mongo):
    photo_id = upload(gallery())
    assert findings("orphan-chunk") == []
    lost = ObjectId()
    mongo["cms.assets.chunks"].insert_one({"_id": ObjectId(), "files_id": lost, "n": 0, "data": b"x"})
    (finding,) = findings("orphan-chunk")
    assert (finding.level, finding.where) == (WARNING, "cms.assets.chunks")
    assert str(lost) in finding.message
    assert str(photo_id) not in finding.message


def broken(mongo, photo_id: ObjectId, how: str) -> None:
    """Damage stored data of a photo as no service does."""
    files, chunks = mongo["cms.assets.files"], mongo["cms.assets.chunks"]
    if how == "missing":
        chunks.delete_many({"files_id": photo_id})
    elif how == "short":
        chunks.update_one({"files_id": photo_id}, {"$set": {"data": b"short"}})
    elif how == "dangling":
        files.update_one({"_id": photo_id}, {"$set": {"metadata.content_id": ObjectId()}})


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("how", ["missing", "short", "dangling"])
def test_broken_photo_is_reported_and_returns_404(mongo, client, how):
    photo_id = upload(gallery())
    upload(gallery("other"))
    address = original_path(stored_photos.get(photo_id))
    assert client.get(address).status_code == 200
    assert findings("photo-damaged") == []
    call_command("check_nodes", "--files", stdout=StringIO())
    broken(mongo, photo_id, how)
    (finding,) = findings("photo-damaged")
    assert (finding.level, finding.where) == (ERROR, "cms.assets.files")
    assert finding.message.startswith(f"1 files are damaged: {photo_id} ")
    with pytest.raises(CommandError) as failed:
        call_command("check_nodes", "--files", "--fix", stdout=StringIO())
    assert failed.value.returncode == 1
    for spec in ("original", "w320.webp"):
        for content_id in {photo_id, stored_photos.get(photo_id).metadata.content_id}:
            assert client.get(f"/media/{photo_id}/{content_id}/{spec}", follow=True).status_code == 404


def test_missing_middle_chunk_returns_404(mongo, client):
    photo_id = upload(gallery(), pictures.encoded("PNG", pictures.image((600, 400)), compress_level=0), "a.png")
    mongo["cms.assets.chunks"].delete_one({"files_id": photo_id, "n": 1})
    address = original_path(stored_photos.get(photo_id))
    assert client.get(address).status_code == 404
    assert client.get(address, headers={"range": "bytes=0-99"}).status_code == 206


def test_short_middle_chunk_ends_the_response_with_an_error(mongo, client):
    """Its size is not checked beforehand.

    The body is shorter than Content-Length, and contains only bytes of the file.
    """
    photo_id = upload(gallery(), pictures.encoded("PNG", pictures.image((600, 400)), compress_level=0), "a.png")
    whole = client.get(original_path(stored_photos.get(photo_id))).getvalue()
    mongo["cms.assets.chunks"].update_one({"files_id": photo_id, "n": 1}, {"$set": {"data": b"short"}})
    response = client.get(original_path(stored_photos.get(photo_id)))
    assert response.headers["Content-Length"] == str(len(whole))
    sent = []
    with pytest.raises(MissingChunk):
        sent.extend(response.streaming_content)
    assert whole.startswith(b"".join(sent))
    assert sent


@pytest.mark.slow
def test_damaged_copy_is_rendered_again(mongo, client):
    photo = stored_photos.get(upload(gallery()))
    whole = client.get(copy_path(photo, 320)).getvalue()
    mongo["cms.renditions.chunks"].delete_many({})
    (finding,) = findings("photo-damaged")
    assert finding.where == "cms.renditions.files"
    assert client.get(copy_path(photo, 320)).status_code == 404
    call_command("check_nodes", "--files", "--fix", stdout=StringIO())
    assert client.get(copy_path(photo, 320)).getvalue() == whole


@pytest.mark.slow
def test_malformed_files_stop_no_check(mongo):
    upload(gallery())
    now_long_ago = now() - 2 * STALE_AFTER
    for name in ("cms.assets", "cms.renditions"):
        raw = mongo[f"{name}.files"].with_options()
        for document in (
            {"length": 3, "chunkSize": 1, "uploadDate": now()},
            {"filename": "a.jpg", "length": "three"},
            {"metadata": {"locked": now_long_ago, "type": "photo"}},
        ):
            place = {"parent_id": ObjectId(), "slug": str(ObjectId()), "source": ObjectId(), "spec": str(ObjectId())}
            metadata = {**place, **document["metadata"]} if "metadata" in document else place
            given = {**document, "metadata": metadata} if document.get("length") != 3 else document
            raw.insert_one(given, bypass_document_validation=True)
        for lost in ("a text", 7, ObjectId()):
            chunk = {"files_id": lost, "n": 0, "data": b"x"}
            mongo[f"{name}.chunks"].insert_one(chunk, bypass_document_validation=True)
    assert findings("check-failed") == []
    assert {finding.where for finding in findings("photo-damaged")} == {"cms.assets.files", "cms.renditions.files"}
    assert len(findings("stalled-upload")) == 2
    assert "3 files no longer exist" in findings("orphan-chunk")[0].message
    with pytest.raises(CommandError, match="problems remain|found") as failed:
        call_command("check_nodes", "--files", "--fix", stdout=StringIO())
    assert failed.value.returncode == 1


def test_chunks_of_a_trashed_photo_are_no_orphans(mongo, ann):
    photo_id = upload(gallery())
    nonce = mongo["cms.assets.files"].find_one({"_id": photo_id})["metadata"]["nonce"]
    photos.move_to_trash(ann, photo_id, nonce)
    assert findings("orphan-chunk") == []


@pytest.mark.slow
def test_missing_site_document_is_reported(mongo):
    node()
    assert findings("site-gone") == []
    mongo["cms.site"].delete_many({})
    (finding,) = findings("site-gone")
    assert (finding.level, finding.where) == (ERROR, "cms.site")


@pytest.mark.slow
def test_missing_history_is_reported(mongo):
    page = node()
    assert findings("history-gone") == []
    mongo["cms.revisions"].delete_many({})
    (finding,) = findings("history-gone")
    assert str(page) in finding.message


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("is_hidden", [False, True])
def test_missing_or_hidden_index_is_an_error_and_hides_no_page(mongo, client, is_hidden):
    node("blog-entry", "post", parent=node("blog", "news"))
    assert findings("index-missing") == []
    if is_hidden:
        mongo.command("collMod", "cms.nodes", index={"name": "by_section", "hidden": True})
    else:
        mongo["cms.nodes"].drop_index("by_section")
    try:
        assert "/news/post" in client.get("/news").content.decode()
        (finding,) = findings("index-missing")
        assert (finding.level, "by_section" in finding.message) == (ERROR, True)
    finally:
        indexes.ensure()
