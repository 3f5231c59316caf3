"""The demo's gallery: pictures drawn on the spot, the same each time."""

import io
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from bson import ObjectId
from PIL import Image, ImageDraw, ImageFilter

from cms.demo.content import identifier

GALLERY = "plates"
AUTHOR = "Jun Watanabe"
WIDTH, HEIGHT = 1_500, 1_000

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Plate:
    """One picture of the gallery, published so many `days` before the demo is loaded. `motif` is drawn over the hills."""

    slug: str
    title: str
    alt: str
    summary: str
    tags: tuple[str, ...]
    days: float
    sky: tuple[Colour, Colour]
    land: tuple[Colour, Colour]
    motif: Callable[[ImageDraw.ImageDraw, random.Random], None]

    @property
    def id(self) -> ObjectId:
        return identifier(f"{GALLERY}/{self.slug}")

    @property
    def filename(self) -> str:
        return f"{self.slug}.jpg"

    def drawn(self) -> bytes:
        """Return the picture as a JPEG."""
        chance = random.Random(self.slug)
        picture = _sky(*self.sky)
        draw = ImageDraw.Draw(picture)
        self.motif(draw, chance)
        for distance in range(5):
            _ridge(draw, chance, distance, _mixed(*self.land, distance / 4))
        target = io.BytesIO()
        picture.filter(ImageFilter.SMOOTH).save(target, "JPEG", quality=84)
        return target.getvalue()


def _mixed(first: Colour, last: Colour, part: float) -> Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(first, last, strict=True))
    return red, green, blue


def _sky(top: Colour, horizon: Colour) -> Image.Image:
    column = Image.new("RGB", (1, HEIGHT))
    for y in range(HEIGHT):
        column.putpixel((0, y), _mixed(top, horizon, min(1.0, y / (0.75 * HEIGHT))))
    return column.resize((WIDTH, HEIGHT))


def _ridge(draw: ImageDraw.ImageDraw, chance: random.Random, distance: int, colour: Colour) -> None:
    """Draw one line of hills, the farthest (0) first: a sum of four waves, each shorter and lower than the one before."""
    level = HEIGHT * (0.52 + 0.1 * distance)
    waves = [(chance.uniform(0.6, 1.6) * 2**n, chance.uniform(0, math.tau), 55 / 1.7**n) for n in range(4)]
    line = [
        (x, level - sum(high * math.sin(math.tau * often * x / WIDTH + shift) for often, shift, high in waves))
        for x in range(0, WIDTH + 10, 10)
    ]
    draw.polygon([*line, (WIDTH + 10, HEIGHT), (0, HEIGHT)], fill=colour)


def _disc(x: int, y: int, radius: int, colour: Colour) -> Callable[[ImageDraw.ImageDraw, random.Random], None]:
    return lambda draw, _chance: draw.circle((x, y), radius, fill=colour)


def _swifts(draw: ImageDraw.ImageDraw, chance: random.Random) -> None:
    for _ in range(23):
        x, y, span = chance.uniform(80, 1_420), chance.uniform(60, 430), chance.uniform(14, 46)
        for side in (-1, 1):
            draw.line(
                [(x, y), (x + side * span * 0.5, y - span * 0.35), (x + side * span, y)], (40, 38, 48), 5, "curve"
            )


def _stars(draw: ImageDraw.ImageDraw, chance: random.Random) -> None:
    for _ in range(160):
        draw.circle((chance.uniform(0, WIDTH), chance.uniform(0, 520)), chance.uniform(0.8, 2.6), fill=(236, 232, 214))
    draw.circle((1_130, 210), 84, fill=(240, 230, 196))
    draw.circle((1_098, 190), 78, fill=(27, 34, 62))


def _rain(draw: ImageDraw.ImageDraw, chance: random.Random) -> None:
    for _ in range(420):
        x, y, long = chance.uniform(0, WIDTH), chance.uniform(0, 640), chance.uniform(20, 60)
        draw.line([(x, y), (x - long * 0.25, y + long)], (196, 205, 211), 2)


def _pages(draw: ImageDraw.ImageDraw, chance: random.Random) -> None:
    for number in range(3):
        left, top = 300 + 300 * number, 90 + 50 * (number % 2)
        draw.rectangle((left, top, left + 250, top + 350), fill=(250, 246, 236), outline=(206, 196, 176), width=2)
        for line in range(13):
            draw.line(
                [(left + 30, top + 45 + 22 * line), (left + chance.uniform(150, 190), top + 45 + 22 * line)],
                (96, 88, 78),
                4,
            )
        draw.line(
            [(left + 205, top + 120), (left + 225, top + 112), (left + 216, top + 140)], (172, 58, 40), 4, "curve"
        )


PLATES = (
    Plate(
        "morning-fog",
        "Morning, with fog",
        "Five ranges of hills in grey and green, each paler than the one before it, under a white sun.",
        "Ten to seven, from the road above the bench. The farthest range is a cloud; it took me a year to notice.",
        ("fog", "landscape"),
        6,
        ((196, 208, 212), (244, 240, 230)),
        ((206, 214, 212), (54, 84, 76)),
        _disc(430, 240, 70, (255, 253, 246)),
    ),
    Plate(
        "swifts-over-the-mill",
        "Swifts over the mill",
        "A flock of dark birds with bent wings in a yellow evening sky above brown hills.",
        "They are gone by the first of August. No one tells them the date.",
        ("swifts", "summer"),
        11,
        ((240, 190, 120), (252, 236, 190)),
        ((226, 178, 122), (84, 52, 44)),
        _swifts,
    ),
    Plate(
        "from-the-night-train",
        "From the night train",
        "A crescent moon and many stars over dark blue hills.",
        "Through a window, at ninety kilometres an hour, with the lamp off.",
        ("night", "train", "landscape"),
        19,
        ((14, 19, 44), (58, 66, 104)),
        ((60, 70, 110), (9, 12, 26)),
        _stars,
    ),
    Plate(
        "three-pages-drying",
        "Three pages drying",
        "Three printed pages with a red mark in each margin, hung above low red hills.",
        "Proofs from the workshop. The marks are mine; the mistakes were, too.",
        ("paper", "letterpress"),
        27,
        ((222, 212, 196), (238, 230, 214)),
        ((214, 176, 150), (120, 56, 44)),
        _pages,
    ),
    Plate(
        "rain-in-the-margin",
        "Rain in the margin",
        "Slanting rain over blue-grey hills.",
        "",
        ("rain", "landscape"),
        40,
        ((108, 122, 134), (176, 188, 194)),
        ((150, 164, 172), (40, 54, 66)),
        _rain,
    ),
    Plate(
        "the-last-warm-evening",
        "The last warm evening",
        "A large red sun sets behind violet hills.",
        "The bench is in this picture, if you know where to look.",
        ("summer", "landscape"),
        58,
        ((104, 74, 122), (246, 176, 130)),
        ((206, 126, 126), (52, 34, 66)),
        _disc(900, 470, 150, (244, 104, 76)),
    ),
)
