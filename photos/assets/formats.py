"""Which format a file is, from its first bytes; what its name and sender say about it is only held against it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from django.utils.translation import gettext as _
from PIL import features

from photos.assets import avif, gif, jpeg, png, webp
from photos.assets.errors import BadPicture
from photos.assets.stream import Found, Parser, Source

_BRANDS = {b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIC", b"msf1": "HEIC"}
# As many bytes as tell all of them apart.
HEAD = 64


@dataclass(frozen=True)
class Format:
    """A kind of picture that is taken. `name` is Pillow's for it."""

    name: str
    content_type: str
    extensions: tuple[str, ...]
    parse: Callable[[Source, Found, bool], Parser]


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


def of(head: bytes, filename: str) -> Format:
    """Return the format of a file that begins with `head`. Raises BadPicture, saying what it is, or what is wrong."""
    found = _recognized(head)
    if found is None:
        raise BadPicture(_reason(head))
    extension = PurePath(filename).suffix[1:].lower()
    if extension and extension not in found.extensions:
        raise BadPicture(
            _("The name ends in .%(extension)s, but this is a %(format)s picture. Rename it if it is what you meant.")
            % {"extension": extension, "format": found.name}
        )
    return found


def _recognized(head: bytes) -> Format | None:
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
            raise BadPicture(
                _("AVIF files are not taken: the site's Pillow was built without it. Use JPEG, PNG, WebP or GIF.")
            )
        return AVIF
    return None


def _brands(head: bytes) -> set[bytes]:
    """Return the formats that a file in ISO's container names: the first, and those that it is compatible with."""
    named = head[8 : min(int.from_bytes(head[:4], "big"), len(head))]
    return {named[at : at + 4] for at in range(0, len(named), 4) if at != 4}


def _reason(head: bytes) -> str:
    if not head:
        return _("The file is empty.")
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<svg", b"<?xml")):
        return _("SVG is not taken: it can carry programs. Export it as PNG or WebP.")
    if text.startswith(b"<"):
        return _("This is a web page, not a picture.")
    name = next((name for start, name in _OTHERS if head.startswith(start)), None)
    if head[4:8] == b"ftyp":
        name = _BRANDS.get(head[8:12], "MP4")
    if name:
        return _("%(format)s files are not taken. Use JPEG, PNG, WebP, AVIF or GIF.") % {"format": name}
    return _("The site does not know this kind of picture. Use JPEG, PNG, WebP, AVIF or GIF.")
