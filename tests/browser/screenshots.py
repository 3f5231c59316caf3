"""`make screenshots`: the pictures in docs/images, of the demo as Chromium shows it. Not a test; asked for by its name only."""

import math
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from cms.demo import content, loading
from mongo.connection import now
from nodes.models import Node
from nodes.services import editing
from nodes.types import Actor
from tests.browser.conftest import write
from tests.nodes.build import nonce, stored
from tests.nodes.photo_build import upload

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


def landscape(number: int) -> bytes:
    """Return a picture for the gallery: the sun over ranges of hills, each number in colours of its own."""
    width, height = 1200, 800
    sky, ground = (((number * 67 + shift) % 360) for shift in (20, 200))
    picture = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(picture)
    for y in range(height):
        draw.line((0, y, width, y), f"hsl({sky}, 45%, {50 + 40 * y // height}%)")
    draw.ellipse((700 - 60 * number, 140, 860 - 60 * number, 300), f"hsl({sky}, 80%, 92%)")
    for ridge in range(4):
        line = [
            (x, 420 + 90 * ridge + 60 * math.sin(x / (130 + 40 * ridge) + number * 2 + ridge))
            for x in range(0, width + 9, 8)
        ]
        draw.polygon([*line, (width, height), (0, height)], f"hsl({ground}, 30%, {52 - 11 * ridge}%)")
    target = BytesIO()
    picture.save(target, "JPEG", quality=88)
    return target.getvalue()


def hang_pictures() -> None:
    """Put eight pictures into the demo's gallery."""
    plates = content.identifier("plates")
    for number in range(8):
        upload(
            plates,
            landscape(number),
            f"hills-{number + 1}.jpg",
            fields={"detail.alt": f"Hills under the sun, no. {number + 1}"},
        )


def test_take_readers_pages(browsing):
    hang_pictures()
    desktop, phone = browsing(viewport=DESKTOP), browsing(viewport=PHONE, color_scheme="dark")
    keep("reader", taken(desktop, "/"), taken(phone, POST, at="#comments, .comments"))
    keep("comments", taken(desktop, POST, at="#comments, .comments"), taken(phone, POST, at=".comment-depth-3"))
    keep("search", taken(desktop, "/search?q=paper"), taken(phone, "/search?q=paper"))
    keep("gallery", taken(desktop, "/plates"), taken(phone, "/plates/hills-3"))


def seen(page: Page) -> Image.Image:
    """Return the picture of what a page shows now."""
    page.wait_for_load_state("networkidle")
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def test_take_the_editors_pages(browsing, account):
    wide, night = {"width": 1440, "height": 860}, {"viewport": PHONE, "color_scheme": "dark"}
    ines = browsing(account("ines"), viewport=wide)
    phone = browsing(account("jun"), **night)
    keep("admin-start", taken(ines, "/admin/"), taken(phone, "/admin/"))
    keep("admin-queue", taken(ines, "/admin/comments/moderation/"), taken(phone, "/admin/comments/moderation/"))
    post = Node.objects.get(metadata__slug="the-wide-margin").pk
    form = f"/admin/nodes/node/{post}/change/"
    ines.goto(form)
    expect(ines.locator(".editor-preview-side h2").first).to_be_visible()
    keep("admin-editor", seen(ines), taken(phone, form))
    text = stored(post)["detail"]["text"]
    editing.save(
        Actor(None, "Tomás"), post, nonce(post), {"detail.text": text.replace("cheap paperback", "cheap edition")}
    )
    ines.expected.append("409")
    write(ines, text.replace("cheap paperback takes", "paperback steals"))
    ines.click("[name=_continue]")
    expect(ines.locator("#clash-text")).to_be_visible()
    keep("admin-conflict", seen(ines))
