"""Parsing of files as their bytes arrive. A parser is a generator that yields bytes to store, or None to request more.

Each parser can therefore read its format from start to end, as if from a file, although the whole file is never in
memory.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from photos.assets.errors import BadPicture

Parser = Generator[bytes | None, None, None]
Reading = Generator[bytes | None, None, bytes]

# Maximum number of bytes to read at once. EXIF data and colour profiles are much smaller.
MAX_PIECE = 4 * 1024 * 1024
# A file can have up to MAX_PARTS parts, and one more for every BYTES_PER_PART bytes. The number is limited because even
# short parts take time to process.
MAX_PARTS = 50_000
BYTES_PER_PART = 32
# Signs of a web page or a script in metadata. An attacker might try to have the file served as a web page or script.
_CODE = (b"<script", b"<?php", b"<!doctype html", b"<html", b"<svg", b"<iframe", b"javascript:")


@dataclass
class ImageFacts:
    """The facts that a parser finds in an image file.

    Attributes:
        size: The stored width and height in pixels.
        exif: The EXIF block to store.
        frames: The number of frames in an animation.
        scans: The number of scans in a progressive image.
        extra_memory: The memory, in bytes, that decoding needs in addition to the pixels.
    """

    size: tuple[int, int] = (0, 0)
    exif: bytes = b""
    frames: int = 1
    scans: int = 1
    extra_memory: int = 0


class Source:
    """The bytes of a file that have arrived but haven't been read yet."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.ended = False
        self._parts = self._bytes_read = 0

    def read(self, count: int) -> Reading:
        """Return the next `count` bytes.

        Raises:
            BadPicture: The file ends too early, or it has too many parts for its length.
        """
        self._parts += 1
        if self._parts > MAX_PARTS + self._bytes_read // BYTES_PER_PART:
            raise BadPicture(_("This file is damaged: it has too many parts. Export it again."))
        if count > MAX_PIECE:
            raise BadPicture(
                _("This file is damaged: one of its parts claims to be %(size)d bytes long. Export it again.")
                % {"size": count}
            )
        while len(self.buffer) < count:
            if self.ended:
                raise truncated()
            yield None
        return self._next(count)

    def read_some(self, limit: int) -> Reading:
        """Return the available bytes, at least one and at most `limit`, or b"" at the end of the file."""
        while not self.buffer and not self.ended:
            yield None
        return self._next(limit)

    def skip(self, count: int) -> Parser:
        """Skip `count` bytes, which can be more than MAX_PIECE."""
        while count:
            part = yield from self.read_some(count)
            if not part:
                raise truncated()
            count -= len(part)

    def skip_rest(self) -> Parser:
        """Skip the bytes after the end of the image, where cameras and other software store videos and notes."""
        while (yield from self.read_some(MAX_PIECE)):
            continue

    def _next(self, limit: int) -> bytes:
        data = bytes(memoryview(self.buffer)[:limit])
        del self.buffer[:limit]
        self._bytes_read += len(data)
        return data


class Cleaner:
    """An object that passes bytes to a parser as they arrive."""

    def __init__(self, source: Source, parser: Parser) -> None:
        self._source = source
        self._parser = parser

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add the next bytes, and yield the bytes that can be stored now.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
        """
        self._source.buffer += data
        yield from self._run()

    def end(self) -> Iterator[bytes]:
        """Mark the end of the file, and yield the last bytes to store.

        Raises:
            BadPicture: The file is incomplete.
        """
        self._source.ended = True
        yield from self._run()

    def _run(self) -> Iterator[bytes]:
        for out in self._parser:
            if out is None:
                return
            if out:
                yield out


def truncated() -> BadPicture:
    """Return the error for a file that ends too early."""
    return BadPicture(_("This file is incomplete. Copy or export it again."))


def refuse_code(piece: bytes) -> None:
    """Raise BadPicture if a piece of metadata contains a web page or a script."""
    lowered = piece.lower()
    if any(code in lowered for code in _CODE) or piece.startswith((b"%PDF-", b"PK\x03\x04", b"MZ\x90")):
        raise BadPicture(
            _(
                "This file wasn't accepted, because its metadata contains a web page or a "
                "script. Export it again without metadata."
            )
        )
