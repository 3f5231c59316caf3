"""The reader's choice of colours, and the size of the theme."""

import gzip
import itertools
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from rjsmin import jsmin

from cms.serving.static_files import shorten_css
from cms.testing.build import PAST, node
from tests.browser import pages
from tests.support.nodes.photo_build import gallery, upload

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STATIC = [ROOT / "static" / "site", ROOT / "comments" / "static" / "comments"]
OF_ADMIN = {"admin.css", "admin.js"}
LIGHT, DARK = "rgb(253, 252, 249)", "rgb(25, 24, 22)"


@pytest.fixture
def site(mongo, rules) -> pages.Site:
    return pages.build()


def paper(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_colours_follow_the_device_until_chosen(browsing, mongo):
    page = browsing(color_scheme="dark")
    page.goto("/search")
    assert paper(page) == DARK
    switch = page.get_by_role("button", name="Colours: same as device")
    switch.click()
    expect(page.get_by_role("button", name="Colours: light")).to_be_focused()
    assert paper(page) == LIGHT
    page.goto("/log-in")
    assert paper(page) == LIGHT
    page.get_by_role("button", name="Colours: light").click()
    page.emulate_media(color_scheme="light")
    assert paper(page) == DARK
    page.reload()
    assert paper(page) == DARK
    page.get_by_role("button", name="Colours: dark").click()
    assert paper(page) == LIGHT


def test_chosen_colours_are_set_before_the_first_paint(browsing, mongo):
    page = browsing(color_scheme="light")
    page.goto("/search")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    # Everything painted here is painted before the deferred script.
    page.route("**/site/site.js", lambda route: route.abort())
    page.expected.append("site.js")
    page.reload()
    assert paper(page) == DARK
    # The script is not deferred and before the style sheet, so nothing is painted in between.
    assert page.locator("script[src*='site/theme']:not([defer]):not([async]) ~ link[rel=stylesheet]").count() > 0


def test_admin_and_site_share_the_chosen_colours(browsing, account):
    page = browsing(account("ann"), color_scheme="light")
    page.goto("/search")
    page.get_by_role("button", name="Colours").click()
    page.get_by_role("button", name="Colours").click()
    page.goto("/admin/")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_colours_follow_the_device_without_scripts(browsing, mongo):
    page = browsing(java_script_enabled=False, color_scheme="dark")
    page.goto("/search")
    expect(page.locator(".theme-switch")).to_be_hidden()
    expect(page.locator("body")).to_have_css("background-color", DARK)


def test_blocked_storage_breaks_nothing(page, mongo):
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('refused'); }})")
    page.goto("/search")
    for state in ("light", "dark", "same as device"):
        page.get_by_role("button", name="Colours").click()
        expect(page.get_by_role("button", name=f"Colours: {state}")).to_be_visible()


def test_header_has_one_row_or_two_with_a_menu_that_scrolls(browsing, site):
    for number in range(6):
        node("folder", f"section-{number}", title=f"Section {number}")
    page = browsing(viewport={"width": 1440, "height": 900})
    page.goto("/section-5")
    brand, menu, search = (page.locator(f".{name}").bounding_box() for name in ("site-name", "site-menu", "to-search"))
    assert all(abs(box["y"] - brand["y"]) < brand["height"] for box in (menu, search))
    assert page.locator(".site-header").bounding_box()["height"] < 110
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    assert page.locator(".site-menu").bounding_box()["height"] < 50
    assert page.locator(".site-header").bounding_box()["height"] < 120
    expect(page.locator(".site-menu").get_by_role("link", name="Section 5")).to_be_in_viewport()


def test_wide_code_scrolls_by_keyboard(browsing, site):
    page = browsing(viewport={"width": 360, "height": 740})
    page.goto("/news/p12")
    code = page.locator(".prose pre")
    code.focus()
    expect(code).to_be_focused()
    expect(page.get_by_text("Scroll sideways for more").first).to_be_visible()
    expect(page.locator(".prose table")).not_to_have_attribute("tabindex", "0")


def weights(suffix: str) -> dict[str, int]:
    """Return the compressed sizes, as collected, of the files of one kind that readers' pages can load."""
    files = [file for folder in STATIC for file in folder.glob(f"*{suffix}") if file.name not in OF_ADMIN]
    assert files
    shorten = jsmin if suffix == ".js" else shorten_css
    return {file.name: len(gzip.compress(shorten(file.read_text()).encode())) for file in files}


def test_theme_stays_small():
    # tests/cms/test_style_sheet.py limits a first view with its HTML. No page loads all sheets. This test limits the sheets of
    # every post, and the sheet that a kind of page adds.
    sheets = weights(".css")
    assert sheets.pop("site.css") + sheets.pop("comments.css") <= 11_000
    assert max(sheets.values()) <= 1_200
    assert sum(weights(".js").values()) <= 8_000


def test_pages_load_nothing_from_elsewhere(page, site):
    """All scripts and styles of readers' pages are in the two measured folders, and none is inline."""
    loaded: set[str] = set()
    page.on("request", lambda request: loaded.add(request.url) if request.resource_type != "document" else None)
    for name in ("home", "post with threaded comments", "reply form", "gallery", "photo", "search results"):
        pages.READERS[name](page, site)
        inline = "script:not([src]):not([type='application/ld+json']), style, [style], [onclick]"
        assert page.locator(inline).count() == 0
    assert all(url.startswith(page.url.partition("/search")[0]) for url in loaded)
    known = {file.name for folder in STATIC for file in folder.iterdir()} - OF_ADMIN
    used = {
        re.sub(r"\?.*", "", url).rpartition("/")[2] for url in loaded if url.partition("?")[0].endswith((".css", ".js"))
    }
    assert used
    assert used <= known


def test_page_loads_a_subset_of_the_font(browsing, site):
    """Including bold text. Bold sans is for bold text in tables and for the documentation theme."""
    for name in ("home", "typography", "inserts", "post with threaded comments", "comment form", "gallery"):
        page = browsing()
        pages.READERS[name](page, site)
        page.evaluate("document.fonts.ready")
        urls = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
        files = {url.rpartition("/")[2] for url in urls if url.endswith(".woff2")}
        assert {"serif.woff2", "sans.woff2"} <= files, name
        sizes = {file: (ROOT / "static/vendor/fonts" / file).stat().st_size for file in files}
        assert "sans-semibold.woff2" not in files, name
        assert sum(sizes.values()) <= 60_000, (name, sizes)


NOTES = """
First[^a] and second[^b] in one line.

Third[^c].

[^a]: %s

[^b]: Short.

[^c]: Listed:

    - one
    - two
""" % ("Words upon words. " * 20)


@pytest.fixture
def noted(mongo) -> str:
    node(slug="noted", title="Noted", text=f"{NOTES}\n```python\nx = 1\n```")
    return "/noted"


def test_margin_notes_are_beside_their_lines_without_overlap(browsing, noted):
    page = browsing(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page.goto(noted)
    boxes = [note.bounding_box() for note in page.locator(".margin-note").all()]
    text = page.locator(".prose").bounding_box()
    line = page.locator(".footnote-ref").first.bounding_box()
    assert len(boxes) == 3
    assert all(box["x"] + box["width"] < text["x"] and box["width"] > 150 for box in boxes)
    assert all(upper["y"] + upper["height"] <= lower["y"] for upper, lower in itertools.pairwise(boxes))
    assert abs(boxes[0]["y"] - line["y"]) < 24
    page.emulate_media(media="print")
    expect(page.locator(".margin-note").first).to_be_hidden()
    expect(page.locator(".for-paper > ol > li")).to_have_count(3)
    expect(page.locator(".for-paper")).to_be_visible()


def test_long_margin_note_scrolls_by_keyboard(browsing, mongo):
    node(slug="noted", title="Noted", text=f"Word[^a].\n\n[^a]: {'Words upon words. ' * 200}")
    page = browsing(viewport={"width": 1280, "height": 900})
    page.goto("/noted")
    note = page.locator(".margin-note")
    assert note.bounding_box()["height"] < 500
    note.focus()
    page.keyboard.press("End")
    expect(note.locator(".footnote-back")).to_be_in_viewport()


def test_text_is_set_for_reading_and_the_photo_is_as_wide_as_the_page(browsing, mongo):
    photo = upload(gallery("lakes"), name="pier.jpg")
    node("blog-entry", "post", parent=node("blog", "news"), text="Words. " * 200, **{"detail.picture": photo})
    page = browsing(viewport={"width": 1440, "height": 1000})
    page.goto("/news/post")
    text = page.locator(".prose")
    expect(text).to_have_css("font-size", "20px")
    expect(text.locator("p")).to_have_css("line-height", "32px")
    assert 640 <= text.bounding_box()["width"] <= 660
    lead, header = page.locator("figure.lead").bounding_box(), page.locator(".site-header").bounding_box()
    assert abs((lead["x"] + lead["width"] / 2) - (header["x"] + header["width"] / 2)) < 2


def test_headings_of_a_long_text_stay_beside_it(browsing, mongo):
    text = "\n\n".join(f"## Part {number}\n\n{'Words upon words. ' * 100}" for number in range(4))
    node("blog-entry", "long", parent=node("blog", "news"), text=text)
    page = browsing(java_script_enabled=False, viewport={"width": 1440, "height": 800})
    page.goto("/news/long")
    contents = page.locator(".on-this-page")
    contents.get_by_role("link", name="Part 3").click()
    expect(page.get_by_role("heading", name="Part 3")).to_be_in_viewport()
    expect(contents.get_by_role("link", name="Part 1")).to_be_in_viewport()
    assert contents.bounding_box()["x"] > sum(page.locator(".prose").bounding_box()[key] for key in ("x", "width"))
    page.set_viewport_size({"width": 390, "height": 844})
    expect(contents.get_by_role("link", name="Part 1")).to_be_hidden()
    contents.get_by_text("On this page").click()
    expect(contents.get_by_role("link", name="Part 1")).to_be_visible()


@pytest.mark.parametrize("has_script", [True, False])
def test_margin_note_unfolds_and_folds_on_a_phone(browsing, noted, has_script):
    page = browsing(java_script_enabled=has_script, viewport={"width": 360, "height": 740})
    page.goto(noted)
    note = page.locator(".margin-note", has_text="Listed")
    expect(note).to_be_hidden()
    page.get_by_role("link", name="3", exact=True).focus()
    page.keyboard.press("Enter")
    expect(note).to_be_visible()
    expect(page.locator(".for-paper")).to_be_hidden()
    note.locator(".footnote-back").click()
    expect(note).to_be_hidden()


def test_link_of_a_post_is_copied_and_shared(browsing, site):
    page = browsing(permissions=["clipboard-read", "clipboard-write"])
    page.add_init_script("navigator.share = async (data) => { window.shared = data.url; }")
    page.goto("/news/hello?comments=oldest")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    address = page.evaluate("navigator.clipboard.readText()")
    assert address.endswith("/news/hello")
    page.get_by_role("button", name="Share").click()
    assert page.evaluate("window.shared") == address


def test_copy_button_copies_code_and_confirms(browsing, noted):
    page = browsing(permissions=["clipboard-read", "clipboard-write"])
    page.goto(noted)
    page.get_by_role("button", name="Copy").press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    expect(page.locator(".code-block [role=status]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").strip() == "x = 1"


def test_search_result_has_two_lines_of_text_on_phones(browsing, mongo):
    lake = upload(gallery("lakes"), fields={"published": PAST})
    chinese, english = "页边写满了旧时读者的批注，", "Readers of old answered in the margins of their books. "
    blog = node("blog", "news")
    for slug, text, word in (("zh", chinese, "红楼梦"), ("en", english, "Heron")):
        node(
            "blog-entry",
            slug,
            parent=blog,
            title=word,
            text=text * 9 + word + "。" + text * 9,
            **{"detail.picture": lake},
        )
    page = browsing(viewport={"width": 390, "height": 800})
    for word in ("红楼梦", "heron"):
        page.goto(f"/search?q={word}")
        extract = page.locator(".extract")
        box, mark = extract.bounding_box(), extract.locator("mark").bounding_box()
        height = extract.evaluate("element => parseFloat(getComputedStyle(element).lineHeight)")
        assert box["height"] <= 2 * height + 1
        assert mark["y"] + mark["height"] <= box["y"] + box["height"] + 1


def test_foreign_title_in_a_list_is_above_its_summary(browsing, mongo):
    blog = node("blog", "news")
    node(
        "blog-entry",
        "margins",
        parent=blog,
        title="في هوامش الكتب",
        text="الهوامش للقراء. " * 9,
        summary="مقال عن القراء.",
    )
    page = browsing(viewport={"width": 1280, "height": 800})
    page.goto("/news")
    title, summary = (page.locator(f".listing {part}").bounding_box() for part in ("h2", ".blurb"))
    assert title["x"] + title["width"] == summary["x"] + summary["width"]
    page.goto("/news/margins")
    expect(page.locator("header .kicker")).to_have_css("text-align", "right")


def test_long_list_in_the_footer_has_two_columns(browsing, mongo):
    for number in range(6):
        node("folder", f"s{number}", title=f"Section {number}")
    page = browsing(viewport={"width": 390, "height": 800})
    page.goto("/s0")
    first, fourth = (page.locator(".site-footer li").nth(index).bounding_box() for index in (0, 3))
    assert first["y"] == fourth["y"]
    assert first["x"] < fourth["x"]
