"""The PNG parser (third edition). It removes text, times and unknown chunks."""

import struct
import zlib

from django.utils.translation import gettext as _

from photos.assets import exif, icc, lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import MAX_PIECE, ImageFacts, Parser, Source, refuse_code, truncated

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"dSIG"})
# The only chunk in lengths.PNG that can be repeated, and the chunks that an image requires.
FRAME = b"fcTL"
REQUIRED = frozenset({b"IHDR", b"PLTE", b"IEND"})
PIECE = 1 << 16
# A compressed colour profile can grow by up to this many bytes, because other software may have compressed it better.
MAX_PROFILE_GROWTH = 1024
# Samples per pixel for each colour type, and the passes of an interlaced image (left, top, horizontal step, vertical
# step).
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def parse(source: Source, facts: ImageFacts, keep_metadata: bool) -> Parser:
    """Yield the image with clean EXIF data (`exif.clean`) and without text, including XMP and ImageMagick's EXIF data.

    If `keep_metadata` is true, text and EXIF data are kept.
    """
    yield (yield from source.read(8))
    picture = _Picture()
    while True:
        head = yield from source.read(8)
        length = int.from_bytes(head[:4], "big")
        name = head[4:]
        if picture.needs_header != (name == b"IHDR") or length > 0x7FFFFFFF:
            raise damaged()
        if pixels := picture.pixels(name):
            yield head
            yield from _pass_pixels(source, length, name, pixels)
            continue
        is_known = name in lengths.PNG or name in (b"eXIf", b"iCCP") or (keep_metadata and name in TEXTS)
        if not is_known:
            if not name[0] & 0x20:
                raise damaged()
            if length <= PIECE:
                refuse_code((yield from source.read(length)))
                yield from source.skip(4)
            else:
                yield from source.skip(length + 4)
            continue
        body = yield from source.read(length)
        check = yield from source.read(4)
        if zlib.crc32(name + body) != int.from_bytes(check, "big"):
            raise damaged()
        if name == b"IEND":
            break
        if name not in TEXTS:
            body = picture.to_store(name, body, facts, keep_metadata)
        if body:
            yield chunk(name, body)
    picture.check_complete()
    yield chunk(b"IEND", b"")
    yield from source.skip_rest()


def chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk with its length and checksum."""
    return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")


class _Picture:
    """The chunks that have arrived so far, and the pixels that are still expected."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._size = (0, 0)
        self._bits = 0
        self._is_interlaced = False
        # The expected pixels of the still image, and of the current frame.
        self._still: _Pixels | None = None
        self._frame: _Pixels | None = None
        self._frames = 0

    @property
    def needs_header(self) -> bool:
        """Whether the header hasn't arrived yet."""
        return self._still is None

    def pixels(self, name: bytes) -> "_Pixels | None":
        """Return the pixel stream that a chunk continues, or None for other chunks and frames outside an animation."""
        if name == b"IDAT":
            self._seen.add(name)
            return self._still
        return self._frame if name == b"fdAT" else None

    def to_store(self, name: bytes, body: bytes, facts: ImageFacts, keep_metadata: bool) -> bytes:
        """Return the body to store for a chunk, or b"" to remove the chunk.

        Raise BadPicture if the chunk is invalid.
        """
        is_repeated = name in self._seen and name != FRAME
        self._seen.add(name)
        if is_repeated or (name in lengths.PNG and len(body) not in lengths.PNG[name]):
            if name in REQUIRED:
                raise damaged()
            return b""
        if name == b"IHDR":
            self._read_header(body, facts)
        elif name == b"acTL":
            facts.frames = max(int.from_bytes(body[:4], "big"), facts.frames)
        elif name == FRAME:
            return self._begin_frame(body, facts)
        elif name == b"eXIf":
            body = facts.exif = exif.to_store(body, keep_metadata)
        elif name == b"iCCP" and not keep_metadata:
            return _clean_profile(body)
        return body

    def check_complete(self) -> None:
        """Raise BadPicture if pixels are still missing."""
        if self._still is None or b"IDAT" not in self._seen:
            raise BadPicture(_("This PNG file contains no image."))
        for pixels in (self._still, self._frame):
            if pixels and not pixels.is_complete:
                raise damaged()

    def _read_header(self, body: bytes, facts: ImageFacts) -> None:
        width, height, depth, colour, _method, _filter, interlaced = struct.unpack(">IIBBBBB", body)
        facts.size = self._size = (width, height)
        if not all(self._size) or colour not in SAMPLES or depth not in (1, 2, 4, 8, 16) or interlaced > 1:
            raise damaged()
        if (depth, colour) == (16, 0):
            # Pillow needs more memory for 16-bit greyscale values, because it converts them to 32 bits before they are
            # converted to 8 bits.
            facts.extra_memory = 4 * width * height
        self._bits = depth * SAMPLES[colour]
        self._is_interlaced = bool(interlaced)
        self._still = _Pixels(self._length(width, height))

    def _begin_frame(self, body: bytes, facts: ImageFacts) -> bytes:
        """Prepare for the pixels of a frame, and return the body to store for the frame's control chunk.

        The first frame can be the still image.
        """
        if b"acTL" not in self._seen:
            return b""
        _number, width, height, left, top = struct.unpack_from(">5I", body)
        if not (width and height and left + width <= self._size[0] and top + height <= self._size[1]):
            raise damaged()
        if self._frame and not self._frame.is_complete:
            raise damaged()
        self._frames += 1
        facts.frames = max(facts.frames, self._frames)
        if b"IDAT" in self._seen:
            self._frame = _Pixels(self._length(width, height))
        elif self._frames > 1:
            raise damaged()
        return body

    def _length(self, width: int, height: int) -> int:
        """Return the size of the uncompressed pixels in bytes, including each line's filter byte."""
        total = 0
        for left, top, across, down in PASSES if self._is_interlaced else ((0, 0, 1, 1),):
            columns = -(-(width - left) // across)
            lines = -(-(height - top) // down)
            if columns > 0 < lines:
                total += lines * (1 + (columns * self._bits + 7) // 8)
        return total


class _Pixels:
    """A compressed stream of pixels, split over chunks. Bytes after its end are invisible, so they are zeroed."""

    def __init__(self, length: int) -> None:
        self._missing = length
        self._decompressor = zlib.decompressobj()

    @property
    def is_complete(self) -> bool:
        """Whether all pixels have arrived."""
        return not self._missing

    def to_store(self, data: bytes) -> bytes:
        """Return the next bytes to store, or raise BadPicture if there are too many pixels or the data is broken."""
        decompressor = self._decompressor
        rest = data
        more = True
        if decompressor.eof:
            return bytes(len(data))
        try:
            while (rest or more) and not decompressor.eof:
                length = len(decompressor.decompress(rest, PIECE))
                rest = decompressor.unconsumed_tail
                more = length == PIECE
                self._missing -= length
                if self._missing < 0:
                    raise damaged()
        except zlib.error as error:
            raise damaged() from error
        unused = len(decompressor.unused_data)
        return data[: len(data) - unused] + bytes(unused)


def _clean_profile(body: bytes) -> bytes:
    """Return a colour profile without its name and other text, or b"" if it can't be read."""
    decompressor = zlib.decompressobj()
    try:
        profile = decompressor.decompress(body.partition(b"\0")[2][1:], MAX_PIECE)
    except zlib.error:
        return b""
    clean = icc.clean(profile) if decompressor.eof else b""
    compressed = b"icc\0\0" + zlib.compress(clean)
    return compressed if clean and len(compressed) <= len(body) + MAX_PROFILE_GROWTH else b""


def _pass_pixels(source: Source, length: int, name: bytes, pixels: _Pixels) -> Parser:
    received_crc = stored_crc = zlib.crc32(name)
    if name == b"fdAT":
        if length < 4:
            raise damaged()
        number = yield from source.read(4)
        length -= 4
        received_crc = stored_crc = zlib.crc32(number, received_crc)
        yield number
    while length:
        part = yield from source.read_some(length)
        if not part:
            raise truncated()
        received_crc = zlib.crc32(part, received_crc)
        length -= len(part)
        part = pixels.to_store(part)
        stored_crc = zlib.crc32(part, stored_crc)
        yield part
    if received_crc != int.from_bytes((yield from source.read(4)), "big"):
        raise damaged()
    yield stored_crc.to_bytes(4, "big")


def damaged() -> BadPicture:
    """Return the error for a damaged PNG file."""
    return BadPicture(_("This PNG file is damaged. Export it again."))
