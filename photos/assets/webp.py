"""WebP in a stream (RIFF container): what says more than the picture is overwritten in place, so that all sizes stay true."""

from django.utils.translation import gettext as _

from photos.assets import exif, icc, lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import Found, Parser, Source, refuse_code, truncated

PIXELS = frozenset({b"VP8 ", b"VP8L"})
# Flags of VP8X: all that are known, and that of an animation.
FLAGS, ANIMATED = 0x3E, 0x02
# The name of a chunk that no reader looks into.
NOTHING = b"JUNK"


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the picture with XMP as spaces, unknown chunks as zeros and EXIF as `exif.cleaned` leaves it, of the same
    length; it may follow the pixels. `keep` leaves EXIF and XMP as they are."""
    head = yield from source.take(12)
    yield head
    file = _File(source, found, keep)
    yield from file.chunks(int.from_bytes(head[4:8], "little") - 4)
    if not file.has_pixels:
        raise BadPicture(_("The WebP holds no picture."))
    yield from source.drop_rest()


class _File:
    """The chunks of a file, as they come."""

    def __init__(self, source: Source, found: Found, keep: bool) -> None:
        self._source = source
        self._found = found
        self._keep = keep
        self.has_pixels = self._is_animated = False
        self._seen: set[bytes] = set()
        found.frames = 0

    def chunks(self, left: int, *, in_frame: bool = False) -> Parser:
        """Yield the chunks of a file, or of one of its frames, that are so many bytes together. Raises BadPicture."""
        has_alpha = has_pixels = False
        while left > 0:
            head = yield from self._source.take(8)
            name = head[:4]
            size = int.from_bytes(head[4:], "little")
            padded = size + (size & 1)
            left -= 8 + padded
            if left < 0:
                raise damaged()
            shown = in_frame or not self._is_animated
            if name == b"ANMF" and self._is_animated and not in_frame:
                yield head
                yield from self._frame(padded)
            elif name == b"ALPH" and shown and not (has_alpha or has_pixels):
                has_alpha = True
                yield head
                yield from self._pass(padded)
            elif name in PIXELS and shown and not has_pixels:
                self.has_pixels = has_pixels = True
                yield head
                yield from self._picture(name, padded)
            else:
                body = yield from self._source.take(padded)
                name, body = self._metadata(name, body, size) if not in_frame else (name, b"")
                yield name + head[4:] + body.ljust(padded, b"\0")

    def _frame(self, length: int) -> Parser:
        if length < lengths.WEBP_FRAME:
            raise damaged()
        self._found.frames += 1
        yield (yield from self._source.take(lengths.WEBP_FRAME))
        yield from self.chunks(length - lengths.WEBP_FRAME, in_frame=True)

    def _metadata(self, name: bytes, body: bytes, size: int) -> tuple[bytes, bytes]:
        """Return what is stored of a chunk that carries no pixels: its name, and its content before the zeros that fill it."""
        again = name in self._seen
        self._seen.add(name)
        if not again:
            if name == b"VP8X":
                return name, self._header(body)
            if name in lengths.WEBP:
                return name, body[: lengths.WEBP[name]]
            if name == b"EXIF":
                return self._exif(body)
            if name == b"ICCP":
                return name, body if self._keep else icc.cleaned(body[:size])
            if name == b"XMP ":
                refuse_code(body)
                return name, body if self._keep else b" " * len(body)
        refuse_code(body)
        return NOTHING if name == b"EXIF" else name, b""

    def _header(self, body: bytes) -> bytes:
        if len(body) < lengths.WEBP[b"VP8X"] or self.has_pixels:
            raise damaged()
        self._is_animated = bool(body[0] & ANIMATED)
        self._found.size = _three(body[4:7]) + 1, _three(body[7:10]) + 1
        return bytes((body[0] & FLAGS, 0, 0, 0)) + body[4 : lengths.WEBP[b"VP8X"]]

    def _exif(self, body: bytes) -> tuple[bytes, bytes]:
        block = exif.stored(body.removeprefix(b"Exif\0\0"), self._keep)
        # Pillow takes no zeros for EXIF.
        if not 0 < len(block) <= len(body):
            return NOTHING, b""
        self._found.exif = block
        return b"EXIF", body if self._keep else block

    def _picture(self, name: bytes, length: int) -> Parser:
        if not self._found.size[0]:
            head = yield from self._source.take(min(10, length))
            length -= len(head)
            self._found.size = _size(name, head)
            yield head
        yield from self._pass(length)

    def _pass(self, length: int) -> Parser:
        while length:
            part = yield from self._source.some(length)
            if not part:
                raise truncated()
            length -= len(part)
            yield part


def _size(name: bytes, head: bytes) -> tuple[int, int]:
    """Return width and height from the first ten bytes of a key frame (RFC 6386, 9.1) or of a lossless stream."""
    if name == b"VP8 " and len(head) == 10 and head[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(head[6:8], "little") & 0x3FFF, int.from_bytes(head[8:10], "little") & 0x3FFF
    if name == b"VP8L" and len(head) >= 5 and head[0] == 0x2F:
        bits = int.from_bytes(head[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise damaged()


def _three(data: bytes) -> int:
    return int.from_bytes(data, "little")


def damaged() -> BadPicture:
    return BadPicture(_("The WebP is damaged."))
