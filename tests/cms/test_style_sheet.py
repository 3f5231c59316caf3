"""The style sheet and fonts: contrast, classes, and the size of a page."""

import gzip
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from cms.testing.build import node
from nodes.services.site import save_settings
from photos import addresses
from tests.support.nodes.photo_build import gallery, upload

SITE = Path(__file__).parents[2] / "static" / "site"
SHEET = (SITE / "site.css").read_text()
TOKENS = (SITE.parent / "cms" / "tokens.css").read_text()
PAIR = re.compile(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\);")
PAIRS = dict(PAIR.findall(SHEET))


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
def test_text_has_enough_contrast(name, scheme):
    colour, *grounds = (PAIRS[key].split(", ")[scheme] for key in (name, "paper", "raised"))
    for ground in grounds:
        assert contrast(colour, ground) >= 4.5


def test_admin_has_the_colors_of_the_site():
    palette = TOKENS.partition("/* The palette */")[2].partition("/* Colors that only")[0]
    assert dict(PAIR.findall(palette)).items() <= PAIRS.items()
    assert len(PAIR.findall(palette)) == 11


def test_admin_has_the_fonts_of_the_site():
    fonts = re.compile(r'@font-face \{\s+font-family: "Marginalia S[^}]*\}')
    assert fonts.findall(TOKENS) == fonts.findall(SHEET) != []


def test_class_of_a_content_type_is_not_used_by_inserts(mongo, client):
    """An app can name a type Note: its pages must not get the frame of the insert."""
    upload(gallery("lakes"), name="pier.jpg")
    assert '<article class="node type-photo"' in client.get("/lakes/pier").content.decode()
    assert ".type-photo .neighbours" in (SITE / "photos.css").read_text()


def test_every_photo_shape_and_focal_point_has_a_class():
    assert tuple(int(shape) for shape in re.findall(r"\.shape-(\d+) {", SHEET)) == addresses.SHAPES
    assert all(
        round(float(ratio) * 100) == int(shape)
        for shape, ratio in re.findall(r"\.shape-(\d+) {\s+--shape: ([\d.]+)", SHEET)
    )
    for name in ("across", "down"):
        found = re.findall(rf"\.{name}-(\d+) {{\s+--{name}: (\d+)%;\s+}}", SHEET)
        assert found == [(str(tenth), str(tenth * 10)) for tenth in range(11) if tenth != addresses.CENTRE_TENTH]


def test_every_tenth_of_a_colour_has_a_class():
    for name in ("red", "green", "blue"):
        found = re.findall(rf"\.{name}-(\d+) {{\s+--{name}: (\d+)%;\s+}}", SHEET)
        assert found == [(str(tenth), str(tenth * 10)) for tenth in range(11)]


def loaded(html: str) -> dict[str, list[str]]:
    """Return the URLs that a page loads, by kind."""
    return {
        "css": re.findall(r'<link rel="stylesheet" href="([^"]+)"', html),
        "js": re.findall(r'<script [^>]*src="([^"]+)"', html),
        "fonts": re.findall(r'<link rel="preload" href="([^"]+)" as="font" type="font/woff2" crossorigin>', html),
    }


def size(address: str) -> int:
    """Return the compressed size of a static file in bytes."""
    file = finders.find(address.removeprefix("/static/").partition("?")[0])
    assert file, address
    return len(gzip.compress(Path(file).read_bytes()))


def test_first_view_is_small_and_loads_nothing_from_elsewhere(client, mongo):
    """Including fonts. The style sheet and the script of a discussion are loaded with it, below the text."""
    save_settings({"tagline": "About nothing in particular"}, {"tagline": ""})
    blog = node("blog", "news", title="News")
    for number in range(20):
        node("blog-entry", f"p{number}", parent=blog, title="A title of usual length", text="Some *words*. " * 200)
    pages = (("/", 2, 44_000), ("/news", 2, 44_000), ("/news/p1", 3, 60_000))  # only the post contains italics
    for address, fonts, most in pages:
        html = client.get(address).content.decode()
        found = loaded(html)
        assert len(found["fonts"]) == fonts
        files = [file for file in found["css"] + found["js"] if "/comments/" not in file]
        assert len(gzip.compress(html.encode())) + sum(map(size, files)) + sum(map(size, found["fonts"])) <= most
        assert all(one.startswith("/static/") for some in found.values() for one in some)


def test_fonts_are_served_by_the_site():
    files = re.findall(r'url\("([^"]+)"\)', SHEET)
    assert files
    assert all((SITE / file).is_file() for file in files)
    assert "//" not in re.sub(r"/\*.*?\*/", "", SHEET, flags=re.DOTALL)
