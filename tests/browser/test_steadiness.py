"""Nothing on a page shifts while it loads, because space is reserved for everything that loads late."""

import pytest
from playwright.sync_api import Page, Route, expect

from nodes.services.site import save_settings
from tests.browser import pages
from tests.browser.people import DESKTOP, PHONE

pytestmark = pytest.mark.slow

OBSERVE = """window.moved = [];
new PerformanceObserver(list => { for (const entry of list.getEntries()) window.moved.push(entry.value); })
  .observe({ type: "layout-shift", buffered: true });"""
# After two frames, everything painted is counted.
SUM = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(window.moved.reduce((sum, value) => sum + value, 0)))))"""
# 0 in three decimals.
MOST = 0.0005
# Milliseconds that are longer than browsers wait for an optional font.
TOO_LATE = 500


@pytest.fixture
def site(mongo, rules) -> pages.Site:
    return pages.build()


def moved(page: Page, address: str) -> float:
    """Return the cumulative layout shift of a page that is loaded slowly and scrolled to its end."""
    page.goto(address)
    expect(page.locator("[data-comments-form] > a")).to_have_count(0)
    page.evaluate(SUM)  # shifts below the window don't count, because nobody sees them
    page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    page.wait_for_load_state("networkidle")
    return page.evaluate(SUM)


@pytest.mark.parametrize("theme", ["magazine", "documentation"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_pages_do_not_shift_while_they_load(browsing, site, viewport, theme):
    save_settings({"theme": theme}, {"theme": "magazine"})
    page = browsing(viewport=viewport)
    page.add_init_script(OBSERVE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for address in ("/", "/news", "/news/hello", "/news/p12", "/inserts", "/lakes", "/lakes/lake-2", "/tag/paper"):
        assert moved(page, address) < MOST, address
    assert len(asked) > 20
    assert [url for url in asked if not url.startswith(browsing.server + "/")] == []


def test_late_fonts_move_no_line(browsing, site):
    page = browsing(viewport=PHONE)
    page.add_init_script(OBSERVE)
    late: list[Route] = []
    is_late = True
    page.route("**/*.woff2", lambda route: late.append(route) if is_late else route.continue_())
    page.goto("/news/p12", wait_until="domcontentloaded")
    page.wait_for_timeout(TOO_LATE)
    assert len(late) >= 3
    is_late = False
    for font in late:
        font.continue_()
    page.wait_for_load_state("networkidle")
    assert page.evaluate(SUM) < MOST


def test_measure_sees_layout_shifts(page, site):
    page.add_init_script(OBSERVE)
    page.goto("/news")
    page.evaluate("document.querySelector('main').prepend(Object.assign(new Image(200, 300), {alt: 'late'}))")
    assert page.evaluate(SUM) > MOST


def test_every_picture_declares_its_size(page, site):
    for address in ("/lakes", "/lakes/lake-2"):
        page.goto(address)
        assert page.locator("img").count() > 0
        assert page.locator("img:not([width][height], .lightbox img)").count() == 0


def test_gallery_does_not_shift_on_slow_devices(browsing, site):
    for _ in range(5):
        page = browsing(viewport=DESKTOP)
        page.add_init_script(OBSERVE)
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 20})
        page.goto("/lakes")
        assert page.evaluate(SUM) < MOST
