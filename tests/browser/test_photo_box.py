"""The box at a photo in the text: width, alignment, caption and alternative text, and the photo as readers see it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from cms.testing.build import PAST, node
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload

WORDS = "The tide went out twice a day and nobody in the harbour looked up. " * 12


@pytest.fixture
def ann(browsing, account) -> Page:
    return browsing(account("ann"))


@pytest.fixture
def lake(mongo) -> str:
    data = pictures.jpeg(1, pictures.image((900, 600)))
    fields = {"title": "Lake", "detail.alt": "Mist", "published": PAST}
    return f"photo:{upload(gallery(), data, 'lake.jpg', fields=fields)}"


def open_text(page: Page, text: str) -> Locator:
    """Open the form of a page with this text, place the caret in its first photo, and return the box."""
    page.goto(f"/admin/nodes/node/{node(text=text)}/change/")
    page.locator(".md-figure img").first.click()
    box = page.get_by_role("toolbar", name="Photo")
    expect(box).to_be_visible()
    return box


@pytest.mark.slow
def test_width_and_alignment_are_one_click_each_and_change_nothing_else(ann, lake):
    around = f"Before  *it*\n\n%s\n\n![](other.png)\n\nAfter\\\n![Mist]({lake}) inline"
    box = open_text(ann, around % f'![A \\[lake\\]]({lake} "At \\"dawn\\"")')
    text = ann.locator("#id_text")
    expect(box.get_by_role("button", name="As wide as the text")).to_have_attribute("aria-pressed", "true")
    start = f'::photo{{photo={lake} caption="At \\"dawn\\"" alt="A [lake]"'
    for name, end in (
        ("Wider", " width=wide}"),
        ("Left of the text", " width=half align=left}"),
        ("Right of the text", " width=half align=right}"),
        ("Full width", " width=full}"),
        ("As wide as the text", "}"),
    ):
        box.get_by_role("button", name=name).click()
        expect(text).to_have_value(around % f"{start}{end}")
        expect(box.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
    for _change in range(5):
        ann.keyboard.press("Control+z")
    expect(text).to_have_value(around % f'![A \\[lake\\]]({lake} "At \\"dawn\\"")')


@pytest.mark.slow
def test_form_changes_caption_and_alternative_text(ann, lake):
    box = open_text(ann, f"![]({lake})\n\nText")
    text = ann.locator("#id_text")
    edit = box.get_by_role("button", name="Edit caption, alternative text and width")
    form = ann.locator("form[data-insert=photo]")
    edit.click()
    form.get_by_role("button", name="Insert").click()
    expect(text).to_have_value(f"![]({lake})\n\nText")
    edit.click()
    form.get_by_label("Caption").fill('At "dawn"')
    form.get_by_label("Alternative text").fill("A [lake]")
    form.get_by_role("button", name="Insert").click()
    expect(text).to_have_value(f'![A \\[lake\\]]({lake} "At \\"dawn\\"")\n\nText')
    edit.click()
    expect(form.get_by_label("Caption")).to_have_value('At "dawn"')
    form.get_by_label("Width").select_option("third")
    form.get_by_label("Alignment").select_option("left")
    form.get_by_role("button", name="Insert").click()
    written = f'::photo{{photo={lake} caption="At \\"dawn\\"" alt="A [lake]" width=third align=left}}\n\nText'
    expect(text).to_have_value(written)
    box.get_by_role("button", name="Right of the text").click()
    expect(text).to_have_value(written.replace("left", "right"))
    ann.keyboard.press("Control+End")
    figure = ann.locator(".md-figure")
    expect(figure).to_have_class(re.compile("third right"))
    expect(figure).to_contain_text("Alternative text: A [lake]")


@pytest.mark.slow
def test_box_is_reached_with_the_tab_key(ann, lake):
    box = open_text(ann, f"![Mist]({lake})\n\nText")
    ann.keyboard.press("Tab")
    expect(box.get_by_role("button").first).to_be_focused()
    ann.keyboard.press("Tab")
    ann.keyboard.press("Enter")
    expect(ann.locator("#id_text")).to_have_value(f"::photo{{photo={lake} alt=Mist width=wide}}\n\nText")
    expect(ann.locator(".cm-content")).to_be_focused()


@pytest.mark.slow
def test_click_on_a_photo_beside_the_preview_finds_its_line(browsing, account, lake):
    """At first, the text is shorter than the preview. The photo is loaded later."""
    ann = browsing(account("ann"), viewport={"width": 1440, "height": 900})
    open_text(ann, f"Before.\n\n![Mist]({lake})\n\nAfter.")
    expect(ann.locator(".md-source")).to_have_text(f"![Mist]({lake})")
    last = ann.locator(".cm-line").last.bounding_box()
    ann.mouse.click(last["x"] + 50, last["y"] + last["height"] + 40)
    ann.keyboard.type(" End")
    expect(ann.locator("#id_text")).to_have_value(f"Before.\n\n![Mist]({lake})\n\nAfter. End")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("text", ["- ![a](%s)", "> ![a](%s)", "Words ![a](%s)", "[![a](%s)](/x)"])
def test_photos_inside_other_text_have_no_box(ann, lake, text):
    ann.goto(f"/admin/nodes/node/{node(text=text % lake)}/change/")
    ann.locator(".cm-content img[src]").first.click()
    expect(ann.locator(".md-source")).to_be_visible()
    expect(ann.get_by_role("toolbar", name="Photo")).to_have_count(0)


LAYOUTS = (
    "width=text",
    "width=wide",
    "width=full",
    "width=half",
    "width=third",
    "align=left",
    "align=right width=third",
)
BOXES = """() => Object.fromEntries([...document.querySelectorAll(".insert-photo")].map((figure) => {
  const { left, right, width } = figure.getBoundingClientRect();
  return [figure.className, { left, right, width, float: getComputedStyle(figure).float }];
}))"""


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_readers_see_each_layout_within_the_window(browsing, lake, width):
    text = "\n\n".join(f"::photo{{photo={lake} caption=Dawn {layout}}}\n\n{WORDS}" for layout in LAYOUTS)
    node(slug="layouts", text=text)
    page = browsing(viewport={"width": width, "height": 900})
    page.goto("/layouts")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.evaluate(BOXES)
    assert len(boxes) == len(LAYOUTS)
    assert all(box["left"] >= 0 and box["right"] <= width for box in boxes.values())
    column = page.locator(".prose > p").last.bounding_box()["width"]
    small = {name: box for name, box in boxes.items() if re.search("half|third", name)}
    if width == 390:
        assert all(box["float"] == "none" and box["width"] == column for box in small.values())
        return
    assert [box["float"] for box in small.values()] == ["none", "none", "left", "right"]
    assert all(box["width"] <= column / 2 + 1 for box in small.values())
