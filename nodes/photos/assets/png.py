"""PNG in a stream: its chunks without text, times and anything unknown (PNG, third edition)."""

import zlib

from django.utils.translation import gettext as _

from nodes.photos.assets import exif, icc
from nodes.photos.assets.errors import BadPicture
from nodes.photos.assets.stream import LONGEST_PIECE, Found, Parser, Source, refuse_code, truncated

SIGNATURE = b"\x89PNG\r\n\x1a\n"
PIXELS = frozenset({b"IDAT", b"fdAT"})
# What changes how the pixels look, and animation.
KEPT = frozenset(
    {
        b"IHDR",
        b"PLTE",
        b"IEND",
        b"tRNS",
        b"gAMA",
        b"cHRM",
        b"sRGB",
        b"iCCP",
        b"cICP",
        b"sBIT",
        b"bKGD",
        b"hIST",
        b"pHYs",
    }
    | {b"sPLT", b"mDCV", b"cLLI", b"acTL", b"fcTL"}
)
TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"dSIG"})
PIECE = 1 << 16


def parse(source: Source, found: Found, keep: bool) -> Parser:
    """Yield the picture without texts (XMP and ImageMagick's EXIF are some), and its EXIF as `exif.cleaned` leaves it,
    wherever it stands. `keep` leaves texts and EXIF in."""
    yield (yield from source.take(8))
    first, pixels = True, False
    while True:
        head = yield from source.take(8)
        length, name = int.from_bytes(head[:4], "big"), head[4:]
        if first != (name == b"IHDR") or length > 0x7FFFFFFF:
            raise damaged()
        first = False
        if name in PIXELS:
            pixels = True
            yield head
            yield from _pass(source, length, name)
            continue
        if name not in KEPT and name != b"eXIf" and not (keep and name in TEXTS):
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
        if name == b"IHDR":
            _header(body, found)
        if name == b"acTL":
            found.frames = max(int.from_bytes(body[:4], "big"), found.frames)
        if name == b"eXIf":
            if found.exif:
                continue
            found.exif = body
            body = body if keep else exif.cleaned(body)
            if not body:
                continue
        if name == b"iCCP" and not keep:
            body = _profile(body)
            if not body:
                continue
        yield chunk(name, body)
        if name == b"IEND":
            break
    if not pixels:
        raise BadPicture(_("The PNG holds no picture."))
    yield from source.nothing_more()


def chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk with its length and check sum."""
    return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")


def _header(body: bytes, found: Found) -> None:
    if len(body) != 13:
        raise damaged()
    found.size = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
    if not all(found.size):
        raise damaged()
    if body[8:10] == b"\x10\0":
        # 16 bits of grey are made 32 before they are made 8.
        found.extra_memory = 4 * found.size[0] * found.size[1]


def _profile(body: bytes) -> bytes:
    """Return a colour profile without what it says in words, under no name of its own; b"" for none that can be read."""
    unpacker = zlib.decompressobj()
    try:
        profile = unpacker.decompress(body.partition(b"\0")[2][1:], LONGEST_PIECE)
    except zlib.error:
        return b""
    kept = icc.cleaned(profile) if unpacker.eof else b""
    return b"icc\0\0" + zlib.compress(kept) if kept else b""


def _pass(source: Source, length: int, name: bytes) -> Parser:
    check = zlib.crc32(name)
    while length:
        part = yield from source.some(length)
        if not part:
            raise truncated()
        check = zlib.crc32(part, check)
        length -= len(part)
        yield part
    stored = yield from source.take(4)
    if check != int.from_bytes(stored, "big"):
        raise damaged()
    yield stored


def damaged() -> BadPicture:
    return BadPicture(_("The PNG is damaged."))
