"""Every accepted picture gets every copy that a page names, in any shape and with little memory."""

import io
import json
import re
import subprocess
import sys

import pytest
from PIL import ExifTags, Image

from cms.testing import build
from nodes.selectors import stored_photos
from photos import addresses
from photos.assets import framing, images, renditions
from photos.assets.framing import CENTRE, WHOLE, Cut
from photos.assets.limits import Limits
from tests.support.nodes import pictures
from tests.support.nodes.copies import copies_on_pages
from tests.support.nodes.photo_build import gallery, upload
from tests.support.processes import ROOT
from tests.support.public_pages import get_html, requested_files, save_look

MEGABYTES, PICTURES = 300, 2_000


def noise(size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    return Image.effect_noise(size, 90).convert(mode)


def only_place() -> Image.Exif:
    """Return EXIF that contains only the location of a picture, so nothing of it is kept."""
    block = Image.Exif()
    block.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitudeRef] = "N"
    return block


SHAPES = {
    "JPEG of 2000 × 1": ("a.jpg", lambda: pictures.encoded("JPEG", noise((2000, 1)))),
    "JPEG of 1 × 2000": ("a.jpg", lambda: pictures.encoded("JPEG", noise((1, 2000)))),
    "JPEG of 3000 × 2": ("a.jpg", lambda: pictures.encoded("JPEG", noise((3000, 2)))),
    "JPEG of 20,000 × 10": ("a.jpg", lambda: pictures.encoded("JPEG", noise((20_000, 10)))),
    "JPEG of 2 × 20,000": ("a.jpg", lambda: pictures.encoded("JPEG", noise((2, 20_000)))),
    "PNG of 3 × 20,000": ("a.png", lambda: pictures.encoded("PNG", noise((3, 20_000)))),
    "PNG of one pixel": ("a.png", lambda: pictures.encoded("PNG", noise((1, 1), "LA"))),
    "WebP of a place": ("a.webp", lambda: pictures.encoded("WEBP", noise((400, 300)), exif=only_place())),
    "GIF of 1 × 900": ("a.gif", lambda: pictures.encoded("GIF", noise((1, 900), "P"))),
    "JPEG of 40,000 × 2": ("a.jpg", lambda: pictures.encoded("JPEG", noise((40_000, 2)))),
    "AVIF of 900 × 2": ("a.avif", lambda: pictures.encoded("AVIF", noise((900, 2)), speed=10)),
}


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_copy_named_on_a_page_is_sent(mongo, client, shape):
    name, data = SHAPES[shape]
    photo = stored_photos.get(upload(gallery(), data(), name))
    urls = {addresses.file_path(photo, spec) for spec in copies_on_pages(photo)}
    assert len(urls) > 2 * len(Limits().squares)
    assert {client.get(address).status_code for address in urls} == {200}


def test_avif_copies_have_the_widths_of_webp_copies_or_none(monkeypatch):
    assert renditions.widths((2000, 1500), "avif") == renditions.widths((2000, 1500), "webp")
    monkeypatch.setattr(images, "MAX_AVIF_PIXELS", 2_000_000)
    assert renditions.widths((2000, 1500), "avif") == ()
    assert renditions.widths((900, 40_000), "avif") == ()
    monkeypatch.delitem(renditions.FORMATS, "avif")
    assert renditions.widths((200, 100), "avif") == ()
    assert renditions.parse("w320.avif", None, WHOLE) is None


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_avif_copy_keeps_size_and_transparency(mode):
    picture = noise((700, 500), mode)
    if mode == "RGBA":
        picture.putalpha(128)  # otherwise, the encoder leaves out the transparency
    copy = resized(picture, width=320, to="AVIF")
    assert (copy.format, copy.size, copy.mode) == ("AVIF", (320, 229), mode)


@pytest.mark.parametrize("size", [(2, 20_000), (20_000, 2)])
def test_icons_are_made_of_a_logo_of_any_shape(mongo, client, size):
    build.node("blog", "news")
    save_look(logo=upload(gallery(), pictures.encoded("PNG", noise(size)), "logo.png"))
    html = get_html(client)
    named = [path for path in requested_files(html) if "/media/look/" in path]
    named += re.findall(r"/media/[\w/]+/w\d+\.\w+", html)
    assert len(named) >= 5
    assert {client.get(path).status_code for path in named} == {200}


def resized(picture: Image.Image | bytes, **options) -> Image.Image:
    """Return a copy of a picture, or of an encoded PNG, by default as a JPEG."""
    data = picture if isinstance(picture, bytes) else pictures.encoded("PNG", picture)
    options = {"height": None, "focal": CENTRE, "to": "JPEG", **options}
    return Image.open(io.BytesIO(images.resize(io.BytesIO(data), "PNG", Limits(), **options)))


@pytest.fixture
def made(monkeypatch):
    """The pixel counts of the pictures that Pillow creates, except decoded ones."""
    pixels: list[int] = []
    stock = Image.Image._new

    def counted(self, core):
        pixels.append(core.size[0] * core.size[1])
        return stock(self, core)

    monkeypatch.setattr(Image.Image, "_new", counted)
    return pixels


@pytest.mark.parametrize("size", [(3, 4000), (4000, 3)])
def test_square_is_cropped_before_it_is_scaled(made, size):
    assert resized(Image.new("RGB", size), width=160, height=160).size == (160, 160)
    assert max(made) <= 160 * 160


def test_large_picture_is_scaled_in_bands(made, monkeypatch):
    monkeypatch.setattr(images, "BAND_PIXELS", 50_000)
    data = pictures.encoded("PNG", noise((500, 600), "RGBA"))
    made.clear()
    assert resized(data, width=320, to="WEBP").size == (320, 384)
    # The copy itself is the largest picture, with the filter's margin around a band.
    assert 50_000 < max(made) <= 320 * 384


def test_bands_leave_no_seams(monkeypatch):
    data = pictures.encoded("PNG", noise((500, 600)))
    whole = resized(data, width=320)
    monkeypatch.setattr(images, "BAND_PIXELS", 10_000)
    assert resized(data, width=320).tobytes() == whole.tobytes()


def test_copy_of_a_very_tall_picture_has_bounded_pixels(monkeypatch):
    monkeypatch.setattr(framing, "MAX_PIXELS", 50_000)
    assert resized(Image.new("L", (100, 2_000)), width=320).size == (50, 1000)
    assert framing.scaled((100, 2_000), 320) == (50, 1000)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("focal", [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
def test_square_shows_nothing_outside_the_crop(rotation, focal):
    picture = Image.new("RGB", (600, 400), "red")
    picture.paste((0, 0, 255), (60, 40, 360, 240))
    cut = Cut((0.1, 0.1, 0.5, 0.5), rotation)
    square = resized(picture, width=160, height=160, focal=focal, cut=cut, to="WEBP").convert("RGB")
    assert square.getchannel(0).getextrema()[1] < 20


def test_crop_smaller_than_a_pixel_is_shown_as_one_pixel():
    cut = Cut((0.99999, 0.00001, 0.00001, 0.00001))
    assert resized(noise((50, 40)), width=320, cut=cut).size == (1, 1)
    assert resized(noise((50, 40)), width=160, height=160, cut=cut).size == (160, 160)


def test_worker_renders_every_copy_named_on_a_page(mongo):
    photo = stored_photos.get(upload(gallery(), pictures.encoded("PNG", noise((700, 500))), "a.png"))
    made = {str(spec) for spec in renditions.usual_specs(photo.metadata.detail.resolution, None, WHOLE)}
    assert copies_on_pages(photo) <= made


@pytest.mark.slow
def test_thousands_of_odd_pictures_get_every_copy():
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.nodes.copies", str(PICTURES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert sum(found["formats"].values()) == PICTURES
    assert min(found["formats"].values()) > PICTURES / 20
    assert found["peak"] < MEGABYTES
