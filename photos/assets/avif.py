"""The AVIF parser (AVIF 1.1, ISO/IEC 23008-12). It overwrites metadata in place, so that the file's offsets stay valid.

The parser keeps the items that make up the visible image: its coded data, its grid and cells, its alpha channel, and
its EXIF data after `exif.clean`. Each coded item must be a single still frame of the size that the container specifies.
This prevents decoders from allocating more memory than the specified size requires, and from decoding hidden frames.
"""

from collections.abc import Generator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from photos.assets import exif, icc, lengths
from photos.assets.boxes import Box, Meta, damaged, meta
from photos.assets.errors import BadPicture
from photos.assets.stream import MAX_PIECE, ImageFacts, Parser, Reading, Source, refuse_code, truncated

LONGEST_HEAD = 256
LONGEST_META = 1 << 20
PIECE = 1 << 16
ALPHA = (b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", b"urn:mpeg:hevc:2015:auxid:1")
# OBU types (AV1, 6.2.2).
SEQUENCE = 1
DELIMITER = 2
FRAME_HEADER = 3
TILES = 4
FRAME = 6
PADDING = 15
# An empty EXIF block, and the length of the offset that precedes the EXIF block in an item (23008-12, A.2.1).
NO_EXIF = b"MM\0*\0\0\0\x08" + bytes(6)
BEFORE = 4


@dataclass(frozen=True)
class Coded:
    """The required properties of a coded item.

    Attributes:
        size: The width and height in pixels.
        profile: The AV1 profile.
        is_deep: Whether samples have more than eight bits.
    """

    size: tuple[int, int]
    profile: int
    is_deep: bool

    @property
    def memory(self) -> int:
        """The memory for decoding, in bytes.

        Decoding needs twice the size of the planes, because film grain and grid cells are copied once.
        """
        samples = 3 * self.size[0] * self.size[1] // (1 if self.profile else 2)
        return 2 * samples * (2 if self.is_deep else 1)


@dataclass(frozen=True)
class Segment:
    """A piece of the file to keep. `type` is the type of the item to which the piece belongs.

    If the item is coded, `coded` contains its properties.
    """

    start: int
    stop: int
    type: bytes
    coded: Coded | None = None
    in_idat: bool = False


def parse(source: Source, facts: ImageFacts, keep: bool) -> Parser:
    """Yield the image, and replace other data with zeros.

    If `keep` is true, leave EXIF, XMP and colour profiles unchanged.
    """
    head = yield from source.read(12)
    at = int.from_bytes(head[:4], "big")
    if not 16 <= at <= LONGEST_HEAD:
        raise damaged()
    if head[8:] == b"avis":
        raise _animated()
    yield head + (yield from source.read(at - 12))
    segments: list[Segment] | None = None
    while first := (yield from source.read_some(1)):
        head = first + (yield from source.read(7))
        size = int.from_bytes(head[:4], "big")
        name = head[4:]
        if size == 1:
            head += yield from source.read(8)
            size = int.from_bytes(head[8:], "big")
        at = at + len(head)
        size = size - len(head)
        if size < 0 or (name in (b"meta", b"mdat") and (name == b"meta") == (segments is not None)):
            raise damaged()
        if name == b"moov":
            raise _animated()
        if name == b"meta":
            if size > LONGEST_META:
                raise damaged()
            body = bytearray((yield from source.read(size)))
            segments = _cleaned(body, facts, keep)
            yield head + body
        elif name == b"mdat" and segments is not None:
            # Pillow reads the entire file into memory, in pieces that it then joins. The pieces and the joined bytes
            # together need twice the size of this box.
            facts.extra_memory += 2 * size
            yield head
            yield from _data(source, facts, keep, segments, at, at + size)
        else:
            yield head[:4] + b"free" + head[8:]
            yield from _zeros(source, size)
        at += size
    if segments is None or segments:
        raise truncated()


def _cleaned(body: bytearray, facts: ImageFacts, keep: bool) -> list[Segment]:
    """Overwrite everything in a meta box that isn't needed to show the image.

    Return the segments of data to keep, in order.
    """
    refuse_code(bytes(body))
    known = meta(body)
    shown = [known.primary, *_alpha(body, known)]
    grids = [item for item in shown if _type(known, item) == b"grid"]
    cells = [cell for grid in grids for cell in known.referred(b"dimg", grid)]
    sizes = {_size(body, known.property(item, b"ispe")) for item in shown}
    if len(sizes) != 1:
        raise damaged()
    facts.size = sizes.pop()
    # If there is an alpha channel, Pillow makes another copy of the colours.
    facts.extra_memory += 4 * facts.size[0] * facts.size[1] * (len(shown) - 1)
    notes = _notes(known, keep)
    segments = {_segment(known, item) for item in (*grids, *notes)}
    for item in (*(one for one in shown if one not in grids), *cells):
        coded = _coded(body, known, item)
        facts.extra_memory += coded.memory
        segments.add(_segment(known, item, coded))
    _blank_boxes(body, known, {one for one in segments if one.in_idat})
    _blank_items(body, known, {*shown, *cells, *notes})
    _blank_properties(body, known, {*shown, *cells}, keep)
    return sorted((one for one in segments if not one.in_idat), key=lambda one: (one.start, one.stop))


def _type(known: Meta, item: int) -> bytes:
    if item not in known.items:
        raise damaged()
    return known.items[item].type


def _alpha(body: bytearray, known: Meta) -> list[int]:
    """Return the items that contain the alpha channel, or an empty list if there is none."""
    beside = [item for name, item, targets in known.references if name == b"auxl" and known.primary in targets]
    return [item for item in dict.fromkeys(beside) if _urn(body, known.property(item, b"auxC")) in ALPHA]


def _urn(body: bytearray, box: Box) -> bytes:
    return bytes(body[box.body + 4 : box.stop]).partition(b"\0")[0]


def _size(body: bytearray, box: Box) -> tuple[int, int]:
    if box.stop - box.body != lengths.AVIF[b"ispe"]:
        raise damaged()
    return _number(body, box.body + 4), _number(body, box.body + 8)


def _number(body: bytearray, at: int) -> int:
    return int.from_bytes(body[at : at + 4], "big")


def _coded(body: bytearray, known: Meta, item: int) -> Coded:
    """Return the properties of a coded item according to the container (AV1 in ISOBMFF, 2.3)."""
    box = known.property(item, b"av1C")
    if _type(known, item) != b"av01" or not 4 <= box.stop - box.body <= lengths.AVIF[b"av1C"]:
        raise damaged()
    size = _size(body, known.property(item, b"ispe"))
    return Coded(size, body[box.body + 1] >> 5, bool(body[box.body + 2] & 0x40))


def _segment(known: Meta, item: int, coded: Coded | None = None) -> Segment:
    extent = known.extents.get(item)
    if extent is None or (coded and extent.in_idat):
        raise damaged()
    return Segment(extent.start, extent.stop, _type(known, item), coded, extent.in_idat)


def _notes(known: Meta, keep: bool) -> list[int]:
    """Return the EXIF items (and the XMP items, if `keep` is true) outside the idat box that have a suitable length."""
    lengths = {item: one.stop - one.start for item, one in known.extents.items() if not one.in_idat}
    fitting = [item for item, length in lengths.items() if BEFORE + len(NO_EXIF) <= length <= MAX_PIECE]
    block = [item for item in fitting if item in known.items and known.items[item].type == b"Exif"][:1]
    words = [item for item in fitting if item in known.items and known.items[item].type == b"mime"][:1]
    return block + words if keep else block


def _blank_boxes(body: bytearray, known: Meta, kept: set[Segment]) -> None:
    for box in known.boxes:
        if box.name == b"idat":
            before = bytes(body[box.body : box.stop])
            body[box.body : box.stop] = bytes(len(before))
            for one in kept:
                part = slice(one.start, min(one.stop, len(before)))
                body[box.body + part.start : box.body + part.stop] = before[part]
        elif box.name == b"hdlr":
            # Delete the handler's name, which can be any text.
            _zero(body, box.body + 24, box.stop)
        elif box.name not in (b"pitm", b"iinf", b"iloc", b"iref", b"iprp"):
            _free(body, box)


def _blank_items(body: bytearray, known: Meta, kept: set[int]) -> None:
    """Delete the names of all items, and the types of the items not in `kept`.

    Readers ignore items of unknown types.
    """
    for number, item in known.items.items():
        if number not in kept:
            body[item.at : item.at + 4] = b"free"
        if number not in kept or item.type != b"mime":
            _zero(body, item.at + 4, item.stop)


def _blank_properties(body: bytearray, known: Meta, kept: set[int], keep: bool) -> None:
    gone = {n for n, box in enumerate(known.properties, 1) if not _is_plain(body, box, keep)}
    if any(must and n in gone for item in kept for n, must in known.associations.get(item, ())):
        raise BadPicture(_("This AVIF file uses cropping or layers that aren't supported. Save it without them."))
    for n in gone:
        _free(body, known.properties[n - 1])


def _is_plain(body: bytearray, box: Box, keep: bool) -> bool:
    """Remove text from a property. Return whether the rest determines only how the image looks."""
    length = box.stop - box.body
    if box.name == b"colr" and bytes(body[box.body : box.body + 4]) in (b"prof", b"rICC"):
        profile = bytes(body[box.body + 4 : box.stop])
        profile = profile if keep else icc.clean(profile)
        body[box.body + 4 : box.stop] = profile.ljust(length - 4, b"\0")
        return bool(profile)
    if box.name == b"auxC":
        _zero(body, box.body + 4 + len(_urn(body, box)), box.stop)
        return _urn(body, box) in ALPHA
    return length <= lengths.AVIF.get(box.name, 0)


def _zero(body: bytearray, start: int, stop: int) -> None:
    body[start:stop] = bytes(max(stop - start, 0))


def _free(body: bytearray, box: Box) -> None:
    body[box.start + 4 : box.body] = b"free"
    _zero(body, box.body, box.stop)


def _data(source: Source, facts: ImageFacts, keep: bool, segments: list[Segment], at: int, stop: int) -> Parser:
    """Yield a data box in which all bytes outside its segments are zeros. Remove the box's segments from `segments`."""
    while segments and segments[0].start < stop:
        one = segments.pop(0)
        if one.start < at or one.stop > stop:
            raise damaged()
        yield from _zeros(source, one.start - at)
        length = one.stop - one.start
        at = one.stop
        if one.coded:
            yield from _frame(source, length, one.coded)
        elif one.type == b"Exif":
            yield (yield from _exif(source, length, facts, keep))
        else:
            piece = yield from source.read(length)
            refuse_code(piece)
            yield piece
    yield from _zeros(source, stop - at)


def _exif(source: Source, length: int, facts: ImageFacts, keep: bool) -> Reading:
    body = yield from source.read(length)
    start = BEFORE + int.from_bytes(body[:BEFORE], "big")
    block = facts.exif = exif.to_store(body[start:], keep)
    if keep and block:
        return body
    block = block if 0 < len(block) <= length - BEFORE else NO_EXIF
    return bytes(BEFORE) + block.ljust(length - BEFORE, b"\0")


def _frame(source: Source, length: int, coded: Coded) -> Parser:
    """Yield the OBUs of one still frame. All other OBUs become padding."""
    is_known = False
    frames = 0
    while length:
        head = yield from source.read(1)
        kind = head[0] >> 3 & 15
        if head[0] & 0x04:
            head += yield from source.read(1)
        size = length - len(head)
        if head[0] & 0x02:
            number, size = yield from _leb128(source)
            head += number
        length -= len(head) + size
        if length < 0 or size < 0:
            raise damaged()
        if kind == SEQUENCE and size <= LONGEST_HEAD:
            body = yield from source.read(size)
            _check_sequence(body, coded)
            is_known = True
            yield head + body
        elif kind in (FRAME, FRAME_HEADER, TILES):
            frames += kind != TILES
            yield head
            yield from _pass(source, size)
        elif size or kind != DELIMITER:
            yield bytes((head[0] & 0x87 | PADDING << 3,)) + head[1:]
            # The last 1 bit marks the end of the padding (AV1, 5.3.4).
            yield from _zeros(source, size, b"\x80")
        else:
            yield head
        if frames > is_known:
            raise _not_still()
    if not frames:
        raise truncated()


def _leb128(source: Source) -> Generator[bytes | None, None, tuple[bytes, int]]:
    """Return a number of up to four bytes (AV1, 4.10.5), as (its bytes in the file, its value)."""
    taken = b""
    value = 0
    while len(taken) < 4:
        taken += yield from source.read(1)
        value |= (taken[-1] & 0x7F) << 7 * (len(taken) - 1)
        if taken[-1] < 0x80:
            return taken, value
    raise damaged()


def _check_sequence(body: bytes, coded: Coded) -> None:
    """Raise BadPicture if a sequence header (AV1, 5.5.1) allows several frames or contradicts the container."""
    bits = int.from_bytes(body[:16].ljust(16, b"\0"), "big")
    left = 128

    def take(count: int) -> int:
        nonlocal left
        left -= count
        return bits >> left & ((1 << count) - 1)

    profile = take(3)
    is_still = take(1)
    is_reduced = take(1)
    _level = take(5)
    if not (is_still and is_reduced):
        raise _not_still()
    across = take(4) + 1
    down = take(4) + 1
    size = take(across) + 1, take(down) + 1
    # Skip the flags for coding tools. The first bit of color_config follows.
    take(6)
    if (size, profile, bool(take(1))) != (coded.size, coded.profile, coded.is_deep):
        raise BadPicture(_("This file is damaged: its dimensions are missing or wrong. Export it again."))


def _pass(source: Source, length: int) -> Parser:
    while length:
        part = yield from source.read_some(min(length, PIECE))
        if not part:
            raise truncated()
        length -= len(part)
        yield part


def _zeros(source: Source, length: int, last: bytes = b"\0") -> Parser:
    """Yield `length` bytes: zeros, followed by `last` as the last byte."""
    while length:
        part = yield from source.read_some(min(length, PIECE))
        if not part:
            raise truncated()
        length -= len(part)
        yield bytes(len(part)) if length else bytes(len(part) - 1) + last


def _animated() -> BadPicture:
    return BadPicture(_("Animated AVIF files aren't accepted. Use WebP or GIF."))


def _not_still() -> BadPicture:
    return BadPicture(_("This AVIF file isn't a single still image. Save it again as a still image."))
