"""Pictures that come in several requests: their parts are kept here until all are there, for a day at most.

A file lies in parts of equal size, so that a part that comes again is the same one. A part is stored only after all before it.
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

# Of each part but the last, in bytes: as of GridFS.
PART = 255 * 1024
# How long an upload can be gone on with. The server removes it an hour later, so that none loses parts under way.
KEPT = timedelta(days=1)
# Uploads that an account may have begun and not finished.
MOST = 10


class TooMany(Exception):
    """The account has MOST uploads that are not finished."""


@dataclass(frozen=True)
class Staged:
    """An upload that was begun: of so many bytes, by an account, and what was said of the photo that it will be."""

    id: ObjectId
    owner_id: ObjectId
    length: int
    said: Mapping[str, Any]
    begun: datetime

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the upload that a stored document stands for."""
        return cls(*(document[name] for name in ("_id", "owner_id", "length", "said", "begun")))


def begin(owner_id: ObjectId, length: int, said: Mapping[str, Any], upload_id: ObjectId) -> Staged:
    """Store a new upload, and return it; the one that was begun under the id before. Raises TooMany."""
    # Until the server removes what is too old to go on with, it would keep slots that none can give back.
    database()[UPLOADS].delete_many({"owner_id": owner_id, "begun": {"$lte": now() - KEPT}})
    document = {"owner_id": owner_id, "length": Int64(length), "said": dict(said), "begun": now()}
    for slot in range(MOST):
        # A unique index over the slots counts them, also when several begin at once.
        whole = {"_id": upload_id, "slot": slot, **document}
        try:
            database()[UPLOADS].insert_one(whole)
        except DuplicateKeyError:
            if found := find(owner_id, upload_id):
                return found
        else:
            # What is left of another upload under this id, whose last request died.
            database()[PARTS].delete_many({"upload_id": upload_id, "begun": {"$ne": document["begun"]}})
            return Staged.of(whole)
    raise TooMany


def find(owner_id: ObjectId, upload_id: ObjectId) -> Staged | None:
    """Return an upload of an account; None if there is none that can be gone on with."""
    wanted = {"_id": upload_id, "owner_id": owner_id, "begun": {"$gt": now() - KEPT}}
    document = database()[UPLOADS].find_one(wanted)
    return Staged.of(document) if document else None


def received(upload: Staged) -> int:
    """Return how many bytes of an upload are here, from its beginning."""
    last = database()[PARTS].find_one({"upload_id": upload.id}, {"n": 1}, sort=[("n", -1)])
    return min((last["n"] + 1) * PART, upload.length) if last else 0


def add(upload: Staged, start: int, data: bytes) -> None:
    """Store the part that begins at a byte, after all before it. Another request may have been first."""
    part = {"upload_id": upload.id, "n": start // PART, "data": data, "begun": upload.begun}
    try:
        database()[PARTS].insert_one(part)
    except DuplicateKeyError:
        return


def parts(upload: Staged) -> Iterator[bytes]:
    """Yield the bytes of an upload that is whole, a part at a time. Raises LookupError where a part is missing."""
    expected = 0
    with database()[PARTS].find({"upload_id": upload.id}, {"n": 1, "data": 1}, batch_size=4).sort("n", 1) as found:
        for part in found:
            if part["n"] * PART != expected:
                break
            expected += len(part["data"])
            yield part["data"]
    if expected != upload.length:
        raise LookupError(upload.id)


def discard(upload: Staged) -> None:
    """Remove an upload, so that it is asked for no more, and then its parts: what is left of them goes after a day."""
    database()[UPLOADS].delete_one({"_id": upload.id})
    database()[PARTS].delete_many({"upload_id": upload.id})
