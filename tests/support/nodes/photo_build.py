"""Photos for tests, made by the services that editors use."""

import io
from typing import Any

from bson import ObjectId
from gridfs import GridFSBucket

from marginalia.mongo.connection import database
from photos.services import photos
from tests.support.nodes import build, pictures


def gallery(slug: str = "gallery", **fields: Any) -> ObjectId:
    return build.node("gallery", slug, **fields)


def upload(
    parent: ObjectId, data: bytes | None = None, name: str = "lake.jpg", step: int = 50_000, **options: Any
) -> ObjectId:
    """Upload a photo, as a draft unless `published` says otherwise; return its id."""
    fields = {"published": build.PAST, "detail.alt": "A lake", **options.pop("fields", {})}
    coming = photos.Upload(build.EDITOR, parent, name, fields=fields, **options)
    send(coming, data or pictures.jpeg(), step)
    return coming.finish().id


def replace(photo_id: ObjectId, data: bytes, name: str = "other") -> ObjectId:
    """Replace a photo's content; return the content's id."""
    coming = photos.Replacement(build.EDITOR, photo_id, name)
    send(coming, data)
    coming.finish()
    return coming.id


def send(coming: Any, data: bytes, step: int = 50_000) -> None:
    for start in range(0, len(data), step):
        coming.feed(data[start : start + step])


def document(photo_id: ObjectId) -> dict[str, Any]:
    return database()["cms.assets.files"].find_one({"_id": photo_id})


def shown(photo_id: ObjectId) -> bytes:
    """Return the bytes that the photo shows, through the driver's own GridFS."""
    target = io.BytesIO()
    GridFSBucket(database(), "cms.assets").download_to_stream(document(photo_id)["metadata"]["content_id"], target)
    return target.getvalue()


def audit() -> None:
    """Assert that GridFS is sound: no document without its chunks, no chunk without a document, nothing locked."""
    db = database()
    for bucket in ("cms.assets", "cms.renditions"):
        files = {
            f["_id"]: f for f in [*db[f"{bucket}.files"].find(), *db["cms.trash"].find({"metadata.type": "photo"})]
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
        - set(db["cms.assets.files"].distinct("_id", {"metadata.type": "photo"}))
        - set(db["cms.trash"].distinct("_id"))
    )


def count() -> tuple[int, int, int]:
    """Return how many files, chunks and revisions are stored."""
    db = database()
    return tuple(db[name].count_documents({}) for name in ("cms.assets.files", "cms.assets.chunks", "cms.revisions"))
