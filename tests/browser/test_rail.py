"""The rail in a browser: the search by keyboard, and the parts that open on narrow screens."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import node
from tests.browser.people import PHONE


def test_search_is_used_by_keyboard(browsing, account):
    ann, page = browsing(account("ann")), node(slug="harbour", title="The harbour")
    node(slug="lighthouse", title="The lighthouse")
    ann.goto("/admin/")
    ann.keyboard.press("/")
    box = ann.get_by_role("searchbox", name="Search")
    expect(box).to_be_focused()
    expect(box).to_have_value("")
    ann.keyboard.type("harb")
    found = ann.locator("#search-dialog").get_by_role("link", name="The harbour")
    expect(found).to_be_visible()
    expect(ann.locator("#search-dialog").get_by_role("link", name="The lighthouse")).to_have_count(0)
    ann.keyboard.press("ArrowDown")
    expect(found).to_be_focused()
    ann.keyboard.press("Enter")
    expect(ann).to_have_url(re.compile(f"/{page}/change/$"))
    ann.locator("#id_title").press("End")
    ann.keyboard.press("/")
    expect(ann.locator("#search-dialog")).to_be_hidden()
    expect(ann.locator("#id_title")).to_have_value("The harbour/")


@pytest.mark.slow
def test_search_works_without_scripts(browsing, account):
    plain = browsing(account("ann"), java_script_enabled=False)
    node(slug="harbour", title="The harbour")
    plain.goto("/admin/nodes/node/")
    plain.get_by_role("link", name="Search").click()
    plain.get_by_role("searchbox").fill("harbour")
    plain.keyboard.press("Enter")
    expect(plain.get_by_role("main").get_by_role("link", name="The harbour")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [PHONE, {"width": 800, "height": 700}], ids=["phone", "tablet"])
def test_more_opens_the_rest_on_narrow_screens(browsing, account, viewport):
    ann = browsing(account("ann"), viewport=viewport)
    ann.goto("/admin/nodes/node/")
    rest = ann.locator("#rail-more")
    expect(ann.get_by_role("link", name="Photos")).to_be_in_viewport()
    expect(rest).to_be_hidden()
    ann.get_by_role("button", name="More").click()
    rest.get_by_text("For technicians").click()
    expect(rest.get_by_role("link", name="Jobs")).to_be_in_viewport()
    ann.keyboard.press("Escape")
    expect(rest).to_be_hidden()
    ann.get_by_role("button", name="More").click()
    rest.get_by_role("link", name="Jobs").click()
    expect(ann.locator("h1")).to_have_text("Jobs")


@pytest.mark.slow
def test_rail_with_labels_shows_everything(browsing, account):
    ann = browsing(account("ann"))
    ann.goto("/admin/jobs/")
    expect(ann.get_by_role("button", name="More")).to_be_hidden()
    expect(ann.locator("header.rail").get_by_role("link", name="Jobs")).to_have_attribute("aria-current", "page")
    expect(ann.locator("header.rail").get_by_role("link", name="People")).to_be_hidden()
    ann.locator("header.rail summary", has_text="Settings").click()
    expect(ann.locator("header.rail").get_by_role("link", name="People")).to_be_visible()
