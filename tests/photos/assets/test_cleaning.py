"""The stored file of a picture: all pixels, and no private metadata."""

import io
import math
import struct

import pytest
from PIL import Image, ImageChops, ImageCms

from photos.assets import exif, icc
from photos.assets.cleaning import Cleaning
from photos.assets.errors import BadPicture
from photos.assets.limits import Limits
from tests.support.nodes import pictures

PICTURES = {
    "jpeg": lambda: ("a.jpg", pictures.jpeg()),
    "progressive": lambda: ("a.jpg", pictures.encoded("JPEG", progressive=True, exif=pictures.exif())),
    "grey": lambda: ("a.jpeg", pictures.encoded("JPEG", pictures.image(mode="L"), exif=pictures.exif())),
    "cmyk": lambda: ("a.jpg", pictures.encoded("JPEG", pictures.image().convert("CMYK"))),
    "png": lambda: ("a.png", pictures.png()),
    "png with alpha": lambda: ("a.png", pictures.png(picture=pictures.image(mode="RGBA"))),
    "webp": lambda: ("a.webp", pictures.webp()),
    "lossless webp": lambda: ("a.webp", pictures.webp(lossless=True)),
    "plain webp": lambda: ("a.webp", pictures.encoded("WEBP")),
    "gif": lambda: ("a.gif", pictures.gif()),
    "avif": lambda: ("a.avif", pictures.avif()),
    "avif with alpha": lambda: ("a.avif", pictures.avif(picture=pictures.image(mode="RGBA"))),
    "grey avif": lambda: ("a.avif", pictures.avif(picture=pictures.image(mode="L"))),
    "avif of all colours": lambda: ("a.avif", pictures.avif(6, subsampling="4:4:4")),
    "avif of cells": lambda: ("a.avif", pictures.avif_grid(behind=pictures.XMP)),
    "avif with another box": lambda: ("a.avif", pictures.encoded("AVIF") + pictures.box(b"uuid", pictures.XMP)),
    "plain avif": lambda: ("a.avif", pictures.encoded("AVIF")),
}
FILES = [("JPEG", "a.jpg"), ("PNG", "a.png"), ("WEBP", "a.webp"), ("AVIF", "a.avif")]


def cleaned(name: str, data: bytes, step: int = 1 << 16, **limits) -> bytes:
    cleaning = Cleaning(name, Limits(**limits))
    out = [part for i in range(0, len(data), step) for part in cleaning.feed(data[i : i + step])]
    return b"".join([*out, *cleaning.end()])


@pytest.mark.parametrize("kind", PICTURES)
def test_cleaned_picture_looks_the_same_without_metadata(kind):
    name, data = PICTURES[kind]()
    after = cleaned(name, data)
    with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(after)) as image:
        assert image.size == before.size
        assert ImageChops.difference(image.convert("RGB"), before.convert("RGB")).getbbox() is None
        assert getattr(image, "n_frames", 1) == getattr(before, "n_frames", 1)
    assert not [secret for secret in pictures.SECRETS if secret in after]


@pytest.mark.parametrize("kind", PICTURES)
def test_chunk_size_makes_no_difference(kind):
    name, data = PICTURES[kind]()
    assert cleaned(name, data, 1) == cleaned(name, data, 7) == cleaned(name, data)


@pytest.mark.parametrize("kind", PICTURES)
def test_cleaning_twice_changes_nothing(kind):
    """Imports recognize a picture by its hash, and verify an export with it."""
    name, data = PICTURES[kind]()
    once = cleaned(name, data)
    assert cleaned(name, once) == once


@pytest.mark.parametrize("make", [pictures.jpeg, pictures.png, pictures.webp, pictures.avif])
def test_camera_lens_and_orientation_are_kept(make):
    name = {"jpeg": "a.jpg"}.get(make.__name__, f"a.{make.__name__}")
    with Image.open(io.BytesIO(cleaned(name, make(6)))) as image:
        kept = image.getexif()
    assert kept[exif.Base.Orientation] == 6
    assert kept[exif.Base.Model] == "Nikon Z 8"
    assert kept.get_ifd(exif.ExifTags.IFD.Exif)[exif.Base.LensModel] == "Z 50mm f/1.8 S"
    assert not kept.get_ifd(exif.ExifTags.IFD.GPSInfo)


@pytest.mark.parametrize("make", [pictures.jpeg, pictures.png, pictures.webp, pictures.avif])
def test_location_is_kept_if_the_setting_says_so(make):
    name = {"jpeg": "a.jpg"}.get(make.__name__, f"a.{make.__name__}")
    after = cleaned(name, make(), keep_location=True)
    assert b"SN-4711-BODY" in after
    with Image.open(io.BytesIO(after)) as image:
        assert image.getexif().get_ifd(exif.ExifTags.IFD.GPSInfo)


def test_data_behind_the_end_of_a_jpeg_is_dropped():
    plain = pictures.encoded("JPEG")
    for behind in (pictures.jpeg(), b"\0\0\0\x18ftypmp42" + b"film" * 1000, b"\0" * 3000):
        assert cleaned("a.jpg", plain + behind) == cleaned("a.jpg", plain)


@pytest.mark.parametrize("type", [b"av01", b"grid", b"hvc1"])
def test_hidden_pictures_of_an_avif_are_dropped(type):
    """A thumbnail may show what was cropped away."""
    data = pictures.avif().replace(b"mime", type)
    after = cleaned("a.avif", data)
    assert pictures.XMP in data
    assert b"SN-4711-BODY" not in after
    with Image.open(io.BytesIO(after)) as image, Image.open(io.BytesIO(pictures.avif())) as plain:
        assert image.convert("RGB").tobytes() == plain.convert("RGB").tobytes()


def test_properties_contain_what_photographers_search():
    found = exif.properties(pictures.exif().tobytes()[6:])
    assert {p["n"]: p["v"] for p in found} == {
        "camera": "Nikon Z 8",
        "lens": "Z 50mm f/1.8 S",
        "focal_length": 50,
        "aperture": 1.8,
        "exposure": "1/250",
        "iso": 400,
        "taken": "2024-05-31 18:30:00",
        "year": 2024,
    }


@pytest.mark.parametrize(("format", "name"), FILES)
def test_photographer_and_copyright_are_kept_without_the_owner(format, name):
    """The photographer and the terms are meant to be public. The camera's owner is recorded by the camera."""
    block = pictures.exif(artist="Ines Diaz", copyright="CC BY 4.0")
    after = cleaned(name, pictures.encoded(format, exif=block))
    with Image.open(io.BytesIO(after)) as image:
        kept = image.getexif()
    assert (kept[exif.Base.Artist], kept[exif.Base.Copyright]) == ("Ines Diaz", "CC BY 4.0")
    assert b"OWNER-NAME" not in after
    found = {p["n"]: p["v"] for p in exif.properties(kept.tobytes()[6:])}
    assert (found["artist"], found["copyright"]) == ("Ines Diaz", "CC BY 4.0")


@pytest.mark.parametrize(
    ("odd", "lost"),
    [
        ((exif.Base.FocalLength, 2, b"fifty\0"), {"focal_length"}),
        ((exif.Base.FNumber, 5, struct.pack("<II", 1, 0)), {"aperture"}),
        ((exif.Base.ISOSpeedRatings, 12, struct.pack("<d", math.nan)), {"iso"}),
        ((exif.Base.LensModel, 10, struct.pack("<ii", 1, 0)), {"lens"}),
        ((exif.Base.ExposureTime, 5, struct.pack("<II", 0, 0)), {"exposure"}),
    ],
    ids=["a word", "by zero", "no number", "no word", "nothing by nothing"],
)
def test_only_the_invalid_exif_value_is_dropped(odd, lost):
    block = pictures.exif_with(*odd)
    found = {p["n"] for p in exif.properties(block)}
    all_of_them = {p["n"] for p in exif.properties(pictures.exif().tobytes()[6:])}
    assert all_of_them - found == lost
    kept = {p["n"] for p in exif.properties(exif.clean(block))}
    assert kept == found


PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
OWNED = PROFILE.replace("sRGB built-in".encode("utf-16-be"), "OWNER 47.3769".encode("utf-16-be"))


@pytest.mark.parametrize(("format", "name"), FILES)
def test_colour_profile_keeps_its_colours_without_texts(format, name):
    assert OWNED != PROFILE
    data = pictures.encoded(format, icc_profile=OWNED)
    with Image.open(io.BytesIO(cleaned(name, data))) as image:
        kept = image.info["icc_profile"]
        image.load()
    assert "OWNER".encode("utf-16-be") not in kept
    assert "copyright".encode("utf-16-be") not in kept
    before, after = (ImageCms.ImageCmsProfile(io.BytesIO(data)).profile for data in (OWNED, kept))
    assert (after.red_primary, after.green_primary, after.blue_primary) == (
        before.red_primary,
        before.green_primary,
        before.blue_primary,
    )
    assert after.media_white_point == before.media_white_point
    assert before.profile_description == "OWNER 47.3769"
    assert not after.profile_description
    with Image.open(io.BytesIO(cleaned(name, data, keep_location=True))) as image:
        assert image.info["icc_profile"] == OWNED


def test_long_colour_profile_in_many_segments_is_kept():
    data = icc_with_table(150_000)
    with Image.open(io.BytesIO(cleaned("a.jpg", pictures.encoded("JPEG", icc_profile=data)))) as image:
        assert image.info["icc_profile"] == icc.clean(data)
    assert len(icc.clean(data)) == len(data)
    assert b"\xab" * 1000 in icc.clean(data)


def test_segment_after_a_complete_colour_profile_is_refused():
    """The profile would be stored again for each segment."""
    data = pictures.encoded("JPEG", icc_profile=PROFILE)
    at = data.index(b"\xff\xe2")
    length = int.from_bytes(data[at + 2 : at + 4], "big")
    more = pictures.segment(0xE2, b"ICC_PROFILE\0\2\1")
    assert cleaned("a.jpg", data[:at] + more + data[at:])
    with pytest.raises(BadPicture, match="JPEG file is damaged"):
        cleaned("a.jpg", data[: at + 2 + length] + more + data[at + 2 + length :])


@pytest.mark.parametrize("profile", [b"", b"OWNER-NAME" * 40, OWNED[:300], OWNED[:36] + b"acsp" + b"\xff" * 200])
@pytest.mark.parametrize(("format", "name"), FILES)
def test_invalid_colour_profile_is_dropped(profile, format, name):
    data = pictures.encoded(format, icc_profile=profile or b"x")
    after = cleaned(name, data)
    assert b"OWNER" not in after
    with Image.open(io.BytesIO(after)) as image:
        image.load()
        assert not image.info.get("icc_profile", b"").strip(b"\0")


def icc_with_table(length: int) -> bytes:
    """Return a profile with a colour table of this many bytes."""
    table = b"mft2" + b"\xab" * (length - 4)
    tag = b"A2B0" + (144).to_bytes(4, "big") + len(table).to_bytes(4, "big")
    return (144 + length).to_bytes(4, "big") + PROFILE[4:128] + (1).to_bytes(4, "big") + tag + table


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
@pytest.mark.parametrize(
    "block", [b"", b"II", b"II*\0\xff\xff\xff\xff", b"MM\0*\0\0\0\x08\xff\xff" + b"\xff" * 40, b"x" * 99]
)
def test_broken_exif_is_dropped(block):
    assert exif.properties(block) == []
    assert exif.clean(block) == b""
    assert exif.orientation(block) == 1
    plain = pictures.encoded("JPEG")
    assert cleaned("a.jpg", plain[:2] + pictures.segment(0xE1, b"Exif\0\0" + block) + plain[2:]) == cleaned(
        "a.jpg", plain
    )


def test_picture_that_grows_too_long_is_refused_on_the_way():
    with pytest.raises(BadPicture, match="The maximum size is 0 MB"):
        cleaned("a.jpg", pictures.jpeg(), 64, max_bytes=200)
