"""The JPEG parser (ISO/IEC 10918-1, annex B). It removes the segments that don't affect how the image looks."""

import re
from collections.abc import Generator

from django.utils.translation import gettext as _

from photos.assets import exif, icc, lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import MAX_PIECE, ImageFacts, Parser, Source, refuse_code, truncated

SOI = 0xD8
EOI = 0xD9
SOS = 0xDA
APP0 = 0xE0
APP1 = 0xE1
APP2 = 0xE2
APP14 = 0xEE
COMMENT = 0xFE
# The markers that start a frame: 0xC0–0xCF, except tables (C4), JPG (C8) and arithmetic conditioning (CC).
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
# A pattern that matches the marker at the end of coded data. Stuffed zeros and restart markers don't end the data. 0xFF
# can be repeated as a fill byte.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")
ICC = b"ICC_PROFILE\0"
# Maximum number of bytes of a colour profile in one segment.
PART = 65_000
# The maximum number of scans. A progressive image has about ten scans, and thousands of scans would keep a decoder busy
# for hours.
MAX_SCANS = 100
# The maximum size, in bytes, of the tables before a scan. If the tables were larger, some of them would be replaced
# before they are used.
MAX_TABLES = 4096


def parse(source: Source, facts: ImageFacts, keep_metadata: bool) -> Parser:
    """Yield the image with clean EXIF data (`exif.clean`) and without comments, XMP, IPTC, thumbnails or previews.

    If `keep_metadata` is true, all of these are kept. Bytes after the end of the image are always removed.
    """
    yield from source.read(2)
    yield b"\xff\xd8"
    scans = tables = 0
    seen: set[int] = set()
    # Tables that follow the first scan are kept here until another scan uses them.
    pending_tables = b""
    frame = _Frame()
    profile = _Profile()
    while True:
        code = yield from _marker(source)
        if code == EOI:
            break
        if code == SOI or code == 0x01 or 0xD0 <= code <= 0xD7 or code == 0:
            raise damaged()
        length = int.from_bytes((yield from source.read(2)), "big")
        if length < 2:
            raise damaged()
        body = yield from source.read(length - 2)
        if code in FRAMES:
            frame.begin(code, body, facts)
        elif code == SOS:
            scans += 1
            facts.scans = scans
            frame.check_scan(body, facts)
            yield pending_tables + _segment(code, body)
            pending_tables = b""
            tables = 0
            yield from _coded_data(source)
            continue
        elif code in lengths.JPEG:
            tables += len(body)
            if (body and len(body) not in lengths.JPEG[code]) or tables > MAX_TABLES:
                raise damaged()
            if scans and body:
                pending_tables += _segment(code, body)
                continue
        elif code == APP2 and body.startswith(ICC) and not keep_metadata:
            yield profile.add_part(body)
            continue
        else:
            body = _metadata(code, body, facts, keep_metadata)
            if body and code in (APP0, APP14) and not keep_metadata:
                if code in seen:
                    continue
                seen.add(code)
        if body:
            yield _segment(code, body)
    if not scans:
        raise BadPicture(_("This JPEG file contains no image."))
    yield b"\xff\xd9"
    yield from source.skip_rest()


def _marker(source: Source) -> Generator[bytes | None, None, int]:
    first = yield from source.read(1)
    if first != b"\xff":
        raise damaged()
    code = b"\xff"
    while code == b"\xff":
        code = yield from source.read(1)
    return code[0]


def _segment(code: int, body: bytes) -> bytes:
    return bytes((0xFF, code)) + (len(body) + 2).to_bytes(2, "big") + body


class _Frame:
    """The image header, and the components that scans have coded so far."""

    def __init__(self) -> None:
        self._components = self._coded = 0
        self._is_progressive = False
        # The size, in bytes, of all coefficients. A decoder keeps them in memory until the last scan has arrived.
        self._coefficients = 0

    def begin(self, code: int, body: bytes, facts: ImageFacts) -> None:
        """Record the image's size, and the memory that decoding needs if there are several scans.

        This method can raise BadPicture.
        """
        if len(body) < 6 or self._components or len(body) != 6 + 3 * body[5]:
            raise damaged()
        self._components = body[5]
        self._is_progressive = code in PROGRESSIVE
        facts.size = int.from_bytes(body[3:5], "big"), int.from_bytes(body[1:3], "big")
        if not all(facts.size):
            raise BadPicture(_("This JPEG file is damaged: its dimensions are missing or wrong. Export it again."))
        sampling = [body[7 + 3 * i] for i in range(body[5])]
        areas = [(s >> 4) * (s & 15) for s in sampling]
        if not areas or not all(areas):
            raise damaged()
        self._coefficients = 2 * facts.size[0] * facts.size[1] * sum(areas) // max(areas)

    def check_scan(self, body: bytes, facts: ImageFacts) -> None:
        """Raise BadPicture if a scan comes before the header, or if a decoder would ignore the scan."""
        if not self._components or facts.scans > MAX_SCANS or not body or len(body) != 4 + 2 * body[0]:
            raise damaged()
        self._coded += body[0]
        if self._is_progressive or body[0] < self._components:
            facts.extra_memory = self._coefficients
        if not self._is_progressive and self._coded > self._components:
            raise damaged()


class _Profile:
    """A colour profile that can arrive in several parts. Adding the last part returns all clean segments."""

    def __init__(self) -> None:
        self._parts: dict[int, bytes] = {}
        self._length = 0
        self._is_whole = False

    def add_part(self, body: bytes) -> bytes:
        """Add a part. If it is the last part, return all clean segments. Otherwise, return b"".

        Raise BadPicture if there are too many parts.
        """
        if len(body) < len(ICC) + 2:
            return b""
        number = body[len(ICC)]
        count = body[len(ICC) + 1]
        self._length += len(body)
        if self._is_whole or self._length > MAX_PIECE:
            raise damaged()
        self._parts.setdefault(number, body[len(ICC) + 2 :])
        if sorted(self._parts) != list(range(1, count + 1)):
            return b""
        self._is_whole = True
        profile = icc.clean(b"".join(self._parts[n] for n in range(1, count + 1)))
        parts = [profile[start : start + PART] for start in range(0, len(profile), PART)]
        return b"".join(_segment(APP2, ICC + bytes((n, len(parts))) + part) for n, part in enumerate(parts, 1))


def _metadata(code: int, body: bytes, facts: ImageFacts, keep_metadata: bool) -> bytes:
    """Return the body to store for a segment without pixels, or b"" to remove the segment."""
    if code == APP1 and body.startswith(b"Exif\0\0"):
        if facts.exif:
            return b""
        facts.exif = exif.to_store(body[6:], keep_metadata)
        return b"Exif\0\0" + facts.exif if facts.exif else b""
    # Keep Adobe's transform flag and the colour profile, because they affect how the pixels look.
    if code == APP14 and body.startswith(b"Adobe") and len(body) >= lengths.ADOBE:
        return body if keep_metadata else body[: lengths.ADOBE]
    if code == APP2 and body.startswith(ICC):
        return body
    if code == APP0 and body.startswith(b"JFIF\0") and len(body) >= lengths.JFIF:
        # The thumbnail is removed, because it can show a part that was cropped away.
        return body if keep_metadata else body[: lengths.JFIF - 2] + b"\0\0"
    refuse_code(body)
    return body if keep_metadata and (APP0 <= code <= 0xEF or code == COMMENT) else b""


def _coded_data(source: Source) -> Parser:
    """Yield coded data up to the next marker. The marker remains in the source."""
    while True:
        if match := _MARKER.search(source.buffer):
            end = match.start()
        else:
            # Leave a trailing 0xFF in the buffer, because it can be the first half of a marker.
            end = len(source.buffer) - source.buffer.endswith(b"\xff")
        yield bytes(memoryview(source.buffer)[:end])
        del source.buffer[:end]
        if match:
            return
        if source.ended:
            raise truncated()
        yield None


def damaged() -> BadPicture:
    """Return the error for a damaged JPEG file."""
    return BadPicture(_("This JPEG file is damaged. Export it again."))
