"""`make screenshots`: the screenshots in docs/images, taken of the demo in Chromium. It runs only if it is named."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect

from cms.demo import loading
from cms.testing.build import node, nonce, stored
from marginalia.mongo.clock import now
from marginalia.testing import run_tasks
from nodes import themes
from nodes.models import Node, stored_site
from nodes.services import editing
from nodes.services.site import save_settings
from nodes.types import Actor
from tests.browser.people import write

IMAGES = Path(__file__).parents[2] / "docs" / "images"
THEMES = Path(__file__).parents[2] / "editor" / "static" / "editor" / "themes"
POST = "/essays/the-wide-margin"
# Screens with two pixels per CSS pixel, as most people have them.
DESKTOP = {"viewport": {"width": 1180, "height": 920}, "device_scale_factor": 2}
WIDE = {"viewport": {"width": 1440, "height": 860}, "device_scale_factor": 2}
WINDOW = {"viewport": {"width": 760, "height": 560}, "device_scale_factor": 1.5}
PHONE = {
    "viewport": {"width": 390, "height": 920},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
    "user_agent": "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36",
}
NIGHT = {**PHONE, "color_scheme": "dark"}
# Pixels between screenshots that are shown side by side.
GAP = 48
SETTLED = """() => Promise.all([
    document.fonts.ready,
    ...[...document.images]
        .filter((image) => !image.complete && image.getBoundingClientRect().top < innerHeight)
        .map((image) => new Promise((done) => image.onload = image.onerror = done)),
]).then(() => null)"""


@pytest.fixture
def browsing(browsing):
    """Open pages that wait for the site's fonts. On a busy machine, a page would appear in a fallback font instead."""

    def open_page(*user, **options) -> Page:
        page = browsing(*user, **options)
        page.context.route("**/*.css*", _wait_for_fonts)
        return page

    return open_page


def _wait_for_fonts(route: Route) -> None:
    response = route.fetch()
    route.fulfill(response=response, body=response.text().replace("font-display: optional", "font-display: block"))


@pytest.fixture(autouse=True)
def demo(mongo):
    loading.load(now(), lambda: None)
    # Makes the copies of photos, so that no page has to wait for them.
    run_tasks()


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


def beside(*pictures: Image.Image) -> Image.Image:
    """Return screenshots side by side, on a transparent ground."""
    size = sum(p.width for p in pictures) + GAP * (len(pictures) - 1), max(p.height for p in pictures)
    whole = Image.new("RGBA", size)
    left = 0
    for picture in pictures:
        whole.paste(picture, (left, 0))
        left += picture.width + GAP
    return whole


def keep(name: str, *pictures: Image.Image) -> None:
    """Write screenshots side by side as WebP."""
    beside(*pictures).save(IMAGES / f"{name}.webp", quality=80, method=6)


def test_take_readers_pages(browsing):
    desktop, light, dark = browsing(**DESKTOP), browsing(**PHONE), browsing(**NIGHT)
    keep("reader", taken(desktop, "/"), taken(light, POST), taken(dark, POST, at="#comments, .comments"))


def test_take_editors_pages(browsing, account):
    writers = account("ines"), account("jun")
    for writer, name in zip(writers, ("Ines Okafor", "Jun Watanabe"), strict=True):
        writer.first_name, writer.last_name = name.split()
        writer.save()
    ines = browsing(writers[0], **WIDE)
    phone = browsing(writers[1], **NIGHT)
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
    ines.evaluate(SETTLED)
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


def test_take_themes(browsing):
    """The pictures of the themes in the site's settings."""
    page = browsing(viewport={"width": 1200, "height": 800})
    for theme, _label in themes.THEMES:
        save_settings({"theme": theme}, {"theme": stored_site.current().settings.theme})
        picture = taken(page, "/handbook" if theme == themes.DOCUMENTATION else "/")
        picture.resize((480, 320)).save(THEMES / f"{theme}.webp", quality=80, method=6)


def test_take_settings(browsing, account):
    """The site's settings, with the tab of the appearance."""
    keep("admin-settings", taken(browsing(account("ines"), **WIDE), "/admin/nodes/sitesettings/#appearance"))


def test_take_recipe_form(browsing, account):
    """The form of the type in the tutorial."""
    from examples.recipes.content import Recipe

    steps = [
        {"what": "Soak the beans in cold water overnight.", "minutes": 5},
        {"what": "Simmer everything until the beans are soft.", "minutes": 90},
    ]
    recipe = node(
        Recipe.type_name,
        "bean-soup",
        parent=node("blog", "kitchen", title="Kitchen"),
        title="Bean soup",
        text="The soup of the printers’ canteen takes a night and an afternoon, and hardly any work.",
        **{
            "detail.servings": 6,
            "detail.course": "main",
            "detail.ingredients": ["500 g white beans", "2 onions", "1 bay leaf"],
            "detail.steps": steps,
        },
    )
    ines = browsing(account("ines"), **{**WIDE, "viewport": {"width": 1440, "height": 1000}})
    keep("recipe-form", taken(ines, f"/admin/nodes/node/{recipe}/change/", at=".field-ingredients"))


def test_take_two_editors(browsing, account):
    """Two people edit different paragraphs of one page: the animation at the top of the README."""
    post = Node.objects.get(metadata__slug="the-wide-margin").pk
    people = account("ines"), account("jun")
    for person, name in zip(people, ("Ines Okafor", "Jun Tanaka"), strict=True):
        person.first_name, person.last_name = name.split()
        person.save()
    ines, jun = (browsing(person, **WINDOW) for person in people)
    frames: list[tuple[Image.Image, int]] = []

    def show(milliseconds: int) -> None:
        frames.append(
            (beside(*(Image.open(BytesIO(page.screenshot())).convert("RGB") for page in (ines, jun))), milliseconds)
        )

    for page in (ines, jun):
        page.goto(f"/admin/nodes/node/{post}/change/")
        page.evaluate(SETTLED)
        page.wait_for_timeout(1_000)
    text = stored(post)["detail"]["text"]
    paragraphs = text.split("\n\n")
    show(1_500)
    for page, number, words in ((ines, 0, " A margin is where readers answer."), (jun, 1, " A pencil is enough.")):
        typed = words.split(" ")
        for count in range(2, len(typed) + 1):
            changed = [*paragraphs]
            changed[number] += " ".join(typed[:count])
            write(page, "\n\n".join(changed))
            show(300)
        show(900)
    for page in (ines, jun):
        page.click("[name=_continue]")
        expect(page.locator(".messagelist")).to_be_visible()
        page.evaluate(SETTLED)
        show(2_200)
    pictures = [picture for picture, _ in frames]
    pictures[0].save(
        IMAGES / "two-editors.webp",
        save_all=True,
        append_images=pictures[1:],
        duration=[milliseconds for _, milliseconds in frames],
        loop=0,
        quality=70,
        method=6,
    )
