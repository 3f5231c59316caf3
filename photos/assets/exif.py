"""EXIF data: the values that are kept in the file, and the searchable properties in the photo's document.

Only values on an allowlist are kept. The list doesn't include locations, serial numbers or owners. It also excludes
maker notes, which can repeat these values, and thumbnails, which can show a part that was cropped away.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from PIL import ExifTags, Image

from photos.assets import lengths
from photos.assets.errors import BROKEN

Base = ExifTags.Base
ROOT_TAGS = frozenset(
    {Base.Make, Base.Model, Base.Orientation, Base.XResolution, Base.YResolution, Base.ResolutionUnit, Base.Software}
    | {Base.DateTime, Base.Artist, Base.Copyright, Base.ImageDescription, Base.YCbCrPositioning}
)
EXIF_TAGS = frozenset(
    {
        Base.ExposureTime,
        Base.FNumber,
        Base.ExposureProgram,
        Base.ISOSpeedRatings,
        Base.ExifVersion,
        Base.DateTimeOriginal,
    }
    | {
        Base.DateTimeDigitized,
        Base.OffsetTime,
        Base.OffsetTimeOriginal,
        Base.OffsetTimeDigitized,
        Base.ShutterSpeedValue,
    }
    | {Base.ApertureValue, Base.BrightnessValue, Base.ExposureBiasValue, Base.MaxApertureValue, Base.SubjectDistance}
    | {Base.MeteringMode, Base.LightSource, Base.Flash, Base.FocalLength, Base.ColorSpace, Base.ExposureMode}
    | {Base.WhiteBalance, Base.DigitalZoomRatio, Base.FocalLengthIn35mmFilm, Base.SceneCaptureType, Base.LensMake}
    | {Base.LensModel, Base.LensSpecification, Base.SubsecTimeOriginal, Base.Contrast, Base.Saturation, Base.Sharpness}
)
MAX_VALUE_LENGTH = 200
# The maximum number of bytes by which cleaning can enlarge a block. Pillow writes some values as wider types.
MAX_GROWTH = 512


def load(block: bytes) -> Image.Exif | None:
    """Return a TIFF block as parsed by Pillow, or None if it is unreadable or too long.

    The length is limited because Pillow copies each value, and thousands of values can refer to the same bytes.
    """
    if len(block) not in lengths.EXIF:
        return None
    exif = Image.Exif()
    try:
        exif.load(b"Exif\0\0" + block)
    except BROKEN:
        return None
    return exif


def clean(block: bytes) -> bytes:
    """Return the block with only the allowed values, or b"" if no value is left or the block is unreadable.

    Values that can't be read or written are omitted.
    """
    before = load(block)
    if before is None:
        return b""
    inner = _exif_ifd(before)
    after = Image.Exif()
    for tag in ROOT_TAGS:
        if _is_writable(tag, value := _value(before, tag)):
            after[tag] = value
    exif_values: dict[int, Any] = {tag: value for tag in EXIF_TAGS if _is_writable(tag, value := _value(inner, tag))}
    if exif_values:
        after.get_ifd(ExifTags.IFD.Exif).update(exif_values)
    if not len(after) and not exif_values:
        return b""
    try:
        written = after.tobytes()[6:]
    except BROKEN:
        return b""
    return written if len(written) <= len(block) + MAX_GROWTH and len(written) in lengths.EXIF else b""


def to_store(block: bytes, keep_metadata: bool) -> bytes:
    """Return the block to store: cleaned, or unchanged if `keep_metadata` is true. An unreadable block becomes b""."""
    if not keep_metadata:
        return clean(block)
    return block if (exif := load(block)) and _has_readable_orientation(exif) else b""


def _has_readable_orientation(exif: Image.Exif) -> bool:
    """Return whether the orientation can be read without an error."""
    try:
        exif.get(Base.Orientation)
    except BROKEN:
        return False
    return True


def _value(values: Mapping[int, Any], tag: int) -> Any:
    """Return the value of `tag`, or None if the value is missing or unreadable."""
    try:
        return values.get(tag)
    except BROKEN:
        return None


def _exif_ifd(exif: Image.Exif) -> Mapping[int, Any]:
    """Return the values in the Exif IFD, which describe how the photo was taken, or {} if they are unreadable."""
    try:
        return exif.get_ifd(ExifTags.IFD.Exif)
    except BROKEN:
        return {}


def _is_writable(tag: int, value: Any) -> bool:
    if value is None:
        return False
    only_this = Image.Exif()
    only_this[tag] = value
    try:
        return bool(only_this.tobytes())
    except BROKEN:
        return False


def orientation(block: bytes) -> int:
    """Return the EXIF orientation of the stored pixels, from 1 (upright) to 8, or 1 if it is missing or invalid."""
    exif = load(block)
    value = _value(exif, Base.Orientation) if exif else 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def description(block: bytes) -> str:
    """Return the description that the camera or photo software wrote, or "" if there is none."""
    exif = load(block)
    return _text(_value(exif, Base.ImageDescription)) if exif else ""


def properties(block: bytes) -> list[dict[str, Any]]:
    """Return the searchable properties in the block, as {n: name, v: value}.

    The names are camera, lens, focal_length (mm), aperture, exposure, iso, artist, copyright, taken and year.
    """
    exif = load(block)
    if exif is None:
        return []
    values = _properties(exif, _exif_ifd(exif))
    return [{"n": name, "v": value} for name, value in values.items() if value]


def _properties(exif: Image.Exif, inner: Mapping[int, Any]) -> dict[str, Any]:
    make = _text(_value(exif, Base.Make))
    model = _text(_value(exif, Base.Model))
    taken = _time(_text(_value(inner, Base.DateTimeOriginal)) or _text(_value(exif, Base.DateTime)))
    return {
        "camera": model if model.casefold().startswith(make.casefold()) else f"{make} {model}".strip(),
        "lens": _text(_value(inner, Base.LensModel)),
        "focal_length": _number(_value(inner, Base.FocalLength)),
        "aperture": _number(_value(inner, Base.FNumber)),
        "exposure": _exposure(_value(inner, Base.ExposureTime)),
        "iso": _number(_first(_value(inner, Base.ISOSpeedRatings))),
        "artist": _text(_value(exif, Base.Artist)),
        "copyright": _text(_value(exif, Base.Copyright)),
        # This is the camera's local time, because the camera's time zone is unknown.
        "taken": taken.isoformat(sep=" ") if taken else None,
        "year": taken.year if taken else None,
    }


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return ""
    return "".join(c for c in value if c.isprintable()).strip()[:MAX_VALUE_LENGTH]


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and value else value


def _number(value: Any) -> float | int | None:
    """Return a rational as a number with one decimal place, or as an int if it is whole.

    Return None if it is out of range.
    """
    number = round(_real(value), 1)
    if not 0 < number < 1e6:
        return None
    return int(number) if number == int(number) else number


def _real(value: Any) -> float:
    """Return a rational as a float, or 0 if it is invalid."""
    try:
        number = float(value)
    except BROKEN:
        return 0
    return number if math.isfinite(number) else 0


def _exposure(value: Any) -> str | None:
    """Return an exposure time as photographers write it ("1/250", "2"), or None if it is out of range."""
    seconds = _real(value)
    if not 1e-6 < seconds < 1e5:
        return None
    return f"1/{round(1 / seconds)}" if seconds < 0.3 else f"{seconds:.1f}".removesuffix(".0")


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text[:19], "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None
