"""Photos in a browser: dropped on the library, pasted into a text, browsed by keyboard."""

import re

import pytest
from bson import ObjectId
from playwright.sync_api import expect

from cms.testing.build import PAST, node, nonce, stored
from marginalia.mongo.connection import database
from marginalia.tasks import worker
from tests.browser.giving import give, given
from tests.browser.people import DESKTOP, PHONE
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, upload


@pytest.mark.slow
def test_dropped_files_are_uploaded_with_a_result_each(browsing, account):
    page = browsing(account("ann"))
    page.expected.append("422")
    first, second = gallery("first"), gallery("second")
    page.goto("/admin/nodes/photo/")
    page.select_option("[data-gallery]", str(second))
    files = [
        given("one.jpg", pictures.jpeg()),
        given("bad.jpg", b"<html>" * 50),
        given("two.png", pictures.png(), "image/png"),
    ]
    give(page, ".photo-drop", "drop", files)
    results = page.locator(".photo-results li")
    expect(results).to_have_count(3)
    expect(results.nth(0)).to_contain_text("one")
    expect(results.nth(0)).to_contain_text("done")
    expect(results.nth(1)).to_contain_text("This is a web page, not a photo")
    expect(results.nth(2).locator("img")).to_be_visible()
    expect(page.locator(".photo-grid li")).to_have_count(2)
    expect(page.locator(".paginator")).to_have_text("2 in total")
    places = {d["metadata"]["parent_id"] for d in database()["cms.assets.files"].find()}
    assert places == {second}
    assert first not in places
    expect(page.locator(".photo-grid img").first).to_have_js_property("complete", True)


def ten() -> list[list[str]]:
    drawn = [pictures.jpeg(1, pictures.image((240, 160), seed=number * 9)) for number in range(10)]
    return [given(f"p{number}.jpg", data) for number, data in enumerate(drawn)]


@pytest.mark.slow
def test_ten_dropped_pictures_are_published_together(browsing, account):
    page = browsing(account("ann"))
    gallery()
    page.goto("/admin/nodes/photo/")
    give(page, ".photo-drop", "drop", ten())
    rows = page.locator(".photo-row")
    expect(rows).to_have_count(10)
    expect(page.locator(".photo-lacking")).to_contain_text("p0, p1, p2")
    for number in range(9):
        rows.nth(number).get_by_label("Alternative text").fill(f"Lake {number}")
    expect(page.locator(".photo-lacking")).to_have_text("Not published, because alternative text is missing: p9")
    rows.nth(9).get_by_label("Alternative text").fill("Lake 9")
    expect(page.locator(".photo-lacking")).to_have_text("")
    rows.nth(0).get_by_label("Tags").fill("lake")
    image = rows.nth(0).locator("img")
    expect(image).to_have_js_property("complete", True)
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.75)
    page.get_by_role("button", name="Publish all").click()
    expect(page.locator(".messagelist")).to_contain_text("10 photos were published.")
    expect(page.locator(".photo-grid li")).to_have_count(10)
    stored = {d["metadata"]["title"]: d["metadata"] for d in database()["cms.assets.files"].find()}
    assert sorted(one["detail"]["alt"] for one in stored.values()) == [f"Lake {number}" for number in range(10)]
    assert all(one["published"] for one in stored.values())
    assert stored["p0"]["tags"] == ["lake"]
    assert [round(part, 1) for part in stored["p0"]["detail"]["focal"]] in (
        [0.2, 0.7],
        [0.2, 0.8],
        [0.3, 0.8],
        [0.3, 0.7],
    )


@pytest.mark.slow
def test_ten_pictures_dropped_into_a_text_keep_their_order(browsing, account):
    page = browsing(account("ann"))
    page.expected.append("422")
    gallery("pictures")
    post = node("blog-entry", "post", parent=node("blog", "blog"), text="Before.")
    page.goto(f"/admin/nodes/node/{post}/change/")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    # Files from the file picker are handled in the same way.
    page.get_by_role("button", name="Photo", exact=True).click()
    sent = [{"name": f"{name}.jpg", "mimeType": "image/jpeg", "buffer": pictures.jpeg()} for name in ("one", "two")]
    page.set_input_files("#photo-picker input[type=file]", sent)
    dialog = page.get_by_role("dialog", name="Upload photos")
    expect(dialog.locator(".photo-row")).to_have_count(2)
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog", name="Choose photos").get_by_role("button", name="Cancel").click()
    bad = given("bad.jpg", b"<html>" * 50)
    give(page, ".cm-content", "drop", [*ten()[:5], bad, *ten()[5:]])
    rows = dialog.locator(".photo-row")
    expect(rows).to_have_count(11)
    for number, row in enumerate(rows.all()):
        row.get_by_label("Alternative text").fill(f"Lake {number}" if number != 7 else "")
    dialog.get_by_role("button", name="Upload photos").click()
    expect(dialog.locator(".photo-row.done")).to_have_count(10)
    expect(rows.nth(5)).to_contain_text("This is a web page, not a photo")
    rows.nth(5).get_by_role("button", name="Skip").click()
    dialog.get_by_role("button", name="Upload photos").click()
    expect(dialog).to_be_hidden()
    written = re.findall(r"!\[(.*?)\]\(photo:([0-9a-f]{24})\)", page.input_value("#id_text"))
    assert [words for words, _id in written] == [f"Lake {n}" if n != 7 else "" for n in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10)]
    found = {str(d["_id"]): d["metadata"] for d in database()["cms.assets.files"].find()}
    assert [found[photo_id]["title"] for _words, photo_id in written] == [f"p{number}" for number in range(10)]
    assert [bool(found[photo_id]["published"]) for _words, photo_id in written] == [
        bool(words) for words, _id in written
    ]


# Routed requests without a response are held. `unroute` lets them continue.
UPLOADS = "**/admin/nodes/photo/upload/**"


@pytest.mark.slow
def test_descriptions_wait_for_uploads_up_to_the_limit(browsing, account):
    page, came = browsing(account("ann")), []
    gallery()
    page.goto("/admin/nodes/photo/")
    page.evaluate("document.querySelector('[data-upload]').dataset.most = 2")

    def come(route):
        came.append(route)
        if len(came) == 1:
            route.continue_()

    page.route(UPLOADS, come)
    give(page, ".photo-drop", "drop", ten()[:3])
    rows, publish = page.locator(".photo-row"), page.get_by_role("button", name="Publish all")
    expect(rows).to_have_count(1)
    expect(publish).to_be_disabled()
    leaving = "dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert not page.evaluate(leaving), "it would end uploads"
    page.unroute(UPLOADS)
    expect(publish).to_be_enabled()
    assert page.evaluate(leaving)
    expect(rows).to_have_count(2)
    expect(page.locator(".photo-results > li.done a")).to_have_count(1)


@pytest.mark.slow
def test_cancelled_pictures_are_not_uploaded(browsing, account):
    page, drawn = browsing(account("ann")), ten()
    gallery("pictures")
    page.goto(f"/admin/nodes/node/{node(text='Before.')}/change/")
    page.locator(".cm-content").click()
    dialog = page.get_by_role("dialog", name="Upload photos")
    insert = dialog.get_by_role("button", name="Upload photos")

    def begin(files):
        """Drop files and press the button. The uploads are held, two at a time."""
        page.route(UPLOADS, lambda _route: None)
        give(page, ".cm-content", "drop", files)
        insert.click()
        expect(dialog.locator("progress")).to_have_count(2)

    begin(drawn[:4])
    dialog.get_by_role("button", name="Skip").last.click()
    page.unroute(UPLOADS)
    expect(dialog).to_be_hidden()
    begin(drawn[4:8])
    dialog.get_by_role("button", name="Cancel").click()
    give(page, ".cm-content", "drop", drawn[8:9])
    page.unroute(UPLOADS)
    insert.click()
    expect(dialog).to_be_hidden()
    assert page.input_value("#id_text").count("](photo:") == 4
    titles = database()["cms.assets.files"].distinct("metadata.title")
    assert sorted(titles) == ["p0", "p1", "p2", "p4", "p5", "p8"]


@pytest.mark.slow
def test_photos_are_described_on_a_page_without_scripts(browsing, account):
    page = browsing(account("ann"), java_script_enabled=False)
    page.expected.append("422")
    gallery()
    page.goto("/admin/nodes/photo/")
    sent = [{"name": f"{name}.jpg", "mimeType": "image/jpeg", "buffer": pictures.jpeg()} for name in ("one", "two")]
    page.set_input_files("input[type=file]", sent)
    page.get_by_role("button", name="Upload").click()
    rows = page.locator(".photo-row")
    expect(rows).to_have_count(2)
    rows.nth(0).get_by_label("Alternative text").fill("A lake")
    page.get_by_role("button", name="Publish all").click()
    expect(rows.nth(0)).to_contain_text("Live")
    expect(rows.nth(1)).to_contain_text("alternative text")
    rows.nth(1).get_by_label("Alternative text").fill("A wood")
    page.get_by_role("button", name="Publish all").click()
    expect(page.locator(".photo-grid li")).to_have_count(2)


@pytest.mark.slow
def test_photo_is_edited_and_its_focal_point_clicked(browsing, account):
    page = browsing(account("ann"))
    photo_id = upload(gallery(), pictures.jpeg(1, pictures.image((600, 400))))
    page.goto(f"/admin/nodes/photo/{photo_id}/change/")
    box = page.locator(".photo-preview img").bounding_box()
    page.locator(".photo-preview img").click(position={"x": box["width"] * 0.25, "y": box["height"] * 0.75})
    page.fill("#id_alt", "Dark and bright")
    page.click("[name=_continue]")
    expect(page.locator(".messagelist")).to_contain_text("Saved:")
    detail = document(photo_id)["metadata"]["detail"]
    assert detail["alt"] == "Dark and bright"
    assert [round(part, 1) for part in detail["focal"]] in ([0.2, 0.7], [0.2, 0.8], [0.3, 0.8], [0.3, 0.7])


@pytest.mark.slow
def test_replacing_a_file_keeps_a_typed_focal_point(browsing, account):
    page = browsing(account("ann"))
    photo_id = upload(gallery(), pictures.jpeg(1), fields={"detail.focal": [0.5, 0.5]})
    page.goto(f"/admin/nodes/photo/{photo_id}/change/")
    page.get_by_label("From the left").fill("20")
    page.get_by_label("From the top").fill("90")
    new = {"name": "new.jpg", "mimeType": "image/jpeg", "buffer": pictures.jpeg(2)}
    with page.expect_navigation():
        page.set_input_files("input[type=file]", new)
    expect(page.locator(".photo-facts")).to_contain_text("new.jpg")
    expect(page.get_by_label("From the left")).to_have_value("20")
    page.get_by_label("From the left").fill("30")
    with page.expect_navigation():
        page.get_by_role("button", name="Restore file").click()
    expect(page.locator(".photo-facts")).not_to_contain_text("new.jpg")
    page.click("[name=_continue]")
    expect(page.locator(".messagelist")).to_contain_text("Saved")
    assert document(photo_id)["metadata"]["detail"]["focal"] == [0.3, 0.9]


@pytest.mark.slow
def test_crop_is_dragged_moved_by_keyboard_and_rotated(browsing, account):
    page = browsing(account("ann"))
    photo_id = upload(gallery(), pictures.jpeg(1, pictures.image((600, 400))))
    page.goto(f"/admin/nodes/photo/{photo_id}/change/")
    image = page.locator(".photo-stage img")
    expect(image).to_have_js_property("complete", True)
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.8)
    page.mouse.up()
    assert 48 < float(page.input_value("#id_crop_2")) < 52
    part = page.locator(".crop-part")
    part.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    assert 20.5 < float(page.input_value("#id_crop_0")) < 21.5
    assert 58 < float(page.input_value("#id_crop_3")) < 60
    page.get_by_role("button", name="Rotate right").click()
    expect(page.locator("#id_rotation")).to_have_value("90")
    page.click("[name=_continue]")
    expect(page.locator(".messagelist")).to_contain_text("Saved: lake")
    detail = document(photo_id)["metadata"]["detail"]
    assert detail["rotation"] == 90
    assert 0.48 < detail["crop"][2] < 0.52
    page.get_by_role("button", name="Show whole photo").click()
    expect(page.locator("#id_crop_0")).to_have_value("")


@pytest.mark.slow
def test_picture_pasted_into_a_text_is_shown_by_the_post(browsing, account):
    page = browsing(account("ann"))
    gallery("pictures")
    post = node("blog-entry", "post", parent=node("blog", "blog"), text="Before.")
    page.goto(f"/admin/nodes/node/{post}/change/")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    give(page, ".cm-content", "paste", [given("image.png", pictures.png(), "image/png")])
    dialog = page.locator("#picture-dialog")
    expect(dialog).to_be_visible()
    dialog.locator("[name=alt]").fill("A lake [at] night")
    dialog.locator("[value=upload]").click()
    expect(dialog).to_be_hidden()
    expect(page.locator("#id_text")).to_have_value(
        re.compile(r"Before\.\n\n!\[A lake \\\[at\\\] night\]\(photo:[0-9a-f]{24}\)")
    )
    page.get_by_role("button", name="Update").click()
    expect(page.locator(".messagelist")).to_contain_text("Updated.")
    reader = browsing()
    reader.goto("/blog/post")
    image = reader.locator(".prose figure.photo img")
    expect(image).to_have_attribute("alt", "A lake [at] night")
    expect(image).to_have_js_property("complete", True)
    assert image.evaluate("image => image.naturalWidth") > 0
    assert nonce(post)
    assert "photo:" in stored(post)["detail"]["text"]


def lakes(*names: str) -> ObjectId:
    parent = gallery("lakes")
    for name in names:
        upload(
            parent,
            pictures.jpeg(1, pictures.image((900, 600))),
            f"{name}.jpg",
            fields={"published": PAST, "detail.alt": name},
        )
    # As the worker does after uploads, because requests for many missing copies get a 503.
    while worker.work():
        continue
    return parent


@pytest.mark.parametrize(
    "scripts", [pytest.param(True, marks=pytest.mark.slow, id="script"), pytest.param(False, id="no script")]
)
def test_readers_browse_photos_by_keyboard_or_links(browsing, scripts):
    lakes("one", "two")
    page = browsing(java_script_enabled=scripts)
    page.goto("/lakes/two")
    for key, name, place in (("ArrowRight", "Older", "one"), ("ArrowLeft", "Newer", "two")):
        if scripts:
            page.keyboard.press(key)
        else:
            page.get_by_role("navigation", name="More photos").get_by_role("link", name=name).click()
        page.wait_for_url(f"**/lakes/{place}")


SWIPE = """([from, to]) => {
    const target = document.querySelector(".photo-large");
    const touch = (at) => new Touch({ identifier: 1, target, clientX: at, clientY: 200 });
    const send = (type, touches, changedTouches) => target.dispatchEvent(
        new TouchEvent(type, { touches, changedTouches, bubbles: true }));
    send("touchstart", [touch(from)], [touch(from)]);
    send("touchend", [], [touch(to)]);
}"""


@pytest.mark.slow
def test_readers_browse_photos_by_swiping(browsing):
    lakes("one", "two")
    page = browsing(viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto("/lakes/two")
    page.evaluate(SWIPE, [200, 170])
    page.evaluate(SWIPE, [250, 100])
    page.wait_for_url("**/lakes/one")
    page.evaluate(SWIPE, [100, 250])
    page.wait_for_url("**/lakes/two")


@pytest.mark.slow
def test_other_photos_are_beside_the_photo(browsing):
    lakes("one", "two", "three")
    page = browsing(viewport=DESKTOP)
    page.goto("/lakes/two")
    before, photo, after = (
        page.locator(f".photo-view {part}").bounding_box() for part in ("[rel=prev]", "figure", "[rel=next]")
    )
    assert before["x"] + before["width"] < photo["x"] < photo["x"] + photo["width"] < after["x"]


@pytest.mark.slow
def test_gallery_links_to_its_photos_without_scripts(browsing):
    lakes("one", "two")
    page = browsing(java_script_enabled=False)
    page.goto("/lakes")
    expect(page.locator(".photo-rows img")).to_have_count(2)
    expect(page.locator(".photo-rows img").first).to_have_css("background-color", "rgb(102, 102, 102)")
    expect(page.locator(".lightbox")).to_be_hidden()
    page.get_by_role("link", name="two").click()
    page.wait_for_url("**/lakes/two")
    expect(page.locator(".photo-large img")).to_have_js_property("complete", True)
    page.get_by_role("link", name="Lakes").first.click()
    page.wait_for_url("**/lakes")


@pytest.mark.slow
def test_gallery_opens_photos_in_a_lightbox(browsing):
    lakes("one", "two", "three")
    page = browsing()
    page.goto("/lakes")
    link = page.get_by_role("link", name="two")
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    image = dialog.get_by_role("img", name="two")
    expect(image).to_be_in_viewport(ratio=1)
    expect(dialog).to_contain_text("2 / 3")
    assert dialog.bounding_box() == {"x": 0, "y": 0, **page.viewport_size}
    assert image.evaluate("image => image.decode().then(() => image.currentSrc.endsWith('.webp'))")
    page.keyboard.press("ArrowRight")
    expect(dialog.get_by_role("img", name="one")).to_be_visible()
    dialog.get_by_role("button", name="Next").click()
    expect(dialog.get_by_role("img", name="three")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("link", name="one")).to_be_focused()
    assert page.url.endswith("/lakes")
    link.click()
    dialog.get_by_role("link", name="Two").click()
    page.wait_for_url("**/lakes/two")


@pytest.mark.slow
def test_gallery_insert_opens_photos_in_a_lightbox(browsing):
    place = lakes("one", "two")
    node(slug="walk", text=f"::gallery{{section=node:{place}}}\n\nWords.\n\n::gallery{{section=node:{place}}}")
    page = browsing()
    page.goto("/walk")
    page.get_by_role("link", name="two").last.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img", name="two")).to_be_in_viewport(ratio=1)
    expect(dialog).to_contain_text("3 / 4")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="two").last).to_be_focused()
