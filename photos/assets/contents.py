"""Functions that find photos' files in GridFS, and that delete these files and their copies."""

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
    """A complete file in a GridFS bucket."""

    bucket: str
    id: ObjectId
    length: int
    chunk_size: int
    uploaded: datetime

    @classmethod
    def from_document(cls, bucket: str, document: Mapping[str, Any]) -> Self:
        return cls(bucket, document["_id"], document["length"], document["chunkSize"], document["uploadDate"])

    def open(self) -> BinaryIO:
        """Return a seekable file object.

        Its `read` method returns exactly the requested number of bytes, as Pillow requires.
        """
        return io.BufferedReader(SeekableFile(self.bucket, self.id, self.chunk_size, self.length), 1 << 16)


def place_filter(photo_id: ObjectId, content_id: ObjectId) -> dict[str, Any]:
    """Return a shard key filter for a replacement file, so that each query is sent to only one shard."""
    return {"metadata.parent_id": photo_id, "metadata.slug": str(content_id)}


def selector(photo_id: ObjectId, content_id: ObjectId) -> dict[str, Any]:
    """Return a filter for the document of one of a photo's files. The original file's document is the photo itself."""
    return {"_id": content_id, **({} if content_id == photo_id else place_filter(photo_id, content_id))}


def find(photo_id: ObjectId, content_id: ObjectId, gallery_id: ObjectId | None = None) -> StoredFile | None:
    """Return one of a photo's files if it is complete and isn't marked for deletion, or None otherwise.

    Args:
        photo_id: The photo's id.
        content_id: The file's id.
        gallery_id: The gallery in which to search first for an original file. An original file's document is the
            photo's own document.
    """
    query = {**selector(photo_id, content_id), "metadata.doomed": None, "length": {"$gt": 0}, **_READABLE}
    for place in gallery_filters(gallery_id if content_id == photo_id else None):
        if document := database()[ASSET_FILES].find_one({**query, **place}, PROJECTION, hint=BY_ID):
            return StoredFile.from_document(ASSETS, document)
    return None


def delete(photo_id: ObjectId, content_id: ObjectId) -> None:
    """Delete a replacement file and its copies. The document is deleted last, so a crash can't leave orphan chunks."""
    delete_renditions(content_id)
    database()[ASSET_CHUNKS].delete_many({"files_id": content_id})
    database()[ASSET_FILES].delete_one({**selector(photo_id, content_id), "metadata.type": CONTENT})


def delete_all(photo_id: ObjectId) -> None:
    """Delete all files of a photo whose own document has already been deleted."""
    for content in list(
        database()[ASSET_FILES].find({"metadata.parent_id": photo_id, "metadata.type": CONTENT}, {"_id": 1})
    ):
        delete(photo_id, content["_id"])
    delete_renditions(photo_id)
    database()[ASSET_CHUNKS].delete_many({"files_id": photo_id})


def delete_renditions(content_id: ObjectId) -> None:
    """Delete all copies of a file."""
    for rendition in list(database()[RENDITION_FILES].find({"metadata.source": content_id}, {"metadata.spec": 1})):
        delete_rendition(content_id, rendition)


def delete_rendition(content_id: ObjectId, rendition: Mapping[str, Any]) -> None:
    """Delete the copy of a file whose document is `rendition`. The document is deleted last."""
    database()[RENDITION_CHUNKS].delete_many({"files_id": rendition["_id"]})
    database()[RENDITION_FILES].delete_one(
        {"_id": rendition["_id"], "metadata.source": content_id, "metadata.spec": rendition["metadata"]["spec"]}
    )
