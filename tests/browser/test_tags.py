"""Tags and redirects in a browser, by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import node


def test_tag_is_renamed_by_keyboard(browsing, account, page):
    blog = node("blog", "news", tags=("paper",))
    node("blog-entry", "one", parent=blog, tags=("paper", "ink"))
    ann = browsing(account("ann"))
    ann.goto("/admin/tags/")
    ann.get_by_role("link", name="paper").focus()
    ann.keyboard.press("Enter")
    name = ann.get_by_label("Name")
    name.focus()
    name.press("ControlOrMeta+a")
    ann.keyboard.type("vellum")
    ann.keyboard.press("Enter")
    expect(ann.get_by_role("link", name="vellum")).to_be_visible()
    expect(ann.get_by_text("Formerly: paper")).to_be_visible()
    page.goto("/tag/paper")
    expect(page).to_have_url("/tag/vellum")
    page.get_by_role("link", name="All tags").click()
    expect(page.get_by_role("link", name="ink 1")).to_be_visible()


@pytest.mark.slow
def test_redirect_is_added_and_tested_by_keyboard(browsing, account):
    node(slug="harbour", title="The harbour")
    ann = browsing(account("ann"))
    ann.goto("/admin/redirects/")
    ann.get_by_role("textbox", name="URL to test").fill("/old")
    ann.keyboard.press("Enter")
    expect(ann.get_by_role("status")).to_contain_text("Readers see an error page (404).")
    ann.get_by_role("link", name="Add redirect").press("Enter")
    expect(ann.get_by_label("Old URL")).to_have_value("/old")
    target = ann.get_by_role("combobox", name="New URL")
    target.focus()
    ann.keyboard.type("harb")
    expect(ann.get_by_role("option", name="The harbour")).to_be_visible()
    ann.keyboard.press("ArrowDown")
    ann.keyboard.press("Enter")
    expect(target).to_have_value("/harbour")
    ann.keyboard.press("Enter")
    expect(ann).to_have_url(re.compile("/admin/redirects/$"))
    ann.get_by_role("textbox", name="URL to test").fill("/old")
    ann.keyboard.press("Enter")
    expect(ann.get_by_role("status")).to_contain_text("Readers see the page “The harbour”.")
