"""Image processing with Pillow in limited memory: checks and properties of uploaded files, and resized copies."""

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
from photos.assets.stream import ImageFacts

# A process decodes only one image at a time, so it needs memory for only one decoded image.
decoder_slot = threading.BoundedSemaphore(1)
# How many seconds to wait for the decoder. Even the largest allowed image takes less time.
DECODER_TIMEOUT = 10
# How many seconds an upload waits for the decoder, which is enough time for several other images. After that, the user
# has to upload the file again.
UPLOAD_DECODER_TIMEOUT = 50
# The maximum total number of pixels in all frames of an animation, as a multiple of the pixel limit for one image. It
# is limited because browsers decode all frames.
MAX_FRAMES_FACTOR = 4
# The maximum total number of pixels that the scans of a progressive JPEG can cover, as a multiple of the pixel limit
# for one image. It is limited because each scan takes time.
MAX_SCANS_FACTOR = 12
# The maximum width and height of a WebP in pixels (RFC 9649, section 2.5.2: 14 bits).
MAX_WEBP_SIDE = 16_383
# The options and the limits of AVIF copies. At this quality, they look like WebP copies at quality 82, and are smaller.
# libavif's default speed, 6, takes four times as long. One thread leaves the other cores to readers.
AVIF_OPTIONS = {"quality": 60, "speed": 8, "max_threads": 1}
MAX_AVIF_PIXELS = 6_000_000
# Decoders refuse larger images (libavif's AVIF_DEFAULT_IMAGE_DIMENSION_LIMIT).
MAX_AVIF_SIDE = 32_768
# The largest factor by which Pillow can reduce the width and height of a JPEG while decoding it. Reducing an image in
# this way requires little memory.
MAX_DRAFT_DIVISOR = 8
# The number of pixels that are converted and scaled at once. Only this band of the image is in memory twice.
BAND_PIXELS = 2_000_000
# Resampling filters, and their reach on either side of a pixel, in pixels of the smaller image.
LANCZOS = (Image.Resampling.LANCZOS, 3)
BOX = (Image.Resampling.BOX, 0)
WHITE = (255, 255, 255)
# A box is (left, top, right, bottom), in pixels.
Box = tuple[float, float, float, float]
# The number of columns and rows in the tiny image from which the hash and the average colour are computed.
GRID = (9, 8)
_HIGH_BYTES = [value >> 8 for value in range(1 << 16)]
# For each orientation (EXIF 2.32, tag 0x0112), the transposition that makes an image upright.
_TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# For each orientation, a function that converts a point (across, down) in the upright image to the point in the file.
_TO_STORED: dict[int, Callable[[float, float], tuple[float, float]]] = {
    2: lambda across, down: (1 - across, down),
    3: lambda across, down: (1 - across, 1 - down),
    4: lambda across, down: (across, 1 - down),
    5: lambda across, down: (down, across),
    6: lambda across, down: (down, 1 - across),
    7: lambda across, down: (1 - down, 1 - across),
    8: lambda across, down: (1 - down, across),
}
# The transpositions for editors' rotations, which are clockwise. Pillow's rotations are counterclockwise.
_ROTATIONS = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}


@dataclass(frozen=True)
class ImageProperties:
    """The properties of a valid image.

    Attributes:
        content_type: The media type.
        size: The width and height of the upright image, in pixels.
        exif: The searchable properties.
        description: The description that the camera or photo software wrote.
        dhash: The perceptual hash.
        colour: The average colour ("#rrggbb"), which pages show until the image has loaded, or "" if the image has
            transparency.
    """

    content_type: str
    size: tuple[int, int]
    exif: list[dict[str, Any]]
    description: str
    dhash: str
    colour: str


@contextmanager
def open_image(
    file: BinaryIO, format_name: str, limits: Limits, *, timeout: float | None = None
) -> Iterator[Image.Image]:
    """Open an image. Only the given format is accepted.

    Args:
        file: The file.
        format_name: Pillow's name for the format.
        limits: The limits for photos.
        timeout: How many seconds to wait for the decoder. The default is DECODER_TIMEOUT.

    Raises:
        BadPicture: The image can't be read when it is opened, or in the `with` block.
        DecoderBusy: Other images occupied the decoder for too long.
    """
    Image.MAX_IMAGE_PIXELS = limits.max_pixels
    if not decoder_slot.acquire(timeout=DECODER_TIMEOUT if timeout is None else timeout):
        raise DecoderBusy
    try:
        with Image.open(file, formats=[format_name]) as image:
            yield image
    except BROKEN as error:
        raise BadPicture(_("This file is damaged and can't be shown. Export it again.")) from error
    except Image.DecompressionBombError as error:
        raise too_many_pixels(limits) from error
    finally:
        decoder_slot.release()


def check_size(facts: ImageFacts, format: Format, limits: Limits) -> None:
    """Raise BadPicture if the image has more pixels or frames, or needs more memory for decoding, than allowed."""
    pixels = facts.size[0] * facts.size[1]
    if pixels > limits.max_pixels or max(facts.size) > 65_500:
        raise too_many_pixels(limits)
    if facts.frames > limits.max_frames:
        raise BadPicture(
            _("This animation has %(count)d frames. The maximum is %(most)d.")
            % {"count": facts.frames, "most": limits.max_frames}
        )
    if facts.frames > 1 and pixels * facts.frames > MAX_FRAMES_FACTOR * limits.max_pixels:
        megapixels = {
            "have": pixels * facts.frames // 1_000_000,
            "most": MAX_FRAMES_FACTOR * limits.max_pixels // 1_000_000,
        }
        raise BadPicture(
            _(
                "The frames of this animation have %(have)d megapixels in total. The maximum is %(most)d. "
                "Make the animation smaller or shorter."
            )
            % megapixels
        )
    if pixels * facts.scans > MAX_SCANS_FACTOR * limits.max_pixels:
        raise BadPicture(_("This progressive JPEG has too many scans for its size. Save it as a baseline JPEG."))
    # A JPEG is never decoded at a larger size than its copies need. Other formats are decoded at full size, and a
    # second frame is needed for blending.
    if format.name == "JPEG":
        memory = facts.extra_memory + (4 * pixels // MAX_DRAFT_DIVISOR**2)
    elif format.name == "AVIF":
        # The colours need memory twice, because libavif converts the planes to colours, and Pillow copies them.
        memory = facts.extra_memory + 8 * pixels
    else:
        memory = facts.extra_memory + 4 * pixels * (1 if format.name == "PNG" and facts.frames == 1 else 3)
    if memory > limits.max_memory:
        raise BadPicture(
            _(
                "This photo needs %(need)d MB of memory to open. The maximum is %(most)d MB. Save it at a "
                "smaller size or as a JPEG."
            )
            % {"need": memory >> 20, "most": limits.max_memory >> 20}
        )


def too_many_pixels(limits: Limits) -> BadPicture:
    """Return the error for an image with more than `limits.max_pixels` pixels."""
    return BadPicture(
        _("This photo is too large. The maximum is %(most)d megapixels. Save it at a smaller size.")
        % {"most": limits.max_pixels // 1_000_000}
    )


def inspect(file: BinaryIO, format: Format, facts: ImageFacts, limits: Limits) -> ImageProperties:
    """Decode the image, and return its properties.

    The frames of an animation are decoded only up to the pixel limit for one image, because a frame of a few bytes can
    cover the whole image.

    Raises:
        BadPicture: The image is damaged, or differs from its header.
        DecoderBusy: Other images occupied the decoder for too long.
    """
    with open_image(file, format.name, limits, timeout=UPLOAD_DECODER_TIMEOUT) as image:
        if image.size != facts.size:
            raise BadPicture(_("This file is damaged: its dimensions are missing or wrong. Export it again."))
        image.draft("RGB", (max(facts.size[0] // MAX_DRAFT_DIVISOR, 1), max(facts.size[1] // MAX_DRAFT_DIVISOR, 1)))
        # A JPEG has only one frame, because the parser has removed any images that followed it, even if the metadata
        # still refers to these images.
        frames = 1 if format.name == "JPEG" else getattr(image, "n_frames", 1)
        for frame in range(min(frames, limits.max_pixels // (facts.size[0] * facts.size[1]))):
            if frame:
                image.seek(frame)
            image.load()
        image.seek(0)
        # For AVIF, the container specifies the orientation, and Pillow returns it. EXIF data has no effect.
        is_avif = format.name == "AVIF"
        orientation = _orientation(image) if is_avif else exif.orientation(facts.exif)
        tiny = _scale(image, (0, 0, *image.size), GRID, BOX)
    size = facts.size[::-1] if orientation >= 5 else facts.size
    description = exif.description(facts.exif)
    properties = exif.properties(facts.exif)
    return ImageProperties(format.content_type, size, properties, description, _dhash(tiny), _colour(tiny))


def _dhash(tiny: Image.Image) -> str:
    """Return a 64-bit perceptual hash as hexadecimal digits. Similar images have similar hashes.

    Each bit indicates whether the brightness increases from one cell of GRID to the next (N. Krawetz's "difference
    hash").
    """
    grey = ImageOps.grayscale(tiny)
    rows = [grey.crop((0, y, 9, y + 1)).tobytes() for y in range(8)]
    bits = "".join("1" if row[x] < row[x + 1] else "0" for row in rows for x in range(8))
    return f"{int(bits, 2):016x}"


def _colour(tiny: Image.Image) -> str:
    """Return the average colour of the cells of GRID as "#rrggbb", or "" if a cell isn't opaque."""
    if tiny.mode == "RGBA" and tiny.getchannel("A").getextrema() != (255, 255):
        return ""
    return f"#{tiny.convert('RGB').resize((1, 1), Image.Resampling.BOX).tobytes().hex()}"


def resize(
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
    """Return a copy of the visible part of the image, upright and resized.

    If `height` is None, the part is never enlarged.

    Args:
        file: The stored file.
        format_name: Pillow's name for the file's format.
        limits: The limits for photos.
        width: The width of the copy in pixels.
        height: The height of the copy in pixels. The copy is cropped to this aspect ratio around `focal`. If the height
            is None, the aspect ratio doesn't change.
        focal: The focal point, as fractions of the width and height of the visible part.
        to: The format of the copy, "AVIF", "WEBP" or "JPEG".
        cut: The visible part of the image.

    Raises:
        BadPicture: The file can't be read.
        DecoderBusy: Other images occupied the decoder for too long.
    """
    with open_image(file, format_name, limits) as image:
        orientation = _orientation(image)
        upright_size = image.size[::-1] if orientation >= 5 else image.size
        shown_size = cut.size(upright_size)
        # Images that are too small are enlarged to fill a square, so that grids look even.
        size = (width, height) if height else scaled(shown_size, width)
        if to == "WEBP" and max(size) > MAX_WEBP_SIDE:
            raise BadPicture("This WebP copy would be too tall.")
        part = cut.within(_largest_part(size, shown_size, focal)) if height else cut.crop or EVERYTHING
        stored_size = size[::-1] if (orientation >= 5) != cut.swaps_sides else size
        _set_draft_size(image, _stored_box(part, orientation, image.size), stored_size, limits)
        image.load()
        profile = image.info.get("icc_profile") if image.mode in ("RGB", "RGBA", "P") else None
        copy = _scale(image, _stored_box(part, orientation, image.size), stored_size, on_white=to == "JPEG")
        if orientation in _TRANSPOSITIONS:
            copy = copy.transpose(_TRANSPOSITIONS[orientation])
        if cut.rotation:
            copy = copy.transpose(_ROTATIONS[cut.rotation])
        options: dict[str, Any] = AVIF_OPTIONS if to == "AVIF" else {"quality": limits.quality}
        return _encode(copy, to, **options, **({"icc_profile": profile} if profile else {}))


def can_encode_avif(size: Size) -> bool:
    """Return whether an AVIF copy of this size can be encoded in limited time, and decoded by browsers."""
    return size[0] * size[1] <= MAX_AVIF_PIXELS and max(size) <= MAX_AVIF_SIDE


def render_icon(
    file: BinaryIO, format_name: str, limits: Limits, *, width: int, background: tuple[int, int, int] | None
) -> bytes:
    """Return a square PNG that shows the whole image in its centre.

    Args:
        file: The stored file.
        format_name: Pillow's name for the file's format.
        limits: The limits for photos.
        width: The width of the icon in pixels.
        background: The background colour. If it is set, the icon also gets a margin. If it is None, the background is
            transparent.

    Raises:
        BadPicture: The file can't be read.
        DecoderBusy: Other images occupied the decoder for too long.
    """
    with open_image(file, format_name, limits) as image:
        inner_width = round(width * 0.8) if background else width
        size = (
            max(round(image.width * inner_width / max(image.size)), 1),
            max(round(image.height * inner_width / max(image.size)), 1),
        )
        copy = _scale(image, (0, 0, *image.size), size).convert("RGBA")
        square = Image.new("RGBA", (width, width), (*background, 255) if background else (0, 0, 0, 0))
        square.alpha_composite(copy, ((width - copy.width) // 2, (width - copy.height) // 2))
        target = io.BytesIO()
        (square.convert("RGB") if background else square).save(target, "PNG", optimize=True)
        return target.getvalue()


def _orientation(image: Image.Image) -> int:
    """Return the orientation of the image, from 1 (upright) to 8, or 1 if it is missing or unreadable."""
    try:
        value = image.getexif().get(exif.Base.Orientation, 1)
    except BROKEN:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _largest_part(shape: Size, within: Size, focal: Focal) -> Crop:
    """Return the largest part around `focal` that has the aspect ratio of `shape`. `within` is the image's size."""
    pixels = min(within[0] / shape[0], within[1] / shape[1])
    width = pixels * shape[0] / within[0]
    height = pixels * shape[1] / within[1]
    return (1 - width) * focal[0], (1 - height) * focal[1], width, height


def _stored_box(part: Crop, orientation: int, size: Size) -> Box:
    """Convert a part of the upright image to a box of pixels in the file.

    The box is at least one pixel wide and high.
    """
    left, top, width, height = part
    corners = [(left, top), (left + width, top + height)]
    if orientation in _TO_STORED:
        corners = [_TO_STORED[orientation](*corner) for corner in corners]
    (left, right), (top, bottom) = (sorted(ends) for ends in zip(*corners, strict=True))
    left, right = _pixels(left, right, size[0])
    top, bottom = _pixels(top, bottom, size[1])
    return left, top, right, bottom


def _pixels(start: float, stop: float, length: int) -> tuple[float, float]:
    """Convert two positions on a side of `length` pixels from fractions to pixels, at least one pixel apart."""
    first = min(max(start * length, 0), length - 1)
    return first, min(max(stop * length, first + 1), length)


def _set_draft_size(image: Image.Image, box: Box, size: Size, limits: Limits) -> None:
    """Let Pillow decode a JPEG at half, a quarter or an eighth of its width and height, if the copy is small enough.

    So that the copy looks good, the decoded image is at least twice as wide as the copy, unless this would need too
    much memory.
    """
    scale = min((box[2] - box[0]) / size[0], (box[3] - box[1]) / size[1])
    # If decoding at a larger size would need too much memory, the image is decoded at the size for the largest copy of
    # the whole image. A copy that shows only a small part of the image can then be less sharp.
    max_scale = max(scale, max(image.size) / max(limits.widths))
    divisor = 1
    while divisor < MAX_DRAFT_DIVISOR and (
        2 * divisor <= scale / 2
        or (2 * divisor <= max_scale and 4 * image.width * image.height > limits.max_memory * divisor**2)
    ):
        divisor *= 2
    image.draft(None, (max(image.width // divisor, 1), max(image.height // divisor, 1)))


def _scale(
    image: Image.Image,
    box: Box,
    size: Size,
    resampling: tuple[Image.Resampling, int] = LANCZOS,
    *,
    on_white: bool = False,
) -> Image.Image:
    """Return part of a decoded image, scaled to `size` pixels, as RGB, or as RGBA if it may have transparency.

    Pixels outside the box don't affect the result, because an editor may have cropped them away.
    """
    left, top, right, bottom = box
    first = math.floor(left)
    last = math.ceil(right)
    first_row = math.floor(top)
    last_row = math.ceil(bottom)
    filter, reach = resampling
    # The number of image rows per row of the copy.
    scale = (bottom - top) / size[1]
    margin = math.ceil(reach * max(scale, 1))
    rows = max(int(BAND_PIXELS / (last - first) / scale), 1)
    copy: Image.Image | None = None
    for row in range(0, size[1], rows):
        height = min(rows, size[1] - row)
        upper = top + row * scale
        lower = min(top + (row + height) * scale, bottom)
        start = max(math.floor(upper) - margin, first_row)
        stop = min(math.ceil(lower) + margin, last_row)
        band = _to_rgb(image.crop((first, start, last, stop)))
        part = band.resize((size[0], height), filter, box=(left - first, upper - start, right - first, lower - start))
        part = _on_white(part) if on_white else part
        copy = copy or Image.new(part.mode, size)
        copy.paste(part, (0, row))
    assert copy
    return copy


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return the image as RGB or RGBA, without metadata."""
    image = _to_eight_bits(image)
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    converted = image.convert("RGBA" if has_alpha else "RGB")
    converted.info = {}
    return converted


def _to_eight_bits(image: Image.Image) -> Image.Image:
    """Convert an image with 16-bit greyscale values to 8 bits. Pillow's own conversion would clip the values."""
    if not image.mode.startswith("I"):
        return image
    grey = image.convert("I").point(_HIGH_BYTES, "L")
    # The transparent grey now has the same value as 255 other greys, so the transparency is dropped.
    grey.info.pop("transparency", None)
    return grey


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image
    page = Image.new("RGB", image.size, WHITE)
    page.paste(image, mask=image.getchannel("A"))
    return page


def _encode(picture: Image.Image, format_name: str, **options: Any) -> bytes:
    target = io.BytesIO()
    if format_name == "JPEG":
        try:
            picture.save(target, format_name, progressive=True, **options)
            return target.getvalue()
        except OSError:
            # Pillow's buffer is too small for a progressive JPEG of a very narrow or noisy image, so a baseline JPEG is
            # saved instead.
            target = io.BytesIO()
    picture.save(target, format_name, **options)
    return target.getvalue()
