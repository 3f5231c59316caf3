"""Uploading a photo, from the first byte to its gallery."""

import re
import threading
from datetime import timedelta

import pytest
from pymongo.errors import AutoReconnect

from cms.testing import build
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.access import System
from nodes.errors import FieldRefused, InvalidPlace, NotReady, SlugTaken, TooBusy
from nodes.selectors import stored_photos
from photos.actions import UploadPhoto
from photos.assets import images
from photos.assets.writer import CHUNK, Writer
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, busy_decoder, count, document, gallery, send, shown, upload

pytestmark = pytest.mark.usefixtures("mongo")

LARGE = pictures.encoded("PNG", pictures.image((1000, 800)).effect_spread(300), compress_level=0)


def test_photo_has_the_shape_of_a_node_and_its_properties():
    parent = gallery()
    photo_id = upload(parent, pictures.jpeg(6), tags=("lake",))
    stored = document(photo_id)
    metadata = stored["metadata"]
    assert metadata["content_id"] == photo_id
    assert metadata["locked"] is None
    assert (metadata["type"], metadata["parent_id"], metadata["slug"], metadata["title"]) == (
        "photo",
        parent,
        "lake",
        "lake",
    )
    assert metadata["summary"] == "A lake"
    assert metadata["detail"]["content_type"] == "image/jpeg"
    assert metadata["detail"]["resolution"] == [40, 60]
    assert re.fullmatch("#[0-9a-f]{6}", metadata["detail"]["colour"])
    assert metadata["detail"]["size"] == stored["length"] == len(shown(photo_id))
    assert {"n": "camera", "v": "Nikon Z 8"} in metadata["detail"]["exif"]
    assert database()["cms.revisions"].find_one({"_id": metadata["nonce"]})["metadata"]["detail"] == metadata["detail"]
    assert not [secret for secret in pictures.SECRETS if secret in shown(photo_id)]
    audit()


def test_large_file_reads_back_through_the_gridfs_driver():
    photo_id = upload(gallery(), LARGE, "noise.png", step=70_001)
    assert len(LARGE) > 9 * CHUNK
    assert shown(photo_id) == LARGE
    audit()


def test_locked_document_exists_from_the_first_byte_unseen():
    parent = gallery()
    coming = photos.Upload(build.EDITOR, parent, "noise.png")
    coming.feed(LARGE[:1000])
    assert document(coming.id)["length"] == 0
    assert now() - document(coming.id)["metadata"]["locked"] < timedelta(seconds=20)
    assert stored_photos.get(coming.id) is None
    coming.feed(LARGE[1000:])
    assert database()["cms.assets.chunks"].count_documents({"files_id": coming.id}) == 8
    coming.finish()
    assert stored_photos.get(coming.id).metadata.title == "noise"


def test_duplicate_content_is_reported_and_accepted():
    first = upload(gallery())
    coming = photos.Upload(build.EDITOR, gallery("other"), "again.jpg")
    send(coming, pictures.jpeg())
    assert coming.finish().duplicates == (first,)


def test_file_names_are_numbered_and_given_slugs_refused():
    parent = gallery()
    assert [document(upload(parent))["metadata"]["slug"] for _ in range(3)] == ["lake", "lake-2", "lake-3"]
    with pytest.raises(SlugTaken, match="lake-4"):
        photos.Upload(build.EDITOR, parent, "x.jpg", slug="lake")


def test_title_sent_after_the_file_sets_the_slug():
    parent = gallery()
    taken = upload(parent, name="a-lake.jpg")
    typed = upload(parent, name="DSC_0815.jpg", title="A lake")
    coming = photos.Upload(build.EDITOR, parent, "DSC_0816.jpg")
    send(coming, pictures.jpeg())
    later = coming.finish({"title": "A lake"}).id
    slugs = [document(one)["metadata"]["slug"] for one in (taken, typed, later)]
    assert slugs == ["a-lake", "a-lake-2", "a-lake-3"]
    asked = photos.Upload(build.EDITOR, parent, "DSC_0817.jpg", slug="mine")
    send(asked, pictures.jpeg())
    assert document(asked.finish({"title": "A lake"}).id)["metadata"]["slug"] == "mine"
    history = database()["cms.revisions"].find_one({"node_id": later})
    assert history["metadata"]["slug"] == "a-lake-3"
    audit()


def test_photos_can_be_only_in_galleries():
    blog = build.node("blog", "blog")
    with pytest.raises(InvalidPlace):
        photos.Upload(build.EDITOR, blog, "x.jpg")
    assert count()[0] == 0


def test_photo_is_published_only_with_alternative_text():
    parent = gallery()
    before = count()
    with pytest.raises(NotReady, match="alternative text"):
        upload(parent, fields={"detail.alt": " "})
    assert count() == before
    photo_id = upload(parent, fields={"detail.alt": "", "published": None})
    with pytest.raises(NotReady):
        photos.save(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], {"published": build.PAST})
    saved = photos.save(
        build.EDITOR,
        photo_id,
        document(photo_id)["metadata"]["nonce"],
        {"published": build.PAST, "detail.alt": "A lake"},
    )
    assert document(photo_id)["metadata"]["nonce"] == saved.nonce


def test_upload_with_an_invalid_late_tag_stores_nothing():
    upload = photos.Upload(build.EDITOR, gallery(), "lake.jpg")
    upload.feed(pictures.jpeg())
    with pytest.raises(FieldRefused, match="can't be a tag"):
        upload.finish(tags=("..",))
    assert database()["cms.assets.files"].count_documents({}) == 0
    assert database()["cms.assets.chunks"].count_documents({}) == 0


def test_upload_at_a_busy_decoder_is_refused_and_stores_nothing():
    parent = gallery()
    before = count()
    coming = photos.Upload(build.EDITOR, parent, "lake.jpg")
    send(coming, pictures.jpeg())
    with busy_decoder(), pytest.raises(TooBusy, match="other photos"):
        coming.finish()
    assert count() == before
    assert upload(parent), "the next upload is accepted"


def test_finished_upload_waits_longer_than_a_copy(monkeypatch):
    coming = photos.Upload(build.EDITOR, gallery(), "lake.jpg")
    send(coming, pictures.jpeg())
    monkeypatch.setattr(images, "DECODER_TIMEOUT", 0.01)
    images.decoder_slot.acquire()
    threading.Timer(0.5, images.decoder_slot.release).start()
    assert shown(coming.finish().id)


def test_cancelled_upload_leaves_nothing():
    parent = gallery()
    before = count()
    coming = photos.Upload(build.EDITOR, parent, "noise.png")
    coming.feed(LARGE[:-1000])
    coming.abort()
    assert count() == before


class _Unanswered:
    """A collection whose updates reach the server, without responses to them or to the driver's retries."""

    def __init__(self, collection):
        self._collection = collection

    def __getattr__(self, name):
        return getattr(self._collection, name)

    def update_one(self, *arguments, **named):
        self._collection.update_one(*arguments, **named)
        raise AutoReconnect("the answer was lost")


def test_photo_with_a_lost_last_response_keeps_its_bytes(monkeypatch):
    """The server has the photo and may show it.

    The client gets no response and gives up, but must not delete the bytes.
    """
    real = Writer.finish

    def finish(writer, *arguments, **named):
        files = writer.files
        writer.files = _Unanswered(files)
        try:
            return real(writer, *arguments, **named)
        finally:
            writer.files = files

    monkeypatch.setattr(Writer, "finish", finish)
    with pytest.raises(AutoReconnect):
        UploadPhoto(user=System(build.EDITOR), gallery_id=gallery(), filename="lake.jpg").execute([pictures.jpeg()])
    (photo,) = database()["cms.assets.files"].find({"metadata.type": "photo"})
    assert shown(photo["_id"])
    audit()
