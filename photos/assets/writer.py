"""Streaming writes to GridFS. The locked document is inserted first, then the chunks. The last update sets the length.

The last update also releases the lock. The driver's own writer isn't used, because it inserts the document at the end,
so the lock would be invisible until then. The driver's writer also buffers 48 MB. Any GridFS driver can read the files
written by this module.
"""

import io
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bson import ObjectId
from bson.int64 import Int64
from pymongo.collection import Collection

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes.collections import ASSETS
from photos.assets import images
from photos.assets.cleaning import Cleaning
from photos.assets.errors import BadPicture, DecoderBusy, UploadLost
from photos.assets.images import ImageProperties
from photos.assets.locks import Heartbeat, Lock
from photos.assets.reader import SeekableFile

CHUNK = 255 * 1024
# The number of chunks per insert (2 MB). Batches of this size are 90% as fast as the driver's batches of 48 MB.
BATCH = 8


def new_id() -> ObjectId:
    """Return a random id for a file, so that files and their chunks are evenly distributed over shards.

    A normal ObjectId begins with the time, so all current uploads would be stored on the same shard.
    """
    return ObjectId(secrets.token_bytes(12))


class Writer:
    """A writer for one file in a bucket. Call `finish` or `abort` at the end. Otherwise, the lock becomes stale."""

    def __init__(
        self,
        bucket: str,
        file_id: ObjectId,
        filename: str,
        metadata: Mapping[str, Any],
        *,
        place: Mapping[str, Any],
        other_locks: Sequence[Lock] = (),
    ) -> None:
        """Insert the file's document.

        Args:
            bucket: The name of the GridFS bucket.
            file_id: The id of the file.
            filename: The name of the file.
            metadata: The metadata to store. It must match `place`. `locked` is added to it.
            place: A shard key filter that finds the document again.
            other_locks: Locks to renew together with the file's own lock.

        Raises:
            DuplicateKeyError: There is already a document with this shard key.
        """
        self.id = file_id
        self.length = 0
        self.files: Collection[Document] = database()[f"{bucket}.files"]
        self._chunks: Collection[Document] = database()[f"{bucket}.chunks"]
        self._pending: list[Document] = []
        self._buffer = bytearray()
        self._chunk_count = 0
        self._ended = False
        moment = now()
        self.files.insert_one(
            {
                "_id": file_id,
                "length": Int64(0),
                "chunkSize": CHUNK,
                "uploadDate": moment,
                "filename": filename,
                "metadata": {**metadata, "locked": moment},
            }
        )
        self.lock = Lock(self.files, {"_id": file_id, **place}, moment)
        self._heartbeat = Heartbeat((self.lock, *other_locks)).start()

    def write(self, data: bytes) -> None:
        """Store the next bytes.

        Raises:
            UploadLost: This process no longer owns the lock.
        """
        self._buffer += data
        self.length += len(data)
        start = 0
        while len(self._buffer) - start >= CHUNK:
            self._add_chunk(bytes(memoryview(self._buffer)[start : start + CHUNK]))
            start += CHUNK
        if start:
            del self._buffer[:start]

    def flush(self) -> None:
        """Store all buffered bytes, so that the file can be read. Don't call `write` afterwards.

        Raises:
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
        """
        if self._buffer:
            self._add_chunk(bytes(self._buffer))
            self._buffer.clear()
        self._insert()

    def finish(self, changes: Mapping[str, Any] | None = None, **more_filter: Any) -> bool:
        """Store the length and `changes` (keyed by dotted path), and release the lock, in a single update.

        Returns:
            True, or False if `more_filter` doesn't match. In that case, nothing is changed and the file is unfinished.

        Raises:
            UploadLost: The sweeper has deleted the file.
        """
        self.flush()
        self._heartbeat.stop()
        result = self.files.update_one(
            {**self.lock.as_filter(), **more_filter},
            {"$set": {"length": Int64(self.length), "metadata.locked": None, **(changes or {})}},
        )
        if result.matched_count:
            self._ended = True
            return True
        if more_filter and self.files.find_one(self.lock.as_filter(), {"_id": 1}):
            return False
        self.abort()
        raise UploadLost

    def abort(self) -> None:
        """Delete an unfinished file. After `finish` or `abort`, this method does nothing.

        The lock is renewed before the file is deleted. If `finish` completed the file but the server's response was
        lost, the file has no lock, so it isn't deleted. A file that the sweeper has taken over is left to the sweeper.
        Chunks are deleted before the document, so a crash between the two steps leaves a stalled upload that the
        sweeper finds.
        """
        if self._ended:
            return
        self._ended = True
        self._heartbeat.stop()
        self._pending.clear()
        self._buffer.clear()
        # The time must be a new value, so that an update by `finish` that is still in progress doesn't match.
        own_lock = max(now(), self.lock.moment + timedelta(milliseconds=1))
        if self.files.update_one(self.lock.as_filter(), {"$set": {"metadata.locked": own_lock}}).matched_count:
            self._chunks.delete_many({"files_id": self.id})
            self.files.delete_one({**self.lock.as_filter(), "metadata.locked": own_lock})

    def _add_chunk(self, data: bytes) -> None:
        self._pending.append({"_id": ObjectId(), "files_id": self.id, "n": self._chunk_count, "data": data})
        self._chunk_count += 1
        if len(self._pending) == BATCH:
            self._insert()

    def _insert(self) -> None:
        if self._heartbeat.lost:
            self.abort()
            raise UploadLost
        if self._pending:
            self._chunks.insert_many(self._pending)
            self._pending.clear()


@dataclass(frozen=True)
class ReceivedPhoto:
    """The stored file of a valid photo, before the photo uses the file. `sha256` is the hash of the stored bytes."""

    properties: ImageProperties
    sha256: str
    length: int

    def fields(self, filename: str) -> dict[str, Any]:
        """Return the fields that describe the file, keyed by path."""
        return {
            "detail.content_type": self.properties.content_type,
            "detail.filename": filename,
            "detail.resolution": list(self.properties.size),
            "detail.size": self.length,
            "detail.sha256": self.sha256,
            "detail.dhash": self.properties.dhash,
            "detail.colour": self.properties.colour,
            "detail.exif": self.properties.exif,
        }


class IncomingPhoto:
    """A photo that is being received and written to GridFS.

    If an exception occurs, the writer is aborted and nothing is left behind.
    """

    def __init__(self, writer: Writer, filename: str) -> None:
        self._writer = writer
        self._cleaning = Cleaning(filename)

    def feed(self, data: bytes) -> None:
        """Clean and store the next bytes.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
        """
        self._write(self._cleaning.feed(data))

    def end(self) -> ReceivedPhoto:
        """Store the last bytes, decode the stored file, and return its properties.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            DecoderBusy: Other images occupied the decoder for too long.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
        """
        self._write(self._cleaning.end())
        writer = self._writer
        cleaning = self._cleaning
        writer.flush()
        assert cleaning.format
        try:
            with io.BufferedReader(SeekableFile(ASSETS, writer.id, CHUNK, writer.length), 1 << 16) as file:
                properties = images.inspect(file, cleaning.format, cleaning.facts, cleaning.limits)
        except (BadPicture, DecoderBusy):
            writer.abort()
            raise
        return ReceivedPhoto(properties, cleaning.sha256, writer.length)

    def abort(self) -> None:
        """Delete everything that has been stored for an unfinished file."""
        self._writer.abort()

    def _write(self, parts: Iterator[bytes]) -> None:
        try:
            for part in parts:
                self._writer.write(part)
        except BadPicture:
            self._writer.abort()
            raise
