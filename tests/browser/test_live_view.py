"""The live view of the Markdown editor: markup is hidden except at the caret, and only typing changes the text."""

import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cms.testing.build import PAST, node, stored
from tests.browser.people import PHONE, VIEW
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def ann(browsing, account) -> Page:
    return browsing(account("ann"))


def opened(page: Page, text: str) -> object:
    node_id = node(text=text)
    page.goto(f"/admin/nodes/node/{node_id}/change/")
    page.locator(".markdown-editor.live").wait_for()
    return node_id


def line(page: Page, number: int):
    return page.locator(".cm-line").nth(number)


@pytest.mark.slow
def test_markup_is_shown_only_at_the_caret(ann):
    opened(ann, "## Heading\n\nSome **bold** and `code` words.\n\n- item\n\n> quoted")
    expect(line(ann, 0)).to_have_text("Heading")
    expect(line(ann, 2)).to_have_text("Some bold and code words.")
    expect(line(ann, 4)).to_have_text("•item")
    expect(line(ann, 6)).to_have_text("quoted")
    ann.get_by_text("bold", exact=True).click()
    expect(line(ann, 2)).to_have_text("Some **bold** and code words.")
    ann.get_by_text("Heading", exact=True).click()
    expect(line(ann, 0)).to_have_text("## Heading")
    expect(line(ann, 2)).to_have_text("Some bold and code words.")
    ann.keyboard.press("End")
    ann.keyboard.type(" two")
    expect(ann.locator("#id_text")).to_have_value(re.compile(r"^## Heading two\n\nSome \*\*bold"))


@pytest.mark.slow
def test_link_and_photo_are_shown_with_their_targets(ann):
    fees = node(slug="fees", title="Our fees")
    lake = upload(gallery(), pictures.jpeg(1), "1.jpg", fields={"title": "Lake", "published": PAST})
    bare = upload(gallery("bare"), pictures.jpeg(2), "2.jpg", fields={"detail.alt": "", "published": None})
    photos = f'![Mist](photo:{lake} "At dawn")\n\n![](photo:{lake})\n\n![](photo:{bare})'
    text = f"[prices](node:{fees}) [gone](node:{'0' * 24})\n\n{photos}"
    node_id = opened(ann, text)
    expect(line(ann, 0)).to_contain_text("Our fees")
    expect(line(ann, 0)).to_contain_text("Page not found")
    expect(line(ann, 0)).not_to_contain_text("node:")
    figure = ann.locator(".md-figure").first
    expect(figure.locator("img")).to_have_js_property("complete", True)
    expect(figure).to_contain_text("At dawn")
    expect(figure).to_contain_text("Alternative text: Mist")
    expect(ann.locator(".md-figure").nth(1)).to_contain_text("Alternative text: A lake")
    expect(ann.locator(".md-figure").nth(2)).to_contain_text("No alternative text")
    assert stored(node_id)["detail"]["text"] == text


@pytest.mark.slow
def test_insert_is_a_card_that_opens_its_form(ann):
    opened(ann, '::button{link=/about text="Read more"}\n\n:::note\nMind the gap.\n:::')
    card = ann.get_by_role("button", name=re.compile("^Button"))
    expect(card).to_contain_text("/about · Read more")
    card.click()
    form = ann.get_by_role("dialog", name="Button").locator("form:not([hidden])")
    expect(form.get_by_label("Text")).to_have_value("Read more")
    form.get_by_label("Text").fill('More "here"')
    form.get_by_role("button", name="Insert").click()
    expected = '::button{link=/about text="More \\"here\\""}\n\n:::note\nMind the gap.\n:::'
    expect(ann.locator("#id_text")).to_have_value(expected)
    ann.keyboard.press("Control+z")
    expect(ann.locator("#id_text")).to_have_value(re.compile("Read more"))


@pytest.mark.slow
def test_plain_markdown_is_shown_on_request_and_remembered(ann):
    opened(ann, "Some **bold** words.")
    expect(line(ann, 0)).to_have_text("Some bold words.")
    ann.get_by_role("button", name="Show Markdown").click()
    expect(line(ann, 0)).to_have_text("Some **bold** words.")
    ann.reload()
    expect(line(ann, 0)).to_have_text("Some **bold** words.")
    expect(ann.get_by_role("button", name="Show Markdown")).to_have_attribute("aria-pressed", "true")


@pytest.mark.slow
def test_block_menu_and_bubble_format_the_text(ann):
    opened(ann, "")
    text = ann.locator("#id_text")
    expect(ann.locator(".cm-placeholder")).to_have_text("Write, or type / for blocks, [[ for a link")
    ann.locator(".cm-content").click()
    ann.keyboard.type("Two words")
    ann.keyboard.press("Control+Shift+ArrowLeft")
    ann.locator(".md-bubble").get_by_role("button", name=re.compile("^Bold")).click()
    expect(text).to_have_value("Two **words**")
    ann.keyboard.press("End")
    ann.keyboard.press("Enter")
    ann.keyboard.type("/num")
    expect(ann.get_by_role("option", name="Numbered list")).to_have_attribute("aria-selected", "true")
    ann.keyboard.press("Enter")
    ann.keyboard.type("one")
    expect(text).to_have_value("Two **words**\n\n1. one")
    ann.keyboard.press("Enter")
    ann.keyboard.press("Enter")
    ann.keyboard.type("/note")
    expect(ann.get_by_role("option", name=re.compile("^Note"))).to_have_attribute("aria-selected", "true")
    ann.keyboard.press("Enter")
    ann.keyboard.type("Mind the gap.")
    expect(text).to_have_value(re.compile(r":::note\nMind the gap\.\n:::"))


@pytest.mark.slow
def test_long_text_is_saved_as_soon_as_it_is_typed(ann):
    """The textarea of a long text lags behind the editor."""
    node_id = opened(ann, "Some words. " * 10_000)
    ann.locator(".cm-content").focus()
    ann.keyboard.type("First! ")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    assert stored(node_id)["detail"]["text"] == "First! " + "Some words. " * 10_000


@pytest.mark.slow
def test_markup_that_spans_lines_stays_visible(ann):
    text = '[words](/about\n"title") and ![alt](/x\n"caption") and [two\nlines](/about)\n\nLast line.'
    opened(ann, text)
    expect(line(ann, 0)).to_have_text("[words](/about")
    ann.locator(".cm-line").last.click()
    ann.keyboard.press("End")
    ann.keyboard.type("!")
    expect(ann.locator("#id_text")).to_have_value(f"{text}!")


@pytest.mark.slow
def test_footnote_opens_beside_its_mark(ann):
    opened(ann, "Words[^1] and[^2]\n\n[^1]: The first note.")
    ann.locator(".md-footnote").first.click()
    box = ann.locator(".md-note-box")
    expect(box).to_contain_text("The first note.")
    box.get_by_role("button", name="Edit footnote").click()
    ann.keyboard.type("!")
    expect(ann.locator("#id_text")).to_have_value(re.compile(r"The first note\.!$"))


def compose(page: Page, text: str) -> None:
    """Compose text, as an input method for Chinese does."""
    session = page.context.new_cdp_session(page)
    for length in range(1, len(text) + 1):
        part = text[:length]
        session.send("Input.imeSetComposition", {"text": part, "selectionStart": length, "selectionEnd": length})
    session.send("Input.insertText", {"text": text})


@pytest.mark.slow
def test_composed_text_is_inserted_once(ann):
    opened(ann, "# 标题\n\n**粗** 字")
    ann.locator(".cm-line").nth(2).click()
    ann.keyboard.press("End")
    compose(ann, "你好世界")
    expect(ann.locator("#id_text")).to_have_value("# 标题\n\n**粗** 字你好世界")
    ann.keyboard.press("Home")
    compose(ann, "体")
    expect(ann.locator("#id_text")).to_have_value("# 标题\n\n**体粗** 字你好世界")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("viewport", [{"width": 1440, "height": 900}, PHONE], ids=["wide", "phone"])
def test_text_has_a_name_and_fits_the_screen(browsing, account, viewport):
    page = browsing(account("ann"), viewport=viewport)
    opened(page, "| A | B |\n| --- | --- |\n| " + "long " * 30 + "| 2 |\n\n```\n" + "x" * 300 + "\n```")
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_attribute("spellcheck", "true")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


PIECES = [
    *(
        "# ",
        "## ",
        "- ",
        "  - ",
        "1. ",
        "> ",
        "```",
        "~~~",
        "| a | b |",
        "| --- | --- |",
        "::button{link=/x}",
        ":::note",
    ),
    *(
        ":::",
        "**",
        "*",
        "_",
        "`",
        "[",
        "](node:",
        ")",
        "![",
        "](photo:",
        "[^1]",
        "[^1]: ",
        "==",
        "$x$",
        "$$",
        "<b>",
        "</b>",
    ),
    *(
        "<!--",
        "-->",
        "\\",
        "&amp;",
        "\t",
        " ",
        "  ",
        "\n",
        "\n\n",
        "---",
        "words",
        "词语",
        "👩‍👩‍👧",
        "é",
        "\u200b",
        "\u2028",
        "\u202e",
    ),
    *("- [ ] ", "- [x] ", "http://example.org", "{", "}", '"', "~", "^", "\x07", "[x]: /y", ": definition", "    code"),
]


def texts() -> list[str]:
    """Return 1,000 texts: the docs, their paragraphs, and random pieces of Markdown."""
    made = [path.read_text() for path in sorted(DOCS.rglob("*.md"))]
    paragraphs = [part for text in made for part in text.split("\n\n") if part.strip()]
    chance = random.Random(45)  # noqa: S311 - not for secrets
    made += ["\n\n".join(chance.sample(paragraphs, 8)) for _ in range(300)]
    while len(made) < 1000:
        made.append("".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 120))))
    return made[:1000]


# Shows each text, moves through it, and returns the texts that have changed.
WALK = f"""async (texts) => {{
  {VIEW}
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const area = document.querySelector("#id_text");
  const changed = [];
  for (const text of texts) {{
    area.value = text;
    area.dispatchEvent(new Event("change", {{ bubbles: true }}));
    view.focus();
    const {{ length }} = view.state.doc;
    for (let step = 0; step <= 20; step += 1) {{
      view.dispatch({{ selection: {{ anchor: Math.floor((length * step) / 20) }}, scrollIntoView: true }});
      if (step % 10 === 0) await frame();
    }}
    view.dispatch({{ selection: {{ anchor: 0, head: length }} }});
    if (area.value !== text || view.state.doc.toString() !== text) changed.push(text);
  }}
  return changed;
}}"""


@pytest.mark.slow
def test_thousand_texts_stay_unchanged(ann):
    made = texts()
    opened(ann, "Begin.")
    for start in range(0, len(made), 100):
        # The editor and the textarea have "\\n" between lines.
        batch = [text.replace("\r\n", "\n").replace("\r", "\n") for text in made[start : start + 100]]
        assert ann.evaluate(WALK, batch) == []
    ann.evaluate(WALK, [made[0]])
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")


# The words of each visible line, with the middle of their boxes.
WORDS = """() => {
  const words = [];
  for (const line of document.querySelectorAll(".cm-line")) {
    if (line.querySelector(".md-card, .md-figure")) continue;
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      if (text.parentElement.closest("[contenteditable=false]")) continue;
      for (const { 0: word, index } of text.data.matchAll(/[A-Za-z]{3,}/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const [{ left, right, top, bottom }] = range.getClientRects();
        words.push({ word, x: (left + right) / 2, y: (top + bottom) / 2 });
      }
    }
  }
  return words;
}"""
AT_CARET = f"""async () => {{
  {VIEW}
  const word = view.state.wordAt(view.state.selection.main.head);
  return word && view.state.sliceDoc(word.from, word.to);
}}"""
RICH = """# Heading

Some *slanted*, **strong**, `coded` and ==marked== words, [linked](/about) and more of them, so that the line wraps in a
narrow window. See <https://example.org> and a footnote.[^1]

- first
- second with **boldness**
  - nested
- [ ] task

> A quotation that is long enough to wrap over more than one line in a narrow window, and then some more words.

| Year | Number |
| --- | ---: |
| twenty | *twelve* |
| thirty | several words in one cell |

```python
def function():
    return other
```

Last line.

[^1]: The footnote.
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 800, 1440])
def test_click_into_each_word_places_the_caret(browsing, account, width):
    page = browsing(account("ann"), viewport={"width": width, "height": 2600})
    opened(page, RICH)
    shown = page.locator(".cm-content").inner_text()
    number = len(page.evaluate(WORDS))
    missed = []
    for index in range(number):
        word = page.evaluate(WORDS)[index]
        page.mouse.click(word["x"], word["y"])
        if (found := page.evaluate(AT_CARET)) != word["word"]:
            missed.append((word["word"], found))
        page.evaluate("document.activeElement.blur()")
        # CodeMirror hides the markup around the caret shortly afterwards.
        expect(page.locator(".cm-content")).to_have_text(shown, use_inner_text=True)
    assert missed == []
    assert number > 60
    page.keyboard.type("x")
    assert page.input_value("#id_text").replace("x", "") == RICH.replace("x", "")
