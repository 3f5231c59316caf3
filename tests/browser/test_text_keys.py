"""The keys of the Markdown editor: Enter, Backspace and Tab, and the blocks that the menu and the toolbar insert."""

import re

import pytest
from playwright.sync_api import Page, expect

from cms.testing.build import node
from tests.browser.people import VIEW

# Replaces the text and places the caret at "|".
PLACE = f"""async (marked) => {{
  {VIEW}
  const caret = marked.indexOf("‸");
  view.dispatch({{
    changes: {{ from: 0, to: view.state.doc.length, insert: marked.replace("‸", "") }}, selection: {{ anchor: caret }},
  }});
  view.focus();
}}"""
# The text, with "‸" at the caret, or at both ends of the selection.
SHOWN = f"""async () => {{
  {VIEW}
  const {{ from, to, empty }} = view.state.selection.main;
  const text = view.state.doc.toString();
  return text.slice(0, from) + "‸" + (empty ? "" : text.slice(from, to) + "‸") + text.slice(to);
}}"""


@pytest.fixture
def ann(browsing, account) -> Page:
    page = browsing(account("ann"))
    page.goto(f"/admin/nodes/node/{node(text='')}/change/")
    page.locator(".markdown-editor.live").wait_for()
    return page


def pressed(page: Page, marked: str, *keys: str) -> str:
    """Return the text after pressing `keys` in the text `marked`, in which "‸" is the caret."""
    page.evaluate(PLACE, marked)
    for key in keys:
        page.keyboard.press(key)
    return str(page.evaluate(SHOWN))


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("One‸", "One\n\n‸"),
        ("One two‸ three", "One two\n\n‸three"),
        ("One‸\n\nTwo", "One\n\n‸\n\nTwo"),
        ("One\n\n‸", "One\n\n\n‸"),
        ("## One‸", "## One\n\n‸"),
        (":::note\nOne‸\n:::", ":::note\nOne\n\n‸\n:::"),
        ("- One‸", "- One\n- ‸"),
        ("- One\n- ‸", "- One\n\n‸"),
        ("> One‸", "> One\n> ‸"),
        ("```\none‸\n```", "```\none\n‸\n```"),
        ("```python‸", "```python\n‸"),
        (":::note‸", ":::note\n‸"),
        ("| A | B |‸", "| A | B |\n‸"),
        ("| A | B |\n| --- | --- |\n| 1 | 2 |‸", "| A | B |\n| --- | --- |\n| 1 | 2 |\n\n‸"),
    ],
)
def test_enter_begins_a_paragraph_and_undo_removes_it(ann, before, after):
    assert pressed(ann, before, "Enter") == after
    ann.keyboard.press("Control+z")
    assert ann.evaluate(SHOWN) == before


@pytest.mark.slow
def test_enter_in_plain_markdown_and_shift_enter_add_one_line(ann):
    assert pressed(ann, "One‸two", "Shift+Enter") == "One\n‸two"
    ann.get_by_role("button", name="Show Markdown").click()
    assert pressed(ann, "One‸two", "Enter") == "One\n‸two"


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("One\n\n‸", "One‸"),
        ("One\n\n‸Two", "One‸Two"),
        ("One\n‸Two", "One‸Two"),
        ("One\n\n\n‸Two", "One\n\n‸Two"),
        ("- One\n\n‸Two", "- One\n‸Two"),
        ("One\n\n‸- Two", "One\n‸- Two"),
        ("```\none\n\n‸two\n```", "```\none\n‸two\n```"),
    ],
)
def test_backspace_joins_paragraphs(ann, before, after):
    assert pressed(ann, before, "Backspace") == after


TABLE = "| A | B |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.slow
def test_tab_moves_between_cells_and_adds_a_row(ann):
    assert pressed(ann, f"‸{TABLE}", "Tab") == TABLE.replace("B", "‸B‸")
    ann.keyboard.press("Tab")
    assert ann.evaluate(SHOWN) == TABLE.replace("1", "‸1‸")
    ann.keyboard.press("Shift+Tab")
    ann.keyboard.press("Shift+Tab")
    ann.keyboard.press("Shift+Tab")
    assert ann.evaluate(SHOWN) == TABLE.replace("A", "‸A‸")
    assert pressed(ann, f"{TABLE}‸\n\nAfter", "Tab") == f"{TABLE}\n| ‸ |  |\n\nAfter"
    ann.keyboard.type("x")
    ann.keyboard.press("Tab")
    ann.keyboard.type("y")
    expect(ann.locator("#id_text")).to_have_value(f"{TABLE}\n| x | y |\n\nAfter")
    assert pressed(ann, "|A‸|B|\n|-|-|\n|1|2|", "Tab") == "|A|‸B‸|\n|-|-|\n|1|2|"
    ann.keyboard.press("Tab")
    assert ann.evaluate(SHOWN) == "|A|B|\n|-|-|\n|‸1‸|2|"
    assert pressed(ann, "> | A |\n> | - |\n> | a\\|b‸ |", "Tab") == "> | A |\n> | - |\n> | a\\|b |\n> | ‸ |"


@pytest.mark.slow
def test_escape_and_tab_leave_a_table(ann):
    pressed(ann, f"‸{TABLE}", "Escape", "Tab")
    described = ann.get_by_role("textbox", name="Text", exact=True)
    expect(described).not_to_be_focused()
    assert ann.evaluate(SHOWN) == f"‸{TABLE}"
    expect(described).to_have_accessible_description(re.compile("To leave the text, press Escape and then Tab"))


@pytest.mark.slow
def test_footnotes_and_dividers_are_inserted(ann):
    ann.evaluate(PLACE, "One[^1]‸ two.\n\n[^1]: First.")
    ann.locator(".editor-toolbar").get_by_role("button", name="Footnote").click()
    assert ann.evaluate(SHOWN) == "One[^1][^2] two.\n\n[^1]: First.\n\n[^2]: ‸"
    ann.keyboard.press("Control+z")
    assert ann.evaluate(SHOWN) == "One[^1]‸ two.\n\n[^1]: First."
    ann.evaluate(PLACE, "Words ‸")
    ann.keyboard.type("/foot")
    expect(ann.locator(".cm-tooltip-autocomplete li")).to_have_text(["Footnote"])
    ann.keyboard.press("Enter")
    assert ann.evaluate(SHOWN) == "Words [^1]\n\n[^1]: ‸"
    ann.evaluate(PLACE, "One\n\n‸\n\nTwo")
    ann.keyboard.type("/div")
    expect(ann.locator(".cm-tooltip-autocomplete [aria-selected=true]")).to_have_text("Divider")
    ann.keyboard.press("Enter")
    assert ann.evaluate(SHOWN) == "One\n\n---‸\n\nTwo"
    ann.evaluate(PLACE, "One‸\n\nTwo")
    ann.locator(".editor-toolbar").get_by_role("button", name="Divider").click()
    assert ann.evaluate(SHOWN) == "One\n\n---‸\n\nTwo"


def test_mark_of_a_hard_break_is_hidden(ann):
    ann.evaluate(PLACE, "One\\\ntwo‸")
    expect(ann.locator(".cm-line").first).to_have_text("One")
    ann.keyboard.press("ArrowUp")
    ann.keyboard.press("End")
    expect(ann.locator(".cm-line").first).to_have_text("One\\")
