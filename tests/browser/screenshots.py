"""`make screenshots`: the screenshots in docs/images, taken of the demo in Chromium. It runs only if it is named."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from cms.demo import loading
from marginalia.mongo.clock import now
from nodes.models import Node
from nodes.services import editing
from nodes.types import Actor
from tests.browser.people import write
from tests.support.nodes.build import nonce, stored

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DESKTOP, PHONE = {"width": 1180, "height": 800}, {"width": 390, "height": 800}
POST = "/essays/the-wide-margin"
SETTLED = """() => Promise.all([
    document.fonts.ready,
    ...[...document.images]
        .filter((image) => !image.complete && image.getBoundingClientRect().top < innerHeight)
        .map((image) => new Promise((done) => image.onload = image.onerror = done)),
]).then(() => null)"""


@pytest.fixture(autouse=True)
def demo(mongo):
    loading.load(now(), lambda: None)


def taken(page: Page, address: str, *, at: str | None = None) -> Image.Image:
    """Return a screenshot of a page, scrolled to the element that `at` selects."""
    page.goto(address)
    page.evaluate(SETTLED)
    # By now, the copies of photos have been created.
    page.reload()
    if at:
        page.locator(at).first.evaluate("element => element.scrollIntoView({behavior: 'instant'})")
    return seen(page)


def seen(page: Page) -> Image.Image:
    """Return a screenshot of the visible part of a page."""
    page.evaluate(SETTLED)
    # A frame without scripts cannot report when it is ready.
    page.wait_for_timeout(1_000)
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def keep(name: str, *pictures: Image.Image) -> None:
    """Write screenshots side by side, in 256 colours, which needs a fifth of the bytes."""
    gap = 24 * (len(pictures) - 1)
    whole = Image.new("RGB", (sum(p.width for p in pictures) + gap, max(p.height for p in pictures)), "#8a867d")
    left = 0
    for picture in pictures:
        whole.paste(picture, (left, 0))
        left += picture.width + 24
    IMAGES.mkdir(parents=True, exist_ok=True)
    whole.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        IMAGES / f"{name}.png", optimize=True
    )


def test_take_readers_pages(browsing):
    desktop, phone = browsing(viewport=DESKTOP), browsing(viewport=PHONE, color_scheme="dark")
    light = browsing(viewport=PHONE)
    keep("reader", taken(desktop, "/"), taken(light, POST), taken(phone, POST, at="#comments, .comments"))
    keep("comments", taken(desktop, POST, at="#comments, .comments"), taken(phone, POST, at=".comment-depth-3"))
    keep("search", taken(desktop, "/search?q=paper"), taken(phone, "/search?q=paper"))
    keep("gallery", taken(desktop, "/plates"), taken(phone, "/plates/from-the-night-train"))


def test_take_editors_pages(browsing, account):
    wide, night = {"width": 1440, "height": 860}, {"viewport": PHONE, "color_scheme": "dark"}
    ines = browsing(account("ines"), viewport=wide)
    phone = browsing(account("jun"), **night)
    keep("admin-start", taken(ines, "/admin/"), taken(phone, "/admin/"))
    queue = "/admin/marginalia_comments/moderation/"
    pictures = []
    for page in (ines, phone):
        pictures.append(taken(page, queue))
    keep("admin-queue", *pictures)
    post = Node.objects.get(metadata__slug="the-wide-margin").pk
    form = f"/admin/nodes/node/{post}/change/"
    ines.goto(form)
    expect(ines.frame_locator(".editor-preview-side iframe").locator("h2").first).to_be_visible()
    keep("admin-editor", seen(ines), taken(phone, form))
    text = stored(post)["detail"]["text"]
    editing.save(
        Actor(None, "Tomás"), post, nonce(post), {"detail.text": text.replace("cheap paperback", "cheap edition")}
    )
    for editor in (ines, phone):
        editor.expected.append("409")
        write(editor, text.replace("cheap paperback takes", "paperback steals"))
        editor.click("[name=_continue]")
        expect(editor.locator("#clash-text")).to_be_visible()
    keep("admin-conflict", seen(ines), seen(phone))
