"""Create photos for tests, with the same services that editors use."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bson import ObjectId
from gridfs import GridFSBucket

from cms.testing import build
from cms.testing import photos as testing_photos
from cms.testing.photos import send
from marginalia.mongo.connection import database
from photos.assets import images
from photos.services import photos
from tests.support.nodes import pictures

UPLOADED = {"$in": ["photo", "file"]}


def gallery(slug: str = "gallery", **fields: Any) -> ObjectId:
    return build.node("gallery", slug, **fields)


def upload(parent: ObjectId, data: bytes | None = None, name: str = "lake.jpg", **options: Any) -> ObjectId:
    """Upload a photo and return its id. By default, the photo was published long ago and has much metadata."""
    return testing_photos.upload(parent, data or pictures.jpeg(), name, **options)


def replace(photo_id: ObjectId, data: bytes, name: str = "other") -> ObjectId:
    """Replace a photo's file, and return the id of the new file."""
    replacement = photos.Replacement(build.EDITOR, photo_id, name)
    send(replacement, data)
    replacement.finish()
    return replacement.id


@contextmanager
def busy_decoder() -> Iterator[None]:
    """Keep the image decoder busy, and make other threads wait for it only briefly."""
    with pytest.MonkeyPatch.context() as patch, images.decoder_slot:
        patch.setattr(images, "DECODER_TIMEOUT", 0.01)
        patch.setattr(images, "UPLOAD_DECODER_TIMEOUT", 0.01)
        yield


def document(photo_id: ObjectId) -> dict[str, Any]:
    return database()["cms.assets.files"].find_one({"_id": photo_id})


def shown(photo_id: ObjectId) -> bytes:
    """Return the bytes of a photo's current file, read with the driver's GridFS."""
    target = io.BytesIO()
    GridFSBucket(database(), "cms.assets").download_to_stream(document(photo_id)["metadata"]["content_id"], target)
    return target.getvalue()


def audit() -> None:
    """Check that every GridFS file has all its chunks, every chunk belongs to a file, and no file is locked."""
    db = database()
    for bucket in ("cms.assets", "cms.renditions"):
        files = {
            f["_id"]: f
            for f in [
                *db[f"{bucket}.files"].find(),
                *db["cms.trash"].find({"metadata.type": UPLOADED}),
            ]
        }
        stored: dict[ObjectId, int] = {}
        for chunk in db[f"{bucket}.chunks"].find():
            stored[chunk["files_id"]] = stored.get(chunk["files_id"], 0) + len(chunk["data"])
        assert stored == {f["_id"]: f["length"] for f in files.values() if f["length"]}
        assert not [f for f in files.values() if f["metadata"]["locked"]]
    for photo in db["cms.assets.files"].find({"metadata.type": "photo"}):
        assert db["cms.assets.files"].find_one({"_id": photo["metadata"]["content_id"]})["length"] > 0
    contents = db["cms.assets.files"].distinct("metadata.parent_id", {"metadata.type": "photo-content"})
    assert (
        not set(contents)
        - set(db["cms.assets.files"].distinct("_id", {"metadata.type": UPLOADED}))
        - set(db["cms.trash"].distinct("_id"))
    )


def count() -> tuple[int, int, int]:
    """Return the number of stored files, of chunks, and of revisions."""
    db = database()
    return tuple(db[name].count_documents({}) for name in ("cms.assets.files", "cms.assets.chunks", "cms.revisions"))
