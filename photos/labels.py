"""Labels for the properties that cameras write to files, and queries for photos with given properties."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext_lazy

from nodes.models import Photo

LABELS = {
    "camera": gettext_lazy("Camera"),
    "lens": gettext_lazy("Lens"),
    "focal_length": gettext_lazy("Focal length (mm)"),
    "aperture": gettext_lazy("Aperture (f/)"),
    "exposure": gettext_lazy("Exposure (s)"),
    "iso": "ISO",
    "taken": gettext_lazy("Taken"),
    "year": gettext_lazy("Year"),
    "artist": gettext_lazy("Photographer"),
    "copyright": gettext_lazy("Copyright"),
}


def _length(text: str) -> float:
    length = float(text)
    if not 0 < length < LONGEST_LENS:
        raise ValueError(text)
    return length


def _year(text: str) -> int:
    # A year must have exactly four digits, because MongoDB can't store integers of arbitrary length.
    if not re.fullmatch("[0-9]{4}", text):
        raise ValueError(text)
    return int(text)


# Maximum focal length in millimetres. No lens is longer. The limit also excludes infinity.
LONGEST_LENS = 100_000
# The properties that can be used to find photos, and the functions that convert the values of their URL parameters.
SEARCHABLE: dict[str, Callable[[str], Any]] = {"camera": str, "lens": str, "focal_length": _length, "year": _year}


def facts(photo: Photo) -> list[tuple[Any, Any, str]]:
    """Return (label, value, query) for the photo's properties. `query` finds photos with the same value, or is ""."""
    values = {part["n"]: part["v"] for part in photo.metadata.detail.exif or ()}
    return [
        (label, values[name], urlencode({name: values[name]}) if name in SEARCHABLE else "")
        for name, label in LABELS.items()
        if name in values
    ]


def parse_query(query: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Return the properties in a URL's query as (name, value). Invalid values are ignored."""
    properties = []
    for name, convert in SEARCHABLE.items():
        try:
            if value := convert(query.get(name, "")[:200]):
                properties.append((name, value))
        except ValueError:
            continue
    return properties
