"""Uploads in pieces: their parts are stored until all have arrived, for a day at most.

All parts of a file except the last have the same size, so a repeated part is identical. Parts are stored strictly in
order.
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

# Size of each part except the last, in bytes; the same as the chunks of GridFS.
PART_SIZE = 255 * 1024
# How long an upload can be resumed. The server deletes it an hour later, so that no request loses parts while it runs.
LIFETIME = timedelta(days=1)
# Maximum number of unfinished uploads per account.
MAX_UPLOADS = 10


class TooManyUploads(Exception):
    """The account has MAX_UPLOADS unfinished uploads."""


@dataclass(frozen=True)
class StagedUpload:
    """An unfinished upload: its owner, its length in bytes, and the description of the photo that it will become."""

    id: ObjectId
    owner_id: ObjectId
    length: int
    description: Mapping[str, Any]
    begun: datetime

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the upload of a stored document."""
        return cls(*(document[name] for name in ("_id", "owner_id", "length", "said", "begun")))


def begin(owner_id: ObjectId, length: int, description: Mapping[str, Any], upload_id: ObjectId) -> StagedUpload:
    """Store a new upload and return it. If the id exists already, return that upload. Raises TooManyUploads."""
    # Delete expired uploads now. They would use up slots until the server deletes them, and users cannot cancel them.
    database()[UPLOADS].delete_many({"owner_id": owner_id, "begun": {"$lte": now() - LIFETIME}})
    document = {"owner_id": owner_id, "length": Int64(length), "said": dict(description), "begun": now()}
    for slot in range(MAX_UPLOADS):
        # A unique index on the slots enforces the limit, even if several uploads start at once.
        upload = {"_id": upload_id, "slot": slot, **document}
        try:
            database()[UPLOADS].insert_one(upload)
        except DuplicateKeyError:
            if existing := find(owner_id, upload_id):
                return existing
        else:
            # Delete parts of a former upload with this id whose last request died.
            database()[PARTS].delete_many({"upload_id": upload_id, "begun": {"$ne": document["begun"]}})
            return StagedUpload.from_document(upload)
    raise TooManyUploads


def find(owner_id: ObjectId, upload_id: ObjectId) -> StagedUpload | None:
    """Return an account's upload, None if there is none that can be resumed."""
    query = {"_id": upload_id, "owner_id": owner_id, "begun": {"$gt": now() - LIFETIME}}
    document = database()[UPLOADS].find_one(query)
    return StagedUpload.from_document(document) if document else None


def count_received(upload: StagedUpload) -> int:
    """Return how many bytes of an upload have been stored."""
    last = database()[PARTS].find_one({"upload_id": upload.id}, {"n": 1}, sort=[("n", -1)])
    return min((last["n"] + 1) * PART_SIZE, upload.length) if last else 0


def add_part(upload: StagedUpload, start: int, data: bytes) -> None:
    """Store the part that starts at byte `start`.

    All parts before it are stored. Do nothing if another request has stored it.
    """
    part = {"upload_id": upload.id, "n": start // PART_SIZE, "data": data, "begun": upload.begun}
    try:
        database()[PARTS].insert_one(part)
    except DuplicateKeyError:
        return


def iter_parts(upload: StagedUpload) -> Iterator[bytes]:
    """Yield the parts of a complete upload. Raises LookupError if a part is missing."""
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

    If the process dies in between, nobody can resume the upload, and its parts expire after a day.
    """
    database()[UPLOADS].delete_one({"_id": upload.id})
    database()[PARTS].delete_many({"upload_id": upload.id})
