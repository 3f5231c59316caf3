"""WebP in a stream (RIFF container): what says more than the picture is overwritten in place, so that all sizes stay true."""

from django.utils.translation import gettext as _

from nodes.photos.assets import exif, icc
from nodes.photos.assets.errors import BadPicture
from nodes.photos.assets.stream import Found, Parser, Source, refuse_code, truncated

PICTURE = frozenset({b"VP8 ", b"VP8L", b"ALPH", b"ANMF"})
SMALL = frozenset({b"VP8X", b"ANIM", b"ICCP"})


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the picture with XMP as spaces, unknown chunks as zeros and EXIF as `exif.cleaned` leaves it, of the same
    length; it may follow the pixels. `keep` leaves EXIF and XMP as they are."""
    head = yield from source.take(12)
    left = int.from_bytes(head[4:8], "little") - 4
    yield head
    pixels = False
    while left > 0:
        head = yield from source.take(8)
        name, size = head[:4], int.from_bytes(head[4:], "little")
        padded = size + (size & 1)
        left -= 8 + padded
        if left < 0:
            raise damaged()
        yield head
        if name in PICTURE:
            pixels = pixels or name != b"ALPH"
            found.frames += name == b"ANMF"
            yield from _pass(source, padded, name, found)
            continue
        body = yield from source.take(padded)
        if name == b"VP8X":
            if size < 10:
                raise damaged()
            found.size = _three(body[4:7]) + 1, _three(body[7:10]) + 1
        elif name == b"EXIF" and not found.exif:
            found.exif = body[6:] if body.startswith(b"Exif\0\0") else body
            body = body if keep else _fitted(exif.cleaned(found.exif), len(body))
        elif name == b"XMP ":
            refuse_code(body)
            body = body if keep else b" " * len(body)
        elif name == b"ICCP" and not keep:
            # Of the same length, or nothing.
            body = icc.cleaned(body[:size]).ljust(len(body), b"\0")
        elif name not in SMALL:
            refuse_code(body)
            body = bytes(len(body))
        yield body
    if not pixels:
        raise BadPicture(_("The WebP holds no picture."))
    yield from source.nothing_more()


def _pass(source: Source, length: int, name: bytes, found: Found) -> Parser:
    if name in (b"VP8 ", b"VP8L") and not found.size[0]:
        head = yield from source.take(min(10, length))
        length -= len(head)
        found.size = _size(name, head)
        yield head
    while length:
        part = yield from source.some(length)
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


def _fitted(block: bytes, length: int) -> bytes:
    """Return an EXIF block in a place of `length` bytes; zeros follow it, or stand for one that does not fit."""
    return block.ljust(length, b"\0") if len(block) <= length else bytes(length)


def _three(data: bytes) -> int:
    return int.from_bytes(data, "little")


def damaged() -> BadPicture:
    return BadPicture(_("The WebP is damaged."))
