"""Pictures by Pillow: whether they are whole, how they look, and copies of another size, in bounded memory."""

import io
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from PIL import Image, ImageOps

from photos.assets import exif
from photos.assets.errors import BROKEN, BadPicture, DecoderBusy
from photos.assets.formats import Format
from photos.assets.framing import EVERYTHING, WHOLE, Crop, Cut, Focal, Size, scaled
from photos.assets.limits import Limits
from photos.assets.stream import Found

# One picture is decoded at a time in a process, so that its memory is that of one.
one_at_a_time = threading.BoundedSemaphore(1)
# Seconds to wait for one's turn: longer than the largest picture that is allowed takes.
PATIENCE = 10
# A picture that has arrived would have to be sent again: it waits while several others have theirs.
UPLOAD_PATIENCE = 50
# All frames of an animation together may have so many times the pixels of one picture: readers' browsers decode them all.
FRAMES = 4
# All scans of a progressive JPEG together may cover so many times the pixels of the largest picture: each takes time.
SCANS = 12
# Pixels along a side of a WebP (RFC 9649, section 2.5.2: 14 bits).
LONGEST_WEBP = 16_383
# A copy from an eighth of a JPEG's pixels needs no more than these beside the file.
DRAFT = 8
# Pixels that are converted and scaled at once: beside the decoded picture only a band of it is in memory.
BAND = 2_000_000
# Filters, and how many pixels of the coarser picture each looks at beyond the one that it makes.
LANCZOS = (Image.Resampling.LANCZOS, 3)
BOX = (Image.Resampling.BOX, 0)
WHITE = (255, 255, 255)
# Left, top, right, bottom, in pixels.
Box = tuple[float, float, float, float]
# Across and down: what a picture looks like from afar.
FIELDS = (9, 8)
_HIGH_BYTES = [value >> 8 for value in range(1 << 16)]
# How to turn a picture that says of itself how it lies (EXIF 2.32, tag 0x0112).
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# Where a point of a picture that lies so is stored: of parts (across, down) as seen, those in the file.
_STORED: dict[int, Callable[[float, float], tuple[float, float]]] = {
    2: lambda across, down: (1 - across, down),
    3: lambda across, down: (1 - across, 1 - down),
    4: lambda across, down: (across, 1 - down),
    5: lambda across, down: (down, across),
    6: lambda across, down: (down, 1 - across),
    7: lambda across, down: (1 - down, 1 - across),
    8: lambda across, down: (1 - down, across),
}
# How editors turn pictures, in degrees clockwise; Pillow counts the other way.
_ROTATIONS = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}


@dataclass(frozen=True)
class Picture:
    """What is known of a picture that was found good. `size` is as seen, after turning; `exif` are searchable properties.

    `colour` is its average, "#rrggbb", for its place until it has come; "" if something shines through it.
    """

    content_type: str
    size: tuple[int, int]
    exif: list[dict[str, Any]]
    description: str
    dhash: str
    colour: str


@contextmanager
def opened(file: BinaryIO, format_name: str, limits: Limits, *, patience: float | None = None) -> Iterator[Image.Image]:
    """Open a picture as that format and no other, after waiting for `patience` seconds at most (None: PATIENCE).

    Raises BadPicture for what cannot be read, here or in the block; DecoderBusy where other pictures take long.
    """
    Image.MAX_IMAGE_PIXELS = limits.max_pixels
    if not one_at_a_time.acquire(timeout=PATIENCE if patience is None else patience):
        raise DecoderBusy
    try:
        with Image.open(file, formats=[format_name]) as image:
            yield image
    except BROKEN as error:
        raise BadPicture(_("The picture is damaged and cannot be shown.")) from error
    except Image.DecompressionBombError as error:
        raise too_many_pixels(limits) from error
    finally:
        one_at_a_time.release()


def check_size(found: Found, format: Format, limits: Limits) -> None:
    """Raise BadPicture if decoding the picture would take more pixels, frames or memory than allowed."""
    pixels = found.size[0] * found.size[1]
    if pixels > limits.max_pixels or max(found.size) > 65_500:
        raise too_many_pixels(limits)
    if found.frames > limits.max_frames:
        raise BadPicture(_("The picture has %(count)d frames; %(most)d are allowed.") % {
            "count": found.frames, "most": limits.max_frames
        })  # fmt: skip
    if found.frames > 1 and pixels * found.frames > FRAMES * limits.max_pixels:
        told = {"have": pixels * found.frames // 1_000_000, "most": FRAMES * limits.max_pixels // 1_000_000}
        raise BadPicture(
            _("The frames together have %(have)d megapixels; %(most)d are allowed. Make it smaller or shorter.") % told
        )
    if pixels * found.scans > SCANS * limits.max_pixels:
        raise BadPicture(_("This progressive JPEG has too many passes for its size. Save it as a baseline JPEG."))
    # A JPEG is never decoded larger than the copies that are made of it; the others come whole, with one frame to blend.
    if format.name == "JPEG":
        memory = found.extra_memory + (4 * pixels // DRAFT**2)
    elif format.name == "AVIF":
        # Colours as libavif makes them from the planes, and as Pillow takes them.
        memory = found.extra_memory + 8 * pixels
    else:
        memory = found.extra_memory + 4 * pixels * (1 if format.name == "PNG" and found.frames == 1 else 3)
    if memory > limits.max_memory:
        raise BadPicture(
            _(
                "Decoding this picture would take %(need)d MB of memory; %(most)d are allowed. Save it smaller, or as a JPEG."
            )
            % {"need": memory >> 20, "most": limits.max_memory >> 20}
        )


def too_many_pixels(limits: Limits) -> BadPicture:
    return BadPicture(
        _("The picture has too many pixels: %(most)d megapixels are allowed.")
        % {"most": limits.max_pixels // 1_000_000}
    )


def judge(file: BinaryIO, format: Format, found: Found, limits: Limits) -> Picture:
    """Decode the picture and return what it is. Raises BadPicture if it is damaged or not what its header says, DecoderBusy.

    Of an animation no more pixels are decoded than one picture may have: a frame of a few bytes costs a whole picture.
    """
    with opened(file, format.name, limits, patience=UPLOAD_PATIENCE) as image:
        if image.size != found.size:
            raise BadPicture(_("The picture's header does not say how large it is."))
        image.draft("RGB", (max(found.size[0] // DRAFT, 1), max(found.size[1] // DRAFT, 1)))
        # What a camera put behind a JPEG was dropped, whatever the picture says of it still.
        frames = 1 if format.name == "JPEG" else getattr(image, "n_frames", 1)
        for frame in range(min(frames, limits.max_pixels // (found.size[0] * found.size[1]))):
            if frame:
                image.seek(frame)
            image.load()
        image.seek(0)
        # The container of an AVIF turns it, whatever its EXIF says; Pillow says how.
        is_avif = format.name == "AVIF"
        turned = _turned(image) if is_avif else exif.orientation(found.exif)
        small = _resized(image, (0, 0, *image.size), FIELDS, BOX)
    size = found.size[::-1] if turned >= 5 else found.size
    words = exif.description(found.exif)
    return Picture(format.content_type, size, exif.properties(found.exif), words, _dhash(small), _colour(small))


def _dhash(small: Image.Image) -> str:
    """Return 64 bits, as hexadecimal digits, that hardly differ for pictures that hardly differ: whether the brightness
    rises from each of FIELDS to the next (N. Krawetz's "difference hash")."""
    grey = ImageOps.grayscale(small)
    rows = [grey.crop((0, y, 9, y + 1)).tobytes() for y in range(8)]
    bits = "".join("1" if row[x] < row[x + 1] else "0" for row in rows for x in range(8))
    return f"{int(bits, 2):016x}"


def _colour(small: Image.Image) -> str:
    """Return the average of a picture's FIELDS, "#rrggbb"; "" where one is not opaque."""
    if small.mode == "RGBA" and small.getchannel("A").getextrema() != (255, 255):
        return ""
    return f"#{small.convert('RGB').resize((1, 1), Image.Resampling.BOX).tobytes().hex()}"


def resized(
    file: BinaryIO,
    format_name: str,
    limits: Limits,
    *,
    width: int,
    height: int | None,
    focal: tuple[float, float],
    to: str,
    cut: Cut = WHOLE,
) -> bytes:
    """Return what `cut` shows of the picture, upright, `width` pixels wide as a "WEBP" or "JPEG"; never larger than it is.

    With a `height` it is cut to that shape around the `focal` point (parts of width and height of what is shown).
    Raises BadPicture, DecoderBusy.
    """
    with opened(file, format_name, limits) as image:
        turned = _turned(image)
        upright = image.size[::-1] if turned >= 5 else image.size
        shown = cut.size(upright)
        # A square is filled also by smaller pictures, so that a grid is even.
        size = (width, height) if height else scaled(shown, width)
        if to == "WEBP" and max(size) > LONGEST_WEBP:
            raise BadPicture("No page offers a WebP that long.")
        part = cut.within(_largest(size, shown, focal)) if height else cut.crop or EVERYTHING
        stored_size = size[::-1] if (turned >= 5) != cut.lies else size
        _draft(image, _stored_box(part, turned, image.size), stored_size, limits)
        image.load()
        profile = image.info.get("icc_profile") if image.mode in ("RGB", "RGBA", "P") else None
        seen = _resized(image, _stored_box(part, turned, image.size), stored_size, on_white=to == "JPEG")
        if turned in _TURNS:
            seen = seen.transpose(_TURNS[turned])
        if cut.rotation:
            seen = seen.transpose(_ROTATIONS[cut.rotation])
        options = {"icc_profile": profile} if profile else {}
        return _encoded(seen, to, quality=limits.quality, **options)


def icon(file: BinaryIO, format_name: str, limits: Limits, *, width: int, on: tuple[int, int, int] | None) -> bytes:
    """Return the whole picture in the middle of a square PNG, on nothing or, with a margin, `on` a colour.

    Raises BadPicture, DecoderBusy.
    """
    with opened(file, format_name, limits) as image:
        inside = round(width * 0.8) if on else width
        across, down = (max(round(side * inside / max(image.size)), 1) for side in image.size)
        drawn = _resized(image, (0, 0, *image.size), (across, down)).convert("RGBA")
        square = Image.new("RGBA", (width, width), (*on, 255) if on else (0, 0, 0, 0))
        square.alpha_composite(drawn, ((width - drawn.width) // 2, (width - drawn.height) // 2))
        target = io.BytesIO()
        (square.convert("RGB") if on else square).save(target, "PNG", optimize=True)
        return target.getvalue()


def _turned(image: Image.Image) -> int:
    """Return how the picture says that it is to be turned, 1 (not at all) to 8; 1 if it does not say so, or nothing that can
    be read."""
    try:
        value = image.getexif().get(exif.Base.Orientation, 1)
    except BROKEN:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _largest(shape: Size, within: Size, focal: Focal) -> Crop:
    """Return the largest part of a picture (its size: `within`) that has this shape, around a point."""
    pixels = min(within[0] / shape[0], within[1] / shape[1])
    width = pixels * shape[0] / within[0]
    height = pixels * shape[1] / within[1]
    return (1 - width) * focal[0], (1 - height) * focal[1], width, height


def _stored_box(part: Crop, turned: int, size: Size) -> Box:
    """Return a part of the picture as seen as a box of the pixels in the file, at least one across and down."""
    left, top, width, height = part
    corners = [(left, top), (left + width, top + height)]
    if turned in _STORED:
        corners = [_STORED[turned](*corner) for corner in corners]
    (left, right), (top, bottom) = (sorted(ends) for ends in zip(*corners, strict=True))
    left, right = _pixels(left, right, size[0])
    top, bottom = _pixels(top, bottom, size[1])
    return left, top, right, bottom


def _pixels(start: float, stop: float, length: int) -> tuple[float, float]:
    """Return a part of a side of so many pixels: its first and its last, of at least one."""
    first = min(max(start * length, 0), length - 1)
    return first, min(max(stop * length, first + 1), length)


def _draft(image: Image.Image, box: Box, size: Size, limits: Limits) -> None:
    """Tell Pillow to decode a JPEG at a half, a quarter or an eighth of its size (pixels), if a smaller copy is needed.

    It is twice the size of the copy, so that scaling looks good, or less if that would take too much memory.
    """
    wanted = min((box[2] - box[0]) / size[0], (box[3] - box[1]) / size[1])
    # A small part is decoded no larger than for the largest copy.
    coarsest = max(wanted, max(image.size) / max(limits.widths))
    divisor = 1
    while divisor < DRAFT and (
        2 * divisor <= wanted / 2
        or (2 * divisor <= coarsest and 4 * image.width * image.height > limits.max_memory * divisor**2)
    ):
        divisor *= 2
    image.draft(None, (max(image.width // divisor, 1), max(image.height // divisor, 1)))


def _resized(
    image: Image.Image, box: Box, size: Size, by: tuple[Image.Resampling, int] = LANCZOS, *, on_white: bool = False
) -> Image.Image:
    """Return a box of a decoded picture in another size (pixels), in RGB, or RGBA if something may shine through it.

    Nothing beyond the box is looked at: it may have been cut away.
    """
    left, top, right, bottom = box
    first = math.floor(left)
    last = math.ceil(right)
    highest = math.floor(top)
    lowest = math.ceil(bottom)
    filter, reach = by
    # Pixels of the picture for one of the copy.
    down = (bottom - top) / size[1]
    margin = math.ceil(reach * max(down, 1))
    rows = max(int(BAND / (last - first) / down), 1)
    copy: Image.Image | None = None
    for row in range(0, size[1], rows):
        height = min(rows, size[1] - row)
        upper = top + row * down
        lower = min(top + (row + height) * down, bottom)
        start = max(math.floor(upper) - margin, highest)
        stop = min(math.ceil(lower) + margin, lowest)
        band = _in_colour(image.crop((first, start, last, stop)))
        part = band.resize((size[0], height), filter, box=(left - first, upper - start, right - first, lower - start))
        part = _on_white(part) if on_white else part
        copy = copy or Image.new(part.mode, size)
        copy.paste(part, (0, row))
    assert copy
    return copy


def _in_colour(image: Image.Image) -> Image.Image:
    """Return the picture in RGB or RGBA, without metadata."""
    image = _eight_bits(image)
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    shown = image.convert("RGBA" if has_alpha else "RGB")
    shown.info = {}
    return shown


def _eight_bits(image: Image.Image) -> Image.Image:
    """Return 16 bits of grey as 8: Pillow would cut instead of scaling, and measures such pictures in no way."""
    if not image.mode.startswith("I"):
        return image
    grey = image.convert("I").point(_HIGH_BYTES, "L")
    # One of 256 greys was transparent. They are one grey now.
    grey.info.pop("transparency", None)
    return grey


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image
    page = Image.new("RGB", image.size, WHITE)
    page.paste(image, mask=image.getchannel("A"))
    return page


def _encoded(picture: Image.Image, format_name: str, **options: Any) -> bytes:
    target = io.BytesIO()
    if format_name == "JPEG":
        try:
            picture.save(target, format_name, progressive=True, **options)
            return target.getvalue()
        except OSError:
            # Pillow's buffer is too small for all passes over a picture that is narrow or noise.
            target = io.BytesIO()
    picture.save(target, format_name, **options)
    return target.getvalue()
