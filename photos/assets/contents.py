"""The contents of photos, which are files in GridFS: finding them, and deleting them with their copies."""

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
PROJECTION = {"length": 1, "chunkSize": 1, "uploadDate": 1, "filename": 1}


@dataclass(frozen=True)
class StoredFile:
    """A complete file of a GridFS bucket."""

    bucket: str
    id: ObjectId
    length: int
    chunk_size: int
    uploaded: datetime

    @classmethod
    def from_document(cls, bucket: str, document: Mapping[str, Any]) -> Self:
        return cls(bucket, document["_id"], document["length"], document["chunkSize"], document["uploadDate"])

    def open(self) -> BinaryIO:
        """Return a seekable file object. Its `read` returns exactly the requested number of bytes, as Pillow requires."""
        return io.BufferedReader(SeekableFile(self.bucket, self.id, self.chunk_size, self.length), 1 << 16)


def place_filter(photo_id: ObjectId, content_id: ObjectId) -> dict[str, Any]:
    """Return the filter of a replacement content by the shard key, so that a query goes to one shard."""
    return {"metadata.parent_id": photo_id, "metadata.slug": str(content_id)}


def selector(photo_id: ObjectId, content_id: ObjectId) -> dict[str, Any]:
    """Return the filter of a content's files document. The first content has the photo's own document."""
    return {"_id": content_id, **({} if content_id == photo_id else place_filter(photo_id, content_id))}


def find(photo_id: ObjectId, content_id: ObjectId, gallery_id: ObjectId | None = None) -> StoredFile | None:
    """Return a complete content of a photo that the sweeper hasn't marked, or None if there is none.

    Args:
        photo_id: The photo.
        content_id: The content.
        gallery_id: The gallery to search first for the first content, whose document is the photo's own.
    """
    query = {**selector(photo_id, content_id), "metadata.doomed": None, "length": {"$gt": 0}, **_READABLE}
    for place in gallery_filters(gallery_id if content_id == photo_id else None):
        if document := database()[ASSET_FILES].find_one({**query, **place}, PROJECTION, hint=BY_ID):
            return StoredFile.from_document(ASSETS, document)
    return None


def delete(photo_id: ObjectId, content_id: ObjectId) -> None:
    """Delete a replacement content and its copies. Its document is deleted last, so that a crash leaves no orphan chunks."""
    delete_renditions(content_id)
    database()[ASSET_CHUNKS].delete_many({"files_id": content_id})
    database()[ASSET_FILES].delete_one({**selector(photo_id, content_id), "metadata.type": CONTENT})


def delete_all(photo_id: ObjectId) -> None:
    """Delete all contents of a photo whose own document is already deleted."""
    for content in list(
        database()[ASSET_FILES].find({"metadata.parent_id": photo_id, "metadata.type": CONTENT}, {"_id": 1})
    ):
        delete(photo_id, content["_id"])
    delete_renditions(photo_id)
    database()[ASSET_CHUNKS].delete_many({"files_id": photo_id})


def delete_renditions(content_id: ObjectId) -> None:
    """Delete all copies of a content."""
    for rendition in list(database()[RENDITION_FILES].find({"metadata.source": content_id}, {"metadata.spec": 1})):
        delete_rendition(content_id, rendition)


def delete_rendition(content_id: ObjectId, rendition: Mapping[str, Any]) -> None:
    """Delete one copy of a content, whose document `rendition` was read before. The document is deleted last."""
    database()[RENDITION_CHUNKS].delete_many({"files_id": rendition["_id"]})
    database()[RENDITION_FILES].delete_one(
        {"_id": rendition["_id"], "metadata.source": content_id, "metadata.spec": rendition["metadata"]["spec"]}
    )
