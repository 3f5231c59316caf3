"""What cameras write into files, in words."""

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
    # Four digits: a number of any length would not fit into a query.
    if not re.fullmatch("[0-9]{4}", text):
        raise ValueError(text)
    return int(text)


# In millimetres: more than any lens has, and no infinity.
LONGEST_LENS = 100_000
# What photos can be found by, and how an address says it.
FOUND_BY: dict[str, Callable[[str], Any]] = {"camera": str, "lens": str, "focal_length": _length, "year": _year}


def facts(photo: Photo) -> list[tuple[Any, Any, str]]:
    """Return (label, value, query) of those of a photo's properties that it has; a query where others can be found by it."""
    found = {part["n"]: part["v"] for part in photo.metadata.detail.exif or ()}
    return [
        (label, found[name], urlencode({name: found[name]}) if name in FOUND_BY else "")
        for name, label in LABELS.items()
        if name in found
    ]


def asked(query: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Return the properties, (name, value), that an address asks for; what cannot be one is left out."""
    wanted = []
    for name, convert in FOUND_BY.items():
        try:
            if value := convert(query.get(name, "")[:200]):
                wanted.append((name, value))
        except ValueError:
            continue
    return wanted
