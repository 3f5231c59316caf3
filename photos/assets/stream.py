"""Parsing bytes as they arrive: a parser is a generator that yields bytes to keep, and None where it needs more.

So each format is read top to bottom like a file, and the whole of it is never held.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from photos.assets.errors import BadPicture

Parser = Generator[bytes | None, None, None]
Taking = Generator[bytes | None, None, bytes]

# What is kept or thrown away as one piece: EXIF and colour profiles are far below.
LONGEST_PIECE = 4 * 1024 * 1024
# A file may have as many parts as its length allows, and a few more: each costs time, however short it is.
MOST_PARTS, BYTES_A_PART = 50_000, 32
# A page or a program in the metadata of a picture: an attacker hopes that it will be served as one.
_CODE = (b"<script", b"<?php", b"<!doctype html", b"<html", b"<svg", b"<iframe", b"javascript:")


@dataclass
class Found:
    """Facts that a parser found: size and EXIF as stored, frames, scans, and memory for decoding in addition to the pixels."""

    size: tuple[int, int] = (0, 0)
    exif: bytes = b""
    frames: int = 1
    scans: int = 1
    extra_memory: int = 0
    notes: list[str] = field(default_factory=list)


class Source:
    """The bytes that have arrived and were not taken yet."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.ended = False
        self._parts = self._taken = 0

    def take(self, count: int) -> Taking:
        """Return the next `count` bytes. Raises BadPicture if the file ends before, or has too many parts for its length."""
        self._parts += 1
        if self._parts > MOST_PARTS + self._taken // BYTES_A_PART:
            raise BadPicture(_("The file is damaged: it consists of too many parts."))
        if count > LONGEST_PIECE:
            raise BadPicture(_("The file is damaged: it claims a block of %(size)d bytes.") % {"size": count})
        while len(self.buffer) < count:
            if self.ended:
                raise truncated()
            yield None
        return self._next(count)

    def some(self, most: int) -> Taking:
        """Return at least one and at most `most` bytes, whatever there is; b"" at the end of the file."""
        while not self.buffer and not self.ended:
            yield None
        return self._next(most)

    def drop(self, count: int) -> Parser:
        """Pass over `count` bytes, of any number."""
        while count:
            part = yield from self.some(count)
            if not part:
                raise truncated()
            count -= len(part)

    def drop_rest(self) -> Parser:
        """Pass over what follows the end of the picture: cameras and programs of the press leave films and notes there."""
        while (yield from self.some(LONGEST_PIECE)):
            continue

    def _next(self, most: int) -> bytes:
        taken = bytes(memoryview(self.buffer)[:most])
        del self.buffer[:most]
        self._taken += len(taken)
        return taken


class Cleaner:
    """Runs one parser over the bytes as they come."""

    def __init__(self, source: Source, parser: Parser) -> None:
        self._source = source
        self._parser = parser

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes; yield what is to be stored of all that has come. Raises BadPicture."""
        self._source.buffer += data
        yield from self._run()

    def end(self) -> Iterator[bytes]:
        """Say that there is no more; yield what is left to be stored. Raises BadPicture for a picture that is not whole."""
        self._source.ended = True
        yield from self._run()

    def _run(self) -> Iterator[bytes]:
        for out in self._parser:
            if out is None:
                return
            if out:
                yield out


def truncated() -> BadPicture:
    return BadPicture(_("The file is not whole: it ends in the middle of the picture."))


def refuse_code(piece: bytes) -> None:
    """Raise BadPicture if a piece of metadata holds a web page or a program."""
    lowered = piece.lower()
    if any(code in lowered for code in _CODE) or piece.startswith((b"%PDF-", b"PK\x03\x04", b"MZ\x90")):
        raise BadPicture(_("A web page or program is hidden in the picture's metadata."))
