"""The site's settings: tabs, the preview next to the form, links moved by dragging and by keys, and an uploaded logo."""

import re

import pytest
from playwright.sync_api import Page, expect

from cms.testing.build import PAST, node
from marginalia.testing import run_tasks
from nodes.models import stored_site
from nodes.selectors import stored_photos
from nodes.services.site import save_settings
from tests.browser.giving import give, given
from tests.browser.people import PHONE
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload

pytestmark = pytest.mark.slow
SETTINGS = "/admin/nodes/sitesettings/"
WIDE = {"width": 1440, "height": 900}


def opened(browsing, account, tab: str = "", **options) -> Page:
    page = browsing(account("ann"), **{"viewport": WIDE, **options})
    page.goto(f"{SETTINGS}#{tab}")
    return page


def tab(page: Page, name: str):
    return page.get_by_role("tab", name=name)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messagelist")).to_contain_text("The settings were saved.")


def targets(page: Page) -> list[str]:
    return page.locator("#id_menu [name$=-target]").evaluate_all("inputs => inputs.map(({ value }) => value)")


def test_tabs_are_chosen_with_keys_and_kept_after_a_save(mongo, browsing, account):
    ann = opened(browsing, account)
    expect(tab(ann, "Site")).to_have_attribute("aria-selected", "true")
    tab(ann, "Site").focus()
    for key, name in (("ArrowRight", "Appearance"), ("End", "Posts and comments"), ("ArrowRight", "Site")):
        ann.keyboard.press(key)
        expect(tab(ann, name)).to_be_focused()
        expect(tab(ann, name)).to_have_attribute("aria-selected", "true")
        expect(ann.get_by_role("tabpanel")).to_have_count(1)
    ann.keyboard.press("ArrowLeft")
    ann.fill("#id_posts_per_page", "7")
    save(ann)
    expect(ann.locator("#id_posts_per_page")).to_be_visible()
    expect(ann.locator("#id_posts_per_page")).to_have_value("7")


def test_tab_with_an_error_opens(mongo, browsing, account):
    ann = opened(browsing, account, "reading")
    ann.fill("#id_posts_per_page", "0")
    tab(ann, "Site").click()
    ann.fill("#id_tagline", "Typed")
    ann.get_by_role("button", name="Save").click()
    expect(ann.locator("#reading .errorlist")).to_be_visible()
    expect(tab(ann, "Posts and comments (has errors)")).to_have_attribute("aria-selected", "true")
    expect(ann.locator("#id_tagline")).to_have_value("Typed")


def test_preview_shows_the_typed_settings(mongo, browsing, account):
    ann = opened(browsing, account, "appearance")
    frame = ann.frame_locator(".settings-preview iframe").last
    expect(frame.locator(".site-name")).to_have_text("Marginalia")
    ann.get_by_role("radio", name=re.compile("^Documentation")).check()
    expect(frame.locator("body.theme-documentation")).to_be_visible()
    tab(ann, "Site").click()
    ann.fill("#id_name", "Our paper")
    expect(frame.locator(".site-name")).to_have_text("Our paper")
    ann.get_by_role("button", name="Phone").click()
    assert frame.locator("html").evaluate("() => innerWidth") == 360
    assert stored_site.read().settings.name == "Marginalia"


def test_narrow_window_shows_the_preview_in_a_new_tab(mongo, browsing, account):
    ann = opened(browsing, account, viewport=PHONE)
    expect(ann.locator(".settings-preview")).to_be_hidden()
    ann.fill("#id_name", "Our paper")
    with ann.context.expect_page() as shown:
        ann.get_by_role("button", name="Preview").click()
    expect(shown.value.locator(".site-name")).to_have_text("Our paper")


def test_menu_is_arranged_with_keys_and_by_dragging(mongo, browsing, account):
    for slug in ("news", "plates", "essays"):
        node("blog", slug, title=slug.capitalize())
    ann = opened(browsing, account, "navigation")
    rows = ann.locator("#id_menu tbody tr")
    assert targets(ann) == ["/essays", "/news", "/plates", ""]
    menu = ann.locator("#id_menu")
    menu.get_by_label("URL of link 1").focus()
    ann.keyboard.press("Alt+ArrowDown")
    expect(menu.get_by_label("URL of link 1")).to_be_focused()
    expect(menu.get_by_text("Position 2")).to_be_attached()
    assert targets(ann) == ["/news", "/essays", "/plates", ""]
    menu.get_by_role("button", name="Move link 3 up").click()
    rows.nth(2).locator(".grip").drag_to(rows.nth(0), target_position={"x": 100, "y": 2})
    assert targets(ann) == ["/essays", "/news", "/plates", ""]
    rows.nth(1).get_by_role("button", name=re.compile("^Remove")).click()
    menu.get_by_role("button", name="Add link").click()
    ann.keyboard.type("Elsewhere")
    rows.last.get_by_role("textbox").first.press("Tab")
    ann.keyboard.type("https://example.org/")
    expect(rows.last.get_by_role("option")).to_have_count(1)
    ann.keyboard.press("Escape")
    save(ann)
    assert targets(ann) == ["/essays", "/plates", "https://example.org/", ""]
    ann.goto("/")
    expect(ann.get_by_role("navigation").first.get_by_role("link")).to_contain_text(["Essays", "Plates", "Elsewhere"])


def test_page_of_the_menu_is_chosen_by_title(mongo, browsing, account):
    node("basic-page", "about", title="About us")
    ann = opened(browsing, account, "navigation")
    target = ann.locator("#id_menu [name$=-target]").last
    target.fill("about")
    expect(ann.locator("#id_menu").get_by_role("option", name=re.compile("About us"))).to_be_visible()
    target.press("Enter")
    expect(target).to_have_value("/about")
    save(ann)
    assert [link["target"].split(":")[0] for link in stored_site.read().settings.menu] == ["node"]


def test_uploaded_logo_is_kept_when_another_setting_has_an_error(mongo, browsing, account):
    ann = opened(browsing, account, "appearance")
    ann.expected.append("422")
    give(ann, ".field-logo", "drop", [given("notes.png", b"no picture", "image/png")])
    expect(ann.locator(".field-logo [role=alert]")).to_be_visible()
    give(ann, ".field-logo", "drop", [given("brand.png", pictures.png(), "image/png")])
    expect(ann.locator(".field-logo .chosen")).to_contain_text("brand")
    expect(ann.locator(".field-logo [role=alert]")).to_be_hidden()
    run_tasks()
    tab(ann, "Posts and comments").click()
    ann.fill("#id_posts_per_page", "0")
    ann.get_by_role("button", name="Save").click()
    expect(ann.locator("#reading .errorlist")).to_be_visible()
    ann.fill("#id_posts_per_page", "9")
    save(ann)
    logo = stored_photos.get(stored_site.read().settings.logo)
    assert logo.metadata.detail.alt == "Marginalia"
    assert logo.metadata.parent_id is None
    ann.goto("/")
    expect(ann.locator(".site-name img")).to_have_attribute("alt", "Marginalia")


def test_logo_is_cleared_by_keyboard(mongo, browsing, account):
    logo = upload(gallery(), fields={"title": "Brand", "detail.alt": "Our brand", "published": PAST})
    save_settings({"logo": logo}, {"logo": None})
    ann = opened(browsing, account, "appearance")
    shown = ann.frame_locator(".settings-preview iframe").last.locator(".site-name")
    expect(shown.locator("img")).to_be_visible()
    field = ann.locator(".field-logo")
    expect(field.locator(".chosen")).to_contain_text("Brand")
    field.get_by_role("button", name="Clear").focus()
    ann.keyboard.press("Enter")
    expect(field.locator(".chosen")).to_be_hidden()
    expect(ann.locator("#id_logo")).to_be_focused()
    expect(shown.locator("img")).to_have_count(0)
    expect(shown).to_have_text("Marginalia")
    save(ann)
    assert stored_site.read().settings.logo is None
    ann.goto("/")
    expect(ann.locator(".site-name img")).to_have_count(0)
    assert stored_photos.get(logo) is not None


def test_unsaved_settings_ask_before_they_are_lost(mongo, browsing, account):
    ann = opened(browsing, account)
    ann.fill("#id_tagline", "Typed")
    asked = []
    ann.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    ann.close(run_before_unload=True)
    ann.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    save(ann)


def test_settings_are_saved_without_scripts(mongo, browsing, account):
    for slug in ("news", "plates"):
        node("blog", slug, title=slug.capitalize())
    ann = opened(browsing, account, java_script_enabled=False)
    for name in ("#id_name", "#id_theme", "#id_menu", "#id_posts_per_page"):
        expect(ann.locator(name)).to_be_visible()
    ann.get_by_label("Position of link 2").first.fill("0")
    ann.get_by_role("link", name="Posts and comments").click()
    ann.fill("#id_posts_per_page", "7")
    save(ann)
    assert targets(ann)[:2] == ["/plates", "/news"]
