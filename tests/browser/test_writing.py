"""The Markdown editor in a browser: tools, preview, photo picker, tag completion."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import PAST, node, stored
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target
from marginalia.markup import markdown
from nodes.models import Node
from nodes.selectors import editable_nodes
from tests.browser.giving import PASTE
from tests.browser.late import LateResponse
from tests.browser.people import DESKTOP, PHONE, VIEW, write
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def tool(page, name):
    """Return a button of the toolbar. The box at selected text has some of the same buttons."""
    return page.locator(".editor-toolbar").get_by_role("button", name=re.compile(f"^{name}"))


@pytest.fixture
def ann(browsing, account):
    return browsing(account("ann"))


@pytest.mark.slow
def test_tools_shortcuts_and_word_count_work(ann):
    node_id = node(text="one two")
    ann.goto(change(node_id))
    expect(ann.locator(".editor-words")).to_have_text("2 words · 1 min read")
    ann.locator(".cm-content").click()
    ann.keyboard.press("Control+a")
    ann.keyboard.type("one")
    expect(ann.locator(".editor-words")).to_have_text("1 word · 1 min read")
    ann.keyboard.press("Control+z")
    ann.keyboard.press("Control+a")
    tool(ann, "Bold").click()
    expect(ann.locator("#id_text")).to_have_value("**one two**")
    ann.keyboard.press("Control+End")
    ann.keyboard.press("Control+i")
    ann.keyboard.type("three")
    ann.keyboard.press("End")
    ann.keyboard.press("Enter")
    ann.get_by_role("button", name=re.compile("^List")).click()
    ann.keyboard.type("item")
    expect(ann.locator("#id_text")).to_have_value("**one two***three*\n\n- item")
    expect(ann.locator(".editor-words")).to_contain_text("words")
    ann.keyboard.press("Control+s")
    expect(ann.locator(".messagelist")).to_contain_text("Draft saved. Readers still see the live version.")
    assert stored(node_id)["detail"]["text"] == "one two", "readers see the live version"
    assert editable_nodes.load(node_id).draft.fields["detail.text"] == "**one two***three*\n\n- item"


# The selection is between ⟦ and ⟧.
EMPHASIZED = [
    ("他说⟦“你好。”⟧然后走了。", "他说“**你好。**”然后走了。"),
    ("他「⟦a」「b⟧」说", "他「**a」「b**」说"),
    ("say ⟦“hi”⟧ now", "say **“hi”** now"),
    ("a⟦ (b) ⟧c", "a **(b)** c"),
    ("wo⟦😀⟧rd", "wo\u200a**😀**\u200ard"),
    ("看⟦[链接](/a)⟧吧", "看\u200a**[链接](/a)**\u200a吧"),
    ("⟦- one\n- two⟧", "- **one**\n- **two**"),
    ("⟦one\n\ntwo⟧", "**one**\n\n**two**"),
    ("x ⟦`a**b` and **c**⟧", "x **`a**b` and c**"),
]
SELECT = f"""async ([text, from, to]) => {{
  {VIEW}
  view.dispatch({{
    changes: {{ from: 0, to: view.state.doc.length, insert: text }}, selection: {{ anchor: from, head: to }},
  }});
  view.focus();
}}"""


@pytest.mark.slow
def test_bold_and_italic_are_rendered_and_toggled_off(ann):
    ann.goto(change(node(text="text")))
    text = ann.locator("#id_text")
    for marked, bold in EMPHASIZED:
        before, chosen, after = re.split("[⟦⟧]", marked)
        for name, mark, tag in (("Bold", "**", "strong"), ("Italic", "*", "em")):
            plain = f"{before}{chosen.replace('**', mark)}{after}"
            start, end = (len(part.encode("utf-16-le")) // 2 for part in (before, before + chosen.replace("**", mark)))
            ann.evaluate(SELECT, [plain, start, end])
            tool(ann, name).click()
            expect(text).to_have_value(bold.replace("**", mark))
            html = markdown.render(text.input_value())
            assert f"<{tag}>" in html
            assert "*" not in html.replace(f"a{mark}b", "")
            ann.keyboard.press(f"Control+{name[0].lower()}")
            expect(text).to_have_value(re.sub(r"(?<!a)\*+(?!b)", "", bold).replace("\u200a", "").replace("**", mark))


@pytest.mark.slow
def test_tab_key_leaves_the_editor_and_reaches_the_tools(ann):
    ann.goto(change(node(text="text")))
    ann.locator("#id_title").focus()
    ann.keyboard.press("Tab")
    expect(ann.get_by_role("button", name=re.compile("Bold"))).to_be_focused()
    ann.keyboard.press("ArrowRight")
    expect(ann.get_by_role("button", name=re.compile("Italic"))).to_be_focused()
    ann.keyboard.press("Tab")
    expect(ann.locator(".cm-focused")).to_be_visible()
    ann.keyboard.press("Tab")
    expect(ann.locator(".cm-focused")).to_have_count(0)
    expect(ann.locator("#id_text")).to_have_value("text")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_full_screen_keeps_the_tools_above_the_text(browsing, account, screen):
    ann = browsing(account("ann"), viewport=screen)
    ann.goto(change(node(text="first\n\n" + "line\n\n" * 40)))
    leave = ann.get_by_role("button", name="Full screen")
    leave.click()
    expect(ann.locator(".markdown-editor.fullscreen")).to_be_visible()
    tool(ann, "Bold").click()
    expect(ann.locator("#id_text")).to_have_value(re.compile(r"^\*\*"))
    tools, text = ann.locator(".editor-toolbar").bounding_box(), ann.locator(".cm-editor").bounding_box()
    assert tools["y"] == 0
    assert tools["y"] + tools["height"] <= text["y"]
    leave.click()
    expect(ann.locator(".markdown-editor.fullscreen")).to_have_count(0)


@pytest.mark.slow
def test_side_preview_follows_the_typed_text(ann):
    ann.goto(change(node(text="## First\n\n<script>alert(1)</script>")))
    pane = ann.get_by_role("region", name="Preview")
    page = pane.frame_locator("iframe")
    expect(pane).to_be_hidden()
    ann.get_by_role("button", name=re.compile("Side-by-side preview")).click()
    expect(page.locator("h2")).to_have_text("First")
    write(ann, "A | B\n--|--\n1 | 2\n\n> quoted\n" + "\n\nmore" * 60)
    expect(page.locator("td").first).to_have_text("1")
    expect(page.locator("blockquote")).to_contain_text("quoted")
    page.locator(".prose p").last.scroll_into_view_if_needed()
    ann.fill("#id_title", "Another title")
    expect(page.locator("h1")).to_have_text("Another title")
    expect(page.locator(".prose p").last).to_be_in_viewport()
    editor, beside = ann.locator(".cm-editor").bounding_box(), pane.bounding_box()
    assert beside["x"] >= editor["x"] + editor["width"] - 1
    ann.reload()
    expect(page.locator("h2")).to_have_text("First")


@pytest.mark.slow
def test_preview_gets_half_of_the_main_column_on_a_wide_screen(browsing, account):
    page = browsing(account("ann"), viewport={"width": 1440, "height": 900})
    page.goto(change(node(text="Text")))
    pane = page.get_by_role("region", name="Preview")
    expect(pane.frame_locator("iframe").locator("article")).to_contain_text("Text")
    widths = [page.locator(selector).bounding_box()["width"] for selector in (".cm-editor", ".editor-preview-side")]
    assert min(widths) > 420


@pytest.mark.slow
def test_toolbar_is_one_row_on_a_phone(browsing, account):
    page = browsing(account("ann"), viewport=PHONE)
    page.goto(change(node(text="Text")))
    bar = page.locator(".editor-toolbar")
    assert bar.bounding_box()["height"] < 60
    page.get_by_role("button", name="Help and shortcuts").focus()
    expect(page.get_by_role("button", name="Help and shortcuts")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.slow
def test_help_opens_at_its_top_on_a_phone(browsing, account):
    page = browsing(account("ann"), viewport=PHONE)
    page.goto("/admin/nodes/node/add/?type=basic-page")
    expect(page.locator("#id_title")).to_be_focused()
    page.locator(".tool-help").click()
    expect(page.get_by_role("heading", name="Writing with Markdown")).to_be_in_viewport()
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#editor-help")).to_be_hidden()


@pytest.mark.slow
def test_preview_is_below_the_text_on_a_phone(browsing, account):
    page = browsing(account("ann"), viewport=PHONE, has_touch=True)
    page.goto(change(node(text="Text")))
    page.get_by_role("button", name=re.compile("Side-by-side preview")).click()
    pane = page.get_by_role("region", name="Preview")
    expect(pane.frame_locator("iframe").locator("article")).to_contain_text("Text")
    editor, below = page.locator(".cm-editor").bounding_box(), pane.bounding_box()
    assert below["y"] >= editor["y"] + editor["height"] - 1
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.slow
def test_photo_is_searched_and_inserted_at_the_cursor(ann):
    place = gallery()
    lake = upload(
        place, pictures.jpeg(1), "1.jpg", fields={"title": "Lake at dawn", "detail.alt": "Mist", "published": PAST}
    )
    upload(place, pictures.jpeg(2), "2.jpg", fields={"title": "Harbour", "detail.alt": "Boats", "published": None})
    ann.goto(change(node(text="Before.\n\nAfter.")))
    ann.locator(".cm-line").first.click()
    ann.keyboard.press("End")
    ann.get_by_role("button", name=re.compile("^Photo")).click()
    picker = ann.get_by_role("dialog", name="Choose photos")
    expect(picker.locator(".picker-list li")).to_have_count(2)
    expect(picker.locator("li").filter(has_text="Harbour")).to_contain_text("not published yet")
    picker.get_by_role("searchbox").fill("daw")
    expect(picker.locator(".picker-list li")).to_have_count(1)
    picker.get_by_role("searchbox").press("Enter")
    picker.get_by_role("checkbox", name="Lake at dawn").click()
    picker.get_by_role("button", name="Insert photos").click()
    expect(picker).to_be_hidden()
    expect(ann.locator("#id_text")).to_have_value(f"Before.\n\n![Mist](photo:{lake})\n\nAfter.")
    ann.get_by_role("button", name=re.compile("Side-by-side preview")).click()
    shown = ann.get_by_role("region", name="Preview").frame_locator("iframe").locator("article img")
    expect(shown).to_have_js_property("complete", True)


@pytest.mark.slow
def test_tags_are_completed_by_keyboard_and_mouse(ann):
    node(slug="other", tags=("reading", "realism", "type"))
    node_id = node(tags=("design",))
    ann.goto(change(node_id))
    tags = ann.get_by_role("combobox", name="Tags")
    offered = ann.get_by_role("listbox", name="Tags").get_by_role("option")
    tags.press("End")
    tags.press_sequentially(", rea")
    expect(offered).to_have_text(["reading", "realism"])
    expect(tags).to_have_attribute("aria-expanded", "true")
    tags.press("ArrowDown")
    tags.press("ArrowDown")
    expect(ann.locator(".tag-list [aria-selected=true]")).to_have_text("realism")
    tags.press("Enter")
    expect(tags).to_have_value("design, realism, ")
    tags.press_sequentially("ty")
    offered.filter(has_text="type").click()
    expect(tags).to_have_value("design, realism, type, ")
    tags.press_sequentially("re")
    expect(offered).to_have_text(["reading"])
    tags.press("Escape")
    expect(ann.locator(".tag-list")).to_be_hidden()
    tags.fill("design, realism, new")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    assert sorted(stored(node_id)["tags"]) == ["design", "new", "realism"]


def test_late_response_leaves_the_highlighted_tag(ann):
    node(slug="other", tags=("reading", "realism", "realty"))
    ann.goto(change(node(tags=("design",))))
    tags = ann.get_by_role("combobox", name="Tags")
    late = LateResponse(ann, "**/tags/?q=rea")
    tags.press("End")
    tags.press_sequentially(", re")
    expect(ann.locator(".tag-list [role=option]")).to_have_count(3)
    late.type_key("a")
    tags.press("ArrowDown")
    tags.press("ArrowDown")
    late.arrive()
    expect(ann.locator(".tag-list [aria-selected=true]")).to_have_text("realism")
    tags.press("Enter")
    expect(tags).to_have_value("design, realism, ")


@pytest.mark.slow
def test_html_text_keeps_its_textarea(ann):
    node_id = node(text="<p>Old</p>", **{"detail.format": "html"})
    ann.goto(change(node_id))
    expect(ann.locator(".cm-editor")).to_have_count(0)
    ann.fill("#id_text", "<p>New</p>")
    ann.get_by_text("Comments and format").click()
    ann.select_option("#id_format", "markdown")
    expect(ann.locator(".cm-content")).to_contain_text("<p>New</p>")
    ann.select_option("#id_format", "html")
    expect(ann.locator("#id_text")).to_have_value("<p>New</p>")
    expect(ann.locator("#id_text")).to_be_visible()


@pytest.mark.slow
def test_unsaved_text_is_restored_into_the_editor(ann, browsing):
    node_id = node(text="old")
    ann.goto(change(node_id))
    write(ann, "typed on the train")
    ann.goto("/admin/")
    ann.goto(change(node_id))
    ann.get_by_role("button", name="Continue editing").click()
    expect(ann.locator(".cm-content")).to_have_text("typed on the train")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    assert stored(node_id)["detail"]["text"] == "typed on the train"


@pytest.mark.slow
def test_failed_preview_is_reported_and_keeps_the_text(ann):
    ann.expected += ["403", "Failed to load"]
    node_id = node(text="old")
    ann.goto(change(node_id))
    write(ann, "typed")
    ann.context.clear_cookies(name="sessionid")
    ann.get_by_role("button", name=re.compile("Side-by-side preview")).click()
    expect(ann.get_by_role("region", name="Preview")).to_contain_text("Your text is safe")
    expect(ann.locator("#id_text")).to_have_value("typed")


def test_writing_uploading_and_moderating_work_without_scripts(browsing, account):
    page, place = browsing(account("bob"), java_script_enabled=False), gallery("lakes")
    page.goto("/admin/nodes/node/add/?type=basic-page")
    page.fill("#id_title", "Plain paper")
    write(page, "Words.")
    page.fill("#id_tags", "paper, plain")
    page.click("[name=_publish]")
    expect(page.locator(".messagelist")).to_contain_text("Published. View page.")
    expect(page.locator("#id_text")).to_have_value("Words.")
    node_id = Node.objects.get(metadata__slug="plain-paper").pk
    assert stored(node_id)["tags"] == ["paper", "plain"]
    page.goto(f"/admin/nodes/photo/?section={place}")
    picture = {"name": "lake.jpg", "mimeType": "image/jpeg", "buffer": pictures.jpeg()}
    page.set_input_files("input[type=file]", picture)
    page.get_by_role("button", name="Upload").click()
    expect(page.locator(".messagelist")).to_contain_text("was uploaded")
    target = Target("nodes.node", str(node_id))
    services.hold(target, author=CommentAuthor("Newcomer"), source="May I?", token="held", reasons=["first"])
    page.goto("/admin/")
    page.get_by_role("link", name="1 Pending comments").click()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="1 comment was published")).to_be_visible()
    page.goto(f"/admin/nodes/node/{node_id}/delete/")
    page.locator("#confirm_form [type=submit]").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".messagelist")).to_contain_text("Restored.")


# Pastes words as if they came from another window.


@pytest.mark.slow
def test_pasted_site_url_becomes_a_link_by_id(ann, server):
    target, page = node(slug="target", title="Our [new] fees"), node(slug="page", text="")
    ann.goto(f"/admin/nodes/node/{page}/change/")
    text = ann.locator("#id_text")
    ann.locator(".cm-content").click()
    ann.evaluate(PASTE, f"{server}/target#s-winter")
    expect(text).to_have_value(f"[Our \\[new\\] fees](node:{target}#s-winter)")
    ann.keyboard.press("Control+z")
    expect(text).to_have_value(f"{server}/target#s-winter")
    ann.keyboard.press("Control+a")
    ann.keyboard.type("[words](")
    ann.evaluate(PASTE, f"{server}/target")
    expect(text).to_have_value(f"[words](node:{target}")
    ann.keyboard.press("Control+a")
    ann.keyboard.type("words")
    ann.keyboard.press("Control+a")
    ann.evaluate(PASTE, f"{server}/target")
    expect(text).to_have_value(f"[words](node:{target})")
    ann.keyboard.press("Control+a")
    with ann.expect_response(lambda answer: "link-to" in answer.url):
        ann.evaluate(PASTE, f"{server}/nowhere")
    expect(text).to_have_value(f"{server}/nowhere")
    ann.keyboard.press("Control+a")
    ann.keyboard.type("`code ")
    ann.evaluate(PASTE, f"{server}/target")
    expect(text).to_have_value(f"`code {server}/target")
    ann.keyboard.press("Control+a")
    ann.keyboard.type("See this")
    ann.keyboard.press("Control+Shift+ArrowLeft")
    ann.evaluate(PASTE, "https://example.org/(a)")
    expect(text).to_have_value("See [this](https://example.org/%28a%29)")
    ann.evaluate(PASTE, " https://example.org/b")
    expect(text).to_have_value("See [this](https://example.org/%28a%29) https://example.org/b")


# The scroll position of the page, and the positions of the toolbar, the cursor and the bar in the window.
SEEN = f"""async () => {{
  {VIEW}
  const cursor = view.coordsAtPos(view.state.selection.main.head);
  const [tools, bar] = [".editor-toolbar", ".edit-form-bar"].map((one) => document.querySelector(one).getBoundingClientRect());
  const end = bar.bottom >= innerHeight ? bar.top : innerHeight;
  return {{ scrolled: Math.round(scrollY), tools: tools.bottom, top: cursor.top, bottom: cursor.bottom, end }};
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_long_text_keeps_the_cursor_in_sight(browsing, account, screen):
    ann = browsing(account("ann"), viewport=screen)
    words = "\n\n".join(" ".join(f"word{n}" for n in range(100)) for _paragraph in range(200))
    ann.goto(change(node(text=words)))
    expect(ann.locator(".editor-words")).to_contain_text("20,000 words")
    assert ann.locator(".cm-editor").bounding_box()["height"] > 10 * screen["height"]
    ann.locator(".cm-line").first.click()
    for key in ("Control+End", "PageUp", "PageUp", "Control+Home", "PageDown", "PageDown"):
        ann.keyboard.press(key)
        seen = ann.evaluate(SEEN)
        assert seen["tools"] <= seen["top"] < seen["bottom"] <= seen["end"], key
    assert 0 <= seen["tools"] <= 150, "the toolbar stays in view"
    ann.keyboard.type("some words", delay=20)
    assert abs(ann.evaluate(SEEN)["scrolled"] - seen["scrolled"]) < 10, "typing does not move the page"
    ann.get_by_role("button", name=re.compile("Side-by-side preview")).click()
    expect(ann.frame_locator(".editor-preview-side iframe").locator("article")).to_contain_text("some words")
    if screen == DESKTOP:
        expect(ann.locator(".editor-preview-side")).to_be_in_viewport(ratio=0.9)
    assert ann.evaluate("document.documentElement.scrollWidth") <= screen["width"]


@pytest.mark.slow
def test_bold_ends_where_the_shortcut_is_pressed_again(ann):
    ann.goto(change(node(text="")))
    text = ann.locator("#id_text")
    ann.locator(".cm-content").click()
    for typed, expected in (("bold", "a **bold** c"), ("bold ", "a **bold**  c"), ("", "a  c")):
        ann.keyboard.press("Control+a")
        ann.keyboard.type("a ")
        ann.keyboard.press("Control+b")
        ann.keyboard.type(typed)
        ann.keyboard.press("Control+b")
        ann.keyboard.type(" c")
        expect(text).to_have_value(expected)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("mark", "enters"), [("- ", 2), ("1. ", 2), ("> ", 3)])
def test_paragraph_after_a_list_or_quote_is_outside_of_it(ann, mark, enters):
    ann.goto(change(node(text="")))
    ann.locator(".cm-content").click()
    ann.keyboard.type(f"{mark}words")
    for _ in range(enters):
        ann.keyboard.press("Enter")
    ann.keyboard.type("next")
    assert markdown.render(ann.input_value("#id_text")).rstrip().endswith("\n<p>next</p>")


@pytest.mark.slow
def test_tab_key_nests_list_items(ann):
    ann.goto(change(node(text="")))
    text = ann.locator("#id_text")
    ann.locator(".cm-content").click()
    ann.keyboard.type("- one")
    ann.keyboard.press("Enter")
    ann.keyboard.press("Tab")
    ann.keyboard.type("two")
    expect(text).to_have_value("- one\n  - two")
    ann.keyboard.press("Shift+Tab")
    expect(text).to_have_value("- one\n- two")
    ann.evaluate(SELECT, ["1. one\n2. two\n   - three\n\nwords", 12, 12])
    ann.keyboard.press("Tab")
    expect(text).to_have_value("1. one\n   1. two\n      - three\n\nwords")
    ann.keyboard.press("Shift+Tab")
    expect(text).to_have_value("1. one\n2. two\n   - three\n\nwords")
    ann.keyboard.press("Escape")
    ann.keyboard.press("Tab")
    expect(ann.locator(".cm-focused")).to_have_count(0)
