"""The clicks and keys for common tasks, counted in a browser and compared with docs/explanation/comparison.md."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from cms.testing.build import node
from nodes.selectors import by_hand
from tests.browser.clicks import Counting
from tests.support.nodes import pictures

DOCUMENT = Path(__file__).parents[2] / "docs/explanation/comparison.md"


@pytest.mark.slow
def test_common_tasks_take_as_many_steps_as_documented(browsing, account, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    folder = node("folder", "guide", title="Guide")
    for slug in "abc":
        node(slug=slug, parent=folder, title=f"Chapter {slug}", tags=("paper",))
    text = node(slug="harbour", title="The harbour")
    page = browsing(account("ann"))
    ann = Counting(page)
    rail = page.locator(".rail")

    def open_settings(task, name):
        page.goto("/admin/")
        ann.click(task, rail.get_by_text("Settings", exact=True))
        ann.click(task, rail.get_by_role("link", name=name))

    task = "Insert ten new photos as a gallery (from the text)"
    page.goto(f"/admin/nodes/node/{text}/change/")
    page.locator(".cm-content").click()
    ann.click(task, page.locator(".tool-photo"))
    chooser = page.get_by_role("dialog", name="Choose photos")
    with page.expect_file_chooser() as files:
        ann.click(task, chooser.get_by_text("Upload photos"))
    new = [{"name": f"{n}.jpg", "mimeType": "image/jpeg", "buffer": pictures.jpeg(n)} for n in range(10)]
    files.value.set_files(new)
    ann.click(task, page.locator("#picture-dialog").get_by_role("button", name="Upload photos"))
    expect(chooser).to_contain_text("Chosen photos: 10")
    ann.click(task, chooser.get_by_role("button", name="Insert as gallery"))
    expect(page.locator("#id_text")).to_have_value(re.compile(r"^::gallery\{photos=(photo:\w+,?){10}\}"))

    task = "Move a page in a section"
    page.goto("/admin/")
    ann.click(task, rail.get_by_role("link", name="Pages"))
    ann.click(task, page.get_by_role("link", name="Tree"))
    ann.click(task, page.get_by_role("button", name="Contents of “Guide”"))
    ann._count(task, 0)
    first = page.locator(".tree-row", has_text="Chapter a")
    page.get_by_label("Move “Chapter c”").drag_to(first, target_position={"x": 200, "y": 3})
    expect(page.locator(".messagelist")).to_contain_text("“Chapter c” was moved.")
    assert [moved.metadata.slug for moved in by_hand.all_nodes(folder, size=100)[0]] == ["c", "a", "b"]

    task = "Rename a tag"
    open_settings(task, "Tags")
    ann.click(task, page.get_by_role("link", name="paper"))
    expect(page.get_by_label("Name")).to_be_focused()
    ann.press(task, "ControlOrMeta+a")
    page.keyboard.type("vellum")
    ann.press(task, "Enter")
    expect(page.get_by_role("link", name="vellum")).to_be_visible()

    task = "Add a redirect to a page"
    open_settings(task, "Redirects")
    ann.click(task, page.get_by_role("link", name="Add", exact=True))
    expect(page.get_by_label("Old URL")).to_be_focused()
    page.keyboard.type("/old")
    ann.press(task, "Tab")
    page.keyboard.type("harb")
    expect(page.get_by_role("option", name="The harbour")).to_be_visible()
    ann.press(task, "Enter")
    ann.press(task, "Enter")
    expect(page.get_by_role("row", name="/old")).to_contain_text("/harbour")

    task = "Invite an author"
    open_settings(task, "People")
    ann.click(task, page.get_by_role("link", name="Invite"))
    expect(page.get_by_label("Email address:")).to_be_focused()
    page.keyboard.type("ada@example.org")
    ann.press(task, "Enter")
    expect(page.get_by_role("row", name="ada@example.org")).to_contain_text("Authors")

    task = "Find and open a page"
    page.goto("/admin/")
    ann.press(task, "/")
    page.keyboard.type("harb")
    expect(page.locator("#search-dialog").get_by_role("link", name="The harbour")).to_be_visible()
    ann.press(task, "ArrowDown")
    ann.press(task, "Enter")
    expect(page).to_have_url(re.compile(f"/{text}/change/$"))

    task = "Upload a PDF"
    page.goto("/admin/")
    ann.click(task, rail.get_by_role("link", name="Files"))
    with page.expect_file_chooser() as files:
        ann.click(task, page.locator(".photo-drop input[type=file]"))
    files.value.set_files({"name": "programme.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\n"})
    expect(page.locator("#result_list")).to_contain_text("programme")

    table = DOCUMENT.read_text(encoding="utf-8").partition("| Task |")[2].partition("\n\n")[0]
    rows = [row.split(" | ") for row in table.splitlines()[2:]]
    assert {name.strip("| "): int(steps) for name, steps, *_others in rows} == {
        task: sum(counts) for task, counts in ann.counts.items()
    }
