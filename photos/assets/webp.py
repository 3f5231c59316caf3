"""The WebP parser (RIFF container). It overwrites metadata in place, so that all sizes in the container stay valid."""

from django.utils.translation import gettext as _

from photos.assets import exif, icc, lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import ImageFacts, Parser, Source, refuse_code, truncated

PIXELS = frozenset({b"VP8 ", b"VP8L"})
# VP8X flags: all known flags, and the animation flag.
FLAGS = 0x3E
ANIMATED = 0x02
# The name of a chunk that decoders ignore.
JUNK = b"JUNK"


def parse(source: Source, facts: ImageFacts, keep_metadata: bool) -> Parser:
    """Yield the image without changing its length.

    XMP is replaced with spaces, unknown chunks are replaced with zeros, and EXIF data is cleaned (`exif.clean`). If
    `keep_metadata` is true, EXIF data and XMP aren't changed. EXIF data can follow the pixels.
    """
    head = yield from source.read(12)
    yield head
    file = _File(source, facts, keep_metadata)
    yield from file.chunks(int.from_bytes(head[4:8], "little") - 4)
    if not file.has_pixels:
        raise BadPicture(_("This WebP file contains no image."))
    yield from source.skip_rest()


class _File:
    """The chunks of a file, as they arrive."""

    def __init__(self, source: Source, facts: ImageFacts, keep_metadata: bool) -> None:
        self._source = source
        self._facts = facts
        self._keep_metadata = keep_metadata
        self.has_pixels = self._is_animated = False
        self._seen: set[bytes] = set()
        facts.frames = 0

    def chunks(self, length: int, *, in_frame: bool = False) -> Parser:
        """Yield the chunks of the file or of one of its frames, which have `length` bytes in total.

        This method can raise BadPicture.
        """
        has_alpha = has_pixels = False
        while length > 0:
            head = yield from self._source.read(8)
            name = head[:4]
            size = int.from_bytes(head[4:], "little")
            padded = size + (size & 1)
            length -= 8 + padded
            if length < 0:
                raise damaged()
            is_displayed = in_frame or not self._is_animated
            if name == b"ANMF" and self._is_animated and not in_frame:
                yield head
                yield from self._frame(padded)
            elif name == b"ALPH" and is_displayed and not (has_alpha or has_pixels):
                has_alpha = True
                yield head
                yield from self._pass(padded)
            elif name in PIXELS and is_displayed and not has_pixels:
                self.has_pixels = has_pixels = True
                yield head
                yield from self._picture(name, padded)
            else:
                body = yield from self._source.read(padded)
                name, body = self._metadata(name, body, size) if not in_frame else (name, b"")
                yield name + head[4:] + body.ljust(padded, b"\0")

    def _frame(self, length: int) -> Parser:
        if length < lengths.WEBP_FRAME:
            raise damaged()
        self._facts.frames += 1
        yield (yield from self._source.read(lengths.WEBP_FRAME))
        yield from self.chunks(length - lengths.WEBP_FRAME, in_frame=True)

    def _metadata(self, name: bytes, body: bytes, size: int) -> tuple[bytes, bytes]:
        """Return the name and content to store for a chunk without pixels. The caller pads the content with zeros."""
        is_repeated = name in self._seen
        self._seen.add(name)
        if not is_repeated:
            if name == b"VP8X":
                return name, self._header(body)
            if name in lengths.WEBP:
                return name, body[: lengths.WEBP[name]]
            if name == b"EXIF":
                return self._exif(body)
            if name == b"ICCP":
                return name, body if self._keep_metadata else icc.clean(body[:size])
            if name == b"XMP ":
                refuse_code(body)
                return name, body if self._keep_metadata else b" " * len(body)
        refuse_code(body)
        return JUNK if name == b"EXIF" else name, b""

    def _header(self, body: bytes) -> bytes:
        if len(body) < lengths.WEBP[b"VP8X"] or self.has_pixels:
            raise damaged()
        self._is_animated = bool(body[0] & ANIMATED)
        self._facts.size = int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
        return bytes((body[0] & FLAGS, 0, 0, 0)) + body[4 : lengths.WEBP[b"VP8X"]]

    def _exif(self, body: bytes) -> tuple[bytes, bytes]:
        block = exif.to_store(body.removeprefix(b"Exif\0\0"), self._keep_metadata)
        # The chunk is renamed, because Pillow doesn't accept zeros as EXIF data.
        if not 0 < len(block) <= len(body):
            return JUNK, b""
        self._facts.exif = block
        return b"EXIF", body if self._keep_metadata else block

    def _picture(self, name: bytes, length: int) -> Parser:
        if not self._facts.size[0]:
            head = yield from self._source.read(min(10, length))
            length -= len(head)
            self._facts.size = _size(name, head)
            yield head
        yield from self._pass(length)

    def _pass(self, length: int) -> Parser:
        while length:
            part = yield from self._source.read_some(length)
            if not part:
                raise truncated()
            length -= len(part)
            yield part


def _size(name: bytes, head: bytes) -> tuple[int, int]:
    """Return the width and height from the first ten bytes of a key frame (RFC 6386, 9.1) or lossless stream."""
    if name == b"VP8 " and len(head) == 10 and head[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(head[6:8], "little") & 0x3FFF, int.from_bytes(head[8:10], "little") & 0x3FFF
    if name == b"VP8L" and len(head) >= 5 and head[0] == 0x2F:
        bits = int.from_bytes(head[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise damaged()


def damaged() -> BadPicture:
    """Return the error for a damaged WebP file."""
    return BadPicture(_("This WebP file is damaged. Export it again."))
