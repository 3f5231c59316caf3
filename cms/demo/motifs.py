"""Pages, tools, plants and people among the demo's plates, each drawn from a seed."""

import math
import random
from collections.abc import Sequence
from functools import partial

from PIL import Image, ImageChops

from cms.demo.engraving import (
    INK,
    PAPER,
    WIDE,
    Colour,
    Draw,
    Point,
    Size,
    fine,
    gradient,
    lines,
    mask,
    mixed,
    noise,
    paper,
    screen,
    smooth,
    within,
)

TALL = (960, 1_200)
OVAL = (720, 900)
RED = (168, 60, 44)


def drying(sheet: Image.Image, chance: random.Random) -> None:
    """Hang three printed pages on a line."""
    cord = smooth([(0, 60), (500, 104), (960, 108), (1_440, 52)], 20)
    sheet.paste(INK, mask=mask(WIDE, lambda draw: draw.line(cord, 255, 3)))
    for number in range(3):
        leaf = page((300, 420), chance)
        turned = leaf.convert("RGBA").rotate((3, -2, 1.5)[number], Image.Resampling.BICUBIC, expand=True)
        place = (190 + 370 * number, 84 + (0, 14, 4)[number])
        shadow = turned.getchannel("A").point([v // 4 for v in range(256)])
        sheet.paste((60, 40, 30), (place[0] + 10, place[1] + 12), shadow)
        sheet.paste(turned, place, turned)


def page(size: Size, chance: random.Random, *, margin: float = 0.3, note: bool = True) -> Image.Image:
    """Return a printed page with a wide margin on its right, and a note in red there."""
    wide, high = size
    leaf = paper(chance, size, (251, 247, 237))
    right = wide * (1 - margin)

    def words(draw: Draw) -> None:
        for row in range(int(high * 0.74 / 16)):
            x = wide * 0.2
            y = (high * 0.13 + 16 * row) * 2
            end = right * 2 if row % 7 != 6 else right * chance.uniform(1, 1.6)
            while x < end - 12:
                long = min(chance.uniform(14, 52), end - x)
                draw.line([(x, y), (x + long, y)], 215, 7)
                x += long + 9

    leaf.paste(INK, mask=fine(size, words))
    if note:
        leaf.paste(
            RED,
            mask=fine(
                size, partial(_scribble, chance, right * 2 + 18, high * chance.uniform(0.4, 0.9), margin * wide * 1.5)
            ),
        )
    return leaf


def _scribble(chance: random.Random, left: float, top: float, long: float, draw: Draw) -> None:
    for row in range(4):
        x = left
        y = top + row * 30
        points: list[Point] = [(x, y)]
        while x < left + long * (1 if row < 3 else 0.6):
            x += chance.uniform(5, 10)
            points.append((x, y + chance.uniform(-8, 8)))
        draw.line(smooth(points, 4), 255, 4, "curve")


def open_book(chance: random.Random) -> Image.Image:
    """Return a book that lies open, with more margin than text."""
    sheet = table(chance, WIDE, (70, 84, 92))
    for side in (0, 1):
        leaf = page((520, 760), chance, margin=0.42)
        if side == 0:
            leaf = page((520, 760), chance, margin=0.42, note=False).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        fold = (
            Image.linear_gradient("L")
            .rotate(90 if side else -90)
            .resize(leaf.size)
            .point([max(0, v - 165) for v in range(256)])
        )
        leaf.paste((92, 74, 52), mask=fold)
        left = 200 + side * 520
        sheet.paste((24, 28, 32), (left - 8 + 18 * side, 112, left + 520 + 18 * side, 884))
        sheet.paste((222, 212, 190), (left - 5 + 10 * side, 106, left + 515 + 10 * side, 876))
        sheet.paste(leaf, (left, 100))
    return sheet


def table(chance: random.Random, size: Size, colour: Colour) -> Image.Image:
    """Return a table of wood, from above."""
    sheet = Image.new("RGB", size, colour)
    grain = noise(chance, size, (2, 9), 4)
    tone = ImageChops.add(grain, gradient(size, (70, 40, 60)))
    sheet.paste(mixed(colour, (8, 10, 14), 0.5), mask=lines(tone, screen(size, 9, bend=grain)))
    return sheet


def type_case(chance: random.Random) -> Image.Image:
    """Return a case of type from above: boxes large and small, each with its own shade of metal."""
    sheet = table(chance, WIDE, (132, 92, 60))

    def boxes(left: float, top: float, right: float, bottom: float, depth: int) -> None:
        wide = right - left
        high = bottom - top
        if depth and max(wide, high) > 110:
            cut = chance.choice((0.34, 0.5, 0.5, 0.66))
            if wide * 0.8 > high:
                middle = left + wide * cut
                boxes(left, top, middle, bottom, depth - 1)
                boxes(middle, top, right, bottom, depth - 1)
            else:
                middle = top + high * cut
                boxes(left, top, right, middle, depth - 1)
                boxes(left, middle, right, bottom, depth - 1)
            return
        box = (int(left) + 5, int(top) + 5, int(right) - 5, int(bottom) - 5)
        size = (box[2] - box[0], box[3] - box[1])
        metal = mixed((92, 98, 108), (186, 188, 186), chance.random())
        sheet.paste((36, 26, 20), (box[0] - 2, box[1] - 2, box[2] + 2, box[3] + 2))
        sheet.paste(metal, box)
        slope = chance.choice((-1, 0, 0, 0.5, 1))
        dark = chance.uniform(40, 150)
        sorts = screen(size, chance.choice((7, 9, 12)), [x * slope for x in range(size[0])])
        sheet.paste((30, 32, 40), box[:2], lines(gradient(size, (dark, dark + 70)), sorts))

    boxes(70, 70, 712, 890, 7)
    boxes(728, 70, 1_370, 890, 7)
    return sheet


def leaf(base: Point, angle: float, long: float, wide: float, *, lobes: int = 0) -> list[Point]:
    """Return the outline of a leaf that grows from its base at an angle; an oak's has lobes."""

    def at(along: float, side: float) -> Point:
        x = along * long
        y = side * wide
        return base[0] + x * math.cos(angle) - y * math.sin(angle), base[1] + x * math.sin(angle) + y * math.cos(angle)

    steps = 40
    width = [math.sin(math.pi * (n / steps) ** 0.8) for n in range(steps + 1)]
    if lobes:
        width = [w * (0.72 + 0.28 * math.sin(n / steps * lobes * math.tau)) for n, w in enumerate(width)]
    return [at(n / steps, w) for n, w in enumerate(width)] + [
        at(1 - n / steps, -w) for n, w in enumerate(reversed(width))
    ]


def botanical(
    chance: random.Random,
    leaves: Sequence[tuple[Point, float, float, float]],
    stems: Sequence[Sequence[Point]],
    tint: Colour,
    *,
    lobes: int = 0,
    galls: Sequence[tuple[float, float, float]] = (),
) -> Image.Image:
    """Return a plant drawn with the pen, with a wash of colour printed a little beside it."""
    sheet = paper(chance, TALL)
    outlines = [leaf(base, angle, long, wide, lobes=lobes) for base, angle, long, wide in leaves]

    def blades(draw: Draw) -> None:
        for line in outlines:
            draw.polygon(line, fill=255)

    def balls(draw: Draw) -> None:
        for x, y, radius in galls:
            draw.circle((x + 5, y + 4), radius, fill=225)

    shape = mask(TALL, blades)
    wash = ImageChops.offset(shape, 7, 5)
    sheet.paste(tint, mask=within(wash, noise(chance, TALL, (6, 8)).point([min(255, v // 2 + 90) for v in range(256)])))

    def pen(draw: Draw) -> None:
        for stem in stems:
            for n, (a, b) in enumerate(
                zip(curve := smooth([(2 * x, 2 * y) for x, y in stem], 14), curve[1:], strict=False)
            ):
                draw.line([a, b], 255, max(3, 11 - n // 8))
        for (base, angle, long, wide), line in zip(leaves, outlines, strict=True):
            draw.line([(2 * x, 2 * y) for x, y in [*line, line[0]]], 255, 4, "curve")
            _veins(draw, base, angle, long, wide)
        for x, y, radius in galls:
            draw.circle((2 * x, 2 * y), 2 * radius, fill=0, outline=255, width=4)
            for n in range(9):
                inner = radius * (1.75 - 0.2 * n)
                draw.arc((2 * x - inner, 2 * y - inner, 2 * x + inner, 2 * y + inner), 10, 80 + 4 * n, 255, 3)

    if galls:
        sheet.paste((188, 116, 66), mask=mask(TALL, balls))
    sheet.paste((36, 42, 40), mask=fine(TALL, pen))
    return sheet


def _veins(draw: Draw, base: Point, angle: float, long: float, wide: float) -> None:
    def at(along: float, side: float) -> Point:
        x = along * long
        y = side * wide
        return 2 * (base[0] + x * math.cos(angle) - y * math.sin(angle)), 2 * (
            base[1] + x * math.sin(angle) + y * math.cos(angle)
        )

    draw.line([at(0, 0), at(0.97, 0)], 255, 4)
    for n in range(2, 12):
        along = n / 13
        reach = 0.78 * math.sin(math.pi * (along + 0.1) ** 0.8) if along < 0.88 else 0.1
        for side in (-1, 1):
            draw.line([at(along, 0), at(min(along + 0.1, 0.96), side * reach)], 200, 2)


def oak(chance: random.Random) -> Image.Image:
    """Return a twig of oak with galls on it."""
    stems = [
        [(480, 1_150), (455, 900), (500, 640), (470, 380), (500, 180)],
        [(490, 700), (600, 610), (700, 560)],
        [(468, 830), (340, 760), (260, 720)],
    ]
    leaves = [((500, 190), -1.5, 130, 48)]
    leaves += [
        ((480, 420), -2.5, 300, 92),
        ((490, 500), -0.6, 320, 96),
        ((690, 562), -0.2, 210, 76),
        ((640, 590), 0.9, 250, 84),
    ]
    leaves += [((270, 724), 2.7, 210, 74), ((350, 765), 1.9, 270, 84), ((478, 330), -0.95, 230, 74)]
    return botanical(
        chance, leaves, stems, (142, 160, 106), lobes=5, galls=[(585, 640, 40), (410, 812, 48), (452, 545, 30)]
    )


def fern(chance: random.Random) -> Image.Image:
    """Return a frond of fern, as it comes out of a press."""
    spine = smooth([(380, 1_160), (420, 900), (500, 620), (520, 360), (470, 110)], 12)
    leaves = []
    for n, (x, y) in enumerate(spine[6:-1]):
        long = 300 * math.sin(math.pi * (0.16 + 0.8 * (n / 43))) ** 1.1
        for side in (-1, 1):
            leaves.append(((x, y), -math.pi / 2 + side * (1.18 - n / 110), max(long, 26), max(long * 0.075, 6)))
    return botanical(chance, leaves, [spine[::6]], (118, 142, 112))


def bamboo(chance: random.Random) -> Image.Image:
    """Return bamboo, with the brush: no outlines, ink alone."""
    sheet = paper(chance, TALL, (246, 242, 232))
    for x, lean, shade in ((640, -70, 0.62), (300, 46, 0.12)):
        ink = mixed(INK, PAPER, shade)

        def brush(draw: Draw, x: int = x, lean: int = lean) -> None:
            for joint in range(6):
                top = 1_200 - 214 * (joint + 1)
                bottom = 1_200 - 214 * joint - 12
                left = x + lean * joint * 0.45
                draw.line([(left, bottom), (left + lean * 0.4, top)], 225, 30)
                for _ in range(5 if joint > 1 else 0):
                    angle = chance.uniform(0.3, 2.8)
                    long = chance.uniform(130, 270)
                    wide = chance.uniform(11, 19)
                    draw.polygon(leaf((left + lean * 0.2, top + 8), angle, long, wide), fill=238)

        dry = noise(chance, TALL, (60, 5), 1).point([min(255, v + 90) for v in range(256)])
        sheet.paste(ink, mask=within(mask(TALL, brush, soft=1.2), dry))
    seal = (800, 1_020, 872, 1_092)
    sheet.paste(RED, seal)
    for n in range(3):
        sheet.paste(PAPER, (812 + 18 * n, 1_034 + 6 * n, 818 + 18 * n, 1_078))
    return sheet


# A face from the side, from the forehead to the breast; (0, 0) is the tip of the nose, sizes in heads.
FACE = [
    (-0.30, -0.42),
    (-0.17, -0.24),
    (-0.145, -0.13),
    (-0.06, -0.03),
    (0, 0.02),
    (-0.11, 0.06),
    (-0.10, 0.10),
    (-0.075, 0.135),
    (-0.115, 0.165),
    (-0.085, 0.20),
    (-0.13, 0.25),
    (-0.115, 0.31),
    (-0.17, 0.36),
    (-0.33, 0.37),
    (-0.36, 0.50),
    (-0.28, 0.62),
    (0.02, 0.78),
    (0.14, 1.1),
    (0.16, 1.6),
]
BACK = [
    (-1.42, 1.6),
    (-1.36, 1.1),
    (-1.22, 0.82),
    (-0.86, 0.66),
    (-0.74, 0.50),
    (-0.76, 0.30),
    (-0.92, 0.06),
    (-0.93, -0.22),
    (-0.74, -0.45),
    (-0.50, -0.51),
    (-0.30, -0.42),
]
# Hair and what else tells people apart: circles (x, y, radius).
BUN = [(-0.98, -0.12, 0.17), (-0.62, -0.22, 0.33)]
CURLS = [(-0.30 - 0.66 * (n % 7) / 6, -0.40 - 0.17 * math.sin(n * 1.7) + 0.07 * (n // 7), 0.15) for n in range(21)] + [
    (-0.92, 0.08, 0.14),
    (-0.96, -0.1, 0.17),
    (-0.88, 0.22, 0.11),
]
BEARD = [(-0.20, 0.33, 0.10), (-0.26, 0.40, 0.11), (-0.36, 0.36, 0.12), (-0.16, 0.26, 0.06)]
BOB = [(-0.72, -0.1, 0.36), (-0.82, 0.12, 0.24), (-0.78, 0.3, 0.2), (-0.5, -0.3, 0.24)]


def silhouette(hair: Sequence[tuple[float, float, float]], tint: Colour, chance: random.Random) -> Image.Image:
    """Return the outline of a person from the side, cut from black paper, in an oval."""
    wide, high = OVAL
    sheet = paper(chance, OVAL)
    oval = mask(OVAL, lambda draw: draw.ellipse((60, 50, wide - 60, high - 50), fill=255))
    sheet.paste(tint, mask=oval)
    tone = noise(chance, OVAL, (3, 4)).point([v // 2 + 110 for v in range(256)])
    sheet.paste(mixed(tint, INK, 0.7), mask=within(lines(tone, screen(OVAL, 8)), oval))

    def at(x: float, y: float) -> Point:
        return 505 + 330 * x, 390 + 330 * y

    def person(draw: Draw) -> None:
        draw.polygon([at(x, y) for x, y in smooth(FACE, 8) + smooth(BACK, 8)], fill=255)
        for x, y, radius in hair:
            draw.circle(at(x, y), radius * 330, fill=255)

    def frame(draw: Draw) -> None:
        draw.ellipse((60, 50, wide - 60, high - 50), outline=255, width=5)
        draw.ellipse((46, 36, wide - 46, high - 36), outline=255, width=2)

    sheet.paste((26, 26, 34), mask=within(mask(OVAL, person), oval))
    sheet.paste(INK, mask=mask(OVAL, frame))
    return sheet
