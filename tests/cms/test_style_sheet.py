"""The reader's style sheet: what its custom properties promise."""

import re
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "static" / "site"
SHEET = (SITE / "site.css").read_text()
PAIRS = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\);", SHEET))


def luminance(colour: str) -> float:
    """Return the relative luminance of "#rrggbb", as WCAG defines it."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "soft", "accent", "focus", "error", "green", "amber", "violet"])
def test_words_stand_out_from_what_they_stand_on(name, scheme):
    colour, *grounds = (PAIRS[key].split(", ")[scheme] for key in (name, "paper", "raised"))
    for ground in grounds:
        assert contrast(colour, ground) >= 4.5


def test_sizes_of_letters_are_those_of_the_scale():
    written = re.findall(r"font(?:-size)?: (?:\w+ )*([\d.]+(?:rem|px|pt))", SHEET)
    assert written == ["11pt"]  # paper's
    assert set(re.findall(r"var\((--step-[^)]*)\)", SHEET)) <= {f"--step-{step}" for step in range(-1, 5)}
