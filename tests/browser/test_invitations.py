"""Inviting a person, and accepting the invitation, with the keyboard."""

import re

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Page, expect

from tests.browser.people import PASSWORD


def press_until_focused(page: Page, label: str) -> None:
    """Press Tab until the field or button with this label has the focus."""
    wanted = page.get_by_label(label, exact=True).or_(page.get_by_role("button", name=label, exact=True)).first
    for _ in range(60):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    expect(wanted).to_be_focused()


@pytest.mark.slow
def test_person_is_invited_and_signs_the_first_post_by_keyboard(browsing, account, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    root = browsing(account("root"))
    root.goto("/admin/auth/user/add/")
    expect(root.get_by_label("Email address:")).to_be_focused()
    root.keyboard.type("ada@example.org")
    press_until_focused(root, "Editors: Write, edit, publish and arrange all pages, posts and photos.")
    root.keyboard.press("Space")
    root.keyboard.press("Enter")
    link = root.locator(".messagelist code")
    expect(link).to_be_visible()
    expect(root.get_by_role("row", name="ada@example.org")).to_contain_text("Invited")

    ada, sent = browsing(), []
    ada.on("request", lambda request: sent.append(request.all_headers().get("referer", "")))
    ada.goto(link.text_content())
    expect(ada.get_by_label("Your name:")).to_be_focused()
    ada.keyboard.type("Ada Lindqvist")
    for label in ("New password:", "New password confirmation:"):
        press_until_focused(ada, label)
        ada.keyboard.type(PASSWORD)
    ada.keyboard.press("Enter")
    expect(ada).to_have_url(re.compile("/admin/$"))
    assert not any("invitation" in referer for referer in sent)

    ada.goto("/admin/nodes/node/add/?type=basic-page")
    ada.locator("#id_title").fill("The first page")
    ada.keyboard.press("Control+s")
    expect(ada).to_have_url(re.compile("/change/"))
    ada.goto("/admin/nodes/node/")
    expect(ada.get_by_role("main")).to_contain_text("Ada Lindqvist")


def test_author_is_invited_in_four_steps(browsing, account):
    root = browsing(account("root"))
    root.goto("/admin/")
    root.locator(".rail").get_by_text("Settings", exact=True).click()
    root.get_by_role("link", name="People").click()
    root.get_by_role("link", name="Invite").click()
    expect(root.get_by_label("Email address:")).to_be_focused()
    root.keyboard.type("ada@example.org")
    root.keyboard.press("Enter")
    row = root.get_by_role("row", name="ada@example.org")
    expect(row).to_contain_text("Authors")
    expect(row).to_contain_text("Invited")


@pytest.mark.slow
def test_enter_saves_the_account_and_the_button_creates_a_new_link(browsing, account, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    ada = get_user_model().objects.create_user("ada@example.org", "ada@example.org", is_staff=True)
    root = browsing(account("root"))
    root.goto(f"/admin/auth/user/{ada.pk}/change/")
    root.get_by_label("Name:", exact=True).fill("Ada")
    root.keyboard.press("Enter")
    expect(root.locator(".messagelist .success")).to_be_visible()
    expect(root.get_by_role("row", name="ada@example.org")).to_contain_text("Ada")
    root.goto(f"/admin/auth/user/{ada.pk}/change/")
    press_until_focused(root, "Create a new link")
    root.keyboard.press("Enter")
    expect(root.locator(".messagelist code")).to_contain_text("/admin/invitation/")
