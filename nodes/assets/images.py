"""Pictures by Pillow: whether they are whole, how they look, and copies of another size, in bounded memory."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from PIL import Image, ImageOps

from nodes.assets import exif
from nodes.assets.errors import BadPicture
from nodes.assets.formats import Format
from nodes.assets.limits import Limits
from nodes.assets.stream import Found

# One picture is decoded at a time in a process, so that its memory is that of one.
_one_at_a_time = threading.BoundedSemaphore(1)
# What the decoders raise on broken data.
BROKEN = (OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError, OverflowError, MemoryError)
# A copy from an eighth of a JPEG's pixels needs no more than these beside the file.
DRAFT = 8
WHITE = (255, 255, 255)


@dataclass(frozen=True)
class Picture:
    """What is known of a picture that was found good. `size` is as seen, after turning; `exif` are searchable properties."""

    content_type: str
    size: tuple[int, int]
    exif: list[dict[str, Any]]
    description: str
    dhash: str


@contextmanager
def opened(file: BinaryIO, format_name: str, limits: Limits) -> Iterator[Image.Image]:
    """Open a picture as that format and no other. Raises BadPicture for what cannot be read, here or in the block."""
    Image.MAX_IMAGE_PIXELS = limits.max_pixels
    with _one_at_a_time:
        try:
            with Image.open(file, formats=[format_name]) as image:
                yield image
        except BROKEN as error:
            raise BadPicture(_("The picture is damaged and cannot be shown.")) from error
        except Image.DecompressionBombError as error:
            raise too_many_pixels(limits) from error


def check_size(found: Found, format: Format, limits: Limits) -> None:
    """Raise BadPicture if decoding the picture would take more pixels, frames or memory than allowed."""
    pixels = found.size[0] * found.size[1]
    if pixels > limits.max_pixels or max(found.size) > 65_500:
        raise too_many_pixels(limits)
    if found.frames > limits.max_frames:
        raise BadPicture(_("The picture has %(count)d frames; %(most)d are allowed.") % {
            "count": found.frames, "most": limits.max_frames
        })  # fmt: skip
    # A JPEG is never decoded larger than the copies that are made of it; the others come whole, with one frame to blend.
    if format.name == "JPEG":
        memory = found.extra_memory + (4 * pixels // DRAFT**2)
    else:
        memory = 4 * pixels * (1 if format.name == "PNG" and found.frames == 1 else 3)
    if memory > limits.max_memory:
        raise BadPicture(
            _("Decoding this picture would take %(need)d MB of memory; %(most)d are allowed. Save it smaller, or as a JPEG.")
            % {"need": memory >> 20, "most": limits.max_memory >> 20}
        )


def too_many_pixels(limits: Limits) -> BadPicture:
    return BadPicture(
        _("The picture has too many pixels: %(most)d megapixels are allowed.") % {"most": limits.max_pixels // 1_000_000}
    )


def judge(file: BinaryIO, format: Format, found: Found, limits: Limits) -> Picture:
    """Decode the picture and return what it is. Raises BadPicture if it is damaged or not what its header says."""
    with opened(file, format.name, limits) as image:
        if image.size != found.size:
            raise BadPicture(_("The picture's header does not say how large it is."))
        image.draft("RGB", (max(found.size[0] // DRAFT, 1), max(found.size[1] // DRAFT, 1)))
        for frame in range(getattr(image, "n_frames", 1)):
            if frame:
                image.seek(frame)
            image.load()
        image.seek(0)
        turned = exif.orientation(found.exif)
        dhash = _dhash(image)
    size = found.size[::-1] if turned >= 5 else found.size
    return Picture(format.content_type, size, exif.properties(found.exif), exif.description(found.exif), dhash)


def _dhash(image: Image.Image) -> str:
    """Return 64 bits, as hexadecimal digits, that hardly differ for pictures that hardly differ: whether the brightness
    rises from each of 9 × 8 fields to the next (N. Krawetz's "difference hash")."""
    small = ImageOps.grayscale(image.resize((9, 8), Image.Resampling.BOX, reducing_gap=2.0))
    rows = [small.crop((0, y, 9, y + 1)).tobytes() for y in range(8)]
    bits = "".join("1" if row[x] < row[x + 1] else "0" for row in rows for x in range(8))
    return f"{int(bits, 2):016x}"


def resized(
    file: BinaryIO, format_name: str, limits: Limits, *, width: int, height: int | None, focal: tuple[float, float], to: str
) -> bytes:
    """Return the picture, turned upright, `width` pixels wide as a "WEBP" or "JPEG"; never larger than it is.

    With a `height` it is cut to that shape around the `focal` point (parts of width and height from the top left).
    Raises BadPicture.
    """
    with opened(file, format_name, limits) as image:
        turned = image.getexif().get(exif.Base.Orientation, 1) >= 5
        wanted = (height or width, width) if turned else (width, height or width)
        scale = min(image.size[0] / wanted[0], image.size[1] / wanted[1]) if height else max(
            image.size[1 if turned else 0] / width, 1
        )  # fmt: skip
        # Twice what is wanted, so that the scaling after it is a good one.
        image.draft(None, (max(int(image.size[0] / scale * 2), 1), max(int(image.size[1] / scale * 2), 1)))
        image.load()
        profile = image.info.get("icc_profile") if image.mode not in ("CMYK", "YCCK", "LAB", "I;16") else None
        seen = _as_shown(image)
        if height:
            # Fields of the size asked for even from small pictures, so that a grid is even.
            seen = ImageOps.fit(seen, (width, height), Image.Resampling.LANCZOS, centering=focal)
        elif seen.size[0] > width:
            size = width, max(round(seen.size[1] * width / seen.size[0]), 1)
            seen = seen.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
        seen = ImageOps.exif_transpose(seen) if False else seen
        target = io.BytesIO()
        if to == "JPEG":
            seen = _on_white(seen)
        more = {"icc_profile": profile} if profile else {}
        seen.save(target, to, quality=limits.quality, **({"method": 4} if to == "WEBP" else {"progressive": True}), **more)
        return target.getvalue()


def _as_shown(image: Image.Image) -> Image.Image:
    """Return the picture upright, in RGB or RGBA, without its metadata."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):
        # 16 bits of grey: Pillow would cut instead of scaling.
        upright = upright.convert("I").point(lambda value: value / 256).convert("L")
    has_alpha = "A" in upright.getbands() or "transparency" in upright.info
    shown = upright.convert("RGBA" if has_alpha else "RGB")
    shown.info.clear()
    return shown


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image
    page = Image.new("RGB", image.size, WHITE)
    page.paste(image, mask=image.getchannel("A"))
    return page
