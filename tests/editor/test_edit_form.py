"""The edit form of a node: the state in its bar, and the actions of its buttons."""

import re
from datetime import timedelta

import pytest

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from nodes.services import drafts
from nodes.types import Actor
from tests.support.nodes.content import Cookbook, Recipe, registered
from tests.support.nodes.edit_form import FUTURE, FUTURE_TEXT, LIVE, bar, change, open_bar

ADD = "/admin/nodes/node/add/?type=basic-page"


DRAFT = "Draft · not public"
SAVE = {"_continue": "Save draft", "_publish": "Publish"}
UPDATE = {"_draft": "Save draft", "_continue": "Update"}
APPEARS = f"Appears {FUTURE_TEXT}"


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("dates", "state", "buttons"),
    [
        ({"published": None}, DRAFT, SAVE),
        ({}, LIVE, UPDATE),
        ({"expires": FUTURE}, f"{LIVE}, until {FUTURE_TEXT}", UPDATE),
        ({"published": FUTURE}, APPEARS, {"_continue": "Save", "_publish": "Publish now"}),
        (
            {"expires": PAST + timedelta(days=1)},
            "Expired January 2, 2020",
            {"_continue": "Save", "_publish": "Publish again"},
        ),
    ],
    ids=["draft", "live", "ending", "scheduled", "expired"],
)
def test_bar_shows_the_state_of_a_page_and_its_buttons(editor, dates, state, buttons):
    told, saved, offered = open_bar(editor(), change(node(**dates)))
    assert (told, offered) == (state, buttons)
    assert re.fullmatch(r"Saved \d+:\d\d [AP]M", saved)


def test_new_page_is_shown_as_not_saved(editor, author):
    told, saved, offered = open_bar(editor(), ADD)
    assert (told, saved, offered) == ("New · not public", "Not saved", {**SAVE, "_preview": "Preview"})
    assert open_bar(author, ADD)[2] == {"_continue": "Save draft", "_preview": "Preview"}


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("dates", "state", "primary"),
    [
        ({}, LIVE, "Publish changes"),
        ({"published": None}, DRAFT, "Publish now"),
        ({"published": FUTURE}, APPEARS, "Publish now"),
    ],
    ids=["live", "draft", "scheduled"],
)
def test_bar_shows_that_a_page_has_a_draft(editor, dates, state, primary):
    node_id = node(**dates)
    drafts.save_draft(EDITOR, node_id, nonce(node_id), {"title": "Other"})
    ann = editor()
    told, _saved, offered = open_bar(ann, change(node_id))
    assert told == f"{state} · unpublished changes"
    assert ("Readers still see the live version." in ann.client.get(change(node_id)).content.decode()) is (not dates)
    assert offered == {"_draft": "Save draft", "_publish": primary}
    told, _saved, offered = open_bar(editor("bob"), change(node_id) + "?version=live")
    if not dates:
        assert (told, offered) == (f"{state} · unpublished changes", UPDATE)


def test_publish_button_mentions_scheduling_without_scripts(editor, author):
    ann, live = editor(), change(node(slug="live"))
    assert ">Publish<noscript> or schedule</noscript></button>" in ann.client.get(ADD).content.decode()
    assert "or schedule" not in author.client.get(ADD).content.decode()
    html = ann.client.get(live).content.decode()
    assert ">Update</button>" in html
    for number, label in enumerate(("Date", "Time")):
        written = f'<label for="id_published_{number}">{label}</label> <input type="{label.lower()}" name="published_{number}"'
        assert written in html


@pytest.mark.parametrize(("published", "offers"), [(PAST, False), (None, True)], ids=["public", "unpublished"])
def test_draft_offers_a_time_unless_the_page_is_public(editor, published, offers):
    page = node(published=published)
    drafts.save_draft(EDITOR, page, nonce(page), {"title": "Other"})
    assert ("data-schedule=" in editor().client.get(change(page)).content.decode()) is offers


def test_title_is_one_line_in_a_growing_box(editor):
    ann, node_id = editor(), node(title="Long")
    assert re.search(r'<textarea name="title"[^>]* rows="1"', ann.client.get(change(node_id)).content.decode())
    assert (
        ann.send(change(node_id), ann.open(change(node_id)), title=" A long \r\n title\nin lines ").status_code == 302
    )
    assert stored(node_id)["title"] == "A long title in lines"


def test_page_in_a_hidden_section_is_not_shown_as_live(editor):
    page = node(parent=node("folder", "closed", published=None))
    assert open_bar(editor(), change(page))[0] == "Not public, because its section isn't public"


def test_author_is_offered_no_publish_button(author):
    own = Actor.of(author.user).as_document()
    public, draft = node(slug="public", author=own), node(slug="draft", published=None, author=own)
    assert open_bar(author, change(public))[2] == {"_draft": "Save draft"}
    assert open_bar(author, change(draft))[2] == {"_continue": "Save draft"}


def test_refused_form_is_shown_as_not_saved(editor):
    ann, node_id = editor(), node()
    response = ann.send(change(node_id), ann.open(change(node_id)), title="")
    assert bar(response.content.decode())[1] == "Not saved"


def test_preview_saves_a_draft_and_no_live_change(mongo, editor):
    ann, public, draft = editor(), node(title="Public"), node(slug="draft", title="Draft", published=None)
    for node_id in (public, draft):
        answer = ann.send(change(node_id), ann.open(change(node_id)), "_preview", title="Typed")
        assert answer["Location"] == change(node_id, "preview-frame")
    assert (stored(public)["title"], stored(draft)["title"]) == ("Public", "Typed")
    assert mongo["cms.nodes"].find_one({"_id": public})["draft"]["metadata"]["title"] == "Typed"


@pytest.mark.parametrize("width", ["360", "768", "1200"])
def test_preview_has_the_width_of_the_chosen_device(editor, width):
    html = editor().client.get(f"/admin/nodes/node/{node()}/preview-frame/?width={width}").content.decode()
    assert f'class="device device-{width}"' in html
    assert html.count('aria-current="true"') == 1


@pytest.mark.parametrize(("device", "width"), [("X11; Linux x86_64", 1200), ("Linux; Android 10; K; Mobile", 360)])
def test_preview_defaults_to_the_width_of_the_browser(editor, device, width):
    path = f"/admin/nodes/node/{node()}/preview-frame/"
    html = editor().client.get(path, headers={"User-Agent": f"Mozilla/5.0 ({device})"}).content.decode()
    assert f'class="device device-{width}"' in html


def test_fields_of_a_content_type_are_shown_in_its_form(editor):
    with registered(Recipe, Cookbook):
        stew = node("recipe", "stew", parent=node("cookbook", "cooking"), **{"detail.course": "main"})
        html = editor().client.get(change(stew)).content.decode()
    main, panel = html.partition('class="edit-form-main"')[2].split('class="edit-form-panel"')
    for name in ("title", "text", "ingredients", "steps"):
        assert f"field-{name}" in main
    for name in ("course", "servings", "slug", "tags", "published"):
        assert f"field-{name}" in panel
