"""Detection of a file's format from its first bytes. The file's extension must match.

The type sent by clients is ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from django.utils.translation import gettext as _
from PIL import features

from photos.assets import avif, gif, jpeg, png, webp
from photos.assets.errors import BadPicture
from photos.assets.stream import ImageFacts, Parser, Source

_BRANDS = {b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIC", b"msf1": "HEIC"}
# The number of bytes that are needed to distinguish all formats.
HEAD_SIZE = 64


@dataclass(frozen=True)
class Format:
    """An accepted image format. `name` is Pillow's name for the format."""

    name: str
    content_type: str
    extensions: tuple[str, ...]
    parse: Callable[[Source, ImageFacts, bool], Parser]


JPEG = Format("JPEG", "image/jpeg", ("jpg", "jpeg", "jpe", "jfif"), jpeg.parse)
PNG = Format("PNG", "image/png", ("png", "apng"), png.parse)
WEBP = Format("WEBP", "image/webp", ("webp",), webp.parse)
GIF = Format("GIF", "image/gif", ("gif",), gif.parse)
AVIF = Format("AVIF", "image/avif", ("avif",), avif.parse)
FORMATS = (JPEG, PNG, WEBP, GIF, AVIF)

_OTHERS = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"BM", "BMP"),
    (b"8BPS", "Photoshop"),
    (b"\0\0\1\0", "ICO"),
    (b"MZ", "EXE"),
    (b"\x7fELF", "ELF"),
    (b"\x1f\x8b", "gzip"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cjP", "JPEG 2000"),
)


def detect(head: bytes, filename: str) -> Format:
    """Return the format of a file that begins with `head`.

    Raises:
        BadPicture: The site doesn't accept the format, or the extension is for a different format.
    """
    format = _recognize(head)
    if format is None:
        raise BadPicture(_reason(head))
    extension = PurePath(filename).suffix[1:].lower()
    if extension and extension not in format.extensions:
        raise BadPicture(
            _(
                "The file name ends in .%(extension)s, but the file format is %(format)s. If this is "
                "the right file, rename it and upload it again."
            )
            % {"extension": extension, "format": format.name}
        )
    return format


def _recognize(head: bytes) -> Format | None:
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(png.SIGNATURE):
        return PNG
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return GIF
    if head[4:8] == b"ftyp" and _brands(head) & {b"avif", b"avis"}:
        if not features.check("avif"):
            raise BadPicture(_("AVIF files aren't supported on this server. Use JPEG, PNG, WebP or GIF."))
        return AVIF
    return None


def _brands(head: bytes) -> set[bytes]:
    """Return the brands of an ISO container file: its major brand and its compatible brands."""
    brands = head[8 : min(int.from_bytes(head[:4], "big"), len(head))]
    # Skip the four bytes after the major brand, which are its version number.
    return {brands[start : start + 4] for start in range(0, len(brands), 4) if start != 4}


def _reason(head: bytes) -> str:
    if not head:
        return _("This file is empty. Choose another one.")
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<svg", b"<?xml")):
        return _("SVG files aren't accepted, because they can contain scripts. Export the image as PNG or WebP.")
    if text.startswith(b"<"):
        return _("This is a web page, not a photo.")
    name = next((name for start, name in _OTHERS if head.startswith(start)), None)
    if head[4:8] == b"ftyp":
        name = _BRANDS.get(head[8:12], "MP4")
    if name:
        return _("%(format)s files aren't accepted. Use JPEG, PNG, WebP, AVIF or GIF.") % {"format": name}
    return _("This file format isn't supported. Use JPEG, PNG, WebP, AVIF or GIF.")
