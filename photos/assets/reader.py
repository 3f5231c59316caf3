"""Reading from GridFS, as an iterator or a seekable file. Only one batch of chunks is in memory at a time."""

import io
from collections.abc import Iterator
from itertools import chain

from bson import ObjectId

from marginalia.mongo.connection import database

# The number of chunks in one server response (2 MB).
BATCH = 8


class MissingChunk(Exception):
    """A chunk is missing. The file has since been replaced and deleted, or it was never complete."""


def read_range(bucket: str, file_id: ObjectId, chunk_size: int, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes of a file from `start` up to `stop` (exclusive), with one query.

    Incorrect bytes are never returned.

    Raises:
        MissingChunk: A chunk is missing or too short.
    """
    if stop <= start:
        return
    number = start // chunk_size
    last = (stop - 1) // chunk_size
    chunks = database()[f"{bucket}.chunks"].find(
        {"files_id": file_id, "n": {"$gte": number, "$lte": last}}, {"n": 1, "data": 1, "_id": 0}
    )
    with chunks.sort("n", 1).batch_size(BATCH) as cursor:
        for chunk in cursor:
            begin = max(start - number * chunk_size, 0)
            end = min(stop - number * chunk_size, chunk_size)
            if chunk["n"] != number or len(chunk["data"]) < end:
                raise MissingChunk(file_id)
            data: bytes = chunk["data"]
            yield data if (begin, end) == (0, len(data)) else data[begin:end]
            number += 1
    if number <= last:
        raise MissingChunk(file_id)


def open_range(bucket: str, file_id: ObjectId, chunk_size: int, start: int, stop: int) -> Iterator[bytes]:
    """Read the first chunk, count the other chunks, and return an iterator like `read_range`.

    A missing chunk is therefore detected before the response's status is sent.

    Raises:
        MissingChunk: A chunk is missing. The iterator also raises this exception if a chunk is too short.
    """
    first = start // chunk_size
    last = (stop - 1) // chunk_size
    if last > first:
        query = {"files_id": file_id, "n": {"$gte": first, "$lte": last}}
        if database()[f"{bucket}.chunks"].count_documents(query) != last - first + 1:
            raise MissingChunk(file_id)
    parts = read_range(bucket, file_id, chunk_size, start, stop)
    return chain([next(parts)], parts)


class SeekableFile(io.RawIOBase):
    """A stored file with the interface that Pillow needs. It reads ahead sequentially. Each seek costs a query."""

    def __init__(self, bucket: str, file_id: ObjectId, chunk_size: int, length: int) -> None:
        self._bucket = bucket
        self._id = file_id
        self._chunk_size = chunk_size
        self._length = length
        self._position = 0
        self._chunk = b""
        self._chunk_start = 0
        self._chunks: Iterator[bytes] | None = None

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
        if not self._chunk_start <= self._position < self._chunk_start + len(self._chunk):
            self._load()
        begin = self._position - self._chunk_start
        part = self._chunk[begin : begin + len(target)]
        target[: len(part)] = part
        self._position += len(part)
        return len(part)

    def _load(self) -> None:
        """Load the chunk at the current position, from the current query or, after a seek, from a new query."""
        if self._chunks is None or self._position != self._chunk_start + len(self._chunk):
            self._close_query()
            self._chunk_start = self._position // self._chunk_size * self._chunk_size
            self._chunk = b""
            self._chunks = read_range(self._bucket, self._id, self._chunk_size, self._chunk_start, self._length)
        self._chunk_start += len(self._chunk)
        self._chunk = next(self._chunks)

    def _close_query(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close:
            close()
        self._chunks = None

    def close(self) -> None:
        self._close_query()
        super().close()
