"""Create every copy of random and damaged photos, in a process whose memory use is measured.

Usage: `python -m tests.support.nodes.copies 2000`.
"""

import argparse
import io
import json
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import django
from bson import ObjectId
from PIL import ExifTags, Image

from tests.support.processes import peak_memory

FORMATS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif", "AVIF": "avif"}
MODES = {
    "JPEG": ("RGB", "L", "CMYK"),
    "PNG": ("RGB", "RGBA", "L", "LA", "P", "1", "I;16"),
    "WEBP": ("RGB", "RGBA"),
    "GIF": ("P", "L", "1"),
    "AVIF": ("RGB", "RGBA"),
}
# Sizes that are very wide, very tall, tiny, or larger than WebP's maximum.
EXTREMES = (
    (2000, 1),
    (1, 2000),
    (3000, 2),
    (2, 3000),
    (20_000, 10),
    (10, 20_000),
    (3, 20_000),
    (1, 1),
    (2, 1),
    (65_500, 1),
)
CROPS = (None, None, None, [0.1, 0.2, 0.5, 0.5], [0.999, 0.0, 0.001, 1.0], [0.25, 0.9999, 0.0001, 0.0001])
FOCALS = (None, None, [0.0, 0.0], [1.0, 1.0], [0.3, 0.9])


def draw(chance: random.Random, size: tuple[int, int], mode: str) -> Image.Image:
    """Return an image that consists of noise, or of a single colour with a rectangle."""
    if chance.random() < 0.5:
        noise = Image.frombytes("L", size, chance.randbytes(size[0] * size[1]))
    else:
        noise = Image.new("L", size, chance.randrange(256))
        noise.paste(chance.randrange(256), (0, 0, max(size[0] // 2, 1), max(size[1] // 3, 1)))
    return noise.convert("RGB").convert(mode) if mode in ("CMYK", "P") else noise.convert(mode)


def exif(chance: random.Random) -> bytes:
    """Return an EXIF block that contains either an orientation or a location."""
    block = Image.Exif()
    if chance.random() < 0.3:
        block.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitudeRef] = "N"
    else:
        block[ExifTags.Base.Orientation] = chance.randrange(1, 9)
    return block.tobytes()


def random_picture(chance: random.Random) -> tuple[str, bytes]:
    """Return the format and the bytes of a random picture."""
    format = chance.choice(list(FORMATS))
    mode = chance.choice(MODES[format])
    size = chance.choice(EXTREMES) if chance.random() < 0.15 else tuple(int(2 ** chance.uniform(0, 10.3)) for _ in "ab")
    if format == "WEBP":
        size = min(size[0], 16_383), min(size[1], 16_383)
    if format == "AVIF":
        size = max(min(size[0], 3000), 1), max(min(size[1], 3000), 1)
    options: dict[str, Any] = {}
    if format == "JPEG":
        options = {"quality": chance.choice((30, 85, 95)), "progressive": chance.random() < 0.3}
    if format in ("PNG", "AVIF"):
        options = {"compress_level": 1} if format == "PNG" else {"speed": 10}
    if format == "GIF" and chance.random() < 0.3:
        options = {"save_all": True, "append_images": [draw(chance, size, mode)]}
    if format == "PNG" and mode in ("RGB", "L", "P", "I;16", "1") and chance.random() < 0.3:
        options["transparency"] = (7, 7, 7) if mode == "RGB" else 1
    if format != "GIF" and chance.random() < 0.5:
        options["exif"] = exif(chance)
    target = io.BytesIO()
    draw(chance, size, mode).save(target, format, **options)
    return format, target.getvalue()


def mutate(chance: random.Random, data: bytes) -> bytes:
    """Return a picture in which a few bytes have been changed, most of them in the header."""
    damaged = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        end = len(damaged) if chance.random() < 0.5 else min(len(damaged), 700)
        damaged[chance.randrange(end)] = chance.randrange(256)
    return bytes(damaged)


def accepted_pictures(chance: random.Random, count: int) -> Iterator[tuple[str, bytes, Any]]:
    """Yield the format, the stored bytes and the result of `inspect` for `count` pictures that the site accepts."""
    from photos.assets import images
    from photos.assets.cleaning import Cleaning
    from photos.assets.errors import BadPicture

    while count:
        format, data = random_picture(chance)
        for attempt in range(3):
            cleaning = Cleaning(f"a.{FORMATS[format]}")
            try:
                stored = b"".join([*cleaning.feed(data), *cleaning.end()])
                assert cleaning.format
                judged = images.inspect(io.BytesIO(stored), cleaning.format, cleaning.facts, cleaning.limits)
            except BadPicture:
                if not attempt:
                    raise
            else:
                yield format, stored, judged
                count -= 1
                if not count:
                    return
            data = mutate(chance, data)


def photo(chance: random.Random, judged: Any) -> Any:
    """Return a photo in the form in which templates get it, sometimes cropped or rotated."""
    detail = SimpleNamespace(
        resolution=list(judged.size),
        colour=judged.colour,
        alt="",
        crop=chance.choice(CROPS),
        rotation=chance.choice((None, None, 90, 180, 270)),
        focal=chance.choice(FOCALS),
    )
    return SimpleNamespace(
        pk=ObjectId(), parent_id=ObjectId(), metadata=SimpleNamespace(content_id=ObjectId(), detail=detail)
    )


def copies_on_pages(photo: Any) -> set[str]:
    """Return the names, as in URLs, of the photo's copies that the site's pages use."""
    from photos import addresses
    from photos.assets.limits import limits

    html = [
        addresses.picture(photo),
        addresses.cropped_picture(photo, sizes="1px"),
        addresses.logo_picture(photo, alt="", css_class=""),
    ]
    html += [addresses.thumbnail(photo, width) for width in limits().squares]
    paths = (addresses.share_image(photo).path, addresses.original_path(photo), addresses.square_path(photo, 160))
    html += [f'"{path}"' for path in paths]
    return set(re.findall(r'/([ws][\w-]+\.(?:avif|webp|jpg))[ "]', "".join(html)))


def check_copies(count: int, seed: int) -> dict[str, Any]:
    """Create every copy of `count` accepted pictures. Return counts, errors, peak memory and the longest time."""
    from photos import addresses
    from photos.assets import images, renditions
    from photos.assets.framing import CENTRE, scaled
    from photos.assets.limits import limits

    chance = random.Random(seed)
    faults = []
    copies = 0
    formats = dict.fromkeys(FORMATS, 0)
    slowest = 0.0
    for format, stored, judged in accepted_pictures(chance, count):
        formats[format] += 1
        shown = photo(chance, judged)
        focal = addresses.focal(shown)
        cut = addresses.cut(shown)
        usual = {str(spec) for spec in renditions.usual_specs(judged.size, focal, cut)}
        for missing in copies_on_pages(shown) - usual:
            faults.append(f"{missing} of {format} {judged.size}: the worker does not make it")
        first_copy: tuple[str, bytes] | None = None
        for text in sorted(usual):
            spec = renditions.parse(text, focal, cut)
            assert spec
            size = (spec.width, spec.width) if spec.focal else scaled(addresses.size(shown), spec.width)
            started = time.process_time()
            try:
                copy = images.resize(
                    io.BytesIO(stored),
                    format,
                    limits(),
                    width=spec.width,
                    height=spec.width if spec.focal else None,
                    focal=spec.focal or CENTRE,
                    to=renditions.FORMATS[spec.extension][0],
                    cut=cut,
                )
                with Image.open(io.BytesIO(copy)) as image:
                    image.load()
                    assert image.size == size, f"is {image.size}, not {size}"
                first_copy = first_copy or (renditions.FORMATS[spec.extension][0], copy)
                copies += 1
            except Exception as error:  # noqa: BLE001 - each is a finding
                faults.append(f"{text} of {format} {judged.size}: {type(error).__name__}: {error}")
            slowest = max(slowest, time.process_time() - started)
        assert first_copy
        for width in addresses.ICONS.values():
            images.render_icon(io.BytesIO(first_copy[1]), first_copy[0], limits(), width=width, background=None)
    peak = peak_memory()
    return {"formats": formats, "copies": copies, "faults": faults[:20], "peak": peak, "slowest": round(slowest, 2)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cms.settings")
    django.setup()
    json.dump(check_copies(options.number, options.seed), sys.stdout)
