"""Drawing as engravers do: a tone is made of lines that grow where it is dark, printed in ink on a tinted paper.

All is drawn by Pillow from a seed, the same each time. A *tone* and a *screen* are greyscale pictures: where the screen is
brighter than the tone there is ink.
"""

import io
import random
from array import array
from collections.abc import Callable, Iterable, Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFilter

Colour = tuple[int, int, int]
Size = tuple[int, int]
Point = tuple[float, float]

Draw = ImageDraw.ImageDraw

WIDE = (1_440, 960)
PAPER = (244, 238, 224)
INK = (38, 40, 52)
# How steep the edge of a line is: about one pixel wide.
EDGE = 0.28


def mixed(first: Colour, last: Colour, part: float) -> Colour:
    """Return the colour so far (0 … 1) between two others."""
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(first, last, strict=True))
    return red, green, blue


def gradient(size: Size, stops: Sequence[float]) -> Image.Image:
    """Return a tone that goes through these values (0 dark … 255 light) from the top down."""
    column = Image.frombytes("L", (1, len(stops)), bytes(map(round, stops)))
    return column.resize((1, size[1]), Image.Resampling.BICUBIC).resize(size, Image.Resampling.NEAREST)


def noise(chance: random.Random, size: Size, cells: Size, octaves: int = 3) -> Image.Image:
    """Return clouds: noise in layers, each twice as fine as the one before and half as strong."""
    small = (max(size[0] // 6, 1), max(size[1] // 6, 1))
    sheet = Image.new("L", small, 128)
    for octave in range(octaves):
        wide = cells[0] << octave
        high = cells[1] << octave
        layer = Image.frombytes("L", (wide, high), chance.randbytes(wide * high))
        sheet = Image.blend(sheet, layer.resize(small, Image.Resampling.BICUBIC), 0.75 if octave == 0 else 0.4 / octave)
    return sheet.resize(size, Image.Resampling.BICUBIC)


def screen(size: Size, period: float, slopes: Iterable[float] = (), bend: Image.Image | None = None) -> Image.Image:
    """Return lines that lie `period` pixels apart, horizontal, or lowered by `slopes` pixels at each x; `bend` sways them."""
    column = bytes(int(y * 256 / period) % 256 for y in range(size[1]))
    phase = Image.frombytes("L", (1, size[1]), column).resize(size, Image.Resampling.NEAREST)
    if low := list(slopes):
        # Lines are straight between the places for which there is a slope.
        wide = Image.frombytes("F", (len(low), 1), array("f", low).tobytes()).resize(
            (size[0], 1), Image.Resampling.BILINEAR
        )
        row = bytes(int(-y * 256 / period) % 256 for y in array("f", wide.tobytes()))
        shift = Image.frombytes("L", (size[0], 1), row).resize(size, Image.Resampling.NEAREST)
        phase = ImageChops.add_modulo(phase, shift)
    if bend:
        phase = ImageChops.add_modulo(phase, bend.point([value * 4 % 256 for value in range(256)]))
    return phase.point(_TRIANGLE)


def rings(size: Size, period: float) -> Image.Image:
    """Return lines that lie around the middle in circles, or in ellipses where the size is no square."""
    turns = size[0] / 2 / period
    phase = Image.radial_gradient("L").resize(size, Image.Resampling.BICUBIC)
    return phase.point([int(value * 1.42 * turns) % 256 for value in range(256)]).point(_TRIANGLE)


_TRIANGLE = [abs(value - 128) * 2 - (value == 0) for value in range(256)]


def lines(tone: Image.Image, screen: Image.Image) -> Image.Image:
    """Return where there is ink, as a mask."""
    return ImageChops.subtract(screen, tone, EDGE, 96)


def mask(size: Size, draw: Callable[[Draw], object], *, soft: float = 0.8) -> Image.Image:
    """Return what `draw` drew in white, with soft edges, as a mask."""
    whole = Image.new("L", size)
    draw(ImageDraw.Draw(whole))
    return whole.filter(ImageFilter.BoxBlur(soft)) if soft else whole


def fine(size: Size, draw: Callable[[Draw], object]) -> Image.Image:
    """Return what `draw` drew in white at twice the size, as a mask: for thin lines."""
    twice = Image.new("L", (size[0] * 2, size[1] * 2))
    draw(ImageDraw.Draw(twice))
    return twice.reduce(2)


def within(ink: Image.Image, shape: Image.Image) -> Image.Image:
    """Return the part of a mask that lies in a shape."""
    return ImageChops.multiply(ink, shape)


def smooth(points: Sequence[Point], steps: int = 8) -> list[Point]:
    """Return a curve through points (Catmull and Rom's), from the first to the last."""
    chain = [points[0], *points, points[-1]]
    return [
        (_between([p[0] for p in four], step / steps), _between([p[1] for p in four], step / steps))
        for four in (chain[n : n + 4] for n in range(len(chain) - 3))
        for step in range(steps)
    ] + [points[-1]]


def _between(values: Sequence[float], part: float) -> float:
    a, b, c, d = values
    return b + 0.5 * part * (c - a + part * (2 * a - 5 * b + 4 * c - d + part * (3 * (b - c) + d - a)))


def paper(chance: random.Random, size: Size, colour: Colour = PAPER) -> Image.Image:
    """Return a sheet of paper with a little grain and with cloudy tints."""
    sheet = Image.new("RGB", size, colour)
    sheet.paste(
        mixed(colour, (176, 150, 110), 0.5), mask=noise(chance, size, (5, 4)).point([v // 8 for v in range(256)])
    )
    return sheet


def printed(sheet: Image.Image) -> bytes:
    """Return a picture as a JPEG."""
    target = io.BytesIO()
    sheet.save(target, "JPEG", quality=76)
    return target.getvalue()
