"""Data beside the picture in a file: none of it is stored, and none makes the file longer."""

import io
import struct
import zlib

import pytest
from PIL import ExifTags, Image, ImageChops, ImageCms

from photos.assets import exif, icc, images
from photos.assets.cleaning import SLACK, Cleaning
from photos.assets.errors import BadPicture
from photos.assets.limits import Limits
from photos.assets.png import SIGNATURE, chunk
from tests.support.nodes import pictures

WORDS = b"47.3769 N"
# Data that programs and cameras write behind the end, or that attackers could.
BEHIND = {
    "nothing": b"",
    "newline": b"\n",
    "zeros": bytes(3000),
    "Samsung": b"\0\0\1\n\x0e\0\0\0Image_UTC_Data1700000000000SEFHk\0\0\0\1\0\0\0\0\0\1\n#\0\0\0#\0\0\0\x18\0\0\0SEFT",
    "film": b"\0\0\0\x18ftypmp42" + b"film" * 1000,
    "press": b"8BIM\4\4\0\0\0\0\0\x10\x1c\2\x5a\0\x0847.3769\0",
    "picture": pictures.jpeg(),
    "page": b"<!DOCTYPE html><script>alert(1)</script>",
    "archive": b"PK\3\4" + bytes(90),
}
PLAIN = {
    "jpg": lambda: pictures.encoded("JPEG"),
    "png": lambda: pictures.encoded("PNG"),
    "gif": lambda: pictures.gif(),
    "webp": lambda: pictures.encoded("WEBP"),
}


ADOBE = pictures.encoded("JPEG", pictures.image().convert("CMYK"))
MOTION = pictures.encoded("WEBP", save_all=True, append_images=[pictures.image(seed=90)])


def stored(data: bytes, extension: str, step: int = 1 << 16, **limits) -> bytes:
    cleaning = Cleaning(f"a.{extension}", Limits(**limits))
    out = [part for at in range(0, len(data), step) for part in cleaning.feed(data[at : at + step])]
    return b"".join([*out, *cleaning.end()])


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("extension", PLAIN)
def test_bytes_behind_the_end_are_dropped(extension, behind):
    plain = PLAIN[extension]()
    for step in (3, 1 << 16):
        assert stored(plain + BEHIND[behind], extension, step) == stored(plain, extension)


def profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def before_end(png: bytes, *chunks: bytes) -> bytes:
    return png[:-12] + b"".join(chunks) + png[-12:]


def behind_header(png: bytes, *chunks: bytes) -> bytes:
    return png[:33] + b"".join(chunks) + png[33:]


def longer_chunk(data: bytes, name: bytes) -> bytes:
    """Return a WebP with text at the end of its first chunk of a name."""
    at = data.index(name)
    size = int.from_bytes(data[at + 4 : at + 8], "little")
    stop = at + 8 + size
    body = data[8 : at + 4] + struct.pack("<I", size + 10) + data[at + 8 : stop] + WORDS + b"\0" + data[stop:]
    return b"RIFF" + struct.pack("<I", len(body)) + body


def longer_frame(data: bytes) -> bytes:
    """Return an animated WebP with a chunk of text inside its first frame."""
    at = data.index(b"ANMF")
    size = int.from_bytes(data[at + 4 : at + 8], "little")
    stop = at + 8 + size
    more = b"abcd" + struct.pack("<I", 10) + WORDS + b"\0"
    body = data[8 : at + 4] + struct.pack("<I", size + len(more)) + data[at + 8 : stop] + more + data[stop:]
    return b"RIFF" + struct.pack("<I", len(body)) + body


def with_words() -> dict[str, tuple[str, bytes]]:
    """Return pictures with text where a decoder does not look."""
    jpeg, png, gif = pictures.encoded("JPEG"), pictures.encoded("PNG"), pictures.gif()
    at = ADOBE.index(b"\xff\xee")
    size = int.from_bytes(ADOBE[at + 2 : at + 4], "big")
    pixels = png.index(b"IDAT")
    packed = png[pixels + 4 : -16]
    return {
        "APP14": (
            "jpg",
            ADOBE[:at] + pictures.segment(0xEE, ADOBE[at + 4 : at + 2 + size] + WORDS) + ADOBE[at + 2 + size :],
        ),
        "JFIF": ("jpg", jpeg[:2] + pictures.segment(0xE0, jpeg[6:20] + WORDS) + jpeg[20:]),
        "JFIF, twice": ("jpg", jpeg[:20] + pictures.segment(0xE0, b"JFIF\0" + WORDS) + jpeg[20:]),
        "tables behind the last scan": (
            "jpg",
            jpeg[:-2] + pictures.segment(0xDB, b"\0" + WORDS * 7 + b"\0") + jpeg[-2:],
        ),
        "expansion": ("jpg", jpeg[:2] + pictures.segment(0xDF, WORDS) + jpeg[2:]),
        "sPLT": ("png", behind_header(png, chunk(b"sPLT", WORDS + b"\0\x08" + bytes(6)))),
        "hIST": ("png", behind_header(png, chunk(b"hIST", WORDS + b"\0"))),
        "pHYs": ("png", behind_header(png, chunk(b"pHYs", bytes(9) + WORDS))),
        "gAMA, twice": ("png", behind_header(png, chunk(b"gAMA", struct.pack(">I", 45455)), chunk(b"gAMA", WORDS[:4]))),
        "IEND": ("png", png[:-12] + chunk(b"IEND", WORDS)),
        "IDAT": ("png", png[: pixels - 4] + chunk(b"IDAT", packed + WORDS) + png[-12:]),
        "one more IDAT": ("png", before_end(png, chunk(b"IDAT", WORDS))),
        "fdAT": ("png", before_end(png, chunk(b"fdAT", WORDS))),
        "fcTL": ("png", before_end(png, chunk(b"fcTL", bytes(17) + WORDS))),
        "NETSCAPE": ("gif", gif[:-1] + b"\x21\xff\x0bNETSCAPE2.0\x09" + WORDS + b"\0;"),
        "loops": ("gif", gif.replace(b"\3\1\0\0\0", b"\3\1\0\0\x09" + WORDS + b"\0")),
        "control": ("gif", gif.replace(b"\x21\xf9\4", b"\x21\xf9\x09" + WORDS + b"\0\x21\xf9\4")),
        "control, and more": ("gif", gif[:-1] + b"\x21\xf9\4\0\0\0\0\x09" + WORDS + b"\0;"),
        "control without a picture": ("gif", gif[:-1] + b"\x21\xf9\4" + WORDS[:4] + b"\0;"),
        "ANIM": ("webp", longer_chunk(MOTION, b"ANIM")),
        "ANMF": ("webp", longer_frame(MOTION)),
        "one more picture": (
            "webp",
            riff(pictures.encoded("WEBP")[12:] + b"VP8 " + struct.pack("<I", 10) + WORDS + b"\0"),
        ),
    }


def riff(chunks: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks


WITH_WORDS = with_words()


@pytest.mark.parametrize("part", WITH_WORDS)
def test_each_part_is_stored_at_its_specified_length(part):
    extension, data = WITH_WORDS[part]
    assert WORDS[:4] in data
    after = stored(data, extension)
    assert WORDS[:4] not in after
    assert stored(data, extension, 1) == after == stored(after, extension)
    plain = {"APP14": ADOBE, "ANIM": MOTION, "ANMF": MOTION}.get(part) or PLAIN[extension]()
    with Image.open(io.BytesIO(plain)) as before, Image.open(io.BytesIO(after)) as image:
        assert ImageChops.difference(image.convert("RGB"), before.convert("RGB")).getbbox() is None
        assert getattr(image, "n_frames", 1) == getattr(before, "n_frames", 1)


def exif_of_shared_values(length: int) -> bytes:
    """Return a TIFF block in which all kept texts share the same bytes."""
    tags = sorted({exif.Base.Make, exif.Base.Model, exif.Base.Software, exif.Base.Artist, exif.Base.Copyright})
    at = 10 + 12 * len(tags) + 4
    entries = [struct.pack("<HHII", tag, 2, length, at) for tag in tags]
    return (
        b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(entries) + bytes(4) + b"x" * (length - 1) + b"\0"
    )


def hostile() -> dict[str, tuple[str, bytes]]:
    """Return files built to be stored larger than they came, one or more per format."""
    jpeg, png = pictures.encoded("JPEG"), pictures.encoded("PNG")
    table = b"mft2" + bytes(2_000_000)
    large = bytearray(profile()[:128] + struct.pack(">I4sII", 1, b"A2B0", 144, len(table)) + table)
    large[:4] = len(large).to_bytes(4, "big")
    packer = zlib.compressobj(9, memLevel=9)
    packed = packer.compress(large) + packer.flush()
    block = exif_of_shared_values(30_000)
    part = pictures.segment(0xE2, b"ICC_PROFILE\0\1\1" + profile())
    parts = [large[at : at + 65_519] for at in range(0, len(large), 65_519)]
    segments = [
        pictures.segment(0xE2, b"ICC_PROFILE\0" + bytes((n, len(parts))) + one) for n, one in enumerate(parts, 1)
    ]
    return {
        "JPEG whose profile is complete again and again": (
            "jpg",
            jpeg[:2] + part + pictures.segment(0xE2, b"ICC_PROFILE\0\2\1") * 5_000 + jpeg[2:],
        ),
        "JPEG whose profile comes in the longest segments": ("jpg", jpeg[:2] + b"".join(segments) + jpeg[2:]),
        "JPEG of shortest heads": ("jpg", jpeg[:2] + pictures.segment(0xE0, b"JFIF\0") * 10_000 + jpeg[2:]),
        "JPEG of shared EXIF": ("jpg", jpeg[:2] + pictures.segment(0xE1, b"Exif\0\0" + block) + jpeg[2:]),
        "PNG of shared EXIF": ("png", behind_header(png, chunk(b"eXIf", block))),
        "PNG of a packed profile": ("png", behind_header(png, chunk(b"iCCP", b"x\0\0" + packed))),
        "PNG of many profiles": ("png", behind_header(png, *[chunk(b"iCCP", b"x\0\0" + packed)] * 50)),
        "GIF of blocks of one byte": ("gif", pictures.gif()[:-1] + b"\x21\xf9" + b"\1x" * 20_000 + b"\0;"),
        "WebP of shared EXIF": (
            "webp",
            riff(pictures.encoded("WEBP")[12:] + b"EXIF" + struct.pack("<I", len(block)) + block),
        ),
        "AVIF of shared EXIF": ("avif", pictures.encoded("AVIF", exif=b"Exif\0\0" + block)),
    }


HOSTILE = hostile()


@pytest.mark.filterwarnings("ignore:Tag data larger")
@pytest.mark.parametrize("kind", HOSTILE)
def test_stored_size_exceeds_the_input_by_a_constant_at_most(kind):
    extension, data = HOSTILE[kind]
    cleaning, length = Cleaning(f"a.{extension}"), 0
    try:
        for at in range(0, len(data), 1 << 16):
            length += sum(map(len, cleaning.feed(data[at : at + (1 << 16)])))
        length += sum(map(len, cleaning.end()))
    except BadPicture:
        pass
    assert length <= len(data) + SLACK


def test_parser_that_yields_too_much_is_stopped(monkeypatch):
    """The limit does not rely on the parser of a format."""
    monkeypatch.setattr(exif, "to_store", lambda block, keep: block * 300)
    with pytest.raises(BadPicture):
        stored(pictures.png(), "png")


def test_only_the_first_colour_profile_of_a_png_is_unpacked(monkeypatch):
    seen = []
    monkeypatch.setattr(icc, "clean", lambda data: seen.append(data) or data)
    one = chunk(b"iCCP", b"x\0\0" + zlib.compress(profile()))
    stored(behind_header(pictures.encoded("PNG"), *[one] * 100), "png")
    assert len(seen) == 1


@pytest.mark.filterwarnings("ignore:Corrupt EXIF", "ignore:Metadata Warning")
@pytest.mark.parametrize("type", pictures.TIFF_TYPES)
def test_exif_values_of_every_type_are_accepted(type):
    tags = [(tag, False) for tag in exif.ROOT_TAGS] + [(tag, True) for tag in exif.EXIF_TAGS]
    for tag, inner in tags:
        block = pictures.exif_block(tag, type, inner=inner)
        for keep in (False, True):
            kept = exif.to_store(block, keep)
            exif.properties(block), exif.description(block), exif.orientation(block)
            if kept:
                Image.Exif().load(b"Exif\0\0" + kept)
                assert exif.orientation(kept) == exif.orientation(block)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("block", [b"", b"II*\0", b"x" * 99, bytes(99)], ids=["empty", "short", "words", "zeros"])
@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_webp_with_broken_exif_can_be_decoded(block, keep):
    data = riff(vp8x(0x08) + pictures.encoded("WEBP")[12:] + b"EXIF" + struct.pack("<I", len(block)) + padded(block))
    shown(stored(data, "webp", keep_location=keep))


def test_webp_with_only_a_location_can_be_decoded():
    block = Image.Exif()
    block.get_ifd(ExifTags.IFD.GPSInfo)[1] = "N"
    after = stored(pictures.encoded("WEBP", exif=block), "webp")
    assert b"EXIF" not in after
    shown(after)


def test_picture_is_rotated_by_the_stored_exif():
    """EXIF that is too long is dropped, so copies are oriented like the pixels."""
    block = pictures.exif(6).tobytes()[6:]
    for behind, size in ((b"", (40, 60)), (bytes(70_000), (60, 40))):
        cleaning = Cleaning("a.png")
        data = behind_header(pictures.encoded("PNG"), chunk(b"eXIf", block + behind))
        made = io.BytesIO(b"".join([*cleaning.feed(data), *cleaning.end()]))
        assert cleaning.format
        assert images.inspect(made, cleaning.format, cleaning.facts, cleaning.limits).size == size


def padded(data: bytes) -> bytes:
    return data + bytes(len(data) & 1)


def vp8x(flags: int) -> bytes:
    return b"VP8X" + struct.pack("<I", 10) + bytes((flags, 0, 0, 0)) + bytes((59, 0, 0, 39, 0, 0))


def shown(webp: bytes) -> None:
    copy = images.resize(io.BytesIO(webp), "WEBP", Limits(), width=20, height=None, focal=(0.5, 0.5), to="WEBP")
    with Image.open(io.BytesIO(copy)) as image:
        assert image.size == (20, 13)


def test_unusual_png_chunks_and_interlacing_are_accepted():
    plain = pictures.encoded("PNG")
    at = plain.index(b"IDAT")
    packed = plain[at + 4 : -16]
    cut = plain[: at - 4] + b"".join(chunk(b"IDAT", packed[n : n + 1]) for n in range(len(packed))) + plain[-12:]
    assert stored(cut, "png") == cut
    woven = interlaced()
    assert stored(woven, "png") == woven
    with Image.open(io.BytesIO(woven)) as image:
        image.load()


def interlaced() -> bytes:
    """Return an interlaced PNG of 3 × 3 grey pixels of one bit, with two empty passes."""
    header = struct.pack(">IIBBBBB", 3, 3, 1, 0, 0, 0, 1)
    lines = [1, 0, 0, 1, 1, 2, 1]
    packed = zlib.compress(b"\0\0" * sum(lines))
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
