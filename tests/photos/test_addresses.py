"""Photos in fixed boxes: the copies that browsers choose, the position of the crop, and the colour before loading."""

import re

import pytest

from nodes.selectors import stored_photos
from photos import addresses
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")


def photo(size: tuple[int, int], **detail):
    fields = {f"detail.{name}": value for name, value in detail.items()}
    return stored_photos.get(upload(gallery(), pictures.jpeg(1, pictures.image(size)), fields=fields))


def offered(html: str) -> list[tuple[int, int]]:
    """Return (width of the copy, visible width) of each entry of a srcset."""
    return [(int(one), int(seen)) for one, seen in re.findall(r"/w(\d+)\.webp (\d+)w", html)]


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ((900, 600), [(320, 320), (640, 640), (960, 900)]),
        ((1200, 400), [(320, 160), (640, 320), (960, 480), (1280, 600)]),
    ],
)
def test_srcset_of_a_wider_photo_describes_the_visible_width(size, wanted):
    assert offered(addresses.cropped_picture(photo(size), sizes="1px")) == wanted


def test_tall_photo_is_as_wide_as_its_box():
    html = addresses.cropped_picture(photo((400, 900)), sizes="20rem")
    assert offered(html) == [(320, 320), (640, 400)]
    assert 'sizes="20rem"' in html
    assert 'width="400" height="900"' in html


@pytest.mark.parametrize(
    ("focal", "classes"),
    [(None, ""), ([0.5, 0.5], ""), ([0.5, 0.21], "down-2"), ([0.98, 0.0], "across-10 down-0")],
)
def test_classes_describe_the_focal_point(focal, classes):
    html = addresses.cropped_picture(photo((90, 60), focal=focal), sizes="1px")
    [found] = re.findall(r' class="([^"]*) ?red-4 green-4 blue-4"', html)
    assert found.strip() == classes


def test_crop_moves_the_focal_point():
    html = addresses.cropped_picture(photo((90, 60), focal=[0.5, 0.5], crop=[0.5, 0.0, 0.5, 1.0]), sizes="1px")
    assert 'class="across-0 red-' in html


def test_classes_describe_the_colour_while_loading():
    stored = photo((90, 60))
    for colour, classes in (
        ("#000c80", "red-0 green-0 blue-5"),
        ("#e5f3ff", "red-9 green-10 blue-10"),
        ("", ""),
        (None, ""),
    ):
        stored.metadata.detail.colour = colour
        shown = [
            addresses.cropped_picture(stored, sizes="1px"),
            addresses.picture(stored),
            addresses.thumbnail(stored, 160),
        ]
        assert [re.findall(r' class="([^"]*)"', html) for html in shown] == [[classes] if classes else []] * 3


@pytest.mark.parametrize(("size", "shape"), [((90, 60), 150), ((60, 90), 67), ((100, 98), 100), ((900, 90), 300)])
def test_photo_has_the_nearest_shape(size, shape):
    assert addresses.nearest_shape(photo(size)) == shape
