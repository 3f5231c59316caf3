"""What cameras write into files, in words."""

from collections.abc import Collection
from typing import Any

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
PUBLIC = ("camera", "lens", "focal_length", "aperture", "exposure", "iso", "taken", "artist", "copyright")


def facts(photo: Photo, names: Collection[str] = tuple(LABELS)) -> list[tuple[Any, Any]]:
    """Return (label, value) of those of a photo's properties that it has."""
    found = {part["n"]: part["v"] for part in photo.metadata.detail.exif or ()}
    return [(LABELS[name], found[name]) for name in names if name in found]
