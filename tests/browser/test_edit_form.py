"""The edit page: its bar, panel, shortcuts and menu, with and without JavaScript."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from cms.testing.build import node, stored
from marginalia.mongo.clock import now
from nodes.models import Node
from nodes.selectors import editable_nodes
from tests.browser.people import PHONE, menu, write

ADD = "/admin/nodes/node/add/?type=basic-page"
# Presses Ctrl-S, and returns whether this would have sent the form.
CTRL_S = """() => {
  const form = document.getElementById("node_form");
  let sent = false;
  const stop = (event) => { sent = true; event.preventDefault(); event.stopImmediatePropagation(); };
  form.addEventListener("submit", stop, true);
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true }));
  form.removeEventListener("submit", stop, true);
  return sent;
}"""


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def state(page):
    return page.locator(".edit-form-state > span:nth-child(2)")


@pytest.fixture
def ann(browsing, account):
    return browsing(account("ann"))


def test_post_is_written_and_published_by_keyboard(ann):
    ann.goto(ADD)
    expect(ann.locator("#id_title")).to_be_focused()
    expect(ann.locator("#saved-state")).to_have_text("Not saved")
    ann.keyboard.type("By keys")
    ann.keyboard.press("Enter")
    ann.keyboard.type("Words.")
    ann.keyboard.press("Control+s")
    expect(ann.locator(".messagelist")).to_contain_text("Draft saved.")
    expect(state(ann)).to_have_text("Draft · not public")
    expect(ann.locator("#saved-state")).to_contain_text("Saved")
    made = Node.objects.get(metadata__slug="by-keys").pk
    assert (stored(made)["detail"]["text"], stored(made)["published"]) == ("Words.", None)
    ann.locator("#id_title").focus()
    ann.keyboard.type("!")
    expect(ann.locator("#saved-state")).to_have_text("Not saved")
    assert ann.evaluate(CTRL_S)
    ann.keyboard.press("Control+Enter")
    asked = ann.get_by_role("dialog", name="Publish?")
    expect(asked).to_contain_text("Readers will see the page immediately.")
    assert not ann.evaluate(CTRL_S), "what a dialog holds would be gone"
    asked.get_by_role("button", name="Cancel").click()
    assert stored(made)["published"] is None
    ann.keyboard.press("Control+Enter")
    asked.get_by_role("button", name="Publish").press("Enter")
    expect(ann.locator(".messagelist")).to_contain_text("Published. View page.")
    assert stored(made)["title"].strip("!") == "By keys"
    ann.get_by_role("link", name="View page.").click()
    expect(ann.locator("article")).to_contain_text("Words.")


@pytest.mark.slow
def test_future_date_turns_publish_into_schedule(ann):
    node_id, ahead = node(published=None), now() + timedelta(days=40)
    ann.goto(change(node_id))
    primary = ann.locator("[data-primary]")
    expect(primary).to_have_text("Publish")
    ann.locator("#id_published_0").fill(f"{ahead:%Y-%m-%d}")
    expect(primary).to_have_text("Schedule…")
    ann.locator("#id_published_0").fill("")
    expect(primary).to_have_text("Publish")
    ann.locator("#id_published_0").fill(f"{ahead:%Y-%m-%d}")
    ann.locator("#id_published_1").fill("09:00")
    expect(primary).to_have_text("Schedule…")
    primary.click()
    asked = ann.get_by_role("dialog", name="Schedule?")
    expect(asked).to_contain_text(f"{ahead:%Y-%m-%d} 09:00")
    asked.get_by_role("button", name="Schedule").click()
    expect(ann.locator(".messagelist")).to_contain_text("Scheduled. The page goes live on")
    expect(state(ann)).to_contain_text("Appears")
    assert stored(node_id)["published"].date() == ahead.date()


@pytest.mark.slow
def test_incomplete_date_is_not_submitted(ann):
    """Browsers send an empty value for an incomplete date."""
    node_id = node(title="Live")
    ann.goto(change(node_id))
    ann.locator("#id_title").fill("Typed")
    date = ann.get_by_label("Published: date")
    expect(ann.get_by_label("Published: time")).to_have_accessible_description("Time zone: UTC")
    date.focus()
    ann.keyboard.press("Delete")
    ann.locator("[data-primary]").click()
    expect(date).to_be_focused()
    assert stored(node_id)["title"] == "Live"


@pytest.mark.slow
def test_future_date_of_a_live_page_is_refused_in_the_form(ann):
    node_id, ahead = node(title="Live"), now() + timedelta(days=40)
    ann.goto(change(node_id))
    primary = ann.locator("[data-primary]")
    expect(primary).to_have_text("Update")
    ann.locator("#id_title").fill("Later")
    ann.locator("#id_published_0").fill(f"{ahead:%Y-%m-%d}")
    expect(primary).to_have_text("Update")
    primary.click()
    expect(ann.locator(".field-published .errorlist")).to_contain_text("This item is already public")
    expect(ann.locator("#id_title")).to_have_value("Later")
    assert (stored(node_id)["title"], stored(node_id)["published"] < now()) == ("Live", True)


@pytest.mark.slow
def test_preview_shows_typed_text_that_readers_cannot_see(ann):
    node_id = node(title="Live", text="Old words.")
    ann.goto(change(node_id))
    write(ann, "New words.")
    ann.get_by_role("link", name="Preview", exact=True).click()
    expect(ann.frame_locator(".look iframe").locator("article")).to_contain_text("New words.")
    assert stored(node_id)["detail"]["text"] == "Old words."
    ann.goto(change(node_id))
    expect(state(ann)).to_contain_text("unpublished changes")
    ann.get_by_role("link", name="Preview", exact=True).click()
    expect(ann.frame_locator(".look iframe").locator("article")).to_contain_text("New words.")


@pytest.mark.slow
def test_menu_works_by_keyboard(ann):
    ann.goto(change(node()))
    more = ann.locator(".edit-form-menu > summary")
    more.focus()
    ann.keyboard.press("Enter")
    expect(ann.get_by_role("link", name="Unpublish")).to_be_visible()
    ann.keyboard.press("Escape")
    expect(ann.get_by_role("link", name="Unpublish")).to_be_hidden()
    expect(more).to_be_focused()
    ann.keyboard.press("Enter")
    ann.locator("#id_title").click()
    expect(ann.get_by_role("link", name="Unpublish")).to_be_hidden()


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_phone_shows_the_bar_and_then_the_settings(browsing, account, scripts):
    page = browsing(account("ann"), viewport=PHONE, java_script_enabled=scripts)
    node_id = node(text="Word. " * 2_000)
    page.goto(change(node_id))
    publish = page.get_by_role("button", name="Update")
    for _ in range(2):
        box = publish.bounding_box()
        assert PHONE["height"] / 2 < box["y"] < PHONE["height"] - box["height"]
        assert box["height"] >= 44
        page.mouse.wheel(0, 2_000)
    expect(page.locator(".edit-form-group[open]")).to_have_count(0 if scripts else 4)
    page.get_by_role("link", name="Settings").click()
    expect(page.locator(".edit-form-group").first).to_be_in_viewport()
    if scripts:
        page.get_by_text("Summary and tags").click()
    page.locator("#id_tags").fill("phone")
    publish.click()
    expect(page.locator(".messagelist")).to_contain_text("Updated.")
    assert stored(node_id)["tags"] == ["phone"]
    widths = "[document.documentElement.scrollWidth, window.innerWidth]"
    if scripts:
        assert page.evaluate(widths)[0] <= PHONE["width"]


@pytest.mark.slow
def test_page_is_published_and_unpublished_without_scripts(browsing, account):
    page = browsing(account("bob"), java_script_enabled=False)
    page.goto(ADD)
    page.fill("#id_title", "Plain")
    page.get_by_role("button", name="Publish").click()
    node_id = Node.objects.get(metadata__slug="plain").pk
    expect(state(page)).to_contain_text("Live since")
    write(page, "More words.")
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator(".messagelist")).to_contain_text("Draft saved. Readers still see the live version.")
    assert editable_nodes.load(node_id).draft.fields["detail.text"] == "More words."
    page.get_by_role("button", name="Publish changes").click()
    expect(page.locator(".messagelist")).to_contain_text("Changes published. View page.")
    assert stored(node_id)["detail"]["text"] == "More words."
    write(page, "Later words.")
    page.get_by_role("button", name="Save draft").click()
    menu(page)
    page.get_by_role("link", name="Schedule changes…").click()
    page.fill("#id_due_0", "2099-06-01")
    page.fill("#id_due_1", "09:00")
    page.get_by_role("button", name="Schedule changes").click()
    expect(state(page)).to_contain_text("changes go live June 1, 2099")
    menu(page)
    page.get_by_role("link", name="Unpublish").click()
    page.get_by_role("button", name="Unpublish").click()
    expect(page.locator(".messagelist")).to_contain_text("The page was unpublished")
    expect(state(page)).to_contain_text("Draft · not public")
    assert stored(node_id)["published"] is None
