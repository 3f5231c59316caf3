"""`make screenshots`: the pictures in docs/images, of the demo as Chromium shows it. Not a test; asked for by its name only."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page

from cms.demo import loading
from mongo.connection import now

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DESKTOP, PHONE = {"width": 1180, "height": 800}, {"width": 390, "height": 800}
POST = "/essays/the-wide-margin"


@pytest.fixture(autouse=True)
def demo(mongo):
    loading.load(now(), lambda: None)


def taken(page: Page, address: str, *, at: str | None = None) -> Image.Image:
    """Return the picture of a page, scrolled to what `at` selects."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    if at:
        page.locator(at).first.evaluate("element => element.scrollIntoView({behavior: 'instant'})")
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def keep(name: str, *pictures: Image.Image) -> None:
    """Write pictures side by side, in 256 colours: a fifth of the bytes."""
    gap = 24 * (len(pictures) - 1)
    whole = Image.new("RGB", (sum(p.width for p in pictures) + gap, max(p.height for p in pictures)), "#8a867d")
    left = 0
    for picture in pictures:
        whole.paste(picture, (left, 0))
        left += picture.width + 24
    IMAGES.mkdir(parents=True, exist_ok=True)
    whole.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        IMAGES / f"{name}.png", optimize=True
    )


def test_take(browsing):
    desktop, phone = browsing(viewport=DESKTOP), browsing(viewport=PHONE, color_scheme="dark")
    keep("reader", taken(desktop, "/"), taken(phone, POST, at="#comments, .comments"))
    keep("post", taken(desktop, POST), taken(phone, POST))
    keep("search", taken(desktop, "/search?q=paper"), taken(phone, "/search?q=paper"))
    keep("archive", taken(desktop, "/essays/archive"), taken(phone, "/library"))
