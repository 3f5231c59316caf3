"""Choosing pages by title: as the target of a link, in a field and in an insert."""

import pytest
from playwright.sync_api import Page, expect

from cms.testing.build import node
from marginalia.mongo.connection import database
from tests.browser.late import LateResponse
from tests.browser.people import PHONE
from tests.support.nodes.content import Cookbook, Recipe, registered
from tests.support.nodes.photo_build import gallery, upload


@pytest.fixture
def ann(browsing, account) -> Page:
    return browsing(account("ann"))


def write(page: Page, node_id: object) -> None:
    page.goto(f"/admin/nodes/node/{node_id}/change/")
    page.wait_for_load_state()
    page.locator(".cm-content").click()


def kept(node_id: object) -> dict[str, object]:
    """Return the fields of the node's draft."""
    return database()["cms.nodes"].find_one({"_id": node_id})["draft"]["metadata"]["detail"]


# The first response is delayed until the test lets it through.
HELD = """() => {
    const asked = window.fetch, through = new Promise((resolve) => { window.letThrough = resolve; });
    window.fetch = async (...all) => {
        const answer = await asked(...all);
        if (!("held" in document.body.dataset)) { document.body.dataset.held = ""; await through; }
        return answer;
    };
}"""
ENTERED = """(box, typed) => {
    box.value = typed;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    window.letThrough();
}"""

IS_UNCOVERED = """(element) => {
    const box = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(box.x + 5, box.bottom - 5));
}"""


@pytest.mark.slow
def test_enter_ignores_stale_suggestions(ann):
    """A suggestion for earlier input can arrive while the editor types on."""
    fees, page = node(slug="fees", title="Our fees"), node(slug="page", text="")
    write(ann, page)
    ann.keyboard.type("[words](/before)")
    ann.keyboard.press("ArrowLeft")
    ann.evaluate(HELD)
    ann.get_by_role("button", name="Link").click()
    expect(ann.locator("body[data-held]")).to_be_attached()
    ann.locator("#link-target").evaluate(ENTERED, "our fees")
    expect(ann.locator("#link-dialog")).to_be_hidden()
    expect(ann.locator("#id_text")).to_have_value(f"[words](node:{fees})")


@pytest.mark.slow
def test_late_response_leaves_the_highlighted_page(ann):
    ids = {title: node(slug=title.lower(), title=f"Our {title}") for title in ("Fees", "Forms", "Food")}
    write(ann, node(slug="page", text=""))
    ann.keyboard.type("[words](/before)")
    ann.keyboard.press("ArrowLeft")
    ann.get_by_role("button", name="Link").click()
    late = LateResponse(ann, "**/*q=our")
    ann.locator("#link-target").fill("ou")
    options = ann.locator("#link-dialog [role=option]")
    expect(options).to_have_count(3)
    late.type_key("r")
    ann.keyboard.press("ArrowDown")
    ann.keyboard.press("ArrowDown")
    title = options.nth(1).locator("strong").text_content()
    late.arrive()
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    ann.keyboard.press("Enter")
    expect(ann.locator("#id_text")).to_have_value(f"[words](node:{ids[title.removeprefix('Our ')]})")


@pytest.mark.slow
def test_link_is_chosen_by_title_url_or_brackets(ann, server):
    fees, page = node(slug="fees", title="Our [new] fees"), node(slug="page", text="")
    photo = upload(gallery(), name="lake.jpg", tags=("lake district",))
    write(ann, page)
    text, box = ann.locator("#id_text"), ann.get_by_role("combobox", name="Page, photo, tag or URL")
    offered = ann.locator("#link-dialog [role=option]")
    ann.keyboard.type("See [[")
    expect(box).to_be_focused()
    ann.keyboard.type("new")
    option = ann.get_by_role("option", name="Our [new] fees")
    expect(option).to_have_attribute("aria-selected", "true")
    assert box.get_attribute("aria-activedescendant") == option.get_attribute("id")
    ann.keyboard.press("Enter")
    expect(text).to_have_value(f"See [Our \\[new\\] fees](node:{fees})")
    expect(ann.locator(".cm-focused")).to_be_visible()
    ann.keyboard.type(", the photo")
    for _ in "photo":
        ann.keyboard.press("Shift+ArrowLeft")
    ann.keyboard.press("Control+k")
    ann.keyboard.type("lake")
    expect(offered).to_have_count(2)
    ann.keyboard.press("ArrowDown")
    ann.keyboard.press("ArrowUp")
    ann.keyboard.press("Enter")
    expect(text).to_have_value(f"See [Our \\[new\\] fees](node:{fees}), the [photo](photo:{photo})")
    ann.keyboard.press("Control+a")
    ann.keyboard.type("[[")
    expect(box).to_be_focused()
    ann.keyboard.type("lake dis")
    ann.get_by_role("option", name="lake district Tag").click()
    expect(text).to_have_value("[lake district](/tag/lake%20district)")
    # On a link, the dialog changes the target. Enter before the response waits for it.
    ann.keyboard.press("ArrowLeft")
    ann.get_by_role("button", name="Link").click()
    expect(box).to_have_value("/tag/lake%20district")
    ann.keyboard.type(f"{server}/fees#winter")
    ann.keyboard.press("Enter")
    expect(text).to_have_value(f"[lake district](node:{fees}#winter)")
    ann.keyboard.press("Control+a")
    ann.keyboard.press("Delete")
    ann.keyboard.type("[[")
    expect(box).to_be_focused()
    ann.keyboard.type("example.org/a(b)")
    expect(offered).to_have_count(1)
    ann.keyboard.press("Enter")
    expect(text).to_have_value("[example.org/a(b)](https://example.org/a%28b%29)")
    ann.keyboard.type("words")
    expect(text).to_have_value("[words](https://example.org/a%28b%29)")
    ann.keyboard.press("Control+a")
    ann.keyboard.type("[[")
    ann.keyboard.press("Escape")
    expect(box).to_be_hidden()
    ann.keyboard.type("as it is")
    expect(text).to_have_value("[[as it is")
    ann.keyboard.press("Control+a")
    ann.keyboard.type("`[[a`")
    expect(text).to_have_value("`[[a`")


@pytest.mark.slow
def test_fields_and_inserts_are_filled_by_title(browsing, account):
    with registered(Recipe, Cookbook):
        place = node("cookbook", "cooking")
        stew = node("recipe", "stew", parent=place, title="Stew", **{"detail.course": "main"})
        soup = node("recipe", "soup", parent=place, title="Soup", published=None, **{"detail.course": "main"})
        photo = upload(gallery(), name="lake.jpg")
        ann = browsing(account("ann"), viewport=PHONE)
        write(ann, stew)
        ann.evaluate("document.querySelectorAll('details.edit-form-group').forEach((group) => { group.open = true; })")
        field, picture = ann.locator("#id_goes_with"), ann.locator("#id_picture")
        field.click()
        ann.keyboard.type("sou")
        ann.get_by_role("option", name="Soup").click()
        expect(field).to_have_value(f"node:{soup}")
        expect(ann.locator(".field-goes_with .chosen")).to_contain_text("Soup")
        picture.click()
        ann.keyboard.press("ArrowDown")
        offered = ann.locator(".field-picture").get_by_role("option")
        expect(offered).to_have_count(1)
        ann.keyboard.press("ArrowDown")
        expect(offered).to_have_attribute("aria-selected", "true")
        ann.keyboard.press("Enter")
        expect(picture).to_have_value("/gallery/lake")
        assert ann.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        ann.keyboard.press("Control+s")
        expect(ann.locator(".messagelist")).to_contain_text("Draft saved.")
        assert kept(stew)["goes_with"] == soup
        assert kept(stew)["picture"] == photo
        # Hidden pages are named to their editors.
        expect(ann.locator(".field-goes_with .chosen")).to_contain_text("Soup")
        expect(ann.locator(".field-picture .chosen img")).to_have_js_property("complete", True)
        ann.evaluate("document.querySelectorAll('details.edit-form-group').forEach((group) => { group.open = true; })")
        ann.locator(".field-goes_with").get_by_role("button", name="Clear").click()
        expect(ann.locator(".field-goes_with .chosen")).to_be_hidden()
        ann.get_by_role("button", name="Insert").click()
        ann.get_by_role("button", name="Photo with caption").click()
        ann.locator("#insert-photo-photo").click()
        ann.keyboard.type("lak")
        ann.get_by_role("option", name="lake").click()
        ann.locator("form[data-insert=photo]").get_by_role("button", name="Insert").click()
        expect(ann.locator("#id_text")).to_have_value(f"::photo{{photo=photo:{photo}}}\n\n")
        with ann.expect_navigation():
            ann.keyboard.press("Control+s")
        assert kept(stew)["goes_with"] is None
        # The form stores the typed text, although the type no longer exists afterwards.
        ann.close()


@pytest.mark.slow
def test_form_of_a_redirect_shows_all_suggestions(ann):
    for number in range(3):
        node(slug=f"lake-{number}", title=f"Lake {number}")
    ann.goto("/admin/redirects/add/")
    ann.get_by_label("New URL").press_sequentially("Lake")
    options = ann.locator(".chooser-list").get_by_role("option")
    expect(options).to_have_count(3)
    assert options.last.evaluate(IS_UNCOVERED)
    options.last.click()
    expect(ann.get_by_label("New URL")).to_have_value("/lake-0")
