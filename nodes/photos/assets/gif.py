"""GIF in a stream: its blocks without comments, plain text and applications' data, loops excepted (GIF89a)."""

import struct

from django.utils.translation import gettext as _

from nodes.photos.assets.errors import BadPicture
from nodes.photos.assets.stream import Found, Parser, Source, refuse_code

LOOPS = frozenset({b"NETSCAPE2.0", b"ANIMEXTS1.0"})
EXTENSION, IMAGE, TRAILER, CONTROL, APPLICATION = 0x21, 0x2C, 0x3B, 0xF9, 0xFF


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the pictures and how they are shown. `keep` keeps nothing more: what GIF may say has no standard place."""
    head = yield from source.take(13)
    found.size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if not all(found.size):
        raise damaged()
    yield head
    yield (yield from source.take(_table(head[10])))
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
            yield b"\x2c" + head
            yield (yield from source.take(_table(head[8])))
            yield (yield from source.take(1))
            yield from _blocks(source, True)
        elif block == EXTENSION:
            label = (yield from source.take(1))[0]
            yield from _extension(source, label)
        else:
            raise damaged()
    if not frames:
        raise BadPicture(_("The GIF holds no picture."))
    found.frames = frames
    yield b"\x3b"
    yield from source.nothing_more()


def _extension(source: Source, label: int) -> Parser:
    kept = label == CONTROL
    first = b""
    if label == APPLICATION:
        size = (yield from source.take(1))[0]
        name = yield from source.take(size)
        kept = name in LOOPS
        first = bytes((size,)) + name
    if kept:
        yield bytes((EXTENSION, label)) + first
    yield from _blocks(source, kept)


def _blocks(source: Source, kept: bool) -> Parser:
    """Pass data blocks of up to 255 bytes each, to an empty one."""
    while True:
        size = (yield from source.take(1))[0]
        data = yield from source.take(size)
        if kept:
            yield bytes((size,)) + data
        else:
            refuse_code(data)
        if not size:
            return


def _table(flags: int) -> int:
    """Return how many bytes of colours follow."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def damaged() -> BadPicture:
    return BadPicture(_("The GIF is damaged."))
