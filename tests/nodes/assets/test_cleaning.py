"""What is stored of a picture: all of its pixels, nothing of who took it where."""

import io

import pytest
from PIL import Image, ImageChops

from nodes.assets import exif
from nodes.assets.errors import BadPicture
from nodes.assets.incoming import Cleaning
from nodes.assets.limits import Limits
from tests.nodes import pictures

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
}


def cleaned(name: str, data: bytes, step: int = 1 << 16, **limits) -> bytes:
    cleaning = Cleaning(name, Limits(**limits))
    out = [part for i in range(0, len(data), step) for part in cleaning.feed(data[i : i + step])]
    return b"".join([*out, *cleaning.end()])


@pytest.mark.parametrize("kind", PICTURES)
def test_a_cleaned_picture_shows_the_same_and_tells_nothing(kind):
    name, data = PICTURES[kind]()
    after = cleaned(name, data)
    with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(after)) as image:
        assert image.size == before.size
        assert ImageChops.difference(image.convert("RGB"), before.convert("RGB")).getbbox() is None
        assert getattr(image, "n_frames", 1) == getattr(before, "n_frames", 1)
    assert not [secret for secret in pictures.SECRETS if secret in after]


@pytest.mark.parametrize("kind", PICTURES)
def test_how_the_bytes_are_cut_makes_no_difference(kind):
    name, data = PICTURES[kind]()
    assert cleaned(name, data, 1) == cleaned(name, data, 7) == cleaned(name, data)


@pytest.mark.parametrize("make", [pictures.jpeg, pictures.png, pictures.webp])
def test_camera_lens_and_orientation_stay(make):
    name = {"jpeg": "a.jpg", "png": "a.png", "webp": "a.webp"}[make.__name__]
    with Image.open(io.BytesIO(cleaned(name, make(6)))) as image:
        kept = image.getexif()
    assert kept[exif.Base.Orientation] == 6
    assert kept[exif.Base.Model] == "Nikon Z 8"
    assert kept.get_ifd(exif.ExifTags.IFD.Exif)[exif.Base.LensModel] == "Z 50mm f/1.8 S"
    assert not kept.get_ifd(exif.ExifTags.IFD.GPSInfo)


@pytest.mark.parametrize("make", [pictures.jpeg, pictures.png, pictures.webp])
def test_a_setting_keeps_the_place(make):
    name = {"jpeg": "a.jpg", "png": "a.png", "webp": "a.webp"}[make.__name__]
    after = cleaned(name, make(), keep_location=True)
    assert b"SN-4711-BODY" in after
    with Image.open(io.BytesIO(after)) as image:
        assert image.getexif().get_ifd(exif.ExifTags.IFD.GPSInfo)


def test_pictures_and_films_that_cameras_put_behind_the_end_are_cut_off():
    plain = pictures.encoded("JPEG")
    for behind in (pictures.jpeg(), b"\0\0\0\x18ftypmp42" + b"film" * 1000, b"\0" * 3000):
        assert cleaned("a.jpg", plain + behind) == cleaned("a.jpg", plain)


def test_properties_are_what_photographers_search():
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


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
@pytest.mark.parametrize(
    "block", [b"", b"II", b"II*\0\xff\xff\xff\xff", b"MM\0*\0\0\0\x08\xff\xff" + b"\xff" * 40, b"x" * 99]
)
def test_broken_exif_is_left_out(block):
    assert exif.properties(block) == []
    assert exif.cleaned(block) == b""
    assert exif.orientation(block) == 1
    plain = pictures.encoded("JPEG")
    assert cleaned("a.jpg", plain[:2] + pictures.segment(0xE1, b"Exif\0\0" + block) + plain[2:]) == cleaned(
        "a.jpg", plain
    )


def test_a_picture_that_grows_too_long_is_refused_on_the_way():
    with pytest.raises(BadPicture, match="larger than the 0 MB"):
        cleaned("a.jpg", pictures.jpeg(), 64, max_bytes=200)
