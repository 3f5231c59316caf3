"""Invalid pictures: each is refused with a reason, and stores nothing. Barely valid ones are accepted."""

import struct
import zlib

import pytest
from PIL import ImageCms, features

from cms.testing import build
from photos.assets.errors import BadPicture
from photos.assets.png import SIGNATURE, chunk
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, gallery, send, upload

pytestmark = pytest.mark.usefixtures("mongo")


def _jpeg_of_size(width: int, height: int) -> bytes:
    plain = pictures.encoded("JPEG")
    at = plain.index(b"\xff\xc0") + 5
    return plain[:at] + struct.pack(">HH", height, width) + plain[at + 4 :]


def _png_of_size(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def _png_of_frames(width: int, height: int, *counts: int) -> bytes:
    """Return an animation that declares several numbers of frames. A decoder believes the first."""
    plain = _png_of_size(width, height)
    said = [chunk(b"acTL", struct.pack(">II", count, 0)) for count in counts]
    return plain[:33] + said[0] + plain[33:-12] + b"".join(said[1:]) + plain[-12:]


def _bad() -> dict[str, tuple[str, bytes, str]]:
    """Return 30 or more files by their defect: name, bytes, words of the refusal."""
    jpeg, png, webp, gif = pictures.jpeg(), pictures.png(), pictures.webp(), pictures.gif()
    avif = pictures.encoded("AVIF")
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    html = b"<!DOCTYPE html><html><script>alert(1)</script></html>"
    comment = pictures.segment(0xFE, html)
    return {
        "nothing": ("a.jpg", b"", "empty"),
        "text": ("a.jpg", b"Lorem ipsum dolor sit amet" * 9, "format isn't supported"),
        "SVG": ("a.svg", svg, "SVG"),
        "SVG as PNG": ("a.png", b'<?xml version="1.0"?>\n' + svg, "SVG"),
        "SVG behind a byte order mark": ("a.jpg", b"\xef\xbb\xbf  " + svg, "SVG"),
        "HTML as JPEG": ("a.jpg", html * 5, "web page"),
        "PDF": ("a.jpg", b"%PDF-1.7\n" + bytes(90), "PDF"),
        "ZIP": ("a.png", b"PK\x03\x04" + bytes(90), "ZIP"),
        "program": ("a.gif", b"MZ\x90\0" + bytes(90), "EXE"),
        "TIFF": ("a.tif", b"II*\0" + bytes(90), "TIFF"),
        "BMP": ("a.bmp", pictures.encoded("BMP"), "BMP"),
        "icon": ("a.ico", b"\0\0\1\0" + bytes(90), "ICO"),
        "film": ("a.jpg", b"\0\0\0\x18ftypisom" + bytes(90), "MP4"),
        "an AVIF that says that it is animated": ("a.avif", b"\0\0\0\x18ftypavis" + bytes(90), "Animated AVIF"),
        "animated AVIF": (
            "a.avif",
            pictures.encoded("AVIF", save_all=True, append_images=[pictures.image(seed=1)]).replace(
                b"avis", b"avif", 1
            ),
            "Animated AVIF",
        ),
        "AVIF named JPEG": ("a.jpg", avif, "file format is AVIF"),
        "AVIF cut in its pixels": ("a.avif", avif[:-20], "incomplete"),
        "AVIF of no pixels": ("a.avif", avif[: avif.index(b"mdat") - 4], "incomplete"),
        "AVIF without its head": ("a.avif", avif[:32] + avif[avif.index(b"mdat") - 4 :], "damaged"),
        "AVIF with two heads": ("a.avif", avif[: avif.index(b"mdat") - 4] + avif[32:], "damaged"),
        "AVIF of 4 gigapixels": ("a.avif", _avif_of_size(65_000, 65_000), "megapixels. Save it"),
        "AVIF of much memory": ("a.avif", _avif_of_size(8_000, 5_000), "memory"),
        "AVIF of 60 × 40 that says 30 × 20": ("a.avif", _avif_of_size(30, 20), "dimensions"),
        "AVIF of more than it says": ("a.avif", _patched(avif, b"av1C", 6, b"\x4c"), "dimensions"),
        "AVIF of a grid that its cells do not fill": ("a.avif", pictures.avif_grid((9_000, 64)), "damaged"),
        "AVIF that is no still picture": ("a.avif", _avif_in_motion(), "single still image"),
        "AVIF of two frames": ("a.avif", _avif_of_frames(2), "single still image"),
        "AVIF of ten thousand frames": ("a.avif", _avif_of_frames(10_000), "single still image"),
        "AVIF that is cropped": ("a.avif", _avif_cropped(), "cropping or layers"),
        "AVIF of pieces without number": ("a.avif", _avif_of_pieces(), "damaged"),
        "AVIF with a page in its head": (
            "a.avif",
            pictures.avif_grid().replace(b"47.3769\0", b"<script>", 1),
            "web page",
        ),
        "AVIF with an archive behind": ("a.avif", avif + b"PK\x03\x04" + bytes(90), "incomplete"),
        "HEIC of no maker": ("a.heic", b"\0\0\0\x18ftypmif1\0\0\0\0heicmiaf" + bytes(90), "HEIC files"),
        "HEIC": ("a.heic", b"\0\0\0\x18ftypheic" + bytes(90), "HEIC"),
        "PNG named JPEG": ("a.jpg", png, "file format is PNG"),
        "JPEG named PNG": ("a.png", jpeg, "file format is JPEG"),
        "GIF named HTML": ("a.html", gif, "file format is GIF"),
        "JPEG cut in its head": ("a.jpg", jpeg[:300], "incomplete"),
        "JPEG cut in its pixels": ("a.jpg", jpeg[:-40], "incomplete"),
        "JPEG without its end": ("a.jpg", jpeg[:-2], "incomplete"),
        "JPEG of nothing": ("a.jpg", b"\xff\xd8\xff\xd9" + bytes(90), "no image"),
        "JPEG with a torn segment": ("a.jpg", jpeg[:2] + b"\xff\xe1\0\1" + jpeg[2:], "damaged"),
        "JPEG of no height": ("a.jpg", _jpeg_of_size(60, 0), "dimensions"),
        "JPEG of 4 gigapixels": ("a.jpg", _jpeg_of_size(65_000, 65_000), "megapixels. Save it"),
        "JPEG of a hundred scans of 100 megapixels": ("a.jpg", _jpeg_of_scans(100), "too many scans"),
        "JPEG of a scan a colour and of 119 megapixels": ("a.jpg", _jpeg_of_single_colours(), "memory"),
        "JPEG with a colour profile twice": ("a.jpg", jpeg[:2] + 2 * _profile() + jpeg[2:], "damaged"),
        "JPEG with a part behind its colour profile": (
            "a.jpg",
            jpeg[:2] + _profile() + pictures.segment(0xE2, b"ICC_PROFILE\0\2\1") + jpeg[2:],
            "damaged",
        ),
        "JPEG of empty segments": (
            "a.jpg",
            jpeg[:2] + pictures.segment(0xE5, b"") * 20_000 + jpeg[2:],
            "too many parts",
        ),
        "JPEG of fillers": ("a.jpg", jpeg[:2] + b"\xff" * 60_000 + jpeg[2:], "too many parts"),
        "JPEG with words in a table": ("a.jpg", _longer_tables(jpeg), "damaged"),
        "JPEG of tables that are not used": (
            "a.jpg",
            jpeg[:2] + pictures.segment(0xDB, bytes(65)) * 100 + jpeg[2:],
            "damaged",
        ),
        "JPEG with a scan that is not shown": ("a.jpg", _scanned_twice(), "damaged"),
        "JPEG with a page in its comment": ("a.jpg", jpeg[:2] + comment + jpeg[2:], "web page or a script"),
        "PNG cut in its pixels": ("a.png", png[: len(png) // 2], "incomplete|damaged"),
        "PNG without its end": ("a.png", png[:-12], "incomplete"),
        "PNG with a wrong check sum": ("a.png", png.replace(b"IDAT", b"IDAT\x01", 1), "damaged"),
        "PNG of 10 gigapixels": ("a.png", _png_of_size(100_000, 100_000), "megapixels. Save it"),
        "PNG of much memory": ("a.png", _png_of_size(10_000, 11_000), "memory"),
        "PNG of 25 megapixels, 599 times, it says, and then that it is one": (
            "a.png",
            _png_of_frames(5000, 5000, 599, 1),
            "in total",
        ),
        "PNG of too many pixels": (
            "a.png",
            SIGNATURE + _header(8, 8) + chunk(b"IDAT", zlib.compress(bytes(201))) + chunk(b"IEND", b""),
            "damaged",
        ),
        "PNG of a frame beyond its edge": ("a.png", _png_with_frame(61, 40), "PNG file is damaged"),
        "PNG of empty chunks": ("a.png", png[:33] + chunk(b"abCd", b"") * 40_000 + png[33:], "too many parts"),
        "PNG of too few pixels": ("a.png", _png_of_size(500, 500), "damaged"),
        "PNG with a program in a text": (
            "a.png",
            png[:33] + chunk(b"tEXt", b"a\0<?php x") + png[33:],
            "web page or a script",
        ),
        "WebP cut in its pixels": ("a.webp", webp[:100], "incomplete|damaged"),
        "WebP of empty chunks": ("a.webp", _webp_of_chunks(60_000), "too many parts"),
        "WebP of no picture": ("a.webp", b"RIFF\x0c\0\0\0WEBPEXIF\0\0\0\0" + bytes(64), "no image"),
        "GIF cut in its pixels": ("a.gif", gif[:100], "incomplete"),
        "GIF of 4 gigapixels": ("a.gif", gif[:6] + b"\xff\xff\xff\xff" + gif[10:], "megapixels. Save it"),
        "GIF of blocks of one byte": ("a.gif", gif[:-1] + b"\x21\xfe" + b"\1x" * 60_000 + b"\0;", "too many parts"),
        "GIF of 700 pictures": ("a.gif", pictures.gif(2)[:-1] + _frame_of_gif() * 700 + b";", "frames"),
        "GIF of 9 megapixels, 500 times": ("a.gif", _gif_of_size(3000, 3000, 500), "have 4500 megapixels in total"),
        "GIF of a frame beyond its edge": (
            "a.gif",
            gif[:-1] + _frame_of_gif(12_000, 9_000) + b";",
            "GIF file is damaged",
        ),
        "WebP of 25 megapixels, 599 times": ("a.webp", _webp_of_size(5000, 5000, 599), "in total"),
    }


def _jpeg_of_scans(count: int) -> bytes:
    """Return a grey JPEG of 100 megapixels whose scans refine nothing, but each makes a decoder process all of it."""
    plain = pictures.encoded("JPEG", pictures.image(mode="L"), progressive=True)
    at = plain.index(b"\xff\xc2") + 5
    plain = plain[:at] + struct.pack(">HH", 10_000, 10_000) + plain[at + 4 :]
    return (
        plain[:-2]
        + (pictures.segment(0xDA, b"\1\1\0\1\x3f\0") + b"\0") * (count - plain.count(b"\xff\xda"))
        + plain[-2:]
    )


def _jpeg_of_single_colours() -> bytes:
    """Return the head of a JPEG of 119 megapixels whose first scan has only one of its three colours."""
    plain = _jpeg_of_size(10_900, 10_900)
    return plain[: plain.index(b"\xff\xda")] + pictures.segment(0xDA, b"\1\1\0\0\x3f\0") + bytes(90)


def _profile() -> bytes:
    return pictures.segment(
        0xE2, b"ICC_PROFILE\0\1\1" + ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    )


def _longer_tables(jpeg: bytes) -> bytes:
    return jpeg[:-2] + pictures.segment(0xDB, b"47.3769" * 100) + jpeg[-2:]


def _scanned_twice() -> bytes:
    plain = pictures.encoded("JPEG")
    scan = plain[plain.index(b"\xff\xda") : -2]
    return plain[:-2] + scan + plain[-2:]


def _header(width: int, height: int) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def _png_with_frame(width: int, height: int) -> bytes:
    """Return a still picture of 60 × 40 with one more frame of a given size."""
    plain = pictures.encoded("PNG")
    frame = chunk(b"fcTL", struct.pack(">5IHHBB", 0, width, height, 0, 0, 1, 1, 0, 0))
    return plain[:33] + chunk(b"acTL", struct.pack(">II", 1, 0)) + plain[33:-12] + frame + plain[-12:]


def _webp_of_chunks(count: int) -> bytes:
    body = pictures.encoded("WEBP")[8:] + b"abcd\0\0\0\0" * count
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _frame_of_gif(width: int = 1, height: int = 1) -> bytes:
    return struct.pack("<BHHHHB", 0x2C, 0, 0, width, height, 0) + b"\2\2\x44\1\0"


def _gif_of_size(width: int, height: int, frames: int) -> bytes:
    plain = pictures.gif(2)
    return plain[:6] + struct.pack("<HH", width, height) + plain[10:-1] + _frame_of_gif() * (frames - 2) + b";"


def _webp_of_size(width: int, height: int, frames: int) -> bytes:
    """Return an animation in which every later frame changes one pixel: a few bytes that cost a whole picture."""
    pixel = pictures.encoded("WEBP", pictures.image((1, 1)), lossless=True)[12:]
    canvas = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    frame = b"ANMF" + struct.pack("<I", 16 + len(pixel)) + bytes(12) + b"\x0a\0\0\0" + pixel
    head = b"VP8X" + struct.pack("<I", 10) + b"\x12\0\0\0" + canvas + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    body = b"WEBP" + head + frame * frames
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _avif_of_size(width: int, height: int) -> bytes:
    """Return an AVIF of 60 × 40 whose container declares another size."""
    return _patched(pictures.encoded("AVIF"), b"ispe", 8, struct.pack(">II", width, height))


def _avif_of_frames(count: int) -> bytes:
    """Return an AVIF whose single picture is coded in many frames, of which all but the last are decoded in vain."""
    plain = pictures.encoded("AVIF")
    start = plain.index(b"mdat") + 4
    frame = plain[start + 13 :]
    more = frame * (count - 1)
    longer = _patched(plain, b"mdat", -4, struct.pack(">I", len(plain) - start + 8 + len(more))) + more
    return _patched(longer, b"iloc", 22, struct.pack(">I", len(plain) - start + len(more)))


def _avif_in_motion() -> bytes:
    """Return an AVIF whose picture announces more frames: it is neither still nor has the short header."""
    plain = pictures.encoded("AVIF")
    at = plain.index(b"mdat") + 8
    return plain[:at] + bytes((plain[at] & 0xE7,)) + plain[at + 1 :]


def _avif_cropped() -> bytes:
    plain = pictures.encoded("AVIF").replace(b"pixi", b"clap")
    return plain.replace(b"\0\0\0\1\0\1\4\1\2\x83\4", b"\0\0\0\1\0\1\4\1\x82\x83\4")


def _avif_of_pieces() -> bytes:
    """Return an AVIF that declares 65,535 pieces of its picture, whose offsets take no bytes."""
    return _patched(pictures.encoded("AVIF"), b"iloc", 8, b"\0\0\0\1\0\1\0\0\xff\xff")


def _patched(data: bytes, name: bytes, at: int, new: bytes) -> bytes:
    """Return the file with bytes replaced at an offset from the start of a box's name."""
    start = data.index(name) + at
    return data[:start] + new + data[start + len(new) :]


BAD = _bad()


@pytest.mark.parametrize("step", [50, 1 << 20], ids=["in drops", "at once"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_file_is_refused_with_a_reason_and_stores_nothing(kind, step):
    parent = gallery()
    before = count()
    name, data, reason = BAD[kind]
    coming = photos.Upload(build.EDITOR, parent, name)
    with pytest.raises(BadPicture, match=reason):  # noqa: PT012 - some are seen on the way, some at the end
        send(coming, data, step)
        coming.finish()
    assert count() == before


def test_avif_is_refused_if_pillow_cannot_read_it(monkeypatch):
    parent = gallery()
    before = count()
    monkeypatch.setattr(features, "check", lambda name: name != "avif")
    coming = photos.Upload(build.EDITOR, parent, "a.avif")
    with pytest.raises(BadPicture, match="AVIF files aren't supported"):
        send(coming, pictures.encoded("AVIF"))
    assert count() == before


def test_animations_are_accepted():
    parent = gallery()
    upload(parent, _webp_of_size(1000, 800, 200), "a.webp")
    upload(parent, pictures.gif(60), "b.gif")
    upload(parent, _gif_of_size(480, 270, 600), "c.gif")
    audit()


def test_second_picture_of_a_multi_picture_jpeg_is_ignored(settings):
    """If metadata is kept, the picture still declares the second one. Its position may point to itself, often."""
    settings.PHOTOS = {"KEEP_LOCATION": True}
    two = pictures.encoded("MPO", pictures.image(), save_all=True, append_images=[pictures.image(seed=1)])
    assert upload(gallery(), two)
    audit()


def test_thirty_kinds_of_bad_files_are_tested():
    assert len(BAD) >= 30
