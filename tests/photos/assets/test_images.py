"""How much of a picture is decoded to judge it, and its average colour."""

import io

import pytest
from PIL import Image

from photos.assets import images
from photos.assets.cleaning import Cleaning
from photos.assets.errors import BadPicture
from photos.assets.limits import Limits
from tests.support.nodes import pictures

FRAME = 60 * 40


def judged(data: bytes, limits: Limits, name: str = "a.gif") -> images.ImageProperties:
    cleaning = Cleaning(name, limits)
    stored = b"".join([*cleaning.feed(data), *cleaning.end()])
    assert cleaning.format
    return images.inspect(io.BytesIO(stored), cleaning.format, cleaning.facts, limits)


@pytest.mark.parametrize("frames", [1, 8])
def test_decoded_pixels_of_an_animation_are_limited(frames):
    """A damaged last frame shows whether it was decoded."""
    limits = Limits(max_pixels=(frames + 1) * FRAME - 1)
    torn = b"\x2c\0\0\0\0\x3c\0\x28\0\0\2\2\x44\1\0;"
    judged(pictures.gif(frames)[:-1] + torn, limits)
    with pytest.raises(BadPicture, match="damaged"):
        judged(pictures.gif(frames)[:-1] + torn, Limits(max_pixels=(frames + 1) * FRAME))


@pytest.mark.parametrize(
    ("format", "mode", "ink", "colour"),
    [
        ("PNG", "RGB", (30, 60, 90), "#1e3c5a"),
        ("PNG", "L", 128, "#808080"),
        ("PNG", "1", 255, "#ffffff"),
        ("PNG", "I;16", 65535, "#ffffff"),
        ("PNG", "RGBA", (30, 60, 90, 255), "#1e3c5a"),
        ("PNG", "RGBA", (30, 60, 90, 200), ""),
        ("PNG", "LA", (128, 0), ""),
        ("GIF", "P", 0, "#000000"),
        ("JPEG", "CMYK", (0, 0, 0, 0), "#ffffff"),
    ],
)
def test_colour_of_an_opaque_picture_is_its_average(format, mode, ink, colour):
    picture = Image.new(mode, (90, 80), ink)
    assert judged(pictures.encoded(format, picture), Limits(), f"a.{format.lower()}").colour == colour


def test_average_covers_the_whole_picture():
    picture = Image.new("RGB", (90, 80), (0, 0, 200))
    picture.paste((200, 0, 0), (0, 0, 90, 40))
    assert judged(pictures.encoded("PNG", picture), Limits(), "a.png").colour == "#640064"
