"""Reading from GridFS: a range of a file as an iterator, or the whole as a seekable file, one batch of chunks in memory."""

import io
from collections.abc import Iterator
from itertools import chain

from bson import ObjectId

from marginalia.mongo.connection import database

# Chunks of one answer of the server: 2 MB in flight.
BATCH = 8


class Missing(Exception):
    """A chunk is not there: the content was replaced and swept while it was read, or was never whole."""


def read(bucket: str, file_id: ObjectId, chunk_size: int, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes from `start` up to `stop` (not included) of a file, one read of the index for all of them.

    Raises Missing where a chunk is missing or short: never other bytes than those of the file.
    """
    if stop <= start:
        return
    wanted = start // chunk_size
    last = (stop - 1) // chunk_size
    chunks = database()[f"{bucket}.chunks"].find(
        {"files_id": file_id, "n": {"$gte": wanted, "$lte": last}}, {"n": 1, "data": 1, "_id": 0}
    )
    with chunks.sort("n", 1).batch_size(BATCH) as cursor:
        for chunk in cursor:
            begin = max(start - wanted * chunk_size, 0)
            end = min(stop - wanted * chunk_size, chunk_size)
            if chunk["n"] != wanted or len(chunk["data"]) < end:
                raise Missing(file_id)
            data: bytes = chunk["data"]
            yield data if (begin, end) == (0, len(data)) else data[begin:end]
            wanted += 1
    if wanted <= last:
        raise Missing(file_id)


def opened(bucket: str, file_id: ObjectId, chunk_size: int, start: int, stop: int) -> Iterator[bytes]:
    """Return the bytes from `start` up to `stop` (not included) of a file, its first chunk read and the others counted.

    Raises Missing where one is missing, so that the answer can still say so; that a later one is short shows when it is read.
    """
    wanted = start // chunk_size
    last = (stop - 1) // chunk_size
    if last > wanted:
        query = {"files_id": file_id, "n": {"$gte": wanted, "$lte": last}}
        if database()[f"{bucket}.chunks"].count_documents(query) != last - wanted + 1:
            raise Missing(file_id)
    parts = read(bucket, file_id, chunk_size, start, stop)
    return chain([next(parts)], parts)


class SeekableFile(io.RawIOBase):
    """A stored file as Pillow wants one. Reads ahead in order; a seek costs a query."""

    def __init__(self, bucket: str, file_id: ObjectId, chunk_size: int, length: int) -> None:
        self._bucket = bucket
        self._id = file_id
        self._chunk_size = chunk_size
        self._length = length
        self._position = 0
        self._held = b""
        self._held_from = 0
        self._ahead: Iterator[bytes] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._length}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def readinto(self, target: "memoryview | bytearray") -> int:  # type: ignore[override]
        if self._position >= self._length:
            return 0
        if not self._held_from <= self._position < self._held_from + len(self._held):
            self._load()
        begin = self._position - self._held_from
        part = self._held[begin : begin + len(target)]
        target[: len(part)] = part
        self._position += len(part)
        return len(part)

    def _load(self) -> None:
        """Hold the chunk that the position is in: the next one of the read under way, or by a new read."""
        if self._ahead is None or self._position != self._held_from + len(self._held):
            self._close_read()
            self._held_from = self._position // self._chunk_size * self._chunk_size
            self._held = b""
            self._ahead = read(self._bucket, self._id, self._chunk_size, self._held_from, self._length)
        self._held_from += len(self._held)
        self._held = next(self._ahead)

    def _close_read(self) -> None:
        close = getattr(self._ahead, "close", None)
        if close:
            close()
        self._ahead = None

    def close(self) -> None:
        self._close_read()
        super().close()
