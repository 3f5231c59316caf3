"""Inserts in a browser: the editor's menu, built from the registry."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import PAST, node
from marginalia.markup.inserts import base
from marginalia.markup.inserts.reading import TextInserts
from nodes import rendering
from tests.browser.people import PHONE
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload


@pytest.fixture
def ann(browsing, account):
    return browsing(account("ann"))


def choose(page, label):
    """Open the menu and the form of an insert, and return the dialog."""
    page.get_by_role("button", name=re.compile("^Insert")).click()
    page.get_by_role("dialog", name="Insert into text").get_by_role("button", name=label).click()
    return page.get_by_role("dialog", name=label).locator("form:not([hidden])")


def change(text):
    return f"/admin/nodes/node/{node(text=text)}/change/"


@pytest.mark.slow
def test_insert_is_placed_at_the_cursor(ann):
    ann.goto(change("Before.\n\nAfter."))
    ann.locator(".cm-line").first.click()
    ann.keyboard.press("End")
    form = choose(ann, "Button")
    form.get_by_role("button", name="Insert").click()
    expect(form).to_be_visible()
    form.get_by_label("URL").fill("/about")
    form.get_by_label("Text").fill('Read "more" \\ now')
    form.get_by_label("Text").press("Enter")
    expect(form).to_be_hidden()
    expect(ann.locator("#id_text")).to_have_value(
        'Before.\n\n::button{link=/about text="Read \\"more\\" \\\\ now"}\n\nAfter.'
    )


@pytest.mark.slow
def test_next_typed_text_is_inside_an_empty_note_or_table(ann):
    ann.goto(change("Before.\n\nAfter."))
    text = ann.locator("#id_text")
    ann.locator(".cm-line").first.click()
    ann.keyboard.press("End")
    choose(ann, "Note").get_by_role("button", name="Insert").click()
    expect(text).to_have_value("Before.\n\n:::note\n\n:::\n\nAfter.")
    ann.keyboard.type("Mind the gap.")
    expect(text).to_have_value("Before.\n\n:::note\nMind the gap.\n:::\n\nAfter.")
    ann.keyboard.press("Control+End")
    ann.get_by_role("button", name="Table").click()
    ann.keyboard.type("Year")
    table = "| Year | Column |\n| --- | --- |\n| Text | Text |\n\n"
    expect(text).to_have_value(f"Before.\n\n:::note\nMind the gap.\n:::\n\nAfter.\n\n{table}")


@pytest.mark.slow
def test_insert_keeps_the_selected_text(ann):
    ann.goto(change("Before.\n\nAfter."))
    ann.locator(".cm-line").first.click()
    ann.keyboard.press("Home")
    ann.keyboard.press("Control+Shift+ArrowRight")
    choose(ann, "Table of contents").get_by_role("button", name="Insert").click()
    expect(ann.locator("#id_text")).to_have_value(re.compile(r"^Before\n\n::contents\n\n\.\n\nAfter\.$"))


@pytest.mark.slow
def test_container_wraps_the_selected_text(ann):
    ann.goto(change("Mind the gap."))
    ann.locator(".cm-content").click()
    ann.keyboard.press("Control+a")
    form = choose(ann, "Note")
    form.get_by_label("Kind").select_option("warning")
    form.get_by_role("button", name="Insert").click()
    expect(ann.locator("#id_text")).to_have_value(":::note{kind=warning}\nMind the gap.\n:::\n\n")


@pytest.mark.slow
def test_photo_insert_is_chosen_by_keyboard(ann):
    lake = upload(gallery(), pictures.jpeg(1), fields={"title": "Lake", "detail.alt": "Mist", "published": PAST})
    ann.goto(change(""))
    form = choose(ann, "Note")
    form.get_by_role("button", name="Back").press("Enter")
    menu = ann.get_by_role("dialog", name="Insert into text")
    menu.get_by_role("button", name="Photo with caption").press("Enter")
    form = ann.get_by_role("dialog", name="Photo with caption").locator("form:not([hidden])")
    form.get_by_role("button", name="Choose a photo").click()
    ann.get_by_role("dialog", name="Choose a photo").get_by_role("button", name="Lake").click()
    expect(form.get_by_label("Photo", exact=True)).to_have_value(f"photo:{lake}")
    form.get_by_label("Width").select_option("wide")
    form.get_by_role("button", name="Insert").click()
    expect(ann.locator("#id_text")).to_have_value(f"::photo{{photo=photo:{lake} width=wide}}\n\n")
    ann.get_by_role("button", name=re.compile("^Insert")).click()
    ann.keyboard.press("Escape")
    expect(menu).to_be_hidden()


@pytest.mark.slow
def test_every_insert_form_produces_a_valid_directive(browsing, account):
    """The test runs on a phone, where no form may be wider than the screen."""
    upload(gallery("plates", title="Plates"))
    page = browsing(account("ann"), viewport=PHONE, has_touch=True)
    page.goto(change(""))
    text = page.locator("#id_text")
    for made in base.registered_inserts():
        form = choose(page, str(made.label))
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert form.locator("xpath=..").bounding_box()["width"] <= PHONE["width"]
        for name, field in made.base_fields.items():
            # A select always has a value.
            control = form.locator(f"input[name={name}]")
            if field.required and field.initial is None and control.count():
                prefix = getattr(field, "prefix", None)
                control.fill(made.examples.get(name) or (f"{prefix}{'0' * 24}" if prefix else "/x"))
        form.get_by_role("button", name="Insert").click()
        expect(form).to_be_hidden()
        # The dialog closes first.
        expect(text).to_have_value(re.compile(f"::{made.name}"))
    inserts = TextInserts(rendering.to_html(text.input_value(), "markdown"))
    assert inserts.faults == []
    assert inserts.names == {made.name for made in base.registered_inserts()}


@pytest.mark.slow
def test_inserts_are_explained_without_scripts(browsing, account):
    page = browsing(account("ann"), java_script_enabled=False)
    page.goto(change(""))
    page.get_by_text("Available inserts").click()
    for made in base.registered_inserts():
        expect(page.locator(".insert-spellings")).to_contain_text(base.example_directive(made).split("\n")[0])


FILM = "::embed{url=https://www.youtube.com/watch?v=aqz-KE-bpKQ title=Film}"


@pytest.mark.slow
def test_player_loads_nothing_before_a_click(browsing):
    node(slug="film", text=FILM)
    page, fetched = browsing(), []
    page.route(
        re.compile(r"youtube"), lambda route: fetched.append(route.request.url) or route.fulfill(body="<p>Playing</p>")
    )
    for _made_then_kept in range(2):
        page.goto("/film")
        expect(page.get_by_text("Click to load this content from YouTube.")).to_be_visible()
        assert fetched == []
        page.locator("main").get_by_role("link", name="Film").press("Enter")
        expect(page.frame_locator(".insert-embed iframe").get_by_text("Playing")).to_be_visible()
        assert fetched.pop().startswith("https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ")


def test_player_is_a_link_without_scripts(browsing):
    node(slug="film", text=FILM)
    page = browsing(java_script_enabled=False)
    page.goto("/film")
    expect(page.locator("main").get_by_role("link", name="Film")).to_have_attribute(
        "href", "https://www.youtube.com/watch?v=aqz-KE-bpKQ"
    )
