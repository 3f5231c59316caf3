"""The page tree: opened by mouse and keyboard, remembered, and usable without scripts."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import node, stored
from nodes.selectors import by_hand, levels
from tests.browser.people import PHONE, drag_with_finger
from tests.support.nodes.content import Chapter, Handbook, News, registered

TREE = "/admin/nodes/node/tree/"


@pytest.fixture
def folder(mongo):
    """The id of a folder with a page and a folder that contains another page."""
    section = node("folder", "folder", title="Folder")
    node(slug="first", title="First", parent=section)
    node(slug="deep", title="Deep", parent=node("folder", "inner", title="Inner", parent=section))
    return section


@pytest.mark.slow
def test_sections_are_opened_by_keyboard_and_remembered(browsing, account, folder):
    ann = browsing(account("ann"))
    ann.goto("/admin/nodes/node/")
    ann.get_by_role("link", name="Tree", exact=True).click()
    toggle = ann.get_by_role("button", name="Contents of “Folder”")
    expect(toggle).to_be_visible()
    ann.wait_for_load_state("load")  # until the script runs, the button sends a form
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
    expect(ann.get_by_role("link", name="List", exact=True)).to_have_attribute("aria-current", "true")
    ann.wait_for_load_state("load")
    ann.goto("/admin/jobs/")
    ann.locator("header.rail").get_by_role("link", name="Pages").click()
    expect(ann).to_have_url(re.compile("/admin/nodes/node/$"))


@pytest.mark.slow
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


@pytest.fixture
def book(mongo):
    """The id of a handbook with the chapters a to c, next to an empty folder."""
    with registered(Handbook, Chapter, News):
        section = node("handbook", "book", title="Book")
        for slug in "abc":
            node("chapter", slug, parent=section, title=f"Chapter {slug}")
        node("folder", "shelf", title="Shelf")
        yield section


def order(section) -> str:
    return "".join(one.metadata.slug for one in by_hand.all_nodes(section, size=100)[0])


def row(page, title):
    return page.locator(".tree-row", has_text=title)


def handle(page, title):
    return page.locator(f'summary[aria-label="Move “{title}”"]')


@pytest.mark.slow
def test_pages_are_moved_by_keyboard(browsing, account, book):
    ann = browsing(account("ann"))
    ann.goto(f"{TREE}?open={book}")
    handle(ann, "Chapter c").press("Alt+ArrowUp")
    expect(ann.locator(".messagelist")).to_contain_text("“Chapter c” was moved.")
    expect(handle(ann, "Chapter c")).to_be_focused()
    expect(handle(ann, "Chapter c")).to_have_accessible_description(re.compile("“Chapter c” was moved."))
    assert order(book) == "acb"
    ann.keyboard.press("Enter")
    ann.keyboard.press("Tab")
    expect(ann.get_by_role("button", name="Move up")).to_be_focused()
    ann.keyboard.press("Escape")
    expect(handle(ann, "Chapter c")).to_be_focused()
    expect(ann.get_by_role("button", name="Move up")).to_have_count(0)
    ann.keyboard.press("Enter")
    ann.keyboard.press("Tab")
    ann.keyboard.press("Enter")
    expect(handle(ann, "Chapter c")).to_be_focused()
    expect(row(ann, "Chapter").first).to_contain_text("Chapter c")
    assert order(book) == "cab"
    ann.get_by_role("button", name="Undo").click()
    expect(row(ann, "Chapter").first).to_contain_text("Chapter a")
    assert order(book) == "acb"


@pytest.mark.slow
def test_pages_are_dragged(browsing, account, book):
    ann = browsing(account("ann"))
    ann.goto(TREE)
    ann.get_by_role("button", name="Contents of “Book”").click()
    handle(ann, "Chapter c").drag_to(row(ann, "Chapter a"), target_position={"x": 200, "y": 3})
    expect(ann.locator(".messagelist")).to_contain_text("“Chapter c” was moved.")
    assert order(book) == "cab"
    handle(ann, "Chapter c").drag_to(row(ann, "Shelf"), target_position={"x": 200, "y": 22})
    expect(ann.locator(".messagelist")).to_contain_text("“Chapter c” was moved to /shelf/c.")
    assert order(book) == "ab"
    handle(ann, "Shelf").drag_to(row(ann, "Book").first, target_position={"x": 200, "y": 2})
    expect(ann.locator(".messagelist")).to_contain_text(
        "The page wasn't moved. The top level is always sorted by name."
    )
    handle(ann, "Book").drag_to(row(ann, "Chapter a"), target_position={"x": 200, "y": 2})
    expect(ann.locator(".is-dragged")).to_have_count(0)
    assert stored(book)["parent_id"] is None


@pytest.mark.slow
def test_pages_are_dragged_with_a_finger(browsing, account, book):
    ann = browsing(account("ann"), viewport=PHONE, has_touch=True)
    ann.goto(f"{TREE}?open={book}")
    lift = drag_with_finger(ann, handle(ann, "Chapter c"), row(ann, "Chapter a"))
    expect(row(ann, "Chapter a")).to_have_class(re.compile("drop-before"))
    expect(ann.locator(".dragged-label")).to_have_text("Chapter c")
    lift()
    expect(ann.locator(".messagelist")).to_contain_text("“Chapter c” was moved.")
    assert order(book) == "cab"
    handle(ann, "Chapter c").tap()
    expect(ann.get_by_role("button", name="Move down")).to_be_visible()


def test_pages_are_moved_without_scripts(browsing, account, book):
    ann = browsing(account("ann"), java_script_enabled=False)
    ann.goto(f"{TREE}?open={book}")
    handle(ann, "Chapter b").click()
    ann.get_by_role("button", name="Move up").click()
    expect(ann.locator(".messagelist")).to_contain_text("“Chapter b” was moved.")
    assert order(book) == "bac"
