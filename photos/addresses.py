"""Functions that return URLs for photos' files, and HTML that shows photos on pages, in body text and in feeds."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from marginalia.cached_urls import cached_reverse
from nodes.content import PHOTO
from nodes.models import Photo
from photos.assets import renditions
from photos.assets.framing import WHOLE, Cut, Focal, scaled
from photos.assets.limits import limits
from photos.assets.renditions import Spec

ORIGINAL = "original"
# URL parameter for files that only editors can download: replaced files, and the uncropped files of cropped photos.
FORMER = "former"
# The width, in pixels, of the copy for browsers that don't support srcset.
DEFAULT_WIDTH = 960
# The default value for the `sizes` attribute: the width of the text, or of the window if the window is narrower. On
# phones, the margins take up 40 pixels. With 88vw, a window of nearly 640 pixels can use the 640-pixel copy instead of
# the 960-pixel copy.
SIZES = "(min-width: 50rem) 46rem, 88vw"
# The formats that are smaller than JPEG, best first.
SMALLER = tuple(extension for extension in renditions.FORMATS if extension != "jpg")
_LAZY = SafeString(' loading="lazy" decoding="async"')


def cut(photo: Photo) -> Cut:
    """Return which part of the photo's file is visible, and how it is rotated."""
    return Cut.of(photo.metadata.detail.crop, photo.metadata.detail.rotation)


def focal(photo: Photo) -> Focal | None:
    """Return the photo's focal point in the whole image, or None if the photo has none."""
    point = photo.metadata.detail.focal
    return (point[0], point[1]) if point else None


def size(photo: Photo) -> tuple[int, int]:
    """Return the size, in pixels, of the visible part of the photo."""
    return cut(photo).size(photo.metadata.detail.resolution)


def is_whole(photo: Photo) -> bool:
    """Return whether the photo's file is shown as stored, neither cropped nor rotated by an editor."""
    return cut(photo) == WHOLE


def original_path(photo: Photo) -> str:
    """Return the path of the best file for readers: the stored file, or the largest copy if the photo is cropped."""
    return file_path(photo, original_name(photo))


def original_name(photo: Photo) -> str:
    """Return the last segment of `original_path`.

    For a cropped photo, this is a copy, because readers must not see the parts that were cropped away.
    """
    if is_whole(photo):
        return ORIGINAL
    return str(Spec(renditions.widths(size(photo), "jpg")[-1], "jpg", cut=cut(photo)))


def uncut_path(photo: Photo, width: int = 0) -> str:
    """Return the path of an uncropped copy that is about `width` pixels wide.

    If `width` is 0, return the stored file's path. The path is only for editors.
    """
    widths = renditions.widths(photo.metadata.detail.resolution, "jpg")
    path = file_path(photo, str(Spec(_sufficient_width(widths, width), "jpg")) if width else ORIGINAL)
    return path if is_whole(photo) else f"{path}?{FORMER}=1"


def _sufficient_width(widths: Sequence[int], width: int) -> int:
    """Return the first of the ascending `widths` that is at least `width`, or the last one if all are smaller."""
    return next((available for available in widths if available >= width), widths[-1])


def copy_path(photo: Photo, width: int, extension: str = "jpg") -> str:
    """Return the path of a copy that is `width` pixels wide. `width` must be one of the configured widths."""
    return file_path(photo, str(Spec(width, extension, cut=cut(photo))))


def smallest_path(photo: Photo, extension: str = "jpg") -> str:
    """Return the path of the smallest copy that shows the whole visible part of the photo."""
    return copy_path(photo, renditions.widths(size(photo), extension)[0], extension)


def square_path(photo: Photo, width: int, extension: str = "jpg") -> str:
    """Return the path of a square copy, cropped around the photo's focal point."""
    return file_path(photo, str(Spec.square(width, extension, focal(photo), cut(photo))))


def file_path(photo: Photo, spec: str) -> str:
    """Return the path of the photo's file if `spec` is ORIGINAL, or of a copy otherwise."""
    gallery = [photo.parent_id] if photo.parent_id else []
    original = cached_reverse("photo-file", photo.pk, photo.metadata.content_id, *gallery, ORIGINAL)
    return original.removesuffix(ORIGINAL) + spec


def srcset(photo: Photo, extension: str, limit: int | None = None) -> str:
    """Return a srcset with all copies, or only the `limit` smallest copies.

    If the format doesn't support the photo's height, the srcset is "". A copy can be narrower than its nominal width,
    so the srcset contains the actual widths.
    """
    original_size = size(photo)
    return ", ".join(
        f"{copy_path(photo, width, extension)} {scaled(original_size, width)[0]}w"
        for width in renditions.widths(original_size, extension)[:limit]
    )


@dataclass(frozen=True)
class ShareImage:
    """The copy of a photo for link previews and search engines, with the copy's size in pixels."""

    path: str
    width: int
    height: int
    alt: str


# The width, in pixels, that social networks require.
SHARE_WIDTH = 1200


def share_image(photo: Photo) -> ShareImage:
    """Return the JPEG copy of the photo for link previews.

    It is at least SHARE_WIDTH wide, unless the photo is smaller.
    """
    widths = renditions.widths(size(photo), "jpg")
    width = _sufficient_width(widths, SHARE_WIDTH)
    return ShareImage(copy_path(photo, width), *scaled(size(photo), width), photo.metadata.detail.alt)


# The width, in pixels, of photos in the editor.
EDITOR_WIDTH = 640


def editor_copy(photo: Photo) -> tuple[str, int, int]:
    """Return the path, width and height of the JPEG copy that editors see in a text."""
    width = _sufficient_width(renditions.widths(size(photo), "jpg"), EDITOR_WIDTH)
    return (copy_path(photo, width), *scaled(size(photo), width))


def picture(
    photo: Photo, *, sizes: str = SIZES, alt: str | None = None, eager: bool = False, css_class: str = ""
) -> SafeString:
    """Return the photo as a <picture> element with AVIF, WebP and JPEG copies, in the sizes that the layout needs.

    Args:
        photo: The photo.
        sizes: The value of the `sizes` attribute.
        alt: The alternative text. If it is None, the photo's own alternative text is used.
        eager: Whether the photo is visible without scrolling and should therefore load immediately.
        css_class: The CSS class of the <img> element.
    """
    width, height = size(photo)
    widths = renditions.widths((width, height), "jpg")
    return format_html(
        '<picture>{}<img src="{}" srcset="{}" sizes="{}" width="{}" height="{}" alt="{}"{}{}></picture>',
        _sources({extension: srcset(photo, extension) for extension in SMALLER}, sizes),
        copy_path(photo, _sufficient_width(widths, DEFAULT_WIDTH)),
        srcset(photo, "jpg"),
        sizes,
        width,
        height,
        photo.metadata.detail.alt if alt is None else alt,
        _attributes({"class": " ".join(filter(None, [css_class, _tint(photo)]))}),
        SafeString(' fetchpriority="high"') if eager else _LAZY,
    )


def _sources(srcsets: Mapping[str, str], sizes: str) -> SafeString:
    """Return the <source> elements for the formats, without formats whose srcset is empty."""
    return format_html_join(
        "",
        '<source type="{}" srcset="{}" sizes="{}">',
        ((renditions.FORMATS[extension][1], copies, sizes) for extension, copies in srcsets.items() if copies),
    )


def thumbnail(photo: Photo, width: int, *, alt: str | None = None, eager: bool = False) -> SafeString:
    """Return the photo as a square <picture> element.

    Browsers on high-resolution screens load a larger copy if there is one.

    Args:
        photo: The photo.
        width: The width in pixels. It must be one of the configured widths for square copies.
        alt: The alternative text. If it is None, the photo's own alternative text is used.
        eager: Whether the photo is visible without scrolling and should therefore load immediately.
    """
    larger = max((square for square in limits().squares if square > width), default=width)
    srcsets = {
        extension: f"{square_path(photo, width, extension)} 1x, {square_path(photo, larger, extension)} 2x"
        for extension in ("webp", "jpg")
    }
    return format_html(
        '<picture><source type="image/webp" srcset="{}">'
        '<img src="{}" srcset="{}" width="{}" height="{}" alt="{}"{}{}></picture>',
        srcsets["webp"],
        square_path(photo, width),
        srcsets["jpg"],
        width,
        width,
        photo.metadata.detail.alt if alt is None else alt,
        _attributes({"class": _tint(photo)}),
        "" if eager else _LAZY,
    )


# The widest aspect ratio (width to height) of photos in lists, and the width, in pixels, of the largest copy for lists.
WIDEST_IN_LISTS = 1.5
LARGEST_IN_LISTS = 1280
# The focal point of photos without their own: the centre, in tenths of the width and height.
CENTRE_TENTH = 5
# The aspect ratios (width to height), in hundredths, for which the style sheet has a class.
SHAPES = (50, 56, 67, 75, 80, 100, 125, 133, 150, 167, 178, 200, 250, 300)


def cropped_picture(
    photo: Photo, *, sizes: str, alt: str | None = None, eager: bool = False, widest: float = WIDEST_IN_LISTS
) -> SafeString:
    """Return the photo as a <picture> element that fills a box. The style sheet crops it around the focal point.

    Only part of a wide photo is visible. For each copy, the srcset therefore contains the width of the visible part.

    Args:
        photo: The photo.
        sizes: The width of the box, as a value of the `sizes` attribute.
        alt: The alternative text. If it is None, the photo's own alternative text is used.
        eager: Whether the photo is visible without scrolling and should therefore load immediately.
        widest: The widest aspect ratio of the box.
    """
    width, height = size(photo)
    visible_part = min(widest * height / width, 1)

    def visible_width(copy_width: int) -> int:
        return max(int(scaled((width, height), copy_width)[0] * visible_part), 1)

    def visible_srcset(extension: str) -> str:
        widths = renditions.widths((width, height), extension)
        copies = [copy_width for copy_width in widths if copy_width * visible_part <= LARGEST_IN_LISTS] or widths[:1]
        return ", ".join(f"{copy_path(photo, each, extension)} {visible_width(each)}w" for each in copies)

    return format_html(
        '<picture>{}<img src="{}" width="{}" height="{}" alt="{}"{}{}></picture>',
        _sources({extension: visible_srcset(extension) for extension in SMALLER}, sizes),
        copy_path(photo, _sufficient_width(renditions.widths((width, height), "jpg"), LARGEST_IN_LISTS // 2)),
        width,
        height,
        photo.metadata.detail.alt if alt is None else alt,
        _attributes({"class": " ".join(filter(None, [_focus(photo), _tint(photo)]))}),
        SafeString(' fetchpriority="high"') if eager else _LAZY,
    )


def nearest_shape(photo: Photo) -> int:
    """Return the aspect ratio in SHAPES that is closest to the photo's aspect ratio."""
    width, height = size(photo)
    return min(SHAPES, key=lambda shape: abs(math.log(shape / 100 * height / width)))


def _focus(photo: Photo) -> str:
    """Return the CSS classes for the focal point in tenths, such as "across-3 down-7", or "" for the centre."""
    across, down = (round(part * 10) for part in cut(photo).point(focal(photo)))
    return " ".join(
        f"{name}-{tenths}" for name, tenths in (("across", across), ("down", down)) if tenths != CENTRE_TENTH
    )


def _tint(photo: Photo) -> str:
    """Return the CSS classes for the colour shown until the photo has loaded, such as "red-5 green-2 blue-0", or ""."""
    parts = bytes.fromhex((photo.metadata.detail.colour or "").removeprefix("#"))
    return " ".join(f"{name}-{round(part / 25.5)}" for name, part in zip(("red", "green", "blue"), parts, strict=False))


# The number of copies of a header logo: one for normal screens, and one for high-resolution screens.
LOGO_COPIES = 2


def logo_picture(photo: Photo, *, alt: str, css_class: str) -> SafeString:
    """Return the photo as a <picture> element for the header of every page. WebP copies keep the transparency."""
    width, height = size(photo)
    webp, jpeg = (srcset(photo, extension, LOGO_COPIES) for extension in ("webp", "jpg"))
    return format_html(
        '<picture class="{}">{}<img src="{}" srcset="{}" sizes="12rem" width="{}" height="{}" alt="{}"></picture>',
        css_class,
        format_html('<source type="image/webp" srcset="{}" sizes="12rem">', webp) if webp else "",
        copy_path(photo, renditions.widths((width, height), "jpg")[0]),
        jpeg,
        width,
        height,
        alt,
    )


# The names of icons and their sizes in pixels: for browser tabs, for phone home screens, and for larger icons.
ICONS = {"icon": 32, "touch-icon": 180, "large-icon": 512}


def icon_path(photo: Photo, name: str) -> str:
    """Return the path of an icon made from a logo.

    The path contains the photo's crop and rotation, so browsers can cache the icon forever.
    """
    return reverse("look-icon", args=[photo.metadata.content_id, f"{name}{cut(photo)}"])


def _attributes(values: dict[str, Any]) -> SafeString:
    return format_html_join("", ' {}="{}"', ((name, value) for name, value in values.items() if value))


def library_path(gallery_id: Any = None, type: str = PHOTO) -> str:
    """Return the path of the admin's list of photos or files, in one section or in all sections."""
    return reverse(f"admin:nodes_{type}_changelist", query={"section": str(gallery_id)} if gallery_id else None)


def admin_path(asset_id: Any, type: str = PHOTO) -> str:
    """Return the path of the admin page of a photo or file."""
    return reverse(f"admin:nodes_{type}_change", args=[asset_id])


def markdown(photo: Photo) -> str:
    """Return Markdown that embeds the photo in text.

    The Markdown contains the photo's id, so it still works after the photo is moved or renamed.
    """
    alt = re.sub(r"([\\`*_\[\]<>&])", r"\\\1", " ".join(photo.metadata.detail.alt.split()))
    return f"![{alt}](photo:{photo.pk})"
