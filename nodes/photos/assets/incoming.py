"""One picture on its way in: recognized, cleaned, hashed and written as it comes, judged at the end."""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from nodes.collections import ASSETS
from nodes.errors import TooBusy
from nodes.photos.assets import formats, images
from nodes.photos.assets.errors import BadPicture
from nodes.photos.assets.images import Picture
from nodes.photos.assets.limits import Limits, limits
from nodes.photos.assets.reader import SeekableFile
from nodes.photos.assets.stream import Cleaner, Found, Source
from nodes.photos.assets.writer import CHUNK, Writer


@dataclass(frozen=True)
class Received:
    """A picture that was found good and is stored, not yet shown. `sha256` is of the bytes as stored."""

    picture: Picture
    sha256: str
    length: int


class Cleaning:
    """The bytes of one file as they are to be stored, and their hash. Nothing is written."""

    def __init__(self, filename: str, allowed: Limits | None = None) -> None:
        self.limits = allowed or limits()
        self.found = Found()
        self.format: formats.Format | None = None
        self._filename, self._received = filename, 0
        self._head = bytearray()
        self._cleaner: Cleaner | None = None
        self._hash = hashlib.sha256()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes, yield what to store. Raises BadPicture as soon as anything is wrong."""
        self._received += len(data)
        if self._received > self.limits.max_bytes:
            raise BadPicture(
                _("The file is larger than the %(most)d MB that are allowed.") % {"most": self.limits.max_bytes >> 20}
            )
        if self._cleaner is None:
            self._head += data
            if len(self._head) < formats.HEAD:
                return
            data = self._begin()
        assert self._cleaner
        yield from self._hashed(self._cleaner.feed(data))
        self._check()

    def end(self) -> Iterator[bytes]:
        """Say that there is no more, yield what is left to store. Raises BadPicture for a picture that is not whole."""
        if self._cleaner is None:
            data = self._begin()
            assert self._cleaner
            yield from self._hashed(self._cleaner.feed(data))
        yield from self._hashed(self._cleaner.end())
        self._check()

    @property
    def sha256(self) -> str:
        """The hash of all that was yielded."""
        return self._hash.hexdigest()

    def _begin(self) -> bytes:
        head = bytes(self._head)
        self.format = formats.of(head, self._filename)
        source = Source()
        self._cleaner = Cleaner(source, self.format.parse(source, self.found, self.limits.keep_location))
        return head

    def _hashed(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in parts:
            # Before more is read of what may be too large.
            self._check()
            self._hash.update(part)
            yield part

    def _check(self) -> None:
        if self.found.size[0] and self.format:
            images.check_size(self.found, self.format, self.limits)


class Incoming:
    """A file on its way from a sender to GridFS. Whatever is raised, the writer was aborted and nothing is left."""

    def __init__(self, writer: Writer, filename: str) -> None:
        self._writer = writer
        self._cleaning = Cleaning(filename)

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises BadPicture, UploadLost."""
        self._write(self._cleaning.feed(data))

    def end(self) -> Received:
        """Store the rest, decode what is stored and return what it is. Raises BadPicture, TooBusy, UploadLost."""
        self._write(self._cleaning.end())
        writer, cleaning = self._writer, self._cleaning
        writer.flush()
        assert cleaning.format
        try:
            with io.BufferedReader(SeekableFile(ASSETS, writer.id, CHUNK, writer.length), 1 << 16) as file:
                picture = images.judge(file, cleaning.format, cleaning.found, cleaning.limits)
        except (BadPicture, TooBusy):
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
