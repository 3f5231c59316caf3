"""Store the parts of resumable uploads until all parts have arrived, for up to one day.

All parts of a file except the last one have the same size, so a part that is sent again is identical. Parts are stored
strictly in order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from bson import ObjectId
from bson.int64 import Int64
from pymongo.errors import DuplicateKeyError

from api.collections import PARTS, UPLOADS
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database

# Size in bytes of each part except the last. It is equal to the chunk size of GridFS.
PART_SIZE = 255 * 1024
# Uploads can be resumed for this long. MongoDB deletes an upload an hour later, so that running requests don't lose
# parts.
LIFETIME = timedelta(days=1)
# Maximum number of unfinished uploads per account.
MAX_UPLOADS = 10


class TooManyUploads(Exception):
    """The account already has MAX_UPLOADS unfinished uploads."""


@dataclass(frozen=True)
class StagedUpload:
    """An unfinished upload: its owner, its length in bytes, and the description of the photo to create."""

    id: ObjectId
    owner_id: ObjectId
    length: int
    description: Mapping[str, Any]
    begun: datetime

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the upload stored in `document`."""
        return cls(*(document[name] for name in ("_id", "owner_id", "length", "said", "begun")))


def begin(owner_id: ObjectId, length: int, description: Mapping[str, Any], upload_id: ObjectId) -> StagedUpload:
    """Store a new upload and return it. If `upload_id` already exists, return the existing upload.

    Raises:
        TooManyUploads: The account already has MAX_UPLOADS unfinished uploads.
    """
    # Delete expired uploads now. Otherwise, they would count toward the limit until MongoDB deletes them.
    database()[UPLOADS].delete_many({"owner_id": owner_id, "begun": {"$lte": now() - LIFETIME}})
    document = {"owner_id": owner_id, "length": Int64(length), "said": dict(description), "begun": now()}
    for slot in range(MAX_UPLOADS):
        # A unique index on `slot` enforces the limit, even if several uploads start at the same time.
        upload = {"_id": upload_id, "slot": slot, **document}
        try:
            database()[UPLOADS].insert_one(upload)
        except DuplicateKeyError:
            if existing := find(owner_id, upload_id):
                return existing
        else:
            # An earlier upload with the same id may have left parts behind. Delete these parts.
            database()[PARTS].delete_many({"upload_id": upload_id, "begun": {"$ne": document["begun"]}})
            return StagedUpload.from_document(upload)
    raise TooManyUploads


def find(owner_id: ObjectId, upload_id: ObjectId) -> StagedUpload | None:
    """Return an account's upload, or None if the upload does not exist or can no longer be resumed."""
    query = {"_id": upload_id, "owner_id": owner_id, "begun": {"$gt": now() - LIFETIME}}
    document = database()[UPLOADS].find_one(query)
    return StagedUpload.from_document(document) if document else None


def count_received(upload: StagedUpload) -> int:
    """Return the number of bytes stored so far."""
    last = database()[PARTS].find_one({"upload_id": upload.id}, {"n": 1}, sort=[("n", -1)])
    return min((last["n"] + 1) * PART_SIZE, upload.length) if last else 0


def add_part(upload: StagedUpload, start: int, data: bytes) -> None:
    """Store the part that starts at byte `start`.

    All earlier parts must have been stored. If another request has already stored this part, the function does nothing.
    """
    part = {"upload_id": upload.id, "n": start // PART_SIZE, "data": data, "begun": upload.begun}
    try:
        database()[PARTS].insert_one(part)
    except DuplicateKeyError:
        return


def iter_parts(upload: StagedUpload) -> Iterator[bytes]:
    """Yield the parts of a complete upload.

    Raises:
        LookupError: A part is missing.
    """
    expected = 0
    with database()[PARTS].find({"upload_id": upload.id}, {"n": 1, "data": 1}, batch_size=4).sort("n", 1) as cursor:
        for part in cursor:
            if part["n"] * PART_SIZE != expected:
                break
            expected += len(part["data"])
            yield part["data"]
    if expected != upload.length:
        raise LookupError(upload.id)


def discard(upload: StagedUpload) -> None:
    """Delete an upload and then its parts.

    If the process dies before the parts are deleted, the upload can't be resumed, and its parts expire after a day.
    """
    database()[UPLOADS].delete_one({"_id": upload.id})
    database()[PARTS].delete_many({"upload_id": upload.id})
