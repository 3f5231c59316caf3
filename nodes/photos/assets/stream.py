"""Parsing bytes as they arrive: a parser is a generator that yields bytes to keep, and None where it needs more.

So each format is read top to bottom like a file, and the whole of it is never held.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from nodes.photos.assets.errors import BadPicture

Parser = Generator[bytes | None, None, None]
Taking = Generator[bytes | None, None, bytes]

# What is kept or thrown away as one piece: EXIF and colour profiles are far below.
LONGEST_PIECE = 4 * 1024 * 1024
# A page or a program in the metadata of a picture: an attacker hopes that it will be served as one.
_CODE = (b"<script", b"<?php", b"<!doctype html", b"<html", b"<svg", b"<iframe", b"javascript:")


@dataclass
class Found:
    """What a parser learnt: the picture's size as stored, its EXIF block, memory to decode it beside its pixels."""

    size: tuple[int, int] = (0, 0)
    exif: bytes = b""
    frames: int = 1
    extra_memory: int = 0
    notes: list[str] = field(default_factory=list)


class Source:
    """The bytes that have arrived and were not taken yet."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.ended = False

    def take(self, count: int) -> Taking:
        """Return the next `count` bytes. Raises BadPicture if the file ends before."""
        if count > LONGEST_PIECE:
            raise BadPicture(_("The file is damaged: it claims a block of %(size)d bytes.") % {"size": count})
        while len(self.buffer) < count:
            if self.ended:
                raise truncated()
            yield None
        taken = bytes(memoryview(self.buffer)[:count])
        del self.buffer[:count]
        return taken

    def some(self, most: int) -> Taking:
        """Return at least one and at most `most` bytes, whatever there is; b"" at the end of the file."""
        while not self.buffer and not self.ended:
            yield None
        taken = bytes(memoryview(self.buffer)[:most])
        del self.buffer[:most]
        return taken

    def drop(self, count: int) -> Parser:
        """Pass over `count` bytes, of any number."""
        while count:
            part = yield from self.some(count)
            if not part:
                raise truncated()
            count -= len(part)

    def nothing_more(self) -> Parser:
        """Pass over the zeros that some cards leave at the end. Raises BadPicture for anything else: two files in one."""
        while part := (yield from self.some(LONGEST_PIECE)):
            if part.strip(b"\0"):
                raise BadPicture(_("Something else is hidden behind the end of the picture."))


class Cleaner:
    """Runs one parser over the bytes as they come."""

    def __init__(self, source: Source, parser: Parser) -> None:
        self._source, self._parser = source, parser

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
