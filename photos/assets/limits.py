"""Limits of uploads and sizes of renditions: defaults that the setting PHOTOS overrides."""

from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """`max_bytes`, `max_pixels`: of one picture. `max_memory`: bytes that decoding one may take. `widths`, `squares`: the
    renditions that are made, in pixels. `keep_location`: store where and with which camera body a picture was taken.
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
    """Return the limits in force. Raises ImproperlyConfigured for a key of PHOTOS that nothing reads."""
    given: dict[str, Any] = {name.lower(): value for name, value in getattr(settings, "PHOTOS", {}).items()}
    unknown = sorted(given.keys() - {field.name for field in fields(Limits)})
    if unknown:
        raise ImproperlyConfigured(f"PHOTOS has unknown keys: {', '.join(unknown).upper()}.")
    return Limits(**given)
