"""The caret of the Markdown editor after a click."""

import re

import pytest

from cms.testing.build import node
from tests.browser.people import VIEW

# A word of each visible line: its letters and the middle of its box in the window.
WORDS = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const [tools, bar] = [box(".editor-toolbar"), box(".edit-form-bar")];
  // The page scrolls to show a caret that is closer to the lower end.
  const end = (bar.bottom >= innerHeight ? bar.top : innerHeight) - 60;
  const lines = new Map();
  for (const line of document.querySelectorAll(".cm-line")) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      for (const { 0: word, index } of text.data.matchAll(/word\\d+/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const { left, top, right, bottom } = range.getBoundingClientRect();
        if (top < tools.bottom || bottom > end) continue;
        lines.set(Math.round(top), { word, x: (left + right) / 2, y: (top + bottom) / 2 });
      }
    }
  }
  return [...lines.values()];
}"""


# The word at the caret.
AT_CARET = f"""async () => {{
  {VIEW}
  const word = view.state.wordAt(view.state.selection.main.head);
  return word && view.state.sliceDoc(word.from, word.to);
}}"""


def long_text():
    words = [f"word{n}" for n in range(1000, 1700)]
    return "\n\n".join(" ".join(words[n : n + 35]) for n in range(0, len(words), 35))


def check_clicks(page):
    """Click a word in each visible line and check the caret. Then click and type."""
    # From below, because wrong measurements of CodeMirror add up from line to line. Typing makes it measure again.
    lines = page.evaluate(WORDS)[::-1]
    missed = []
    for line in lines:
        page.mouse.click(line["x"], line["y"])
        if (word := page.evaluate(AT_CARET)) != line["word"]:
            missed.append(f"{line['word']}: {word}")
    assert not missed
    assert len(lines) > 10
    for line in lines:
        page.mouse.click(line["x"], line["y"])
        page.keyboard.type("x")
        words = page.locator("#id_text").input_value().split()
        assert [word.replace("x", "") for word in words if "x" in word] == [line["word"]]
        page.keyboard.press("Control+z")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("width", [1440, 1920])
def test_click_in_the_preview_moves_the_caret(browsing, account, width):
    ann = browsing(account("ann"), viewport={"width": width, "height": 900})
    ann.goto(f"/admin/nodes/node/{node(text=long_text())}/change/")
    ann.frame_locator(".editor-preview-side iframe").locator("article").wait_for()
    check_clicks(ann)


@pytest.mark.slow
def test_click_works_after_toggling_the_preview(browsing, account):
    ann = browsing(account("ann"))
    ann.goto(f"/admin/nodes/node/{node(text=long_text())}/change/")
    beside = ann.get_by_role("button", name=re.compile("Side-by-side preview"))
    for is_wide in ("< 600", "> 600"):
        beside.click()
        ann.wait_for_function(f"document.querySelector('.cm-editor').offsetWidth {is_wide}")
        check_clicks(ann)
