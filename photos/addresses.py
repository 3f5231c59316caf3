"""Addresses of photos' files, and photos as HTML: what templates, texts and feeds show of them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from nodes.models import Photo
from photos.assets import renditions
from photos.assets.framing import WHOLE, Cut, Focal, scaled
from photos.assets.limits import limits
from photos.assets.renditions import Spec

ORIGINAL = "original"
# What an address asks for that readers do not get: a file that was replaced, or all of a picture that was cut.
FORMER = "former"
# Across, in pixels: the copy for browsers that know no sets of them.
MIDDLE = 960
# Where no layout says otherwise: the width of the text, or of the window if that is less.
# On phones the margins take 40 pixels: a window in which 640 are nearly enough is not given 960.
SIZES = "(min-width: 50rem) 46rem, 88vw"
_LATER = SafeString(' loading="lazy" decoding="async"')


def cut(photo: Photo) -> Cut:
    """Return what is shown of the photo's file, and how it is turned."""
    return Cut.of(photo.metadata.detail.crop, photo.metadata.detail.rotation)


def focal(photo: Photo) -> Focal | None:
    """Return the photo's focal point in the whole picture."""
    point = photo.metadata.detail.focal
    return (point[0], point[1]) if point else None


def size(photo: Photo) -> tuple[int, int]:
    """Return the size (pixels) of what is shown of the photo."""
    return cut(photo).size(photo.metadata.detail.resolution)


def is_whole(photo: Photo) -> bool:
    """Return whether the photo is shown as its file is: not cropped, and not turned by hand."""
    return cut(photo) == WHOLE


def original(photo: Photo) -> str:
    """Return the path of the file that readers may have: as it is stored, or the largest copy of a photo that was cut."""
    return file_path(photo, original_name(photo))


def original_name(photo: Photo) -> str:
    """Return the last part of that path. What was cut away is for editors alone."""
    if is_whole(photo):
        return ORIGINAL
    return str(Spec(renditions.widths(size(photo), "jpg")[-1], "jpg", cut=cut(photo)))


def uncut(photo: Photo, width: int = 0) -> str:
    """Return the path, for editors, of the photo's file as it is stored; with a width of a copy of all of it, about as wide."""
    made = renditions.widths(photo.metadata.detail.resolution, "jpg")
    path = file_path(photo, str(Spec(_about(made, width), "jpg")) if width else ORIGINAL)
    return path if is_whole(photo) else f"{path}?{FORMER}=1"


def _about(made: Sequence[int], width: int) -> int:
    return next((one for one in made if one >= width), made[-1])


def copy(photo: Photo, width: int, extension: str = "jpg") -> str:
    """Return the path of a copy in one of the widths that are made."""
    return file_path(photo, str(Spec(width, extension, cut=cut(photo))))


def square(photo: Photo, width: int, extension: str = "jpg") -> str:
    """Return the path of a square copy, cut around the photo's focal point."""
    return file_path(photo, str(Spec.square(width, extension, focal(photo), cut(photo))))


def file_path(photo: Photo, spec: str) -> str:
    """Return the path of the photo's file, for ORIGINAL, or of a copy."""
    return reverse("photo-file", args=[photo.pk, photo.metadata.content_id, photo.parent_id, spec])


def srcset(photo: Photo, extension: str, most: int | None = None) -> str:
    """Return a srcset of all copies, or of `most`; what is narrower than asked for says how wide it really is.

    "" where the format cannot be so long.
    """
    shown = size(photo)
    return ", ".join(
        f"{copy(photo, width, extension)} {scaled(shown, width)[0]}w"
        for width in renditions.widths(shown, extension)[:most]
    )


@dataclass(frozen=True)
class Shared:
    """The copy of a photo that link previews and search engines show: its path, and its size in pixels."""

    path: str
    width: int
    height: int
    alt: str


# Across, in pixels: what social networks ask for.
SHARED_WIDTH = 1200


def shared(photo: Photo) -> Shared:
    """Return the photo's copy for link previews: a JPEG of SHARED_WIDTH or more where it is that wide."""
    made = renditions.widths(size(photo), "jpg")
    width = _about(made, SHARED_WIDTH)
    return Shared(copy(photo, width), *scaled(size(photo), width), photo.metadata.detail.alt)


def picture(
    photo: Photo, *, sizes: str = SIZES, alt: str | None = None, eager: bool = False, css_class: str = ""
) -> SafeString:
    """Return the photo as <picture>: WebP where that is known, JPEG elsewhere, in the size that the layout needs."""
    across, down = size(photo)
    made = renditions.widths((across, down), "jpg")
    webp = srcset(photo, "webp")
    source = format_html('<source type="image/webp" srcset="{}" sizes="{}">', webp, sizes) if webp else ""
    return format_html(
        '<picture>{}<img src="{}" srcset="{}" sizes="{}" width="{}" height="{}" alt="{}"{}{}></picture>',
        source,
        copy(photo, _about(made, MIDDLE)),
        srcset(photo, "jpg"),
        sizes,
        across,
        down,
        photo.metadata.detail.alt if alt is None else alt,
        _attributes({"class": " ".join(filter(None, [css_class, _tint(photo)]))}),
        SafeString(' fetchpriority="high"') if eager else _LATER,
    )


def thumbnail(photo: Photo, width: int, *, alt: str | None = None, eager: bool = False) -> SafeString:
    """Return the photo as a square <picture> of `width` pixels, one of those that are made; sharper where there is a larger."""
    larger = max((w for w in limits().squares if w > width), default=width)
    sets = {
        extension: f"{square(photo, width, extension)} 1x, {square(photo, larger, extension)} 2x"
        for extension in ("webp", "jpg")
    }
    return format_html(
        '<picture><source type="image/webp" srcset="{}">'
        '<img src="{}" srcset="{}" width="{}" height="{}" alt="{}"{}{}></picture>',
        sets["webp"],
        square(photo, width),
        sets["jpg"],
        width,
        width,
        photo.metadata.detail.alt if alt is None else alt,
        _attributes({"class": _tint(photo)}),
        "" if eager else _LATER,
    )


# How many times as wide as high lists show photos at most, and how wide (pixels) the widest copy is that they need.
WIDEST_IN_LISTS = 1.5
LARGEST_IN_LISTS = 1280
# Where pictures are cropped around when they have no focal point, in tenths.
MIDDLE_TENTH = 5
# Shapes for which the style sheet has a class: width to height, in hundredths.
SHAPES = (50, 56, 67, 75, 80, 100, 125, 133, 150, 167, 178, 200, 250, 300)


def crop(
    photo: Photo, *, sizes: str, alt: str | None = None, eager: bool = False, widest: float = WIDEST_IN_LISTS
) -> SafeString:
    """Return the photo as <picture> for a box that the style sheet fills with it, cropped around its focal point.

    `sizes`: how wide the box is. `widest`: width to height of the widest box; of photos wider than that only a part is seen,
    and the srcset says how wide that part is.
    """
    across, down = size(photo)
    seen = min(widest * down / across, 1)
    made = renditions.widths((across, down), "webp")
    copies = [width for width in made if width * seen <= LARGEST_IN_LISTS] or made[:1]

    def _seen(width: int) -> int:
        return max(int(scaled((across, down), width)[0] * seen), 1)

    offered = ", ".join(f"{copy(photo, width, 'webp')} {_seen(width)}w" for width in copies)
    source = format_html('<source type="image/webp" srcset="{}" sizes="{}">', offered, sizes) if offered else ""
    return format_html(
        '<picture>{}<img src="{}" width="{}" height="{}" alt="{}"{}{}></picture>',
        source,
        copy(photo, _about(renditions.widths((across, down), "jpg"), LARGEST_IN_LISTS // 2)),
        across,
        down,
        photo.metadata.detail.alt if alt is None else alt,
        _attributes({"class": " ".join(filter(None, [_focus(photo), _tint(photo)]))}),
        SafeString(' fetchpriority="high"') if eager else _LATER,
    )


def shape(photo: Photo) -> int:
    """Return which of SHAPES is nearest to that of the photo."""
    across, down = size(photo)
    return min(SHAPES, key=lambda one: abs(math.log(one / 100 * down / across)))


def _focus(photo: Photo) -> str:
    """Return the classes that say in tenths where the photo's focal point is: "across-3 down-7"; "" for the middle."""
    across, down = (round(part * 10) for part in cut(photo).point(focal(photo)))
    return " ".join(f"{name}-{at}" for name, at in (("across", across), ("down", down)) if at != MIDDLE_TENTH)


def _tint(photo: Photo) -> str:
    """Return the classes that say in tenths what colour its place has until it comes: "red-5 green-2 blue-0"; "" for none."""
    parts = bytes.fromhex((photo.metadata.detail.colour or "").removeprefix("#"))
    return " ".join(f"{name}-{round(part / 25.5)}" for name, part in zip(("red", "green", "blue"), parts, strict=False))


# Copies of a logo that a header shows: for screens of one dot and of two.
LOGO_COPIES = 2


def logo(photo: Photo, *, alt: str, css_class: str) -> SafeString:
    """Return the photo as a <picture> for the header of every page: with what shines through it where WebP is known."""
    across, down = size(photo)
    webp, jpeg = (srcset(photo, one, LOGO_COPIES) for one in ("webp", "jpg"))
    return format_html(
        '<picture class="{}">{}<img src="{}" srcset="{}" sizes="12rem" width="{}" height="{}" alt="{}"></picture>',
        css_class,
        format_html('<source type="image/webp" srcset="{}" sizes="12rem">', webp) if webp else "",
        copy(photo, renditions.widths((across, down), "jpg")[0]),
        jpeg,
        across,
        down,
        alt,
    )


# What an icon is for, by its name: tabs, home screens of phones, larger places; with its size in pixels.
ICONS = {"icon": 32, "touch-icon": 180, "large-icon": 512}


def icon(photo: Photo, name: str) -> str:
    """Return the path of an icon made of a logo. What is shown of the photo is in it, so that it can be kept for ever."""
    return reverse("look-icon", args=[photo.metadata.content_id, f"{name}{cut(photo)}"])


def _attributes(values: dict[str, Any]) -> SafeString:
    return format_html_join("", ' {}="{}"', ((name, value) for name, value in values.items() if value))


def library(gallery_id: Any = None) -> str:
    """Return the path of the admin's list of photos, of one gallery or of all."""
    return reverse("admin:nodes_photo_changelist", query={"section": str(gallery_id)} if gallery_id else None)


def in_admin(photo_id: Any) -> str:
    """Return the path of the page that edits a photo."""
    return reverse("admin:nodes_photo_change", args=[photo_id])


def markdown(photo: Photo) -> str:
    """Return how a text shows the photo. By id, so that moving or renaming it breaks nothing."""
    alt = re.sub(r"([\\`*_\[\]<>&])", r"\\\1", " ".join(photo.metadata.detail.alt.split()))
    return f"![{alt}](photo:{photo.pk})"
