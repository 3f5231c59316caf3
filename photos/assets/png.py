"""PNG in a stream: its chunks without text, times and anything unknown (PNG, third edition)."""

import struct
import zlib

from django.utils.translation import gettext as _

from photos.assets import exif, icc, lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import LONGEST_PIECE, Found, Parser, Source, refuse_code, truncated

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"dSIG"})
# The one chunk of those in lengths.PNG that may come again, and those without which there is no picture.
FRAME = b"fcTL"
NEEDED = frozenset({b"IHDR", b"PLTE", b"IEND"})
PIECE = 1 << 16
# Bytes by which a colour profile may become longer: others may have packed theirs better.
LONGER_PROFILE = 1024
# Samples of a pixel, by colour type; where the passes of an interlaced picture begin, and their steps.
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the picture without texts (XMP and ImageMagick's EXIF are some), and its EXIF as `exif.cleaned` leaves it,
    wherever it stands. `keep` leaves texts and EXIF in."""
    yield (yield from source.take(8))
    picture = _Picture()
    while True:
        head = yield from source.take(8)
        length = int.from_bytes(head[:4], "big")
        name = head[4:]
        if picture.is_unknown != (name == b"IHDR") or length > 0x7FFFFFFF:
            raise damaged()
        if pixels := picture.pixels(name):
            yield head
            yield from _pass(source, length, name, pixels)
            continue
        kept = name in lengths.PNG or name in (b"eXIf", b"iCCP") or (keep and name in TEXTS)
        if not kept:
            if not name[0] & 0x20:
                raise damaged()
            if length <= PIECE:
                refuse_code((yield from source.take(length)))
                yield from source.drop(4)
            else:
                yield from source.drop(length + 4)
            continue
        body = yield from source.take(length)
        check = yield from source.take(4)
        if zlib.crc32(name + body) != int.from_bytes(check, "big"):
            raise damaged()
        if name == b"IEND":
            break
        if name not in TEXTS:
            body = picture.kept(name, body, found, keep)
        if body:
            yield chunk(name, body)
    picture.check_whole()
    yield chunk(b"IEND", b"")
    yield from source.drop_rest()


def chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk with its length and check sum."""
    return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")


class _Picture:
    """The chunks that came so far, and which pixels must follow."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._size = (0, 0)
        self._bits = 0
        self._is_interlaced = False
        # Of the picture, and of the frame that is coming.
        self._still: _Pixels | None = None
        self._frame: _Pixels | None = None
        self._frames = 0

    @property
    def is_unknown(self) -> bool:
        """Whether the header is still to come."""
        return self._still is None

    def pixels(self, name: bytes) -> "_Pixels | None":
        """Return where the pixels of a chunk go; None for other chunks, and for frames of what is no animation."""
        if name == b"IDAT":
            self._seen.add(name)
            return self._still
        return self._frame if name == b"fdAT" else None

    def kept(self, name: bytes, body: bytes, found: Found, keep: bool) -> bytes:
        """Return what is stored of a chunk; b"" for nothing. Raises BadPicture."""
        again = name in self._seen and name != FRAME
        self._seen.add(name)
        if again or (name in lengths.PNG and len(body) not in lengths.PNG[name]):
            if name in NEEDED:
                raise damaged()
            return b""
        if name == b"IHDR":
            self._header(body, found)
        elif name == b"acTL":
            found.frames = max(int.from_bytes(body[:4], "big"), found.frames)
        elif name == FRAME:
            return self._begin_frame(body, found)
        elif name == b"eXIf":
            body = found.exif = exif.stored(body, keep)
        elif name == b"iCCP" and not keep:
            return _profile(body)
        return body

    def check_whole(self) -> None:
        """Raise BadPicture if pixels are missing at the end."""
        if self._still is None or b"IDAT" not in self._seen:
            raise BadPicture(_("The PNG holds no picture."))
        for pixels in (self._still, self._frame):
            if pixels and not pixels.is_whole:
                raise damaged()

    def _header(self, body: bytes, found: Found) -> None:
        width, height, depth, colour, _method, _filter, interlaced = struct.unpack(">IIBBBBB", body)
        found.size = self._size = (width, height)
        if not all(self._size) or colour not in SAMPLES or depth not in (1, 2, 4, 8, 16) or interlaced > 1:
            raise damaged()
        if (depth, colour) == (16, 0):
            # 16 bits of grey are made 32 before they are made 8.
            found.extra_memory = 4 * width * height
        self._bits = depth * SAMPLES[colour]
        self._is_interlaced = bool(interlaced)
        self._still = _Pixels(self._length(width, height))

    def _begin_frame(self, body: bytes, found: Found) -> bytes:
        """Expect the pixels of a frame; the first one's may be those of the picture. Return what is stored of its chunk."""
        if b"acTL" not in self._seen:
            return b""
        _number, width, height, left, top = struct.unpack_from(">5I", body)
        if not (width and height and left + width <= self._size[0] and top + height <= self._size[1]):
            raise damaged()
        if self._frame and not self._frame.is_whole:
            raise damaged()
        self._frames += 1
        found.frames = max(found.frames, self._frames)
        if b"IDAT" in self._seen:
            self._frame = _Pixels(self._length(width, height))
        elif self._frames > 1:
            raise damaged()
        return body

    def _length(self, width: int, height: int) -> int:
        """Return how many bytes the pixels are before they are packed, each line with its filter."""
        total = 0
        for left, top, across, down in PASSES if self._is_interlaced else ((0, 0, 1, 1),):
            columns = -(-(width - left) // across)
            lines = -(-(height - top) // down)
            if columns > 0 < lines:
                total += lines * (1 + (columns * self._bits + 7) // 8)
        return total


class _Pixels:
    """A packed stream of pixels, spread over chunks. Zeros replace bytes after its end, because they show nothing."""

    def __init__(self, length: int) -> None:
        self._left = length
        self._unpacker = zlib.decompressobj()

    @property
    def is_whole(self) -> bool:
        """Whether all pixels came."""
        return not self._left

    def kept(self, data: bytes) -> bytes:
        """Return the next bytes as they are stored. Raises BadPicture for more pixels than there are, and broken ones."""
        unpacker = self._unpacker
        rest = data
        more = True
        if unpacker.eof:
            return bytes(len(data))
        try:
            while (rest or more) and not unpacker.eof:
                unpacked = len(unpacker.decompress(rest, PIECE))
                rest = unpacker.unconsumed_tail
                more = unpacked == PIECE
                self._left -= unpacked
                if self._left < 0:
                    raise damaged()
        except zlib.error as error:
            raise damaged() from error
        behind = len(unpacker.unused_data)
        return data[: len(data) - behind] + bytes(behind)


def _profile(body: bytes) -> bytes:
    """Return a colour profile without what it says in words, under no name of its own; b"" for none that can be read."""
    unpacker = zlib.decompressobj()
    try:
        profile = unpacker.decompress(body.partition(b"\0")[2][1:], LONGEST_PIECE)
    except zlib.error:
        return b""
    kept = icc.cleaned(profile) if unpacker.eof else b""
    packed = b"icc\0\0" + zlib.compress(kept)
    return packed if kept and len(packed) <= len(body) + LONGER_PROFILE else b""


def _pass(source: Source, length: int, name: bytes, pixels: _Pixels) -> Parser:
    came = stored = zlib.crc32(name)
    if name == b"fdAT":
        if length < 4:
            raise damaged()
        number = yield from source.take(4)
        length -= 4
        came = stored = zlib.crc32(number, came)
        yield number
    while length:
        part = yield from source.some(length)
        if not part:
            raise truncated()
        came = zlib.crc32(part, came)
        length -= len(part)
        part = pixels.kept(part)
        stored = zlib.crc32(part, stored)
        yield part
    if came != int.from_bytes((yield from source.take(4)), "big"):
        raise damaged()
    yield stored.to_bytes(4, "big")


def damaged() -> BadPicture:
    return BadPicture(_("The PNG is damaged."))
