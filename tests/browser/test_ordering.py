"""Ordering a section: by dragging with JavaScript, by places and arrows without."""

import pytest
from playwright.sync_api import expect

from cms.testing.build import node
from nodes.selectors import by_hand
from tests.browser.people import PHONE, drag_with_finger
from tests.support.nodes.content import Chapter, Handbook, News, registered

pytestmark = pytest.mark.slow


@pytest.fixture
def book(mongo):
    """The id of a handbook with the chapters a to e."""
    with registered(Handbook, Chapter, News):
        section = node("handbook", "book", title="The handbook")
        for slug in "abcde":
            node("chapter", slug, parent=section, title=f"Chapter {slug}")
        yield section


def order(section) -> str:
    return "".join(one.metadata.slug for one in by_hand.all_nodes(section, size=100)[0])


def row(page, slug):
    return page.locator("tr", has_text=f"Chapter {slug}")


def test_rows_are_dragged_and_saved(browsing, account, book):
    ann = browsing(account("ann"))
    ann.goto(f"/admin/nodes/node/{book}/change/")
    ann.get_by_label("More", exact=True).click()
    ann.get_by_role("link", name="Order").click()
    row(ann, "e").locator(".grip").drag_to(row(ann, "b"), target_position={"x": 200, "y": 2})
    expect(row(ann, "e").get_by_role("spinbutton")).to_have_value("2")
    assert order(book) == "abcde"
    ann.get_by_role("button", name="Save order").click()
    expect(ann.locator(".messagelist")).to_contain_text("The order was saved.")
    assert order(book) == "aebcd"


def test_rows_are_dragged_with_a_finger(browsing, account, book):
    ann = browsing(account("ann"), viewport=PHONE, has_touch=True)
    ann.goto(f"/admin/nodes/node/{book}/order/")
    expect(row(ann, "c").locator(".grip")).to_be_in_viewport()
    lift = drag_with_finger(ann, row(ann, "c").locator(".grip"), row(ann, "b"))
    expect(row(ann, "b")).to_have_class("drop-before")
    expect(ann.locator(".dragged-label")).to_have_text("Chapter c")
    lift()
    expect(row(ann, "c").get_by_role("spinbutton")).to_have_value("2")
    drag_with_finger(ann, row(ann, "b").locator(".grip"), row(ann, "a"))
    ann.keyboard.press("Escape")
    expect(ann.locator(".dragged-label")).to_have_count(0)
    ann.get_by_role("button", name="Save order").click()
    expect(ann.locator(".messagelist")).to_contain_text("The order was saved.")
    assert order(book) == "acbde"


def test_rows_are_ordered_without_scripts(browsing, account, book):
    ann = browsing(account("ann"), java_script_enabled=False)
    ann.goto(f"/admin/nodes/node/{book}/order/")
    expect(row(ann, "a").locator(".grip")).to_be_hidden()
    ann.get_by_label("Position of “Chapter e”").fill("1")
    # Enter in a box saves the form and presses no arrow.
    ann.keyboard.press("Enter")
    expect(ann.locator(".messagelist")).to_contain_text("The order was saved.")
    assert order(book) == "eabcd"
    ann.get_by_role("button", name="Move “Chapter b” up").click()
    expect(ann.locator("tr:target")).to_contain_text("Chapter b")
    assert order(book) == "ebacd"
    ann.goto("/book")
    expect(ann.locator(".contents h2")).to_have_text([f"Chapter {slug}" for slug in "ebacd"])
    ann.get_by_role("link", name="Chapter b").click()
    expect(ann.locator(".neighbours a")).to_have_text(["Previous Chapter e", "Next Chapter a"])
