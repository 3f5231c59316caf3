"""The admin lists: bulk actions and their progress, moving, copying, the trash."""

import re

import pytest
from django.db import models
from playwright.sync_api import expect

from cms.testing.build import EDITOR, node, nonce, stored
from nodes.content import Page
from nodes.services import editing
from tests.browser.people import DESKTOP, PHONE
from tests.support.nodes.content import registered


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


@pytest.mark.slow
def test_bulk_actions_run_from_the_list(browsing, account):
    ann = browsing(account("ann"))
    made = [node(slug=f"p{i}", title=f"Page {i}", published=None) for i in range(3)]
    ann.goto("/admin/nodes/node/?state=unpublished")
    ann.check("#choose-all")
    expect(ann.locator(".chosen-count")).to_have_text("3 selected")
    editing.save(EDITOR, made[0], nonce(made[0]), {"title": "Changed meanwhile"})
    ann.select_option("#bulk-action", "trash")
    ann.get_by_role("button", name="Go").click()
    expect(ann.locator("h1")).to_have_text("Move 3 pages to trash?")
    ann.get_by_role("button", name="Move to trash").click()
    expect(ann.locator(".messagelist")).to_contain_text("2 pages changed")
    expect(ann.locator(".messagelist")).to_contain_text("Changed meanwhile: Another editor changed this page")
    ann.get_by_role("button", name="Undo").click()
    expect(ann.locator(".messagelist")).to_contain_text("2 items restored.")


@pytest.mark.slow
def test_phone_shows_the_list_before_its_filters(browsing, account):
    user = account("ann")
    node(slug="first", title="First")
    for scripts in (True, False):
        phone = browsing(user, viewport=PHONE, java_script_enabled=scripts)
        phone.goto("/admin/nodes/node/")
        expect(phone.get_by_role("link", name="First")).to_be_in_viewport()
        expect(phone.get_by_label("State", exact=True)).to_be_hidden()
        phone.get_by_text("Filters").click()
        phone.get_by_label("State", exact=True).select_option("live")
        phone.get_by_role("button", name="Show").click()
        expect(phone.get_by_role("link", name="Remove filter State: Live")).to_be_visible()
        phone.get_by_role("link", name="Show all").click()
        expect(phone.get_by_role("link", name="First")).to_be_visible()


@pytest.mark.slow
def test_last_section_and_state_are_remembered(browsing, account):
    ann = browsing(account("ann"))
    folder = node("folder", "folder", title="Folder")
    node(slug="inside", parent=folder, title="Inside")
    ann.goto(f"/admin/nodes/node/?section={folder}&q=inside")
    ann.goto("/admin/jobs/")
    ann.locator("header.rail").get_by_role("link", name="Pages").click()
    expect(ann.get_by_role("link", name="Remove filter Section: Folder")).to_be_visible()
    expect(ann).to_have_url(re.compile(f"section={folder}$"))
    ann.get_by_role("link", name="Show all").click()
    ann.goto("/admin/jobs/")
    ann.locator("header.rail").get_by_role("link", name="Pages").click()
    expect(ann).to_have_url(re.compile("/admin/nodes/node/$"))


def test_bulk_actions_are_shown_while_rows_are_selected(browsing, account):
    ann = browsing(account("ann"))
    node(slug="first", title="First")
    ann.goto("/admin/nodes/node/")
    expect(ann.locator(".bulk")).to_be_hidden()
    ann.get_by_role("checkbox", name="First").check()
    expect(ann.locator(".bulk")).to_be_in_viewport()
    expect(ann.locator(".chosen-count")).to_have_text("1 selected")
    ann.get_by_role("checkbox", name="First").uncheck()
    expect(ann.locator(".bulk")).to_be_hidden()


@pytest.mark.parametrize(
    "stops", [pytest.param(False, marks=pytest.mark.slow, id="to the end"), pytest.param(True, id="stopped")]
)
def test_bulk_action_shows_progress_and_can_be_stopped(browsing, account, stops):
    ann, sent = browsing(account("ann")), []
    made = [node(slug=f"p{i}", title=f"Page {i}") for i in range(12)]
    ann.goto("/admin/nodes/node/")
    ann.check("#choose-all")
    ann.select_option("#bulk-action", "tag")
    ann.fill("#bulk-tags", "spring")
    ann.route("**/admin/nodes/node/**", lambda route: sent.append(route) if not sent else route.continue_())
    ann.get_by_role("button", name="Go").click()
    expect(ann.locator(".working progress")).to_have_js_property("value", 0)
    expect(ann.locator(".working [role=status]")).to_have_text("0 of 12 done")
    expect(ann.get_by_role("button", name="Go")).to_be_disabled()
    if stops:
        ann.get_by_role("button", name="Stop").click()
    sent[0].continue_()
    expect(ann.locator(".messagelist")).to_contain_text("5 pages changed" if stops else "12 pages changed")
    assert sum(stored(m)["tags"] == ["spring"] for m in made) == (5 if stops else 12)


@pytest.mark.slow
def test_interrupted_bulk_action_resumes(browsing, account):
    ann, sent = browsing(account("ann")), []
    ann.expected.append("ERR_FAILED")
    made = [node(slug=f"p{i}", title=f"Page {i}") for i in range(12)]
    ann.goto("/admin/nodes/node/")
    ann.check("#choose-all")
    ann.select_option("#bulk-action", "tag")
    ann.fill("#bulk-tags", "spring")

    def break_the_second(route):
        sent.append(route)
        route.abort() if len(sent) == 2 else route.continue_()

    ann.route("**/admin/nodes/node/**", break_the_second)
    ann.get_by_role("button", name="Go").click()
    expect(ann.locator(".working")).to_contain_text("Completed changes are saved")
    assert sum(stored(m)["tags"] == ["spring"] for m in made) == 5
    ann.get_by_role("button", name="Go").click()
    expect(ann.locator(".messagelist")).to_contain_text("12 pages changed")
    assert all(stored(m)["tags"] == ["spring"] for m in made)


@pytest.mark.slow
def test_page_is_moved_copied_trashed_and_restored(browsing, account, mongo):
    ann, reader, folder = browsing(account("ann")), browsing(), node("folder", "folder", title="Folder")
    node_id = node(slug="page", title="Page")
    ann.goto(change(node_id))
    ann.get_by_label("More", exact=True).click()
    ann.get_by_role("link", name="Move", exact=True).click()
    ann.select_option("#id_section", str(folder))
    ann.locator("#confirm_form [type=submit]").click()
    reader.goto("/page")
    expect(reader).to_have_url(re.compile("/folder/page$"))
    ann.get_by_label("More", exact=True).click()
    ann.get_by_role("link", name="Duplicate").click()
    ann.locator("#confirm_form [type=submit]").click()
    expect(ann.locator("#id_title")).to_have_value("Copy of Page")
    ann.goto(change(node_id))
    ann.get_by_label("More", exact=True).click()
    ann.get_by_role("link", name="Move to trash").click()
    ann.locator("#confirm_form [type=submit]").click()
    ann.get_by_role("button", name="Undo").click()
    expect(ann.locator(".messagelist")).to_contain_text("Restored.")
    assert stored(node_id)["parent_id"] == folder


class Gig(Page):
    """A type with three columns."""

    list_display = ["on", "place", "seats"]

    on = models.DateField("on", null=True, blank=True)
    place = models.CharField("place", max_length=200, blank=True)
    seats = models.IntegerField("free seats", default=0)


# On a phone, the state is shown below the title.
@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("viewport", "shown"),
    [
        (PHONE, ["", "Title", "on"]),
        (DESKTOP, ["", "Title", "on", "place", "free seats", "State"]),
    ],
    ids=["phone", "desktop"],
)
def test_list_with_own_columns_fits(browsing, account, viewport, shown):
    with registered(Gig):
        folder = node("folder", "programme", title="Programme of the season")
        fields = {"detail.place": "The large reading room, Bern", "detail.seats": 40}
        node("gig", "bach", parent=folder, title="An evening with letters", tags=("music", "evening"), **fields)
        ann = browsing(account("ann"), viewport=viewport)
        ann.goto("/admin/nodes/node/?type=gig")
        headings = [heading for heading in ann.locator("#result_list th[scope=col]").all() if heading.is_visible()]
        assert [heading.text_content().strip().lower() for heading in headings] == [name.lower() for name in shown]
        results = ann.locator(".results")
        assert results.evaluate("element => element.scrollWidth <= element.clientWidth")


@pytest.mark.slow
def test_filters_are_saved_under_a_name_and_used_again(browsing, account):
    ann = browsing(account("ann"))
    node(slug="draft", title="A draft", published=None)
    node(slug="live", title="Public")
    ann.goto("/admin/nodes/node/?state=unpublished")
    ann.get_by_role("link", name="Save filters…").click()
    ann.get_by_label("Save these filters as").fill("To do")
    ann.keyboard.press("Enter")
    expect(ann.locator(".messagelist")).to_contain_text("The filters were saved.")
    ann.locator(".list-fold > summary").click()
    ann.get_by_label("Save these filters as").fill("Other")
    ann.keyboard.press("Enter")
    expect(ann.locator(".messagelist")).to_contain_text("The filters were saved.")
    expect(ann.get_by_role("link", name="A draft")).to_be_visible()
    ann.get_by_role("link", name="Show all").click()
    ann.locator(".list-fold > summary").press("Enter")
    ann.get_by_role("link", name="To do").click()
    expect(ann.get_by_role("link", name="A draft")).to_be_visible()
    expect(ann.get_by_role("link", name="Public")).to_have_count(0)
    ann.locator(".list-fold > summary").click()
    ann.get_by_role("button", name="Delete saved filters “To do”").click()
    expect(ann.locator(".messagelist")).to_contain_text("The saved filters were deleted.")
