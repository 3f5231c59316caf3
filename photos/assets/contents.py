"""The contents of photos as files: finding the one that is shown, and deleting what nothing shows any more."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, Self

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import (
    ASSET_CHUNKS,
    ASSET_FILES,
    ASSETS,
    BY_ID,
    RENDITION_CHUNKS,
    RENDITION_FILES,
    gallery_filters,
)
from nodes.content import CONTENT
from photos.assets.reader import SeekableFile

_READABLE = {"chunkSize": {"$gt": 0}, "uploadDate": {"$type": "date"}}
FILE = {"length": 1, "chunkSize": 1, "uploadDate": 1, "filename": 1}


@dataclass(frozen=True)
class Stored:
    """A whole file of a bucket, to be read."""

    bucket: str
    id: ObjectId
    length: int
    chunk_size: int
    uploaded: datetime

    @classmethod
    def of(cls, bucket: str, document: Mapping[str, Any]) -> Self:
        return cls(bucket, document["_id"], document["length"], document["chunkSize"], document["uploadDate"])

    def open(self) -> BinaryIO:
        """Return the file as one that can be read and sought in: by as many bytes as are asked for, which Pillow counts on."""
        return io.BufferedReader(SeekableFile(self.bucket, self.id, self.chunk_size, self.length), 1 << 16)


def place(photo_id: ObjectId, content_id: ObjectId) -> dict[str, Any]:
    """Return where a later content of a photo stands: the shard key, so that a read of it is targeted."""
    return {"metadata.parent_id": photo_id, "metadata.slug": str(content_id)}


def selector(photo_id: ObjectId, content_id: ObjectId) -> dict[str, Any]:
    """Return the filter of the files document of a content; the first one is the photo's own."""
    return {"_id": content_id, **({} if content_id == photo_id else place(photo_id, content_id))}


def find(photo_id: ObjectId, content_id: ObjectId, gallery_id: ObjectId | None = None) -> Stored | None:
    """Return a content of a photo that is whole and stays; None if there is none. `gallery_id`: where the photo, which the
    first one is, is looked for first."""
    wanted = {**selector(photo_id, content_id), "metadata.doomed": None, "length": {"$gt": 0}, **_READABLE}
    for near in gallery_filters(gallery_id if content_id == photo_id else None):
        if document := database()[ASSET_FILES].find_one({**wanted, **near}, FILE, hint=BY_ID):
            return Stored.of(ASSETS, document)
    return None


def delete(photo_id: ObjectId, content_id: ObjectId) -> None:
    """Delete a content that is no photo by itself, with the copies made of it: the document last."""
    delete_renditions(content_id)
    database()[ASSET_CHUNKS].delete_many({"files_id": content_id})
    database()[ASSET_FILES].delete_one({**selector(photo_id, content_id), "metadata.type": CONTENT})


def delete_all(photo_id: ObjectId) -> None:
    """Delete all contents of a photo whose own document is gone already."""
    for content in list(
        database()[ASSET_FILES].find({"metadata.parent_id": photo_id, "metadata.type": CONTENT}, {"_id": 1})
    ):
        delete(photo_id, content["_id"])
    delete_renditions(photo_id)
    database()[ASSET_CHUNKS].delete_many({"files_id": photo_id})


def delete_renditions(content_id: ObjectId) -> None:
    """Delete the copies made of a content."""
    for rendition in list(database()[RENDITION_FILES].find({"metadata.source": content_id}, {"metadata.spec": 1})):
        delete_rendition(content_id, rendition)


def delete_rendition(content_id: ObjectId, rendition: Mapping[str, Any]) -> None:
    """Delete one copy made of a content, as it was read: the document last."""
    database()[RENDITION_CHUNKS].delete_many({"files_id": rendition["_id"]})
    database()[RENDITION_FILES].delete_one(
        {"_id": rendition["_id"], "metadata.source": content_id, "metadata.spec": rendition["metadata"]["spec"]}
    )
