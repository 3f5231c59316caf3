"""Files in a browser: dropped on the list, replaced, and added to a text with the keyboard."""

import pytest
from playwright.sync_api import expect

from cms.testing.build import PAST, node
from nodes.access import System
from nodes.selectors import stored_assets
from photos.actions import UploadFile
from tests.browser.giving import give, given

PDF = b"%PDF-1.7\n" + b"page " * 400


def test_dropped_files_are_uploaded_and_replaced(browsing, account):
    page = browsing(account("ann"))
    page.expected.append("422")
    page.goto("/admin/nodes/file/")
    files = [given("programme.pdf", PDF, "application/pdf"), given("empty.txt", b"", "text/plain")]
    give(page, ".photo-drop", "drop", files)
    results = page.locator(".photo-results li")
    expect(results.nth(0)).to_contain_text("programme")
    expect(results.nth(0)).to_contain_text("done")
    expect(results.nth(1)).to_contain_text("This file is empty")
    expect(page.locator("#result_list")).to_contain_text("programme")
    expect(page.locator(".paginator")).to_have_text("1 in total")
    results.nth(0).get_by_role("link").click()
    expect(page.locator(".photo-facts")).to_contain_text("application/pdf")
    give(page, ".photo-drop", "drop", [given("notes.txt", b"Notes", "text/plain")])
    expect(page.locator(".photo-facts")).to_contain_text("notes.txt")
    expect(page.locator(".photo-former")).to_contain_text("programme.pdf")
    page.goto("/admin/nodes/file/")
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    expect(page.locator("#result_list")).to_contain_text("Live")


@pytest.mark.slow
def test_file_is_added_to_a_text_with_the_keyboard(browsing, account):
    page = browsing(account("ann"))
    file_id = UploadFile(user=System("Ann"), gallery_id=None, filename="programme.pdf", fields={"published": PAST})
    file_id = file_id.execute([PDF]).id
    page_id = node("basic-page", "about")
    page.goto(f"/admin/nodes/node/{page_id}/change/")
    page.locator(".tool-insert").click()
    page.locator("#insert-dialog").get_by_role("button", name="File to download").press("Enter")
    form = page.locator("form[data-insert=file]")
    form.get_by_label("File").press_sequentially("prog")
    expect(page.get_by_role("option", name="programme")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    form.get_by_role("button", name="Insert").click()
    page.locator("#node_form [name=_save], #node_form [name=_continue]").first.click()
    page.goto("/about")
    link = page.get_by_role("link", name="programme")
    expect(link).to_have_attribute("href", f"{stored_assets.get_file(file_id).get_absolute_url()}?download")
