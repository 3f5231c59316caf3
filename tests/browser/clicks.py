"""Counting the clicks and keys for a post, without its text, and comparing them with docs/internals/editor.md.

This is not part of the quick or slow tests. Run it with `python -m pytest -q tests/browser/clicks.py`.
"""

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from cms.testing.build import node, stored
from nodes.models import Node
from tests.browser.giving import GIVE, PASTE, given
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery

DOCUMENT = Path(__file__).parents[2] / "docs/internals/editor.md"


class Counting:
    """A person at a page. Each click and each key is counted for the current step. A chord counts as one key."""

    def __init__(self, page: Page) -> None:
        self.page = page
        # Clicks and keys by step, in the order of the steps.
        self.counts: dict[str, list[int]] = {}

    def _count(self, step: str, column: int) -> None:
        self.counts.setdefault(step, [0, 0])[column] += 1

    def click(self, step: str, what: Locator) -> None:
        self._count(step, 0)
        what.click()

    def press(self, step: str, key: str) -> None:
        self._count(step, 1)
        self.page.keyboard.press(key)

    def paste(self, step: str, script: str, what: object) -> None:
        """Paste `what` by sending the event, because a browser without a screen has no clipboard."""
        self._count(step, 1)
        self.page.evaluate(script, what)

    def rows(self) -> list[str]:
        """Return the rows of the table in the document."""
        clicks, keys = (sum(counts) for counts in zip(*self.counts.values(), strict=True))
        rows = [f"| {step} | {clicks} | {keys} |" for step, (clicks, keys) in self.counts.items()]
        return [*rows, f"| **All** | **{clicks}** | **{keys}** |"]


def test_count_a_post_with_a_picture_two_links_and_a_note(browsing, account):
    node("blog", "news")
    gallery("pictures")
    page = browsing(account("ann"))
    ann = Counting(page)
    page.goto("/admin/")
    ann.click("begin a post", page.get_by_role("link", name="Add blog post").first)
    expect(page.locator("#id_title")).to_be_focused()
    page.locator(".markdown-editor").wait_for()
    page.keyboard.type("On lakes")
    ann.press("go from the title to the text", "Enter")
    for step, words, address in (
        ("first link", "Read the guide", "https://example.org/guide"),
        ("second link", " and the map", "https://example.org/map"),
    ):
        page.keyboard.type(words)
        ann.press(step, "Control+Shift+ArrowLeft")
        ann.paste(step, PASTE, address)
    ann.paste("picture", GIVE, [".cm-content", "paste", [given("lake.png", pictures.png(), "image/png")]])
    dialog = page.locator("#picture-dialog")
    expect(dialog.locator("[name=alt]")).to_be_focused()
    page.keyboard.type("A lake at night")
    ann.press("picture", "Enter")
    expect(dialog).to_be_hidden()
    for key in "/no":
        ann.press("note", key)
    expect(page.locator(".cm-tooltip-autocomplete [aria-selected=true]")).to_contain_text("Note")
    ann.press("note", "Enter")
    page.keyboard.type("The lake is frozen.")
    ann.press("publish", "Control+Enter")
    ann.press("publish", "Enter")
    expect(page.locator(".messagelist")).to_contain_text("Published.")
    text = stored(Node.objects.get(metadata__slug="on-lakes").pk)["detail"]["text"]
    assert "[guide](https://example.org/guide) and the [map](https://example.org/map)" in text
    assert "![A lake at night](photo:" in text
    assert ":::note\nThe lake is frozen.\n:::" in text
    measured = DOCUMENT.read_text().partition("| begin")[1:]
    assert ann.rows() == "".join(measured).partition("\n\n")[0].splitlines()
