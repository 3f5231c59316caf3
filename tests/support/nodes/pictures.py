"""Small generated pictures with every kind of metadata, and building blocks for malformed pictures."""

import io
import struct
from typing import Any

from PIL import ExifTags, Image, ImageDraw, PngImagePlugin

Base, GPS, IFD = ExifTags.Base, ExifTags.GPS, ExifTags.IFD

# Private metadata that must never be stored or served, such as serial numbers, names and locations.
SECRETS = (b"SN-4711-BODY", b"SN-0815-LENS", b"OWNER-NAME", b"MAKER-NOTE", b"GPS-AREA", b"47.3769", b"GPSLatitude")


def exif(orientation: int = 1, **more: Any) -> Image.Exif:
    """Return EXIF data like a camera's, including a location and serial numbers."""
    block = Image.Exif()
    block[Base.Make], block[Base.Model], block[Base.Orientation] = "Nikon", "Nikon Z 8", orientation
    block[Base.DateTime], block[Base.ImageDescription] = "2024:06:01 12:00:00", more.get("description", "A lake")
    for name in ("artist", "copyright"):
        if name in more:
            block[Base[name.capitalize()]] = more[name]
    inner = block.get_ifd(IFD.Exif)
    inner[Base.DateTimeOriginal], inner[Base.LensModel] = "2024:05:31 18:30:00", "Z 50mm f/1.8 S"
    inner[Base.FocalLength], inner[Base.FNumber], inner[Base.ISOSpeedRatings] = 50.0, 1.8, 400
    inner[Base.ExposureTime] = 1 / 250
    inner[Base.BodySerialNumber], inner[Base.LensSerialNumber] = "SN-4711-BODY", "SN-0815-LENS"
    inner[Base.CameraOwnerName], inner[Base.MakerNote] = "OWNER-NAME", b"MAKER-NOTE"
    place = block.get_ifd(IFD.GPSInfo)
    place[GPS.GPSLatitudeRef], place[GPS.GPSLatitude] = "N", (47.0, 22.0, 36.84)
    place[GPS.GPSAreaInformation] = b"GPS-AREA"
    return block


def exif_with(tag: int, type: int, data: bytes) -> bytes:
    """Return the TIFF block of `exif()` with a changed value for an Exif IFD tag. `type` is a TIFF type number."""
    block = bytearray(exif().tobytes()[6:])
    order = ">" if block.startswith(b"MM") else "<"
    size = {2: 1, 5: 8, 10: 8, 12: 8}[type]
    (first,) = struct.unpack_from(f"{order}I", block, 4)
    (inner,) = struct.unpack_from(f"{order}I", block, _entry(block, first, IFD.Exif, order) + 8)
    offset = _entry(block, inner, tag, order)
    struct.pack_into(f"{order}HII", block, offset + 2, type, len(data) // size, len(block))
    return bytes(block) + data


def _entry(block: bytes | bytearray, start: int, tag: int, order: str) -> int:
    (count,) = struct.unpack_from(f"{order}H", block, start)
    offsets = [start + 2 + 12 * number for number in range(count)]
    return next(offset for offset in offsets if struct.unpack_from(f"{order}H", block, offset)[0] == tag)


# Size of a value in bytes, by its type number (TIFF 6.0, section 2).
TIFF_TYPES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}


def exif_block(tag: int, type: int, *, inner: bool) -> bytes:
    """Return a TIFF block with one value of a given type, in the first IFD or, if `inner` is true, in the Exif IFD."""
    size = TIFF_TYPES[type]
    data = struct.pack("<II", 1, 2)[:size].ljust(8, b"\1")
    entry = struct.pack("<HHII", tag, type, 1, 64) if size > 4 else struct.pack("<HHI", tag, type, 1) + data[:4]
    values = struct.pack("<H", 1) + entry + bytes(4)
    first = struct.pack("<HHHII", 1, IFD.Exif, 4, 1, 40) + bytes(4) if inner else values
    return (b"II*\0\x08\0\0\0" + first).ljust(40, b"\0") + values.ljust(24, b"\0") + data


XMP = (
    b'<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><exif:GPSLatitude>47.3769'
    b"</exif:GPSLatitude><aux:SerialNumber>SN-4711-BODY</aux:SerialNumber></x:xmpmeta>"
)
IPTC = b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x10\x1c\x02\x5a\0\x0847.3769\0"


def image(size: tuple[int, int] = (60, 40), mode: str = "RGB", seed: int = 0) -> Image.Image:
    """Return an image with a dark left half, a bright right half, and a red mark in the top left corner."""
    picture = Image.new(mode, size, 0)
    draw = ImageDraw.Draw(picture)
    colour: Any = {"L": 200, "P": 200, "1": 1}.get(mode, (200, 200, 200 - seed % 100, 255)[: len(picture.getbands())])
    draw.rectangle((size[0] // 2, 0, size[0], size[1]), fill=colour)
    if len(picture.getbands()) >= 3:
        draw.rectangle((0, 0, size[0] // 5, size[1] // 5), fill=(255, seed % 100, 0, 255)[: len(picture.getbands())])
    return picture


def encoded(format: str = "JPEG", picture: Image.Image | None = None, **options: Any) -> bytes:
    target = io.BytesIO()
    (picture or image()).save(target, format, **options)
    return target.getvalue()


def jpeg(orientation: int = 1, picture: Image.Image | None = None, **options: Any) -> bytes:
    """Return a JPEG with EXIF, XMP and IPTC data and a comment, all of which reveal the location."""
    plain = encoded("JPEG", picture, exif=exif(orientation, **options), comment=b"47.3769", quality=90)
    xmp = b"http://ns.adobe.com/xap/1.0/\0" + XMP
    return plain[:2] + segment(0xE1, xmp) + segment(0xED, IPTC) + plain[2:]


def segment(code: int, body: bytes) -> bytes:
    return bytes((0xFF, code)) + (len(body) + 2).to_bytes(2, "big") + body


def png(orientation: int = 1, picture: Image.Image | None = None) -> bytes:
    """Return a PNG with text chunks before the pixels and EXIF data after the pixels."""
    from photos.assets.png import chunk

    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "47.3769")
    info.add_itxt("XML:com.adobe.xmp", XMP.decode())
    plain = encoded("PNG", picture, pnginfo=info)
    end = plain.rindex(b"IEND") - 4
    return plain[:end] + chunk(b"eXIf", exif(orientation).tobytes()[6:]) + plain[end:]


def webp(orientation: int = 1, picture: Image.Image | None = None, **options: Any) -> bytes:
    return encoded("WEBP", picture, exif=exif(orientation), xmp=XMP, **options)


def avif(orientation: int = 1, picture: Image.Image | None = None, **options: Any) -> bytes:
    return encoded("AVIF", picture, exif=exif(orientation), xmp=XMP, **options)


def box(name: bytes, *parts: bytes) -> bytes:
    """Return a box as defined by the ISO base media file format."""
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), name) + body


def avif_grid(size: tuple[int, int] = (128, 64), behind: bytes = b"", **options: Any) -> bytes:
    """Return an AVIF grid of two identical cells, followed by the bytes `behind`, which don't belong to any item."""
    cell = encoded("AVIF", image((64, 64)), **options)
    data, coder = cell[cell.index(b"mdat") + 4 :], cell[(at := cell.index(b"av1C") - 4) : at + 12]
    head, pixels = box(b"ftyp", b"avif", bytes(4), b"avifmif1miaf"), box(b"pixi", bytes(4), b"\3\x08\x08\x08")
    entries = [struct.pack(">IHH4sx", 2 << 24, n, 0, b"av01" if n > 1 else b"grid") for n in (1, 2, 3)]
    wide, narrow = (box(b"ispe", bytes(4), struct.pack(">II", *extent)) for extent in (size, (64, 64)))
    known = b"\0\1\2\1\2" + b"".join(struct.pack(">HB3B", n, 3, 3, 2, 0x84) for n in (2, 3))

    def meta(start: int) -> bytes:
        places = [struct.pack(">HHHHII", n, 0, 0, 1, start, len(data)) for n in (2, 3)]
        return box(
            b"meta",
            bytes(4),
            box(b"hdlr", bytes(8), b"pict", bytes(12), b"47.3769\0"),
            box(b"pitm", bytes(4), b"\0\1"),
            box(b"iloc", b"\1\0\0\0\x44\0\0\3", struct.pack(">HHHHII", 1, 1, 0, 1, 0, 8), *places),
            box(b"iinf", bytes(4), b"\0\3", *(box(b"infe", entry) for entry in entries)),
            box(b"iref", bytes(4), box(b"dimg", struct.pack(">4H", 1, 2, 2, 3))),
            box(b"iprp", box(b"ipco", wide, pixels, narrow, coder), box(b"ipma", bytes(4), b"\0\0\0\3", known)),
            box(b"idat", b"\0\0\0\1", struct.pack(">HH", *size), b"47.3769"),
        )

    return head + meta(len(head) + len(meta(0)) + 8) + box(b"mdat", data, behind)


def gif(frames: int = 3) -> bytes:
    pictures = [image(seed=i).convert("P") for i in range(frames)]
    return encoded(
        "GIF",
        pictures[0],
        save_all=True,
        append_images=pictures[1:],
        comment=b"47.3769 SN-4711-BODY",
        loop=0,
        duration=50,
    )
