"""Typed text is stored every few seconds, restored on any device, and never disturbs an editor."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import EDITOR, node, nonce, stored
from nodes.services import editing
from tests.browser.people import write

ADD = "/admin/nodes/node/add/?type=basic-page"
NOTICE = "You have unsaved changes"


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def kept(page):
    """Wait until the typed text is on the server."""
    expect(page.locator("#saved-state")).to_have_text(re.compile(r"^Backed up at \d+:\d\d [AP]M, but not saved$"))


@pytest.mark.slow
def test_text_of_a_killed_tab_is_offered_on_another_device(browsing, account):
    user, node_id = account("ann"), node(text="one\n\ntwo")
    ann = browsing(user)
    ann.goto(change(node_id))
    write(ann, "one of Ann\n\ntwo")
    expect(ann.locator("#saved-state")).to_have_text("Not saved")
    kept(ann)
    ann.close()
    editing.save(EDITOR, node_id, nonce(node_id), {"detail.text": "one\n\ntwo of another"})
    phone = browsing(user)
    phone.goto(change(node_id))
    notice = phone.locator(".unsaved")
    expect(notice).to_contain_text(NOTICE)
    notice.get_by_role("link", name="Show differences").click()
    expect(phone.locator(".difference ins")).to_contain_text("of Ann")
    phone.get_by_role("button", name="Continue editing").click()
    expect(phone.locator("#id_text")).to_have_value("one of Ann\n\ntwo")
    phone.click("[name=_continue]")
    expect(phone.locator(".messagelist")).to_contain_text("Merged")
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo of another"
    expect(phone.locator(".unsaved")).to_have_count(0)


@pytest.mark.slow
def test_offline_text_is_kept_and_sent_when_online(browsing, account, mongo):
    ann, node_id = browsing(account("ann")), node(text="old")
    ann.expected.append("ERR_INTERNET_DISCONNECTED")
    ann.goto(change(node_id))
    ann.context.set_offline(True)
    write(ann, "typed on the train")
    expect(ann.locator("#saved-state")).to_have_text("Offline: stored in this browser")
    ann.keyboard.press("Control+s")
    expect(ann.locator("#id_title")).to_be_visible()
    expect(ann.locator("#saved-state")).to_have_text("Offline: stored in this browser")
    ann.context.set_offline(False)
    kept(ann)
    (copy,) = mongo["cms.working_copies"].find()
    assert dict(copy["fields"])["text"] == "typed on the train"
    assert ann.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('marginalia-typed:'))") == []


@pytest.mark.slow
def test_another_open_tab_is_not_offered_its_own_text(browsing, account, mongo):
    ann, node_id = browsing(account("ann")), node(text="old")
    ann.goto(change(node_id))
    write(ann, "in the first tab")
    kept(ann)
    other = browsing.page(ann.context)
    other.goto(change(node_id))
    expect(other.locator(".unsaved")).to_be_attached()
    expect(other.locator(".unsaved")).to_be_hidden()
    write(other, "in the second tab")
    kept(other)
    for tab in (ann, other):
        tab.close()
    back = browsing.page(ann.context)
    back.goto(change(node_id))
    expect(back.locator(".unsaved:visible")).to_have_count(2)
    assert sorted(dict(copy["fields"])["text"] for copy in mongo["cms.working_copies"].find()) == [
        "in the first tab",
        "in the second tab",
    ]


@pytest.mark.slow
def test_text_survives_an_expired_login_in_the_browser(browsing, account):
    user, node_id = account("ann"), node(text="old")
    ann = browsing(user)
    ann.goto(change(node_id))
    ann.context.clear_cookies(name="sessionid")
    write(ann, "typed")
    expect(ann.locator("#saved-state")).to_have_text("Stored only in this browser. Log in again to save.")
    ann.close()
    browsing.log_in(ann.context, user)
    back = browsing.page(ann.context)
    back.goto(change(node_id))
    back.get_by_role("button", name="Continue editing").click()
    expect(back.locator("#id_text")).to_have_value("typed")
    # The form is shown again but not saved, so its text is stored and previewed like newly typed text.
    kept(back)
    back.get_by_role("link", name="Preview", exact=True).click()
    expect(back.frame_locator(".look iframe").locator("article")).to_contain_text("typed")


@pytest.mark.slow
def test_unsaved_new_page_is_restored_without_scripts(browsing, account):
    """Text typed with scripts is continued and saved without scripts."""
    user = account("ann")
    ann, plain = browsing(user), browsing(user, java_script_enabled=False)
    ann.goto(ADD)
    ann.fill("#id_title", "Half a title")
    kept(ann)
    ann.close()
    plain.goto(ADD)
    plain.get_by_role("button", name="Continue editing").click()
    expect(plain.locator("#id_title")).to_have_value("Half a title")
    plain.click("[name=_continue]")
    plain.goto(ADD)
    expect(plain.locator(".unsaved")).to_have_count(0)
    plain.goto("/admin/nodes/node/")
    expect(plain.get_by_role("link", name="Half a title")).to_be_visible()


@pytest.mark.slow
def test_two_editors_saving_twenty_times_lose_no_word(browsing, account, mongo):
    """Each editor writes in a separate paragraph, with autosave. No conflict is shown, because there is none."""
    ann, bob, node_id = browsing(account("ann")), browsing(account("bob")), node(text="Ann:\n\nSame.\n\nBob:")
    for editor in (ann, bob):
        editor.goto(change(node_id))
    for number in range(20):
        for editor, name in ((ann, "Ann"), (bob, "Bob")):
            said = editor.input_value("#id_text").split("\n\n")
            write(editor, "\n\n".join(f"{part} {name}{number}" if part.startswith(name) else part for part in said))
            if number % 5 == 0:
                kept(editor)
        for editor in (ann, bob):
            editor.click("[name=_continue]")
            expect(editor.locator(".messagelist")).to_contain_text("Updated.")
            expect(editor.locator(".clash")).to_have_count(0)
            expect(editor.locator(".unsaved:visible")).to_have_count(0)
    paragraphs = stored(node_id)["detail"]["text"].split("\n\n")
    assert paragraphs == [
        "Ann: " + " ".join(f"Ann{n}" for n in range(20)),
        "Same.",
        "Bob: " + " ".join(f"Bob{n}" for n in range(20)),
    ]
    assert list(mongo["cms.working_copies"].find({"fields": {"$exists": True}})) == []


@pytest.mark.slow
def test_list_of_unsaved_pages_leaves_out_pages_in_open_tabs(browsing, account):
    ann = browsing(account("ann"))
    for title in ("First", "Second", "Third"):
        ann.goto(ADD)
        ann.fill("#id_title", title)
        kept(ann)
    other = browsing.page(ann.context)
    other.goto(ADD)
    listed = other.locator(".unsaved-list")
    expect(listed.locator("summary")).to_have_text(re.compile(r"Unsaved pages:\s+2"))
    listed.locator("summary").click()
    second = listed.locator(".unsaved").filter(has_text="Second")
    second.get_by_role("button", name="Discard").click()
    other.goto(ADD)
    expect(listed.locator("summary")).to_have_text(re.compile(r"Unsaved pages:\s+1"))
    listed.locator("summary").click()
    other.locator(".unsaved").filter(has_text="First").get_by_role("button", name="Continue editing").click()
    expect(other.locator("#id_title")).to_have_value("First")
