"""Places among the demo's plates: hills in layers, a canal, a street of arches, each drawn from a seed."""

import math
import random
from collections.abc import Callable
from functools import partial

from PIL import Image, ImageChops

from cms.demo.engraving import (
    WIDE,
    Colour,
    Draw,
    fine,
    gradient,
    lines,
    mask,
    mixed,
    noise,
    paper,
    rings,
    screen,
    smooth,
    within,
)

# What draws over a picture.
Over = Callable[[Image.Image, random.Random], None]


def landscape(
    chance: random.Random, sky: tuple[Colour, Colour], land: tuple[Colour, Colour], over: Over, ranges: int = 5
) -> Image.Image:
    """Return ranges of hills, the farthest the palest; `over` draws into the sky before they stand in it."""
    sheet = Image.composite(
        Image.new("RGB", WIDE, sky[0]), Image.new("RGB", WIDE, sky[1]), gradient(WIDE, (255, 160, 0, 0))
    )
    ink = mixed(sky[0], (12, 14, 24), 0.55) if sum(sky[0]) > 240 else mixed(sky[0], (230, 230, 240), 0.4)
    clouds = noise(chance, WIDE, (3, 7))
    tone = ImageChops.add(clouds, gradient(WIDE, (96, 120, 190, 255)))
    sheet.paste(ink, mask=lines(tone, screen(WIDE, 7, bend=clouds)).point([v * 3 // 5 for v in range(256)]))
    over(sheet, chance)
    for distance in range(ranges):
        _range(sheet, chance, distance / (ranges - 1), land)
    return sheet


def _range(sheet: Image.Image, chance: random.Random, near: float, land: tuple[Colour, Colour]) -> None:
    """Print one range of hills: a sum of five waves, each shorter and lower than the one before."""
    level = WIDE[1] * (0.52 + 0.36 * near)
    colour = mixed(*land, near)
    waves = [
        (chance.uniform(0.5, 1.4) * 2.1**n, chance.uniform(0, math.tau), (62 - 18 * near) / 1.9**n) for n in range(6)
    ]
    across = range(0, WIDE[0], 4)
    rough_line = [
        level - sum(high * math.sin(math.tau * often * x / WIDE[0] + shift) for often, shift, high in waves)
        for x in across
    ]
    top = int(min(rough_line)) - 2
    # Nearer hills stand before what lies deeper.
    size = (WIDE[0], min(WIDE[1] - top, 400))
    line = [y - top for y in rough_line]
    hill = mask(
        size,
        lambda draw: draw.polygon([*zip(across, line, strict=True), (WIDE[0], line[-1]), size, (0, size[1])], fill=255),
    )
    sheet.paste(colour, (0, top), hill)
    rough = noise(chance, size, (9, 5), 4)
    tone = ImageChops.add(rough, gradient(size, (150, 96 - 40 * near, 40, 20)), 1.3)
    hatching = lines(tone, screen(size, 6 + 3 * near, [y * (0.7 + near) for y in line], rough))
    sheet.paste(mixed(colour, (10, 12, 20), 0.5), (0, top), within(hatching, hill))
    if top + size[1] < WIDE[1]:
        sheet.paste(colour, (0, top + size[1], *WIDE))


def disc(x: int, y: int, radius: int, colour: Colour, shadow: int = 0) -> Over:
    """Return what puts a sun, with rings around it, into a sky; with a shadow so wide it is a crescent moon."""

    def over(sheet: Image.Image, _chance: random.Random) -> None:
        wide = radius * 7
        halo = Image.radial_gradient("L").resize((wide, wide)).point([min(255, int(v * 1.25) + 66) for v in range(256)])
        light = lines(halo, rings((wide, wide), 13)).point([v // 2 for v in range(256)])
        sheet.paste(mixed(colour, (255, 255, 255), 0.45), (x - wide // 2, y - wide // 2), light)
        face = mask(
            (2 * radius + 4, 2 * radius + 4), lambda draw: draw.circle((radius + 2, radius + 2), radius, fill=255)
        )
        if shadow:
            dark = ImageChops.offset(face, -shadow, -shadow // 2)
            dark.paste(0, (face.width - shadow, 0, *face.size))
            face = ImageChops.subtract(face, dark)
        sheet.paste(colour, (x - radius - 2, y - radius - 2), face)

    return over


def swifts(sheet: Image.Image, chance: random.Random) -> None:
    """Put birds with bent wings into a sky."""

    def birds(draw: Draw) -> None:
        for _ in range(26):
            x = chance.uniform(160, 2_700)
            y = chance.uniform(90, 900)
            span = chance.uniform(26, 92)
            tilt = chance.uniform(-0.5, 0.5)
            for side in (-1, 1):
                tip = (x + side * span, y + span * (0.1 + tilt * side))
                elbow = (x + side * span * 0.45, y - span * 0.34)
                inner = (x + side * span * 0.4, y - span * 0.14)
                draw.polygon(
                    [(x, y), *smooth([(x, y - span * 0.1), elbow, tip]), *smooth([tip, inner, (x, y + span * 0.14)])],
                    255,
                )

    sheet.paste((40, 34, 40), mask=fine(WIDE, birds))


def stars(sheet: Image.Image, chance: random.Random) -> None:
    """Put stars and a crescent moon into a sky."""

    def lights(draw: Draw) -> None:
        for _ in range(240):
            draw.circle((chance.uniform(0, 2_880), chance.uniform(0, 1_050)), 1 + 4 * chance.random() ** 4, fill=255)

    disc(1_090, 210, 84, (246, 238, 208), 40)(sheet, chance)
    sheet.paste((240, 236, 218), mask=fine(WIDE, lights))


def rain(sheet: Image.Image, chance: random.Random) -> None:
    """Put slanting rain into a sky."""

    def drops(draw: Draw) -> None:
        for _ in range(700):
            x = chance.uniform(0, 3_000)
            y = chance.uniform(-100, 1_500)
            long = chance.uniform(50, 170)
            draw.line([(x, y), (x - long * 0.22, y + long)], 255, 3)

    sheet.paste((226, 232, 234), mask=fine(WIDE, drops))


def still_water(chance: random.Random) -> Image.Image:
    """Return a canal in the morning: water in lines, a sun and what it leaves on them, trees on the bank."""
    sheet = paper(chance, WIDE, (238, 226, 200))
    disc(980, 300, 92, (232, 150, 96))(sheet, chance)
    bank = 470
    crowns = [(x, bank - chance.uniform(20, 120), chance.uniform(34, 84)) for x in range(0, 640, 34)]
    crowns += [(x, bank - chance.uniform(4, 40), chance.uniform(16, 40)) for x in range(640, 1_460, 40)]

    def trees(draw: Draw) -> None:
        for x, y, radius in crowns:
            for _ in range(9):
                angle = chance.uniform(0, math.tau)
                far = radius * chance.uniform(0.3, 0.9)
                draw.circle((x + far * math.cos(angle), y + far * 0.8 * math.sin(angle)), radius * 0.42, fill=255)
            draw.rectangle((x - 3, y, x + 3, bank), fill=255)
        draw.rectangle((0, bank - 14, WIDE[0], bank), fill=255)

    wood = mask(WIDE, trees)
    sheet.paste((120, 140, 112), mask=wood)
    rough = noise(chance, WIDE, (40, 26), 2)
    sheet.paste(
        (34, 50, 46),
        mask=within(lines(rough.point([v * 4 // 5 for v in range(256)]), screen(WIDE, 6, bend=rough)), wood),
    )
    water = (0, bank, *WIDE)
    mirror = (
        wood.crop((0, 0, WIDE[0], bank)).transpose(Image.Transpose.FLIP_TOP_BOTTOM).resize((WIDE[0], WIDE[1] - bank))
    )
    tone = ImageChops.subtract(gradient(mirror.size, (225, 170, 120, 60)), mirror.point([v // 2 for v in range(256)]))
    glitter = mask(
        mirror.size, lambda draw: draw.polygon([(955, 0), (1_005, 0), (1_130, 490), (830, 490)], fill=150), soft=26
    )
    ripples = noise(chance, mirror.size, (7, 30), 2)
    tone = ImageChops.add(tone, glitter)
    sheet.paste((208, 206, 190), water)
    sheet.paste((38, 62, 78), water[:2], lines(tone, screen(mirror.size, 8, bend=ripples)))
    return sheet


def arcade(chance: random.Random) -> Image.Image:
    """Return a street of arches in the evening, hatched, with a small table in front of one."""
    sheet = paper(chance, WIDE, (240, 214, 178))
    wall = noise(chance, WIDE, (12, 8), 3)
    sheet.paste(
        (150, 84, 56),
        mask=lines(ImageChops.add(wall, gradient(WIDE, (190, 110, 90, 150))), screen(WIDE, 8, bend=wall)).point(
            [v * 2 // 3 for v in range(256)]
        ),
    )

    def arches(grow: float, draw: Draw) -> None:
        for number in range(5):
            left = 60 + 276 * number - grow
            right = 60 + 276 * number + 216 + grow
            draw.ellipse((left, 250 - grow, right, 250 + (right - left) - grow), fill=255)
            draw.rectangle((left, 250 + (right - left) / 2, right, 830), fill=255)

    stone = mask(WIDE, partial(arches, 16))
    sheet.paste((250, 236, 210), mask=stone)
    joints = screen(WIDE, 30)
    sheet.paste((150, 110, 84), mask=within(joints.point([255 if v > 235 else 0 for v in range(256)]), stone))
    dark = mask(WIDE, partial(arches, 0))
    sheet.paste((74, 62, 84), mask=dark)
    slanting = screen(WIDE, 9, [x * 0.8 for x in range(WIDE[0])])
    sheet.paste((24, 22, 38), mask=within(lines(gradient(WIDE, (40, 60, 110, 190)), slanting), dark))
    sheet.paste((206, 176, 140), (0, 830, *WIDE))
    ground = noise(chance, (WIDE[0], 130), (20, 3))
    sheet.paste(
        (92, 62, 52),
        (0, 830),
        lines(ground.point([v // 2 + 70 for v in range(256)]), screen((WIDE[0], 130), 10, bend=ground)),
    )

    def furniture(draw: Draw) -> None:
        for x in (1_236, 1_470):
            draw.line([(x, 1_470), (x - 16, 1_740)], 255, 12)
        draw.line([(1_200, 1_470), (1_506, 1_470)], 255, 18)
        for seat, back in ((1_560, 1_640), (1_140, 1_070)):
            draw.line([(seat, 1_560), (back, 1_560), (back + (back - seat) * 0.2, 1_400)], 255, 12)
            draw.line([(seat, 1_560), (seat, 1_740)], 255, 10)
            draw.line([(back, 1_560), (back, 1_740)], 255, 10)

    sheet.paste((26, 22, 30), mask=fine(WIDE, furniture))
    sheet.paste(
        (250, 246, 234),
        mask=fine(
            WIDE, lambda draw: draw.polygon([(1_300, 1_452), (1_400, 1_446), (1_410, 1_462), (1_308, 1_464)], fill=255)
        ),
    )
    return sheet
