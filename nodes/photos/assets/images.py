"""Pictures by Pillow: whether they are whole, how they look, and copies of another size, in bounded memory."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from PIL import Image, ImageOps

from nodes.photos.assets import exif
from nodes.photos.assets.errors import BROKEN, BadPicture, DecoderBusy
from nodes.photos.assets.formats import Format
from nodes.photos.assets.framing import WHOLE, Crop, Cut
from nodes.photos.assets.limits import Limits
from nodes.photos.assets.stream import Found

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
WHITE = (255, 255, 255)
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
        turned = image.getexif().get(exif.Base.Orientation, 1) if is_avif else exif.orientation(found.exif)
        small = _eight_bits(image).resize(FIELDS, Image.Resampling.BOX, reducing_gap=2.0)
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
    shown = _in_colour(small)
    if shown.mode == "RGBA" and shown.getchannel("A").getextrema() != (255, 255):
        return ""
    return f"#{shown.convert('RGB').resize((1, 1), Image.Resampling.BOX).tobytes().hex()}"


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
        turned = image.getexif().get(exif.Base.Orientation, 1)
        lying = isinstance(turned, int) and turned >= 5
        upright = image.size[::-1] if lying else image.size
        across, down = cut.size(upright)
        # A square is filled also by smaller pictures, so that a grid is even.
        factor = max(width / across, height / down) if height else min(width / across, 1)
        size = max(round(across * factor), 1), max(round(down * factor), 1)
        if to == "WEBP" and not height and max(size) > LONGEST_WEBP:
            raise BadPicture("No page offers a WebP that long.")
        # Twice what is wanted, so that the scaling after it is a good one; of a small part no more than of the largest copy.
        sharp = 2 * min(factor, max(limits.widths) / upright[0]) if cut.crop else 2 * factor
        image.draft(
            None, (min(round(image.size[0] * sharp), image.size[0]), min(round(image.size[1] * sharp), image.size[1]))
        )
        image.load()
        profile = image.info.get("icc_profile") if image.mode in ("RGB", "RGBA", "P") else None
        stored_size = size[::-1] if lying != cut.lies else size
        part = _stored_box(cut.crop, turned, image.size) if cut.crop else None
        seen = _in_colour(image).resize(stored_size, Image.Resampling.LANCZOS, box=part, reducing_gap=3.0)
        if turned in _TURNS:
            seen = seen.transpose(_TURNS[turned])
        if cut.rotation:
            seen = seen.transpose(_ROTATIONS[cut.rotation])
        if height:
            seen = ImageOps.fit(seen, (width, height), Image.Resampling.LANCZOS, centering=focal)
        target = io.BytesIO()
        options: dict[str, Any] = {"icc_profile": profile} if profile else {}
        if to == "JPEG":
            seen, options["progressive"] = _on_white(seen), True
        seen.save(target, to, quality=limits.quality, **options)
        return target.getvalue()


def icon(file: BinaryIO, format_name: str, limits: Limits, *, width: int, on: tuple[int, int, int] | None) -> bytes:
    """Return the whole picture in the middle of a square PNG, on nothing or, with a margin, `on` a colour.

    Raises BadPicture, DecoderBusy.
    """
    with opened(file, format_name, limits) as image:
        inside = round(width * 0.8) if on else width
        drawn = ImageOps.contain(_in_colour(image).convert("RGBA"), (inside, inside), Image.Resampling.LANCZOS)
        square = Image.new("RGBA", (width, width), (*on, 255) if on else (0, 0, 0, 0))
        square.alpha_composite(drawn, ((width - drawn.width) // 2, (width - drawn.height) // 2))
        target = io.BytesIO()
        (square.convert("RGB") if on else square).save(target, "PNG", optimize=True)
        return target.getvalue()


def _stored_box(crop: Crop, turned: Any, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return a part of the picture as seen as a box (left, top, right, bottom) of the pixels in the file."""
    left, top, width, height = crop
    corners = [(left, top), (min(left + width, 1), min(top + height, 1))]
    if turned in _STORED:
        corners = [_STORED[turned](*corner) for corner in corners]
    (left, right), (top, bottom) = (sorted(side) for side in zip(*corners, strict=True))
    return left * size[0], top * size[1], right * size[0], bottom * size[1]


def _in_colour(image: Image.Image) -> Image.Image:
    """Return the picture in RGB or RGBA, without metadata."""
    image = _eight_bits(image)
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    shown = image.convert("RGBA" if has_alpha else "RGB") if image.mode not in ("RGB", "RGBA") or has_alpha else image
    shown.info = {}
    return shown


def _eight_bits(image: Image.Image) -> Image.Image:
    """Return 16 bits of grey as 8: Pillow would cut instead of scaling, and measures such pictures in no way."""
    return image.convert("I").point(_HIGH_BYTES, "L") if image.mode.startswith("I") else image


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image
    page = Image.new("RGB", image.size, WHITE)
    page.paste(image, mask=image.getchannel("A"))
    return page
