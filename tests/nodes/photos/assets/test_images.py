"""How much of a picture is decoded to judge it."""

import io

import pytest

from nodes.photos.assets import images
from nodes.photos.assets.cleaning import Cleaning
from nodes.photos.assets.errors import BadPicture
from nodes.photos.assets.limits import Limits
from tests.support.nodes import pictures

FRAME = 60 * 40


def judged(data: bytes, limits: Limits) -> None:
    cleaning = Cleaning("a.gif", limits)
    stored = b"".join([*cleaning.feed(data), *cleaning.end()])
    assert cleaning.format
    images.judge(io.BytesIO(stored), cleaning.format, cleaning.found, limits)


@pytest.mark.parametrize("frames", [1, 8])
def test_no_more_pixels_of_an_animation_are_decoded_than_one_picture_may_have(frames):
    """A damaged frame tells: it is found where it is decoded."""
    limits = Limits(max_pixels=(frames + 1) * FRAME - 1)
    torn = b"\x2c\0\0\0\0\x3c\0\x28\0\0\2\2\x44\1\0;"
    judged(pictures.gif(frames)[:-1] + torn, limits)
    with pytest.raises(BadPicture, match="damaged"):
        judged(pictures.gif(frames)[:-1] + torn, Limits(max_pixels=(frames + 1) * FRAME))
