"""The picture of a page: chosen, uploaded, dropped and removed, with the link preview."""

import re

import pytest
from playwright.sync_api import Page, expect

from cms.testing.build import node, stored
from marginalia.tasks import worker
from tests.browser.giving import give, given
from tests.browser.people import PHONE
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, upload


@pytest.fixture
def ann(browsing, account) -> Page:
    return browsing(account("ann"))


def opened(page: Page, node_id: object) -> None:
    page.goto(f"/admin/nodes/node/{node_id}/change/")
    page.evaluate("document.querySelectorAll('details.edit-form-group').forEach((group) => { group.open = true; })")


@pytest.mark.slow
def test_picture_of_a_page_is_chosen_uploaded_and_removed(ann):
    lake = upload(gallery(), pictures.jpeg(1), "lake.jpg", fields={"title": "Lake at dawn", "detail.alt": "Mist"})
    post = node("blog-entry", "post", parent=node("blog", "blog"), text="Before.", title="A post")
    opened(ann, post)
    row, card = ann.locator(".field-picture"), ann.locator(".shared-card")
    expect(card.locator("strong")).to_have_text("A post")
    expect(card.locator("img")).to_be_hidden()
    row.get_by_role("button", name="Choose a photo").click()
    ann.get_by_role("dialog", name="Choose a photo").get_by_role("button", name="Lake at dawn").click()
    expect(ann.locator("#id_picture")).to_have_value(f"photo:{lake}")
    expect(row.locator(".chosen")).to_contain_text("Lake at dawn")
    expect(card.locator("img")).to_have_attribute("src", re.compile(str(lake)))
    expect(ann.locator("#saved-state")).to_have_text("Not saved")
    row.get_by_role("button", name="Clear").click()
    expect(ann.locator("#id_picture")).to_have_value("")
    expect(card.locator("img")).to_be_hidden()
    give(ann, ".field-picture", "drop", [given("new.png", pictures.png(), "image/png")])
    dialog = ann.locator("#picture-dialog")
    dialog.locator("[name=alt]").first.fill("Harbour")
    dialog.get_by_role("button", name="Upload photos").click()
    expect(dialog).to_be_hidden()
    expect(ann.locator("#id_picture")).to_have_value(re.compile("^photo:[0-9a-f]{24}$"))
    expect(ann.locator("#id_text")).to_have_value("Before.")
    ann.fill("#id_seo_title", "For <i>search</i>")
    expect(card.locator("strong")).to_have_text("For <i>search</i>")
    expect(ann.locator(".field-seo_title .counter")).to_have_text("17 / 60")
    ann.get_by_role("button", name="Update").click()
    expect(ann.locator(".messagelist")).to_contain_text("Updated")
    made = stored(post)["detail"]
    assert document(made["picture"])["metadata"]["detail"]["alt"] == "Harbour"
    assert made["seo_title"] == "For <i>search</i>"


@pytest.mark.slow
def test_enter_in_an_alternative_text_goes_to_the_next_one_and_inserts(ann):
    gallery("pictures")
    opened(ann, node(text=""))
    ann.locator(".cm-content").click()
    files = [given(f"{number}.png", pictures.png(number), "image/png") for number in range(2)]
    give(ann, ".cm-content", "paste", files)
    dialog = ann.locator("#picture-dialog")
    alternatives = dialog.locator("[name=alt]")
    for number, words in enumerate(("A lake", "A harbour")):
        expect(alternatives.nth(number)).to_be_focused()
        ann.keyboard.type(words)
        ann.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(ann.locator("#id_text")).to_have_value(
        re.compile(r"^!\[A lake\]\(photo:\w+\)\n\n!\[A harbour\]\(photo:\w+\)\s*$")
    )


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_with_pictures_neither_shift_nor_overflow(browsing, account, viewport, scheme):
    place, blog = gallery(), node("blog", "blog", title="Notes from the shore")
    for number, size in enumerate(((900, 600), (600, 900), (300, 200))):
        data, title = pictures.jpeg(number, pictures.image(size, seed=number)), f"What the harbour kept, part {number}"
        photo = upload(place, data, f"{number}.jpg", fields={"detail.focal": [0.3, 0.3]})
        fields = {"detail.picture": photo, "summary": "A year of tides, told by those who mend nets." if number else ""}
        node("blog-entry", f"post-{number}", parent=blog, title=title, text="Words of it. " * 40, **fields)
    node("blog-entry", "plain", parent=blog, title="Without a picture", text="Just words. " * 30)
    while worker.work():
        continue
    page = browsing(viewport=viewport, color_scheme=scheme)
    for name, address in (
        ("home", "/"),
        ("post", "/blog/post-0"),
        ("tall", "/blog/post-1"),
        ("search", "/search?q=harbour"),
    ):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        # Text fits beside the picture.
        assert page.evaluate("[...document.querySelectorAll('main h2')].every((heading) => heading.clientWidth > 180)")
        assert page.evaluate("[...document.images].every((image) => image.width && image.height)")
