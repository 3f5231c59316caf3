"""EXIF: what is kept in the file, and what is noted beside it as properties that can be searched.

Kept is what a list names. Where a picture was taken, serial numbers, owners, makers' notes (which repeat both) and
thumbnails (which may show what was cropped away) are in none.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from PIL import ExifTags, Image

from photos.assets import lengths
from photos.assets.errors import BROKEN

Base = ExifTags.Base
KEPT_ROOT = frozenset(
    {Base.Make, Base.Model, Base.Orientation, Base.XResolution, Base.YResolution, Base.ResolutionUnit, Base.Software}
    | {Base.DateTime, Base.Artist, Base.Copyright, Base.ImageDescription, Base.YCbCrPositioning}
)
KEPT_EXIF = frozenset(
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
LONGEST_VALUE = 200
# Bytes by which a cleaned block may be longer than it was: Pillow writes some values in wider types.
WIDER = 512


def load(block: bytes) -> Image.Exif | None:
    """Return a TIFF block as Pillow reads it; None if it cannot be read, or is too long: Pillow copies each value, and
    thousands may say that they are the same bytes."""
    if len(block) not in lengths.EXIF:
        return None
    exif = Image.Exif()
    try:
        exif.load(b"Exif\0\0" + block)
    except BROKEN:
        return None
    return exif


def cleaned(block: bytes) -> bytes:
    """Return the block with nothing but what is kept; b"" if that is nothing, or the block cannot be read.

    A value that cannot be read or written is left out alone.
    """
    before = load(block)
    if before is None:
        return b""
    inner = _inner(before)
    after = Image.Exif()
    for tag in KEPT_ROOT:
        if _is_writable(tag, value := _value(before, tag)):
            after[tag] = value
    kept: dict[int, Any] = {tag: value for tag in KEPT_EXIF if _is_writable(tag, value := _value(inner, tag))}
    if kept:
        after.get_ifd(ExifTags.IFD.Exif).update(kept)
    if not len(after) and not kept:
        return b""
    try:
        written = after.tobytes()[6:]
    except BROKEN:
        return b""
    return written if len(written) <= len(block) + WIDER and len(written) in lengths.EXIF else b""


def stored(block: bytes, keep: bool) -> bytes:
    """Return the block as it is stored; b"" for one that no reader could read, also where all is to be kept."""
    if not keep:
        return cleaned(block)
    return block if (exif := load(block)) and _can_turn(exif) else b""


def _can_turn(exif: Image.Exif) -> bool:
    """Return whether readers learn how the picture is to be turned, without an error."""
    try:
        exif.get(Base.Orientation)
    except BROKEN:
        return False
    return True


def _value(values: Mapping[int, Any], tag: int) -> Any:
    """Return a value; None where there is none, or none that can be read."""
    try:
        return values.get(tag)
    except BROKEN:
        return None


def _inner(exif: Image.Exif) -> Mapping[int, Any]:
    """Return the values about how the picture was taken; none if they cannot be read."""
    try:
        return exif.get_ifd(ExifTags.IFD.Exif)
    except BROKEN:
        return {}


def _is_writable(tag: int, value: Any) -> bool:
    if value is None:
        return False
    alone = Image.Exif()
    alone[tag] = value
    try:
        return bool(alone.tobytes())
    except BROKEN:
        return False


def orientation(block: bytes) -> int:
    """Return how the stored pixels are to be turned, 1 (not at all) to 8."""
    exif = load(block)
    value = _value(exif, Base.Orientation) if exif else 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def description(block: bytes) -> str:
    """Return what the camera or an editor wrote as the picture's description; "" for none."""
    exif = load(block)
    return _text(_value(exif, Base.ImageDescription)) if exif else ""


def properties(block: bytes) -> list[dict[str, Any]]:
    """Return camera, lens, focal_length (mm), aperture, exposure, iso, taken and year as far as the block has them."""
    exif = load(block)
    if exif is None:
        return []
    found = _properties(exif, _inner(exif))
    return [{"n": name, "v": value} for name, value in found.items() if value]


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
        # Local time at the place, as the camera had it: its zone is not known.
        "taken": taken.isoformat(sep=" ") if taken else None,
        "year": taken.year if taken else None,
    }


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return ""
    return "".join(c for c in value if c.isprintable()).strip()[:LONGEST_VALUE]


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and value else value


def _number(value: Any) -> float | int | None:
    """Return a rational as a number with one decimal, whole where it is whole."""
    number = round(_real(value), 1)
    if not 0 < number < 1e6:
        return None
    return int(number) if number == int(number) else number


def _real(value: Any) -> float:
    """Return a rational as a float; 0 for what is none."""
    try:
        number = float(value)
    except BROKEN:
        return 0
    return number if math.isfinite(number) else 0


def _exposure(value: Any) -> str | None:
    """Return an exposure time as photographers say it: "1/250", "2"."""
    seconds = _real(value)
    if not 1e-6 < seconds < 1e5:
        return None
    return f"1/{round(1 / seconds)}" if seconds < 0.3 else f"{seconds:.1f}".removesuffix(".0")


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text[:19], "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None
