"""Writing to GridFS in a stream: the document first and locked, then chunks, then length and no lock. Pictures are judged.

The driver's own writer inserts the document at the end, so that no lock is visible until then, and buffers 48 MB. What
this one wrote reads back through any GridFS driver.
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
from photos.assets.images import Picture
from photos.assets.locks import Heartbeat, Lock
from photos.assets.reader import SeekableFile

CHUNK = 255 * 1024
# Chunks of one insert: 2 MB in flight, at nine tenths of the speed of the driver's 48 MB.
BATCH = 8


def new_id() -> ObjectId:
    """Return an id for a file: random, so that files and their chunks fall evenly on shards. ObjectId's own begins with the
    time, which would put all that is uploaded on one."""
    return ObjectId(secrets.token_bytes(12))


class Writer:
    """Writes one file of a bucket. Use `finish` or `abort`; a process that does neither leaves a lock that grows stale.

    `metadata` is stored beside `locked`; it must hold `place`, the filter under which the document is found again (the
    shard key of the files). `also` are locks renewed together with the file's own.
    """

    def __init__(
        self,
        bucket: str,
        file_id: ObjectId,
        filename: str,
        metadata: Mapping[str, Any],
        *,
        place: Mapping[str, Any],
        also: Sequence[Lock] = (),
    ) -> None:
        """Insert the files document. Raises pymongo's DuplicateKeyError when its place is taken."""
        self.id = file_id
        self.length = 0
        self.files: Collection[Document] = database()[f"{bucket}.files"]
        self._chunks: Collection[Document] = database()[f"{bucket}.chunks"]
        self._pending: list[Document] = []
        self._buffer = bytearray()
        self._written = 0
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
        self._heartbeat = Heartbeat((self.lock, *also)).start()

    def write(self, data: bytes) -> None:
        """Take the next bytes. Raises UploadLost when the lock is not ours any more."""
        self._buffer += data
        self.length += len(data)
        start = 0
        while len(self._buffer) - start >= CHUNK:
            self._add(bytes(memoryview(self._buffer)[start : start + CHUNK]))
            start += CHUNK
        if start:
            del self._buffer[:start]

    def flush(self) -> None:
        """Store all that was taken, so that it can be read; nothing may be written after. Raises UploadLost."""
        if self._buffer:
            self._add(bytes(self._buffer))
            self._buffer.clear()
        self._insert()

    def finish(self, changes: Mapping[str, Any] | None = None, **more_filter: Any) -> bool:
        """Store the length and give the lock back, with `changes` (dotted paths) in the same update.

        Return False, and stay unfinished, when `more_filter` is what did not match. Raises UploadLost when it was swept.
        """
        self.flush()
        self._heartbeat.stop()
        done = self.files.update_one(
            {**self.lock.as_filter(), **more_filter},
            {"$set": {"length": Int64(self.length), "metadata.locked": None, **(changes or {})}},
        )
        if done.matched_count:
            self._ended = True
            return True
        if more_filter and self.files.find_one(self.lock.as_filter(), {"_id": 1}):
            return False
        self.abort()
        raise UploadLost

    def abort(self) -> None:
        """Leave nothing behind of a file that is not finished.

        The lock is renewed before anything goes: a file that `finish` completed, though its answer was lost, has none and
        stays; what was swept is the sweeper's. The chunks go before the document: a crash in between leaves a stalled upload.
        """
        if self._ended:
            return
        self._ended = True
        self._heartbeat.stop()
        self._pending.clear()
        self._buffer.clear()
        # A new moment, so that a `finish` that is still on its way to the server finds another lock.
        mine = max(now(), self.lock.moment + timedelta(milliseconds=1))
        if self.files.update_one(self.lock.as_filter(), {"$set": {"metadata.locked": mine}}).matched_count:
            self._chunks.delete_many({"files_id": self.id})
            self.files.delete_one({**self.lock.as_filter(), "metadata.locked": mine})

    def _add(self, data: bytes) -> None:
        self._pending.append({"_id": ObjectId(), "files_id": self.id, "n": self._written, "data": data})
        self._written += 1
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
class Received:
    """A picture that was found good and is stored, not yet shown. `sha256` is of the bytes as stored."""

    picture: Picture
    sha256: str
    length: int


class Incoming:
    """A file on its way from a sender to GridFS. Whatever is raised, the writer was aborted and nothing is left."""

    def __init__(self, writer: Writer, filename: str) -> None:
        self._writer = writer
        self._cleaning = Cleaning(filename)

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises BadPicture, UploadLost."""
        self._write(self._cleaning.feed(data))

    def end(self) -> Received:
        """Store the rest, decode what is stored and return what it is. Raises BadPicture, DecoderBusy, UploadLost."""
        self._write(self._cleaning.end())
        writer = self._writer
        cleaning = self._cleaning
        writer.flush()
        assert cleaning.format
        try:
            with io.BufferedReader(SeekableFile(ASSETS, writer.id, CHUNK, writer.length), 1 << 16) as file:
                picture = images.judge(file, cleaning.format, cleaning.found, cleaning.limits)
        except (BadPicture, DecoderBusy):
            writer.abort()
            raise
        return Received(picture, cleaning.sha256, writer.length)

    def abort(self) -> None:
        """Leave nothing behind."""
        self._writer.abort()

    def _write(self, parts: Iterator[bytes]) -> None:
        try:
            for part in parts:
                self._writer.write(part)
        except BadPicture:
            self._writer.abort()
            raise
