"""Formatted text is pasted into the editor as Markdown."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from cms.testing.build import node
from tests.browser.giving import given
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DOCUMENTS = sorted((Path(__file__).parent / "clipboard").glob("*.html"))
# Converts HTML with the script that the editor loads.
CONVERT = """async (html) => {
  const script = performance.getEntriesByType("resource").find(({ name }) => /\\/editor\\/paste\\b.*\\.js/.test(name));
  const { toMarkdown } = await import(new URL("./clipboard.js", script.name));
  return toMarkdown(html);
}"""
# Pastes HTML, and optionally files, into the Markdown editor.
PASTE_HTML = """([html, plain, files]) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/html", html);
  clipboardData.setData("text/plain", plain);
  for (const [name, type, data] of files) {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    clipboardData.items.add(new File([bytes], name, { type }));
  }
  const event = new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData });
  document.querySelector(".cm-content").dispatchEvent(event);
}"""


@pytest.fixture
def writing(browsing, account):
    page = browsing(account("ann"))
    post = node("blog-entry", "post", parent=node("blog", "blog"), text="Before.")
    gallery("pictures")
    page.goto(f"/admin/nodes/node/{post}/change/")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    return page


def html_of(name: str) -> str:
    return (Path(__file__).parent / "clipboard" / f"{name}.html").read_text()


def markdown_of(name: str) -> str:
    return (Path(__file__).parent / "clipboard" / f"{name}.md").read_text().rstrip("\n")


def test_documents_become_the_expected_markdown(writing):
    assert len(DOCUMENTS) >= 20
    for document in DOCUMENTS:
        converted = writing.evaluate(CONVERT, document.read_text())["markdown"]
        assert converted == markdown_of(document.stem), document.stem


@pytest.mark.parametrize("name", ["word-lists", "word-footnotes", "google-docs-text", "mail-gmail", "web-table"])
def test_pasting_formatted_text_is_one_undo_step(writing, name):
    text = writing.locator("#id_text")
    writing.evaluate(PASTE_HTML, [html_of(name), "plain", []])
    expect(text).to_have_value(f"Before.\n\n{markdown_of(name)}")
    writing.keyboard.press("Control+z")
    expect(text).to_have_value("Before.")


def test_words_are_pasted_into_the_line(writing):
    writing.evaluate(PASTE_HTML, ["<meta charset=utf-8><span> After </span><b>all</b>", " After all", []])
    expect(writing.locator("#id_text")).to_have_value("Before. After **all**")


def test_footnotes_get_the_next_number(writing):
    writing.keyboard.type("[^3]")
    writing.evaluate(PASTE_HTML, [html_of("libreoffice-footnote"), "plain", []])
    expect(writing.locator("#id_text")).to_have_value(
        "Before.[^3]\n\nHerons nest early.[^4]\n\n[^4]: In *February*, if it is mild."
    )


def test_real_clipboard_is_pasted_with_and_without_formatting(writing):
    text = writing.locator("#id_text")
    writing.context.grant_permissions(["clipboard-read", "clipboard-write"])
    writing.evaluate(
        """() => navigator.clipboard.write([new ClipboardItem({
          "text/html": new Blob(["<p>One <b>two</b></p>"], { type: "text/html" }),
          "text/plain": new Blob([" One two"], { type: "text/plain" }),
        })])"""
    )
    writing.keyboard.press("Control+Shift+v")
    expect(text).to_have_value("Before. One two")
    writing.keyboard.press("Control+z")
    writing.keyboard.press("Control+v")
    expect(text).to_have_value("Before. One **two**")


def test_formatted_text_in_code_stays_plain(writing):
    writing.keyboard.type("\n```\n")
    writing.evaluate(PASTE_HTML, ["<b>if</b> x:", "if x:", []])
    expect(writing.locator("#id_text")).to_have_value("Before.\n\n```\nif x:")


def test_picture_in_the_text_is_uploaded_to_its_place(writing):
    writing.evaluate(PASTE_HTML, [html_of("libreoffice-picture"), "plain", []])
    dialog = writing.locator("#picture-dialog")
    expect(dialog).to_be_visible()
    dialog.locator("[name=alt]").fill("A dot")
    dialog.locator("[value=upload]").click()
    expect(dialog).to_be_hidden()
    text = writing.locator("#id_text")
    value = writing.wait_for_function(
        "() => { const { value } = document.querySelector('#id_text'); return value.includes('photo:') && value; }"
    ).json_value()
    before, photo, after = value.partition("![A dot](photo:")
    assert before == "Before.\n\nHere it is:\n\n"
    assert photo
    assert after[24:] == ")\n\nDone."
    writing.keyboard.press("Control+z")
    expect(text).to_have_value("Before.")


def test_text_is_pasted_if_its_pictures_are_not_uploaded(writing):
    writing.evaluate(PASTE_HTML, [html_of("libreoffice-picture"), "plain", []])
    expect(writing.locator("#picture-dialog")).to_be_visible()
    writing.keyboard.press("Escape")
    expect(writing.locator("#id_text")).to_have_value("Before.\n\nHere it is:\n\nA red dot\n\nDone.")


def test_picture_that_word_adds_of_the_text_is_ignored(writing):
    image = given("image.png", pictures.png(), "image/png")
    writing.evaluate(PASTE_HTML, [html_of("word-letter"), "plain", [image]])
    expect(writing.locator("#id_text")).to_have_value(f"Before.\n\n{markdown_of('word-letter')}")
    expect(writing.locator("#picture-dialog")).to_be_hidden()
