"""Saving in a browser: by two editors, twice, offline, and after the login expired. No text is lost."""

import re

import pytest
from bson import ObjectId
from playwright.sync_api import expect

from cms.testing.build import EDITOR, node, nonce, stored
from nodes.services import editing, trash
from tests.browser.people import PASSWORD, PHONE, write

ADD = "/admin/nodes/node/add/?type=basic-page"


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


@pytest.fixture
def two(browsing, account):
    """Browser pages of Ann and Bob."""
    return browsing(account("ann")), browsing(account("bob"))


@pytest.mark.slow
def test_warning_before_publishing_leads_to_its_place_in_the_text(browsing, account):
    ann, node_id = browsing(account("ann")), node(published=None)
    ann.goto(change(node_id))
    write(ann, f"One 😀\n\nSee [the plans](node:{ObjectId()}).")
    ann.click("[name=_publish]")
    asked = ann.get_by_role("alert")
    expect(ann.locator("#node_form .cm-editor")).to_be_visible()
    asked.get_by_role("link", name="Line 3").press("Enter")
    ann.keyboard.press("Home")
    ann.keyboard.insert_text("Now: ")
    expect(ann.locator("#id_text")).to_have_value(re.compile(r"One 😀\n\nNow: See"))
    asked.get_by_role("button", name="Publish anyway").click()
    expect(ann.locator(".messagelist")).to_contain_text("Published.")
    assert "Now: See" in stored(node_id)["detail"]["text"]


@pytest.mark.slow
def test_disjoint_edits_both_survive(two):
    ann, bob = two
    node_id = node(title="Old", text="one\n\ntwo\n\nthree")
    for editor in two:
        editor.goto(change(node_id))
    write(bob, "one\n\ntwo\n\nthree of Bob")
    bob.fill("#id_title", "Bob's title")
    bob.click("[name=_continue]")
    write(ann, "one of Ann\n\ntwo\n\nthree")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Merged with changes by bob: Title, Text")
    assert stored(node_id)["title"] == "Bob's title"
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo\n\nthree of Bob"


@pytest.mark.parametrize(
    "scripts", [pytest.param(True, marks=pytest.mark.slow, id="scripts"), pytest.param(False, id="no-scripts")]
)
def test_conflict_in_one_paragraph_is_decided_by_the_editor(browsing, account, scripts):
    bob = browsing(account("bob"))
    ann = browsing(account("ann"), java_script_enabled=scripts, viewport=PHONE)
    ann.expected.append("409")
    node_id = node(text="The cat sat on the mat.\n\nSame.")
    for editor in (ann, bob):
        editor.goto(change(node_id))
    write(bob, "The dog sat on the mat.\n\nSame.")
    bob.click("[name=_continue]")
    write(ann, "The cat slept on the mat.\n\nSame.")
    ann.click("[name=_continue]")
    expect(ann.locator(".errornote")).to_contain_text("bob changed this page while you were editing it")
    clash = ann.locator("#clash-text")
    assert clash.locator("del").all_inner_texts() == ["dog sat"] or "dog" in clash.locator("del").first.inner_text()
    expect(clash.locator("ins").first).to_be_visible()
    assert stored(node_id)["detail"]["text"].startswith("The dog sat")
    box = clash.get_by_label("Your own text")
    expect(box).to_have_value("The dog slept on the mat.")
    box.fill("The cat and the dog slept on the mat.")
    if not scripts:
        clash.locator("[value=edit]").check()
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    assert stored(node_id)["detail"]["text"].startswith("The cat and the dog slept")


@pytest.mark.slow
def test_three_conflicting_paragraphs_are_decided_one_by_one(two, mongo):
    """Two people with autosave in one page. Nothing that either of them typed is lost."""
    ann, bob = two
    ann.expected.append("409")
    node_id = node(text="one\n\nfar\n\ntwo\n\napart\n\nthree\n\nend")
    for editor in two:
        editor.goto(change(node_id))
    for editor, name in ((bob, "Bob"), (ann, "Ann")):
        end = "end of Ann" if name == "Ann" else "end"
        write(editor, f"one by {name}\n\nfar\n\ntwo by {name}\n\napart\n\nthree by {name}\n\n{end}")
    for editor in two:
        expect(editor.locator("#saved-state")).to_contain_text("Backed up")
    bob.click("[name=_continue]")
    expect(bob.locator(".messagelist")).to_contain_text("Updated.")
    ann.click("[name=_continue]")
    conflicts = ann.locator(".text-clash .clash")
    expect(conflicts).to_have_count(3)
    # Everything can be reached by keyboard.
    conflicts.nth(0).get_by_label("Use theirs (bob)").focus()
    for key in ("Space", "ArrowDown", "ArrowDown"):
        ann.keyboard.press(key)
    expect(conflicts.nth(0).get_by_label("Keep both, theirs first")).to_be_checked()
    conflicts.nth(1).get_by_label("Keep mine").check()
    conflicts.nth(2).get_by_label("Your own text").fill("three by both")
    expect(conflicts.nth(2).get_by_label("Write it myself")).to_be_checked()
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    text = stored(node_id)["detail"]["text"]
    assert text == "one by Bob\n\none by Ann\n\nfar\n\ntwo by Ann\n\napart\n\nthree by both\n\nend of Ann"
    assert list(mongo["cms.working_copies"].find({"fields": {"$exists": True}})) == []


@pytest.mark.slow
def test_double_click_on_save_saves_once(browsing, account, mongo):
    ann = browsing(account("ann"))
    ann.goto(ADD)
    ann.fill("#id_title", "Twice")
    write(ann, "Text")
    ann.dblclick("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Draft saved.")
    assert mongo["cms.nodes"].count_documents({}) == 1
    write(ann, "Text two")
    ann.dblclick("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Draft saved.")
    assert mongo["cms.nodes"].find_one()["metadata"]["detail"]["text"] == "Text two"


@pytest.mark.slow
def test_saving_again_after_back_shows_no_conflict(browsing, account):
    ann, node_id = browsing(account("ann")), node(title="Old", text="one")
    ann.goto(change(node_id))
    write(ann, "one two")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    ann.go_back()
    write(ann, "one two three")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    assert stored(node_id)["detail"]["text"] == "one two three"


@pytest.mark.slow
def test_slug_is_proposed_while_the_title_is_typed(browsing, account):
    node(slug="über-uns-关于")
    ann = browsing(account("ann"))
    ann.goto(ADD)
    ann.fill("#id_title", "Über uns 关于")
    expect(ann.locator("#id_slug")).to_have_value("über-uns-关于-2")
    expect(ann.locator("[name=_proposed]")).to_have_value("über-uns-关于-2")
    ann.fill("#id_slug", "mine")
    ann.fill("#id_title", "Another title")
    ann.click("[name=_continue]")
    expect(ann.locator("#id_slug")).to_have_value("mine")


@pytest.mark.slow
def test_slug_clash_offers_a_free_slug(browsing, account):
    node(slug="news")
    ann = browsing(account("ann"))
    ann.goto(ADD)
    ann.fill("#id_slug", "news")
    ann.fill("#id_title", "Other")
    ann.click("[name=_continue]")
    ann.get_by_role("button", name="Use “news-2”").click()
    ann.click("[name=_continue]")
    expect(ann.locator("#id_slug")).to_have_value("news-2")


@pytest.mark.slow
def test_offline_text_is_kept_in_the_browser_until_saved(browsing, account):
    ann, node_id = browsing(account("ann")), node(text="old")
    ann.expected.append("ERR_INTERNET_DISCONNECTED")
    ann.goto(change(node_id))
    write(ann, "typed on the train")
    ann.context.set_offline(True)
    ann.click("[name=_continue]")
    ann.context.set_offline(False)
    other = browsing.page(ann.context)
    ann.close()
    editing.save(EDITOR, node_id, nonce(node_id), {"title": "Saved by somebody else meanwhile"})
    other.goto(change(node_id))
    expect(other.locator("#id_text")).to_have_value("old")
    other.get_by_role("button", name="Continue editing").click()
    expect(other.locator("#id_text")).to_have_value("typed on the train")
    other.click("[name=_continue]")
    expect(other.locator(".messagelist")).to_contain_text("Merged with changes by Ann: Title")
    assert stored(node_id)["detail"]["text"] == "typed on the train"
    assert stored(node_id)["title"] == "Saved by somebody else meanwhile"
    expect(other.locator(".unsaved")).to_have_count(0)


@pytest.mark.slow
def test_stored_text_is_not_offered_to_another_account(browsing, account):
    ann, node_id = browsing(account("ann")), node(text="old")
    ann.goto(change(node_id))
    write(ann, "Ann's")
    ann.goto("/admin/nodes/node/")
    browsing.log_in(ann.context, account("bob"))
    ann.goto(change(node_id))
    expect(ann.locator(".unsaved")).to_have_count(0)


@pytest.mark.slow
def test_expired_login_is_renewed_in_place(browsing, account):
    ann, node_id = browsing(account("ann")), node(text="old")
    ann.expected.append("403")
    ann.goto(change(node_id))
    write(ann, "typed long ago")
    ann.context.clear_cookies(name="sessionid")
    ann.click("[name=_continue]")
    ann.fill("#id_username", "ann")
    ann.fill("#id_password", PASSWORD)
    ann.get_by_role("button", name="Log in").click()
    expect(ann.locator("#id_text")).to_have_value("typed long ago")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    assert stored(node_id)["detail"]["text"] == "typed long ago"


@pytest.mark.slow
def test_text_of_a_page_trashed_since_is_restored(browsing, account, mongo):
    ann, node_id = browsing(account("ann")), node(text="old")
    ann.expected.append("409")
    ann.goto(change(node_id))
    write(ann, "typed")
    trash.trash(EDITOR, node_id, nonce(node_id))
    ann.click("[name=_continue]")
    expect(ann.locator(".errornote").first).to_contain_text("moved to the trash")
    ann.get_by_role("button", name="Save as new page").click()
    expect(ann.locator(".messagelist")).to_contain_text("Published.")
    assert mongo["cms.nodes"].find_one()["metadata"]["detail"]["text"] == "typed"


@pytest.mark.slow
def test_slow_form_shows_that_it_is_working(browsing, account):
    ann, sent, shown = browsing(account("ann")), [], []
    # A page that waits for the next one cannot be queried, so it reports by itself.
    ann.add_init_script(
        "new MutationObserver((changes, watch) => { const bar = document.querySelector('.working-bar'); if (bar) {"
        " watch.disconnect(); fetch('/bar-is-shown?' + bar.innerText.trim()); } })"
        ".observe(document, {childList: true, subtree: true})"
    )

    def answer_now(route):
        shown.append(route.request.url.partition("?")[2])
        route.fulfill(body="")
        sent[0].continue_()

    ann.goto(ADD)
    ann.fill("#id_title", "Slow")
    ann.route("**/admin/nodes/node/add/**", lambda route: sent.append(route))
    ann.route("**/bar-is-shown*", answer_now)
    ann.click("[name=_continue]", no_wait_after=True)
    expect(ann.locator(".messagelist")).to_contain_text("Draft saved.")
    assert shown == ["Working"]
