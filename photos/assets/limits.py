"""The limits for uploads, and the sizes of copies. The PHOTOS setting overrides the defaults."""

from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """The limits for photos.

    Attributes:
        max_bytes: The maximum size of a photo in bytes.
        max_pixels: The maximum number of pixels in a photo.
        max_memory: The maximum memory for decoding a photo, in bytes.
        max_frames: The maximum number of frames in an animation.
        widths: The widths of copies in pixels.
        squares: The widths of square copies in pixels.
        quality: The encoding quality of copies, up to 100.
        keep_location: Whether to store the location where a photo was taken and the serial number of the camera.
        grace_hours: How many hours to keep a file that has been replaced.
    """

    max_bytes: int = 200 * MIB
    max_pixels: int = 120_000_000
    max_memory: int = 300 * MIB
    max_frames: int = 600
    widths: tuple[int, ...] = (320, 640, 960, 1280, 1920, 2560)
    squares: tuple[int, ...] = (160, 480)
    quality: int = 82
    keep_location: bool = False
    grace_hours: int = 24


def limits() -> Limits:
    """Return the configured limits.

    Raises:
        ImproperlyConfigured: PHOTOS has an unknown key.
    """
    overrides: dict[str, Any] = {name.lower(): value for name, value in getattr(settings, "PHOTOS", {}).items()}
    unknown = sorted(overrides.keys() - {field.name for field in fields(Limits)})
    if unknown:
        raise ImproperlyConfigured(f"PHOTOS has unknown keys: {', '.join(unknown).upper()}. Remove or correct them.")
    return Limits(**overrides)
