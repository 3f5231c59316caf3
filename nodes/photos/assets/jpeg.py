"""JPEG in a stream: its segments without those that say more than the picture (ISO/IEC 10918-1, annex B)."""

import re
from collections.abc import Generator

from django.utils.translation import gettext as _

from nodes.photos.assets import exif, icc
from nodes.photos.assets.errors import BadPicture
from nodes.photos.assets.stream import LONGEST_PIECE, Found, Parser, Source, refuse_code, truncated

SOI, EOI, SOS, APP0, APP1, APP2, APP14, COMMENT = 0xD8, 0xD9, 0xDA, 0xE0, 0xE1, 0xE2, 0xEE, 0xFE
# Start of frame: all of 0xC0–0xCF but tables (C4), JPG (C8) and arithmetic conditioning (CC).
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
# Quantisation, Huffman, restart interval, arithmetic conditioning, expansion.
TABLES = frozenset({0xDB, 0xC4, 0xDD, 0xCC, 0xDF})
# Ends coded data: a marker that is neither a stuffed zero nor a restart. 0xFF may be repeated as a filler.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")
ICC = b"ICC_PROFILE\0"
# Bytes of a profile in one segment.
PART = 65_000
# A progressive picture has about ten; thousands keep a decoder busy for hours.
MOST_SCANS = 100


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the picture without comments, XMP, IPTC, thumbnails and previews, with EXIF as `exif.cleaned` leaves it.

    `keep` leaves all of it in. What follows the end is dropped where cameras put it there (a second picture, a short
    film), and refused otherwise.
    """
    yield from source.take(2)
    yield b"\xff\xd8"
    scans = 0
    profile = _Profile()
    while True:
        code = yield from _marker(source)
        if code == EOI:
            break
        if code == SOI or code == 0x01 or 0xD0 <= code <= 0xD7 or code == 0:
            raise BadPicture(_("The JPEG is damaged."))
        length = int.from_bytes((yield from source.take(2)), "big")
        if length < 2:
            raise BadPicture(_("The JPEG is damaged."))
        body = yield from source.take(length - 2)
        if code in FRAMES:
            _frame(code, body, found)
        elif code == SOS:
            scans += 1
            if not found.size[0] or scans > MOST_SCANS:
                raise BadPicture(_("The JPEG is damaged."))
            yield _segment(code, body)
            yield from _coded(source)
            continue
        elif code == APP2 and body.startswith(ICC) and not keep:
            yield profile.part(body)
            continue
        else:
            body = _metadata(code, body, found, keep)
        if body:
            yield _segment(code, body)
    if not scans:
        raise BadPicture(_("The JPEG holds no picture."))
    yield b"\xff\xd9"
    yield from _behind(source)


def _marker(source: Source) -> Generator[bytes | None, None, int]:
    first = yield from source.take(1)
    if first != b"\xff":
        raise BadPicture(_("The JPEG is damaged."))
    code = b"\xff"
    while code == b"\xff":
        code = yield from source.take(1)
    return code[0]


def _segment(code: int, body: bytes) -> bytes:
    return bytes((0xFF, code)) + (len(body) + 2).to_bytes(2, "big") + body


def _frame(code: int, body: bytes, found: Found) -> None:
    """Note size and the memory that a progressive picture needs for all its coefficients."""
    if len(body) < 6 or found.size[0] or len(body) < 6 + 3 * body[5]:
        raise BadPicture(_("The JPEG is damaged."))
    found.size = int.from_bytes(body[3:5], "big"), int.from_bytes(body[1:3], "big")
    if not all(found.size):
        raise BadPicture(_("The JPEG does not say how large it is."))
    sampling = [body[7 + 3 * i] for i in range(body[5])]
    areas = [(s >> 4) * (s & 15) for s in sampling]
    if not areas or not all(areas):
        raise BadPicture(_("The JPEG is damaged."))
    if code in PROGRESSIVE:
        found.extra_memory = 2 * found.size[0] * found.size[1] * sum(areas) // max(areas)


class _Profile:
    """A colour profile, which may come in parts: all of them, without what they say in words, once the last is there."""

    def __init__(self) -> None:
        self._parts: dict[int, bytes] = {}
        self._length = 0

    def part(self, body: bytes) -> bytes:
        """Take a part; return all segments when it was the last, else b"". Raises BadPicture for more than is taken."""
        if len(body) < len(ICC) + 2:
            return b""
        number, count = body[len(ICC)], body[len(ICC) + 1]
        self._length += len(body)
        if self._length > LONGEST_PIECE:
            raise BadPicture(_("The JPEG is damaged."))
        self._parts.setdefault(number, body[len(ICC) + 2 :])
        if sorted(self._parts) != list(range(1, count + 1)):
            return b""
        kept = icc.cleaned(b"".join(self._parts[n] for n in range(1, count + 1)))
        parts = [kept[start : start + PART] for start in range(0, len(kept), PART)]
        return b"".join(_segment(APP2, ICC + bytes((n, len(parts))) + part) for n, part in enumerate(parts, 1))


def _metadata(code: int, body: bytes, found: Found, keep: bool) -> bytes:
    """Return what is kept of a segment that is no part of the pixels; b"" for nothing."""
    if code in TABLES:
        return body
    if code == APP1 and body.startswith(b"Exif\0\0"):
        if found.exif:
            return b""
        found.exif = body[6:]
        kept = found.exif if keep else exif.cleaned(found.exif)
        return b"Exif\0\0" + kept if kept else b""
    # The transform flag of Adobe and the colour profile change how the pixels look.
    if (code == APP14 and body.startswith(b"Adobe")) or (code == APP2 and body.startswith(ICC)):
        return body
    if code == APP0 and body.startswith(b"JFIF\0"):
        # Without the thumbnail.
        return body if keep else body[:12] + b"\0\0"
    refuse_code(body)
    return body if keep and (APP0 <= code <= 0xEF or code == COMMENT) else b""


def _coded(source: Source) -> Parser:
    """Yield coded data up to the next marker, which stays in the source."""
    while True:
        if match := _MARKER.search(source.buffer):
            end = match.start()
        else:
            # A last 0xFF may be the first half of a marker.
            end = len(source.buffer) - source.buffer.endswith(b"\xff")
        yield bytes(memoryview(source.buffer)[:end])
        del source.buffer[:end]
        if match:
            return
        if source.ended:
            raise truncated()
        yield None


def _behind(source: Source) -> Parser:
    """Drop what cameras put behind the picture: zeros, more pictures (MPF), a film (motion photo). Refuse the rest."""
    start = bytearray()
    while len(start) < 12 and (part := (yield from source.some(12 - len(start)))):
        start += part
    if start.startswith(b"\xff\xd8\xff") or start[4:8] == b"ftyp":
        while (yield from source.some(1 << 20)):
            continue
    if start.strip(b"\0") and not start.startswith(b"\xff\xd8\xff") and start[4:8] != b"ftyp":
        raise BadPicture(_("Something else is hidden behind the end of the picture."))
    yield from source.nothing_more()
