"""Public pages in a browser: complete at every width, also without JavaScript."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from cms.testing.build import node
from tests.browser.late import LateResponse
from tests.browser.people import PASSWORD

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
TEXT = f"""
A paragraph with `inline code`, {LONG} and https://example.org/{"x" * 200}

| {" | ".join(f"Column {n}" for n in range(12))} |
|{"---|" * 12}
| {" | ".join(f"Cell {n}" for n in range(12))} |

```
{"a line of code that is far too long " * 8}
```

> A quotation.
"""


@pytest.fixture
def site(mongo) -> None:
    folder = node("folder", "guide", title="Guide")
    node(slug="start", parent=folder, title="Start here", text="A [link](/news).")
    blog = node("blog", "news", title="News")
    for day in range(1, 13):
        published = datetime(2022, 1, 1, tzinfo=UTC) + timedelta(days=day)
        node(
            "blog-entry",
            f"p{day}",
            parent=blog,
            title=f"Post {day}: {LONG}",
            text=TEXT,
            published=published,
            tags=("t", "x" * 100),
        )
    node("blog-entry", "红楼梦", parent=blog, title="红楼梦" * 20, text="满纸荒唐言，一把辛酸泪。" * 40, tags=("批注",))


ADDRESSES = [
    "/",
    "/news",
    "/news/p3",
    "/news/红楼梦",
    "/guide",
    "/guide/start",
    "/tag/t",
    "/search?q=post",
    "/news/archive",
]


@pytest.mark.slow
def test_no_page_is_wider_than_its_window(page, site):
    for width in (320, 360, 768, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        for address in ADDRESSES:
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{address} at {width}"


@pytest.mark.slow
def test_reader_finds_a_post_and_its_neighbours(browsing, site):
    page = browsing(java_script_enabled=False)
    page.goto("/")
    page.get_by_role("link", name="News", exact=True).first.click()
    page.get_by_role("link", name="Older").click()
    page.get_by_role("link", name="Post 2:").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Post 2:")
    page.get_by_role("navigation", name="More posts").get_by_role("link", name="Post 3:").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Post 3:")
    page.get_by_role("link", name="t", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tagged “t”")


@pytest.mark.slow
def test_search_finds_a_post(browsing, site):
    page = browsing(java_script_enabled=False)
    page.goto("/")
    page.get_by_role("link", name="Search").click()
    page.get_by_label("Search for").fill("荒唐")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("main").get_by_role("listitem")).to_have_count(1)
    expect(page.locator("mark").first).to_have_text("荒唐")


@pytest.mark.slow
def test_first_tab_skips_the_menu(page, site):
    page.goto("/news")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to content")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


@pytest.mark.slow
def test_every_link_and_button_shows_its_focus(page, site):
    page.goto("/news/p3")
    for _ in range(30):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(e => e === document.body ? 'end' : getComputedStyle(e).outlineStyle)(document.activeElement)"
        )
        assert style != "none"


@pytest.mark.slow
def test_edit_link_opens_the_form_of_the_page(browsing, account, site):
    editor = browsing(account("ed"))
    editor.goto("/guide/start")
    editor.get_by_role("link", name="Edit", exact=True).click()
    expect(editor.locator("#id_title")).to_have_value("Start here")


def test_missing_page_offers_help(page, site):
    page.expected.append("404")
    page.goto("/guide/strat")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
    page.get_by_role("combobox", name="Search for").fill("sta")
    expect(page.get_by_role("option")).to_have_text("Start here")


def test_search_opens_with_a_key_and_suggests_pages(page, site):
    page.goto("/news/p3")
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search for")
    expect(field).to_be_focused()
    page.keyboard.type("sta")
    option = page.get_by_role("option", name="Start here")
    expect(option).to_be_visible()
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", option.get_attribute("id"))
    page.keyboard.press("Escape")
    expect(option).to_be_hidden()
    page.keyboard.type("r")
    expect(option).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/guide/start")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("start")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=start")
    expect(page.locator("main input[type=search]")).to_be_focused()
    expect(page.locator("main mark, main h2 a").first).to_be_visible()


def test_late_response_leaves_the_highlighted_suggestion(page, site):
    page.goto("/news/p3")
    late = LateResponse(page, "**/*?q=star")
    page.get_by_role("link", name="Search").click()
    page.get_by_role("combobox", name="Search for").press_sequentially("sta")
    option = page.get_by_role("option", name="Start here")
    expect(option).to_be_visible()
    late.type_key("r")
    page.keyboard.press("ArrowDown")
    late.arrive()
    expect(option).to_have_attribute("aria-selected", "true")
    page.keyboard.type("t")
    expect(option).to_have_attribute("aria-selected", "false")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=start")


@pytest.mark.parametrize(
    "scripts", [pytest.param(True, id="script"), pytest.param(False, marks=pytest.mark.slow, id="no script")]
)
def test_reader_logs_in_and_out(browsing, account, site, scripts):
    account("ann")
    page = browsing(java_script_enabled=scripts)
    page.goto("/guide/start")
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("Username").fill("ann")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".errorlist")).to_contain_text("correct username and password")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.goto("/guide/start")
    expect(page.get_by_role("link", name="Edit", exact=True)).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()
