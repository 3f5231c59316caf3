"""The GIF parser (GIF89a). It removes comments, plain text and application data, except loop counts."""

import struct

from django.utils.translation import gettext as _

from photos.assets import lengths
from photos.assets.errors import BadPicture
from photos.assets.stream import ImageFacts, Parser, Reading, Source, refuse_code

LOOPS = frozenset({b"NETSCAPE2.0", b"ANIMEXTS1.0"})
EXTENSION = 0x21
IMAGE = 0x2C
TRAILER = 0x3B
CONTROL = 0xF9
APPLICATION = 0xFF


def parse(source: Source, facts: ImageFacts, keep_metadata: bool) -> Parser:
    """Yield the frames and their control blocks.

    `keep_metadata` has no effect, because GIF has no standard metadata block.
    """
    head = yield from source.read(13)
    facts.size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if not all(facts.size):
        raise damaged()
    yield head
    yield (yield from source.read(_table(head[10])))
    # `control` is the control block of the next frame until the frame arrives. `loop` is the loop count of the
    # animation.
    control = loop = b""
    frames = 0
    while True:
        block = (yield from source.read(1))[0]
        if block == TRAILER:
            break
        if block == IMAGE:
            frames += 1
            head = yield from source.read(9)
            left, top, width, height = struct.unpack("<HHHH", head[:8])
            if left + width > facts.size[0] or top + height > facts.size[1]:
                # A decoder would enlarge the image to fit this frame, so the image could exceed the limit that was
                # checked.
                raise damaged()
            yield control + b"\x2c" + head
            control = b""
            yield (yield from source.read(_table(head[8])))
            yield (yield from source.read(1))
            while data := (yield from _block(source)):
                yield bytes((len(data),)) + data
            yield b"\0"
        elif block == EXTENSION:
            label = (yield from source.read(1))[0]
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
        raise BadPicture(_("This GIF file contains no image."))
    facts.frames = frames
    yield b"\x3b"
    yield from source.skip_rest()


def _extension(label: int, *blocks: bytes) -> bytes:
    return bytes((EXTENSION, label)) + b"".join(bytes((len(block),)) + block for block in blocks) + b"\0"


def _block(source: Source) -> Reading:
    """Return the next data block, which has up to 255 bytes. The last block is empty."""
    size = (yield from source.read(1))[0]
    return (yield from source.read(size))


def _table(flags: int) -> int:
    """Return the length, in bytes, of the colour table that follows."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def damaged() -> BadPicture:
    """Return the error for a damaged GIF file."""
    return BadPicture(_("This GIF file is damaged. Export it again."))
