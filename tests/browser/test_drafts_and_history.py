"""Drafts, previews and history in a browser."""

import pytest
from playwright.sync_api import expect

from cms.testing.build import EDITOR, node, nonce, stored
from nodes.services import editing
from tests.browser.people import menu, write


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


@pytest.mark.slow
def test_draft_is_previewed_and_published(browsing, account):
    ann, node_id = browsing(account("ann")), node(slug="page", title="Live", text="Live text")
    reader = browsing()
    ann.goto(change(node_id))
    write(ann, "Drafted text")
    ann.get_by_role("button", name="Save draft").click()
    expect(ann.locator(".state-note").first).to_contain_text("This is a draft")
    ann.get_by_role("link", name="Preview", exact=True).click()
    framed = ann.frame_locator(".look iframe")
    expect(framed.locator("article")).to_contain_text("Drafted text")
    for name, width in (("Phone", 360), ("Desktop", 1200)):
        ann.get_by_role("link", name=name).click()
        expect(framed.locator("article")).to_contain_text("Drafted text")
        assert framed.locator("body").evaluate("() => window.innerWidth") == width
    ann.get_by_role("link", name="Back to editor").click()
    menu(ann)
    ann.get_by_role("button", name="Share preview").click()
    link = ann.locator(".preview-address").input_value()
    reader.goto(link)
    expect(reader.locator("article")).to_contain_text("Drafted text")
    reader.goto("/page")
    expect(reader.locator("article")).to_contain_text("Live text")
    ann.goto(change(node_id))
    menu(ann)
    ann.get_by_role("link", name="Review changes").click()
    expect(ann.locator(".rendered")).to_contain_text("Drafted")
    ann.locator("#confirm_form [type=submit]").click()
    expect(ann.locator(".messagelist")).to_contain_text("Changes published. View page.")
    reader.goto("/page")
    expect(reader.locator("article")).to_contain_text("Drafted text")


@pytest.mark.slow
def test_history_shows_differences_and_restores_a_version(browsing, account):
    ann, node_id = browsing(account("ann")), node(title="First", text="one two")
    editing.save(EDITOR, node_id, nonce(node_id), {"title": "Second", "detail.text": "one three"})
    ann.goto(change(node_id))
    ann.get_by_role("link", name="History").click()
    saves = ann.locator(".timeline > ol > li")
    expect(saves).to_have_count(2)
    expect(saves.first).to_contain_text("Title, Text")
    changes = saves.first.get_by_role("button", name="Show changes")
    changes.focus()
    ann.keyboard.press("Space")
    text = saves.first.locator(".difference-of").filter(has_text="Text")
    expect(text.locator(".rendered ins")).to_have_text("three")
    expect(text.locator(".source")).to_be_hidden()
    text.get_by_label("Show source").check()
    expect(text.locator(".source ins")).to_have_text("three")
    expect(text.locator(".rendered")).to_be_hidden()
    changes.press("Enter")
    expect(text).to_be_hidden()
    ann.get_by_role("link", name="View or restore").click()
    expect(ann.locator(".source ins").last).to_be_visible()
    ann.get_by_role("button", name="Restore version").click()
    expect(ann.locator("#id_title")).to_have_value("First")
    assert stored(node_id)["detail"]["text"] == "one two"
    ann.goto(f"/admin/nodes/node/{node_id}/history/")
    expect(saves).to_have_count(3)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("scripts", [True, False])
def test_any_two_versions_are_compared_by_keyboard(browsing, account, scripts):
    ann, node_id = browsing(account("ann"), java_script_enabled=scripts), node(title="First")
    for title in ("Second", "Third", "Fourth"):
        editing.save(EDITOR, node_id, nonce(node_id), {"title": title})
    ann.goto(f"/admin/nodes/node/{node_id}/history/?each=1")
    saves = ann.locator(".timeline > ol > li")
    saves.nth(2).get_by_role("link", name="Compare with…").press("Enter")
    expect(ann.locator(".state-note")).to_contain_text("Choose a version to compare with this one")
    expect(saves.nth(2)).to_contain_text("Chosen version")
    saves.nth(0).get_by_role("link", name="Compare").press("Enter")
    expect(ann.locator(".difference-of .new")).to_contain_text("Fourth")
    expect(ann.locator(".difference-of .old")).to_contain_text("Second")
