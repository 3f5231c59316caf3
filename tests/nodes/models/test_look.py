"""Readable accent colours in both schemes, and their style sheets."""

import re
from pathlib import Path

import pytest

from nodes.models import look
from nodes.models.stored_site import StoredSettings

SHEET = (Path(__file__).parents[3] / "static/site/site.css").read_text()
# Hues all around, from almost white to almost black, and grey.
COLOURS = [
    "#ffffff",
    "#000000",
    "#808080",
    "#ffff00",
    "#00ff00",
    "#00ffff",
    "#ff00ff",
    "#ff0000",
    "#0000ff",
    "#ffd7a0",
    "#123456",
]


def test_colours_equal_those_of_the_theme():
    said = dict(re.findall(r"--(\w+): light-dark\((#\w{6}, #\w{6})\);", SHEET))
    assert (said["paper"], said["raised"]) == tuple(f"{a}, {b}" for a, b in zip(look.LIGHT, look.DARK, strict=True))
    assert said["accent"].partition(",")[0] == look.ACCENT
    assert look.is_accent(look.ACCENT)


def test_contrast_follows_the_wcag_formula():
    assert look.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert look.contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("colour", COLOURS)
def test_corrected_colour_is_readable_on_every_surface(colour):
    light = look.readable(colour, look.LIGHT, look.CONTRAST)
    assert look.is_accent(light)
    assert (light == colour) == look.is_accent(colour)
    assert look.lowest_contrast(look.in_dark(light), look.DARK) >= look.CONTRAST_IN_DARK


def test_style_sheet_contains_only_differences():
    assert look.name(StoredSettings()) == ""
    name = look.name(StoredSettings(accent="#7a1f5c", fonts="sans"))
    assert (
        look.sheet(name)
        == f"html:root {{ --serif: var(--sans); --accent: light-dark(#7a1f5c, {look.in_dark('#7a1f5c')}); }}\n"
    )
    assert look.sheet(look.name(StoredSettings(fonts="serif"))) == "html:root { --sans: var(--serif); }\n"


@pytest.mark.parametrize(
    "name",
    ["", "-", "own-own", "own-", "ffff00-own", "7a1f5c-other", "7A1F5C-own", "7a1f5-own", "};x{-own", "١٢٣٤٥٦-own"],
)
def test_unknown_name_has_no_style_sheet(name):
    assert look.sheet(name) is None
