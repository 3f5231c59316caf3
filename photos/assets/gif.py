"""GIF in a stream: its blocks without comments, plain text and applications' data, loops excepted (GIF89a)."""

import struct

from django.utils.translation import gettext as _

from photos.assets import lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import Found, Parser, Source, Taking, refuse_code

LOOPS = frozenset({b"NETSCAPE2.0", b"ANIMEXTS1.0"})
EXTENSION = 0x21
IMAGE = 0x2C
TRAILER = 0x3B
CONTROL = 0xF9
APPLICATION = 0xFF


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the pictures and how they are shown. `keep` keeps nothing more: what GIF may say has no standard place."""
    head = yield from source.take(13)
    found.size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if not all(found.size):
        raise damaged()
    yield head
    yield (yield from source.take(_table(head[10])))
    # How the next picture is shown, until it comes; how often all are.
    control = loop = b""
    frames = 0
    while True:
        block = (yield from source.take(1))[0]
        if block == TRAILER:
            break
        if block == IMAGE:
            frames += 1
            head = yield from source.take(9)
            left, top, width, height = struct.unpack("<HHHH", head[:8])
            if left + width > found.size[0] or top + height > found.size[1]:
                # A decoder would make the whole picture as large: more than was counted.
                raise damaged()
            yield control + b"\x2c" + head
            control = b""
            yield (yield from source.take(_table(head[8])))
            yield (yield from source.take(1))
            while data := (yield from _block(source)):
                yield bytes((len(data),)) + data
            yield b"\0"
        elif block == EXTENSION:
            label = (yield from source.take(1))[0]
            first = yield from _block(source)
            if label == CONTROL and len(first) == lengths.GIF_CONTROL:
                control = _extension(label, first)
            data = first
            while data:
                refuse_code(data)
                data = yield from _block(source)
                if label == APPLICATION and first in LOOPS and len(data) == lengths.GIF_LOOP and not loop:
                    loop = _extension(label, first, data)
                    yield loop
        else:
            raise damaged()
    if not frames:
        raise BadPicture(_("The GIF holds no picture."))
    found.frames = frames
    yield b"\x3b"
    yield from source.drop_rest()


def _extension(label: int, *blocks: bytes) -> bytes:
    return bytes((EXTENSION, label)) + b"".join(bytes((len(block),)) + block for block in blocks) + b"\0"


def _block(source: Source) -> Taking:
    """Return the next data block, of up to 255 bytes; an empty one ends them."""
    size = (yield from source.take(1))[0]
    return (yield from source.take(size))


def _table(flags: int) -> int:
    """Return how many bytes of colours follow."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def damaged() -> BadPicture:
    return BadPicture(_("The GIF is damaged."))
