"""The photo chooser in a browser: many photos at once, their order, uploads, and fields with several photos."""

import re

import pytest
from playwright.sync_api import Page, expect

from cms.testing.build import PAST, node
from tests.browser.clicks import Counting
from tests.browser.giving import give, given
from tests.browser.people import DESKTOP, PHONE
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload


@pytest.fixture
def ann(browsing, account) -> Page:
    return browsing(account("ann"))


def add_photos(count: int, place: object = None) -> list[str]:
    """Upload photos to a new gallery, and return their references, newest first."""
    place = place or gallery()
    made = [
        upload(
            place, pictures.jpeg(n), f"{n}.jpg", fields={"title": f"Photo {n}", "detail.alt": "x", "published": PAST}
        )
        for n in range(count)
    ]
    return [f"photo:{photo_id}" for photo_id in reversed(made)]


def open_text(page: Page, text: str = "") -> None:
    page.goto(f"/admin/nodes/node/{node(text=text)}/change/")
    page.locator(".cm-content").click()


def chooser(page: Page):
    return page.get_by_role("dialog", name="Choose photos")


def test_gallery_of_ten_photos_takes_four_clicks(ann):
    refs = add_photos(10)
    open_text(ann)
    person = Counting(ann)
    person.click("open the chooser", ann.locator(".tool-photo"))
    boxes = chooser(ann).get_by_role("checkbox")
    expect(boxes).to_have_count(10)
    person.click("choose the first photo", boxes.first)
    ann.keyboard.down("Shift")
    person.click("choose all photos up to the last", boxes.last)
    ann.keyboard.up("Shift")
    expect(chooser(ann)).to_contain_text("Chosen photos: 10")
    person.click("insert them", ann.get_by_role("button", name="Insert as gallery"))
    expect(chooser(ann)).to_be_hidden()
    expect(ann.locator("#id_text")).to_have_value(f"::gallery{{photos={','.join(refs)}}}\n\n")
    assert person.rows()[-1] == "| **All** | **4** | **0** |"


@pytest.mark.slow
def test_photos_are_chosen_and_ordered_by_keyboard(ann):
    refs = add_photos(4)
    open_text(ann, "Before.")
    ann.keyboard.press("End")
    ann.locator(".tool-photo").press("Enter")
    expect(chooser(ann).get_by_role("checkbox")).to_have_count(4)
    ann.keyboard.press("ArrowDown")
    ann.keyboard.press("Space")
    ann.keyboard.press("ArrowRight")
    ann.keyboard.press("ArrowRight")
    ann.keyboard.press("Shift+Space")
    expect(chooser(ann)).to_contain_text("Chosen photos: 3")
    expect(chooser(ann).get_by_role("checkbox", checked=True)).to_have_count(3)
    first = chooser(ann).get_by_role("button", name="Move later: Photo 3")
    first.press("Enter")
    ann.keyboard.press("Enter")
    chooser(ann).get_by_role("button", name="Remove: Photo 2").press("Enter")
    expect(chooser(ann).get_by_role("button", name="Remove: Photo 1")).to_be_focused()
    ann.get_by_role("button", name="Insert photos").press("Enter")
    expect(ann.locator("#id_text")).to_have_value(f"Before.\n\n![x]({refs[2]})\n\n![x]({refs[0]})\n\n")


@pytest.mark.slow
def test_photos_in_the_tray_are_dragged(ann):
    refs = add_photos(3)
    open_text(ann)
    ann.locator(".tool-photo").click()
    boxes = chooser(ann).get_by_role("checkbox")
    for number in range(3):
        boxes.nth(number).click()
    tray = ann.locator(".picker-chosen li")
    tray.nth(2).drag_to(tray.nth(0), target_position={"x": 5, "y": 20})
    ann.get_by_role("button", name="Insert as gallery").click()
    expect(ann.locator("#id_text")).to_have_value(f"::gallery{{photos={refs[2]},{refs[0]},{refs[1]}}}\n\n")


@pytest.mark.slow
def test_uploaded_photos_are_added_to_the_chosen_photos(ann):
    [old] = add_photos(1)
    open_text(ann)
    ann.locator(".tool-photo").click()
    chooser(ann).get_by_role("checkbox", name="Photo 0").click()
    new = [given(f"new-{n}.png", pictures.png(n), "image/png") for n in range(2)]
    give(ann, "#photo-picker", "drop", new)
    upload_dialog = ann.locator("#picture-dialog")
    expect(upload_dialog.locator("[name=alt]")).to_have_count(2)
    for alt in upload_dialog.locator("[name=alt]").all():
        alt.fill("Boats")
    upload_dialog.get_by_role("button", name="Upload photos").click()
    expect(chooser(ann)).to_contain_text("Chosen photos: 3")
    expect(chooser(ann).get_by_role("checkbox", checked=True)).to_have_count(3)
    ann.get_by_role("button", name="Insert as gallery").click()
    expect(ann.locator("#id_text")).to_have_value(
        re.compile(rf"^::gallery{{photos={old}(,photo:[0-9a-f]{{24}}){{2}}}}\n\n$")
    )


@pytest.mark.slow
def test_gallery_and_search_limit_the_photos(ann):
    add_photos(2)
    add_photos(1, gallery("boats", title="Boats"))
    open_text(ann)
    ann.locator(".tool-photo").click()
    boxes = chooser(ann).get_by_role("checkbox")
    expect(boxes).to_have_count(3)
    boxes.filter(has_text="Photo 1").click()
    chooser(ann).get_by_label("Gallery").select_option(label="Boats")
    expect(boxes).to_have_count(1)
    chooser(ann).get_by_role("searchbox").fill("zebra")
    expect(chooser(ann)).to_contain_text("No photos found.")
    expect(chooser(ann)).to_contain_text("Chosen photos: 1")


@pytest.mark.slow
def test_field_with_photos_shows_and_changes_them(ann):
    refs = add_photos(3)
    ann.goto(f"/admin/nodes/node/{node(text=f'::gallery{{photos={refs[2]}}}')}/change/")
    ann.locator("button.md-card").click()
    form = ann.locator("form[data-insert=gallery]")
    expect(form.get_by_role("img", name="Photo 0")).to_be_visible()
    form.get_by_role("button", name="Choose photos").click()
    expect(chooser(ann)).to_contain_text("Chosen photos: 1")
    chooser(ann).get_by_role("checkbox", name="Photo 2").click()
    chooser(ann).get_by_role("button", name="Choose photos").click()
    expect(form.get_by_role("img")).to_have_count(2)
    form.get_by_role("button", name="Insert").click()
    expect(ann.locator("#id_text")).to_have_value(f"::gallery{{photos={refs[2]},{refs[0]}}}")


@pytest.mark.slow
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_chooser_fits_the_screen(browsing, account, screen):
    add_photos(12)
    page = browsing(account("ann"), viewport=screen)
    open_text(page)
    page.locator(".tool-photo").click()
    for box in chooser(page).get_by_role("checkbox").all()[:12]:
        box.click()
    box = chooser(page).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= screen["width"]
    assert box["y"] + box["height"] <= screen["height"]
    expect(page.get_by_role("button", name="Insert photos")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"]
