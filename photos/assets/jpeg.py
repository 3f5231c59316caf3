"""JPEG in a stream: its segments without those that say more than the picture (ISO/IEC 10918-1, annex B)."""

import re
from collections.abc import Generator

from django.utils.translation import gettext as _

from photos.assets import exif, icc, lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import LONGEST_PIECE, Found, Parser, Source, refuse_code, truncated

SOI = 0xD8
EOI = 0xD9
SOS = 0xDA
APP0 = 0xE0
APP1 = 0xE1
APP2 = 0xE2
APP14 = 0xEE
COMMENT = 0xFE
# Start of frame: all of 0xC0–0xCF but tables (C4), JPG (C8) and arithmetic conditioning (CC).
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
# Ends coded data: a marker that is neither a stuffed zero nor a restart. 0xFF may be repeated as a filler.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")
ICC = b"ICC_PROFILE\0"
# Bytes of a profile in one segment.
PART = 65_000
# A progressive picture has about ten; thousands keep a decoder busy for hours.
MOST_SCANS = 100
# Bytes of tables before a scan: more of them are replaced before they are used.
MOST_TABLES = 4096


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the picture without comments, XMP, IPTC, thumbnails and previews, with EXIF as `exif.cleaned` leaves it.

    `keep` leaves all of it in. What follows the end is dropped.
    """
    yield from source.take(2)
    yield b"\xff\xd8"
    scans = tables = 0
    seen: set[int] = set()
    # Tables behind the first scan, until another scan uses them.
    held = b""
    frame = _Frame()
    profile = _Profile()
    while True:
        code = yield from _marker(source)
        if code == EOI:
            break
        if code == SOI or code == 0x01 or 0xD0 <= code <= 0xD7 or code == 0:
            raise damaged()
        length = int.from_bytes((yield from source.take(2)), "big")
        if length < 2:
            raise damaged()
        body = yield from source.take(length - 2)
        if code in FRAMES:
            frame.begin(code, body, found)
        elif code == SOS:
            scans += 1
            found.scans = scans
            frame.check_scan(body, found)
            yield held + _segment(code, body)
            held = b""
            tables = 0
            yield from _coded(source)
            continue
        elif code in lengths.JPEG:
            tables += len(body)
            if (body and len(body) not in lengths.JPEG[code]) or tables > MOST_TABLES:
                raise damaged()
            if scans and body:
                held += _segment(code, body)
                continue
        elif code == APP2 and body.startswith(ICC) and not keep:
            yield profile.part(body)
            continue
        else:
            body = _metadata(code, body, found, keep)
            if body and code in (APP0, APP14) and not keep:
                if code in seen:
                    continue
                seen.add(code)
        if body:
            yield _segment(code, body)
    if not scans:
        raise BadPicture(_("The JPEG holds no picture."))
    yield b"\xff\xd9"
    yield from source.drop_rest()


def _marker(source: Source) -> Generator[bytes | None, None, int]:
    first = yield from source.take(1)
    if first != b"\xff":
        raise damaged()
    code = b"\xff"
    while code == b"\xff":
        code = yield from source.take(1)
    return code[0]


def _segment(code: int, body: bytes) -> bytes:
    return bytes((0xFF, code)) + (len(body) + 2).to_bytes(2, "big") + body


class _Frame:
    """The header of the picture, and what its scans have coded of it so far."""

    def __init__(self) -> None:
        self._components = self._coded = 0
        self._is_progressive = False
        # Bytes of all coefficients, which a decoder keeps until the last scan has come.
        self._coefficients = 0

    def begin(self, code: int, body: bytes, found: Found) -> None:
        """Note the size, and the memory that a picture in several scans needs."""
        if len(body) < 6 or self._components or len(body) != 6 + 3 * body[5]:
            raise damaged()
        self._components = body[5]
        self._is_progressive = code in PROGRESSIVE
        found.size = int.from_bytes(body[3:5], "big"), int.from_bytes(body[1:3], "big")
        if not all(found.size):
            raise BadPicture(_("The JPEG does not say how large it is."))
        sampling = [body[7 + 3 * i] for i in range(body[5])]
        areas = [(s >> 4) * (s & 15) for s in sampling]
        if not areas or not all(areas):
            raise damaged()
        self._coefficients = 2 * found.size[0] * found.size[1] * sum(areas) // max(areas)

    def check_scan(self, body: bytes, found: Found) -> None:
        """Raise BadPicture for a scan before the header, or one that a decoder would not look at."""
        if not self._components or found.scans > MOST_SCANS or not body or len(body) != 4 + 2 * body[0]:
            raise damaged()
        self._coded += body[0]
        if self._is_progressive or body[0] < self._components:
            found.extra_memory = self._coefficients
        if not self._is_progressive and self._coded > self._components:
            raise damaged()


class _Profile:
    """A colour profile, which may come in parts: all of them, without what they say in words, once the last is there."""

    def __init__(self) -> None:
        self._parts: dict[int, bytes] = {}
        self._length = 0
        self._is_whole = False

    def part(self, body: bytes) -> bytes:
        """Take a part; return all segments when it was the last, else b"". Raises BadPicture for more than is taken."""
        if len(body) < len(ICC) + 2:
            return b""
        number = body[len(ICC)]
        count = body[len(ICC) + 1]
        self._length += len(body)
        if self._is_whole or self._length > LONGEST_PIECE:
            raise damaged()
        self._parts.setdefault(number, body[len(ICC) + 2 :])
        if sorted(self._parts) != list(range(1, count + 1)):
            return b""
        self._is_whole = True
        kept = icc.cleaned(b"".join(self._parts[n] for n in range(1, count + 1)))
        parts = [kept[start : start + PART] for start in range(0, len(kept), PART)]
        return b"".join(_segment(APP2, ICC + bytes((n, len(parts))) + part) for n, part in enumerate(parts, 1))


def _metadata(code: int, body: bytes, found: Found, keep: bool) -> bytes:
    """Return what is kept of a segment that is no part of the pixels; b"" for nothing."""
    if code == APP1 and body.startswith(b"Exif\0\0"):
        if found.exif:
            return b""
        found.exif = exif.stored(body[6:], keep)
        return b"Exif\0\0" + found.exif if found.exif else b""
    # The transform flag of Adobe and the colour profile change how the pixels look.
    if code == APP14 and body.startswith(b"Adobe") and len(body) >= lengths.ADOBE:
        return body if keep else body[: lengths.ADOBE]
    if code == APP2 and body.startswith(ICC):
        return body
    if code == APP0 and body.startswith(b"JFIF\0") and len(body) >= lengths.JFIF:
        # Without the thumbnail.
        return body if keep else body[: lengths.JFIF - 2] + b"\0\0"
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


def damaged() -> BadPicture:
    return BadPicture(_("The JPEG is damaged."))
