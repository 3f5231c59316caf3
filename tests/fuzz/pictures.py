"""`python -m tests.fuzz.pictures SEED COUNT`: mutated small pictures are cleaned and judged like uploads.

Prints the results as JSON: how many were accepted and refused, other exceptions, the maximum bytes by which a stored
file exceeded its input, and the peak memory (MiB) of the process.
"""

import io
import json
import logging
import os
import random
import struct
import sys
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import django
from PIL import Image, ImageCms, features

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from photos.assets import images  # noqa: E402
from photos.assets.cleaning import Cleaning  # noqa: E402
from photos.assets.errors import BadPicture  # noqa: E402
from photos.assets.limits import Limits  # noqa: E402
from photos.assets.png import SIGNATURE  # noqa: E402
from tests.support.nodes import pictures  # noqa: E402
from tests.support.processes import peak_memory  # noqa: E402

SIZE = (24, 16)
# Numbers that are most likely wrong in a file.
ODD = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
WORDS = [
    b"\0" * 8,
    b"\xff" * 8,
    b"\xff\xd8\xff\xd9",
    b"ICC_PROFILE\0\1\1",
    b"Exif\0\0II*\0\x08\0\0\0",
    b"<script>",
    b"\x21\xf9\4",
]
Mutation = Callable[[random.Random, bytearray], None]


def originals() -> list[bytes]:
    """Return pictures of each format and of many kinds, with all metadata that cameras write."""
    colour, grey, clear = (pictures.image(SIZE, mode) for mode in ("RGB", "L", "RGBA"))
    exif, profile = pictures.exif(6), ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    more = {"save_all": True, "append_images": [pictures.image(SIZE, seed=50)], "duration": 50}
    made = [
        pictures.jpeg(6, colour),
        pictures.encoded("JPEG", colour, icc_profile=profile),
        pictures.encoded("JPEG", colour, progressive=True, exif=exif),
        pictures.encoded("JPEG", grey, restart_marker_blocks=2),
        pictures.encoded("JPEG", colour.convert("CMYK")),
        pictures.encoded("MPO", colour, save_all=True, append_images=[grey.convert("RGB")]),
        pictures.png(6, colour),
        pictures.png(1, clear),
        pictures.encoded("PNG", colour.convert("P"), icc_profile=profile, transparency=3),
        pictures.encoded("PNG", Image.new("I;16", SIZE, 999)),
        pictures.encoded("PNG", colour, **more),
        pictures.webp(6, colour),
        pictures.webp(1, clear, lossless=True, icc_profile=profile),
        pictures.webp(1, clear),
        pictures.encoded("WEBP", colour, exif=exif, **more),
        pictures.encoded("GIF", colour.convert("P"), comment=b"47.3769", loop=0, **more),
        pictures.encoded("GIF", grey),
    ]
    if features.check("avif"):
        made += [pictures.avif(6, colour), pictures.avif(1, clear, icc_profile=profile), pictures.avif_grid()]
    return made


def flip(chance: random.Random, data: bytearray) -> None:
    for _time in range(chance.choice((1, 1, 2, 8))):
        data[chance.randrange(len(data))] = chance.randrange(256)


def number(chance: random.Random, data: bytearray) -> None:
    size, order = chance.choice((1, 2, 4)), chance.choice(("little", "big"))
    at = chance.randrange(max(len(data) - size, 1))
    data[at : at + size] = (chance.choice(ODD) & (256**size - 1)).to_bytes(size, order)


def drop(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.randrange(1, 40)]


def cut(chance: random.Random, data: bytearray) -> None:
    del data[chance.randrange(1, len(data) + 1) :]


def insert(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data))
    data[at:at] = chance.choice(WORDS) * chance.choice((1, 3, 100))


def repeat(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data))
    piece = data[at : at + chance.randrange(1, 200)]
    data[at:at] = piece * chance.choice((1, 1, 2, 30))


def splice(chance: random.Random, data: bytearray) -> None:
    other = chance.choice(ORIGINALS)
    at, start = chance.randrange(len(data)), chance.randrange(len(other))
    data[at : at + chance.randrange(100)] = other[start : start + chance.randrange(200)]


MUTATIONS: list[Mutation] = [flip, flip, number, number, drop, cut, insert, repeat, splice]
ORIGINALS = originals()


def mutated(chance: random.Random) -> bytes:
    """Return a picture with one or a few mutations. In half of the PNGs, checksums are correct again."""
    data = bytearray(chance.choice(ORIGINALS))
    for _time in range(chance.choice((1, 1, 2, 3))):
        if data:
            chance.choice(MUTATIONS)(chance, data)
    return _summed(bytes(data)) if data.startswith(SIGNATURE) and chance.random() < 0.5 else bytes(data)


def _summed(data: bytes) -> bytes:
    """Return a PNG in which each chunk has the right checksum."""
    at, made = 8, data[:8]
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if at + 12 + length > len(data):
            break
        body = data[at + 4 : at + 8 + length]
        made += data[at : at + 4] + body + zlib.crc32(body).to_bytes(4, "big")
        at += 12 + length
    return made + data[at:]


def sent(data: bytes, step: int, *, keep: bool) -> int:
    """Clean and judge a file (`keep`: with its location). Return the bytes by which it is longer. Raises BadPicture."""
    cleaning, made = Cleaning("", Limits(keep_location=keep)), io.BytesIO()
    for at in range(0, len(data), step):
        made.writelines(cleaning.feed(data[at : at + step]))
    made.writelines(cleaning.end())
    length = made.tell()
    assert cleaning.format
    made.seek(0)
    images.inspect(made, cleaning.format, cleaning.facts, cleaning.limits)
    return length - len(data)


class Faults(logging.Handler):
    """Counts the errors that the site itself logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        self.seen[str(record.exc_info and record.exc_info[1])] += 1


def came_of(seed: int, count: int) -> dict[str, Any]:
    """Return the results of mutated pictures, and the peak memory (MiB) of the process."""
    faults, chance = Faults(), random.Random(seed)
    logger = logging.getLogger("photos.assets")
    logger.addHandler(faults)
    came: Counter[str] = Counter()
    raised: Counter[str] = Counter()
    longer = 0
    for _number in range(count):
        data = mutated(chance)
        try:
            step, keep = chance.choice((1 << 20, 1 << 20, 61)), chance.random() < 0.2
            longer = max(longer, sent(data, step, keep=keep))
            came["accepted"] += 1
        except BadPicture:
            came["refused"] += 1
        except Exception:  # noqa: BLE001 - which ones there are is the question
            raised[traceback.format_exc(limit=-3)] += 1
    logger.removeHandler(faults)
    peak = peak_memory()
    return {**came, "raised": raised + faults.seen, "longer": longer, "memory": peak}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    json.dump(came_of(int(sys.argv[1]), int(sys.argv[2])), sys.stdout, indent=1)
