"""The page tree: opened by mouse and keyboard, remembered, and usable without scripts."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import node
from nodes.selectors import levels

TREE = "/admin/nodes/node/tree/"


@pytest.fixture
def folder(mongo):
    """The id of a folder with a page and a folder that contains another page."""
    section = node("folder", "folder", title="Folder")
    node(slug="first", title="First", parent=section)
    node(slug="deep", title="Deep", parent=node("folder", "inner", title="Inner", parent=section))
    return section


def test_sections_are_opened_by_keyboard_and_remembered(browsing, account, folder):
    ann = browsing(account("ann"))
    ann.goto("/admin/nodes/node/")
    ann.get_by_role("link", name="Tree", exact=True).click()
    toggle = ann.get_by_role("button", name="Contents of “Folder”")
    toggle.focus()
    ann.keyboard.press("Enter")
    expect(ann.get_by_role("link", name="First")).to_be_visible()
    expect(toggle).to_be_focused()
    expect(toggle).to_have_attribute("aria-expanded", "true")
    ann.keyboard.press("Tab")
    expect(ann.get_by_role("link", name="Folder", exact=True)).to_be_focused()
    ann.get_by_role("button", name="Contents of “Inner”").press("Space")
    expect(ann.get_by_role("link", name="Deep")).to_be_visible()
    toggle.press("Space")
    expect(ann.get_by_role("link", name="First")).to_be_hidden()
    toggle.press("Space")
    expect(ann.get_by_role("link", name="Deep")).to_be_visible()
    ann.goto("/admin/jobs/")
    ann.locator("header.rail").get_by_role("link", name="Pages").click()
    expect(ann).to_have_url(re.compile(f"{TREE}\\?open={folder}&open="))
    expect(ann.get_by_role("link", name="Deep")).to_be_visible()
    ann.get_by_role("link", name="List", exact=True).click()
    ann.goto("/admin/jobs/")
    ann.locator("header.rail").get_by_role("link", name="Pages").click()
    expect(ann).to_have_url(re.compile("/admin/nodes/node/$"))


def test_tree_works_without_scripts(browsing, account, folder):
    ann = browsing(account("ann"), java_script_enabled=False)
    ann.goto(TREE)
    ann.get_by_role("button", name="Contents of “Folder”").click()
    ann.get_by_role("button", name="Contents of “Inner”").click()
    expect(ann.get_by_role("link", name="Deep")).to_be_visible()
    ann.get_by_role("button", name="Contents of “Folder”").click()
    expect(ann.get_by_role("link", name="First")).to_have_count(0)


def test_long_section_is_loaded_page_by_page(browsing, account, folder, monkeypatch):
    monkeypatch.setattr(levels, "SIZE", 1)
    ann = browsing(account("ann"))
    ann.goto(TREE)
    ann.get_by_role("button", name="Contents of “Folder”").click()
    expect(ann.get_by_role("link", name="First")).to_be_visible()
    more = ann.get_by_role("link", name="Show more")
    more.press("Enter")
    expect(ann.get_by_role("button", name="Contents of “Inner”")).to_be_visible()
    expect(ann.get_by_role("link", name="Inner")).to_be_focused()
    expect(more).to_have_count(0)
