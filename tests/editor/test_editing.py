"""The form of a node: creating, saving, double clicks and stale saves."""

import re
from datetime import timedelta

import pytest
from bson import ObjectId
from django import forms

from cms.testing.build import PAST, node, nonce, stored
from cms.testing.editors import fields
from editor.declared import LinesField
from marginalia.markup import markdown
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.services.site import save_settings
from nodes.types import NEVER
from tests.support.nodes.content import Concert, Season, registered
from tests.support.nodes.edit_form import last_message
from tests.support.nodes.photo_build import gallery, upload

ADD = "/admin/nodes/node/add/?type=basic-page"


def change(node_id: ObjectId) -> str:
    return f"/admin/nodes/node/{node_id}/change/"


def test_double_click_on_save_creates_one_node(mongo, editor):
    ann = editor()
    form = ann.open(ADD)
    answers = [ann.send(ADD, form, title="Hello", text="one", tags="b, a, b") for _ in range(2)]
    assert {a.status_code for a in answers} == {302}
    assert answers[0]["Location"] == answers[1]["Location"]
    made = mongo["cms.nodes"].find_one()["metadata"]
    assert mongo["cms.nodes"].count_documents({}) == 1
    assert (made["slug"], made["title"], made["tags"], made["published"]) == ("hello", "Hello", ["a", "b"], None)
    assert made["author"] == {"_id": ann.user.pk, "name": "ann"}


def test_new_page_proposes_the_section_that_its_author_last_used(mongo, editor):
    ann, bob = editor(), editor("bob")
    node("folder", "alpha", title="Alpha")
    zeta = node("folder", "zeta", title="Zeta")
    first = ann.open(ADD)["section"]
    ann.send(ADD, ann.open(ADD), title="Hello", section=str(zeta))
    assert ann.open(ADD)["section"] == [str(zeta)]
    assert bob.open(ADD)["section"] == first != [str(zeta)]
    assert ann.open(f"{ADD}&section=top")["section"] == ["top"]


def test_form_without_a_possible_section_offers_to_add_one(mongo, editor):
    ann = editor()
    add = "/admin/nodes/node/add/?type=concert"
    with registered(Season, Concert):
        html = ann.client.get(add).content.decode()
        assert "no section yet that can contain content of the type “Concert”" in html
        assert re.findall(r'href="\?type=([\w-]+)"', html) == ["season"]
        node("season", "season")
        assert 'name="title"' in ann.client.get(add).content.decode()


def test_unchanged_form_changes_nothing(mongo, editor):
    ann = editor()
    node_id = node(text="one\n\ntwo", tags=("a",), summary="s\n\nt")
    before = mongo["cms.nodes"].find_one()
    mongo["cms.nodes"].update_one({}, {"$set": {"metadata.published": before["metadata"]["published"]}})
    assert ann.send(change(node_id), ann.open(change(node_id))).status_code == 302
    assert mongo["cms.nodes"].find_one() == before
    assert mongo["cms.revisions"].count_documents({}) == 1


def test_every_save_stores_a_revision(mongo, editor):
    ann, node_id = editor(), node()
    ann.send(change(node_id), ann.open(change(node_id)), title="Two")
    revision = mongo["cms.revisions"].find_one({"_id": nonce(node_id)})
    assert (revision["metadata"]["title"], revision["saved_by"]["name"]) == ("Two", "ann")


def test_request_renders_a_text_at_most_once(editor, client, monkeypatch):
    """The longest text takes two seconds to render.

    A form shows only its beginning, as search results would. Readers' pages cache the rendered text.
    """
    rendered = []
    render = markdown.render
    monkeypatch.setattr(markdown, "render", lambda *args: [rendered.append(args), render(*args)][1])

    def renderings(ask):
        rendered.clear()
        answer = ask()
        assert answer.status_code in (200, 302)
        return len(rendered)

    ann, bob = editor("ann"), editor("bob")
    page = node(slug="page", title="One", text="one\n\ntwo", published=now())
    assert renderings(lambda: client.get("/page")) == 1
    assert renderings(lambda: client.get("/page")) == 0
    assert renderings(lambda: ann.client.get(change(page))) == 1
    hers, his = ann.open(change(page)), bob.open(change(page))
    assert renderings(lambda: ann.send(change(page), hers, text="one and more\n\ntwo")) == 1
    assert renderings(lambda: bob.send(change(page), his, text="one\n\ntwo and more")) == 1, "merged"
    assert stored(page)["detail"]["text"] == "one and more\n\ntwo and more"
    assert renderings(lambda: client.get("/page")) == 1


def test_content_type_cannot_be_changed(mongo, editor):
    ann, node_id = editor(), node()
    ann.send(change(node_id), ann.open(change(node_id)), title="Two", type="blog")
    assert stored(node_id)["type"] == "basic-page"


def test_stale_save_shows_both_versions_and_loses_nothing(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base", text="base text")
    hers, his = ann.open(change(node_id)), bob.open(change(node_id))
    assert bob.send(change(node_id), his, title="Bob's title", summary="Bob's summary").status_code == 302
    answer = ann.send(change(node_id), hers, title="Ann's title", text="Ann's text")
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "bob changed this page" in html
    after = fields(html)
    assert (after["title"], after["mine-title"], after["text"]) == (["Ann's title"],) * 2 + (["Ann's text"],)
    assert after["summary"] == ["Bob's summary"]
    clash = html.partition('id="clash-title"')[2].partition("</fieldset>")[0]
    assert ("<del>Bob</del>" in clash, "<ins>Ann</ins>" in clash) == (True, True)
    assert stored(node_id)["title"] == "Bob's title"

    assert ann.send(change(node_id), after).status_code == 200, "a choice is asked for"
    assert ann.send(change(node_id), after, **{"choice-title": "mine"}).status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["summary"]) == ("Ann's title", "Bob's summary")
    assert stored(node_id)["detail"]["text"] == "Ann's text"


def test_slug_clash_is_a_field_error_with_a_free_slug(mongo, editor):
    ann = editor()
    node(slug="news")
    answer = ann.send(ADD, ann.open(ADD), title="Other", slug="news", text="typed")
    assert answer.status_code == 200
    assert "“news-2” is free" in answer.content.decode()
    assert fields(answer.content.decode())["text"] == ["typed"]


@pytest.mark.parametrize(
    "slug_fields", [{"slug": "news", "_proposed": "news"}, {"slug": ""}], ids=["proposed", "left-empty"]
)
def test_untyped_slug_gets_the_next_free_number(editor, slug_fields):
    ann = editor()
    form = ann.open(ADD)
    node(slug="news")
    made = ann.client.post(
        ADD, {**form, "title": "News", "text": "typed", **slug_fields, "_continue": "1"}, follow=True
    )
    assert last_message(made) == "Draft saved. The page's URL is /news-2."
    assert database()["cms.nodes"].find_one({"metadata.detail.text": "typed"})["metadata"]["slug"] == "news-2"


def test_proposed_slug_stays_proposed_after_an_error(editor):
    ann = editor()
    again = fields(ann.send(ADD, ann.open(ADD), title="", slug="news", _proposed="news").content.decode())
    assert (again["slug"], again["_proposed"]) == (["news"], ["news"])
    node(slug="news")
    assert "The page's URL is /news-2." in sent_on(ann, {**again, "title": "News"})
    assert "address" not in sent_on(ann, {**ann.open(ADD), "title": "Other", "slug": "Other", "_proposed": ""})


def sent_on(ann, form) -> str:
    """Return the message after saving the form of a new page."""
    return last_message(ann.client.post(ADD, {**form, "_continue": "1"}, follow=True))


def test_page_trashed_meanwhile_returns_the_text(mongo, editor, ann):
    from nodes.services import trash

    alice, node_id = editor("alice"), node(title="T")
    form = alice.open(change(node_id))
    trash.trash(ann, node_id, nonce(node_id))
    answer = alice.send(change(node_id), form, text="typed long")
    assert answer.status_code == 409
    after = fields(answer.content.decode())
    assert after["text"] == ["typed long"]
    assert alice.send(ADD, after, slug="again").status_code == 302
    assert mongo["cms.nodes"].find_one()["metadata"]["detail"]["text"] == "typed long"


def test_emptied_slug_is_derived_from_the_title(mongo, editor):
    ann, node_id = editor(), node(slug="old")
    assert ann.send(change(node_id), ann.open(change(node_id)), title="New title", slug="").status_code == 302
    assert stored(node_id)["slug"] == "new-title"
    assert ann.send(change(node_id), ann.open(change(node_id)), slug="").status_code == 302
    assert stored(node_id)["slug"] == "new-title", "its own is free"


def test_imported_page_without_an_author_can_be_edited(mongo, editor):
    ann, node_id = editor(), node(author=None)
    assert ann.send(change(node_id), ann.open(change(node_id)), title="Edited").status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["author"]) == ("Edited", None)


def test_times_are_typed_in_the_time_zone_of_the_site(mongo, editor):
    from datetime import UTC, datetime

    from nodes.services.site import save_settings

    save_settings({"time_zone": "Asia/Tokyo"}, {"time_zone": "UTC"})
    ann, node_id = editor(), node()
    form = ann.open(change(node_id))
    assert form["published_1"] == ["09:00"]
    node_id = node(slug="next", published=None)
    typed = {"published_0": "2030-01-02", "published_1": "08:30", "expires_0": "2031-01-01", "expires_1": "00:00"}
    ann.send(change(node_id), ann.open(change(node_id)), **typed)
    assert stored(node_id)["published"] == datetime(2030, 1, 1, 23, 30, tzinfo=UTC)
    assert stored(node_id)["expires"] == datetime(2030, 12, 31, 15, tzinfo=UTC)


def test_page_with_an_ambiguous_time_can_be_edited(mongo, editor):
    from datetime import UTC, datetime

    from nodes.services.site import save_settings

    save_settings({"time_zone": "Europe/Berlin"}, {"time_zone": "UTC"})
    twice = datetime(2025, 10, 26, 1, 30, 0, 123_000, tzinfo=UTC)
    ann, node_id = editor(), node(published=twice)
    assert ann.send(change(node_id), ann.open(change(node_id)), title="Edited").status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["published"]) == ("Edited", twice)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
def test_impossible_time_is_a_field_error(mongo, editor, zone):
    ann, node_id = editor(), node()
    save_settings({"time_zone": zone}, {"time_zone": "UTC"})
    form = ann.open(change(node_id))
    for field, year in (("published", "0001-01-01"), ("published", "9999-12-31"), ("expires", "9999-12-31")):
        answer = ann.send(change(node_id), form, text="typed", **{f"{field}_0": year, f"{field}_1": "23:59"})
        assert "Choose a year from 1000 to 9998" in answer.content.decode()
        assert fields(answer.content.decode())["text"] == ["typed"]
    for address in ("?since=0001-01-01", "?until=9999-12-31", "?since=9999-12-31&until=0001-01-01"):
        assert ann.client.get(f"/admin/nodes/node/{address}").status_code == 200


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("button", ["_save", "_draft", "_publish"])
def test_text_that_is_too_long_is_returned_in_its_form(editor, settings, button):
    settings.TEXT_MAX_BYTES = 3_000
    long = "Words that go on and on. " * 200
    ann, node_id = editor(), node(text="as it was")
    for address in (change(node_id), ADD):
        answer = ann.send(address, ann.open(address), button, title="New", text=long)
        assert answer.status_code == 200
        assert fields(answer.content.decode())["text"] == [long]
        assert "and the maximum is 3 KB" in answer.content.decode()
    assert stored(node_id)["detail"]["text"] == "as it was"


@pytest.mark.slow
def test_longest_text_fits_into_the_conflict_form(editor, settings):
    """The form contains the text three times. URL encoding takes nine bytes for a Chinese character, this one three."""
    ann, bob, node_id = editor(), editor("bob"), node(text="as it was")
    longest = "中" * (settings.TEXT_MAX_BYTES // 3)
    seen = ann.open(change(node_id))
    assert bob.send(change(node_id), bob.open(change(node_id)), text="书" + longest[1:]).status_code == 302
    answer = ann.send(change(node_id), seen, text=longest)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert 'id="node_form" enctype="multipart/form-data"' in page
    form = fields(page)
    assert ann.send(change(node_id), form, **{"text-0-choice": "mine"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == longest


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("drafting", [False, True], ids=["live", "draft"])
@pytest.mark.parametrize("hidden_by", ["scheduled", "expired", "unpublished"])
def test_publish_makes_hidden_pages_public(mongo, editor, client, hidden_by, drafting):
    soon, over = now() + timedelta(days=1), PAST + timedelta(days=1)
    dates = {"scheduled": {"published": soon}, "expired": {"expires": over}, "unpublished": {"published": None}}[
        hidden_by
    ]
    ann, node_id = editor(), node(slug="page", **dates)
    if drafting:
        ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Drafted")
    ann.send(change(node_id), ann.open(change(node_id)), "_publish")
    assert client.get("/page").status_code == 200
    assert (stored(node_id)["published"] == PAST) is (hidden_by == "expired"), "what was public keeps its date"
    assert stored(node_id)["expires"] == NEVER


def test_publish_keeps_the_dates_typed_in_the_form(mongo, editor):
    """A future date typed by an editor is intentional: the page appears at that time."""
    ann, node_id = editor(), node(published=None)
    typed = {"published_0": "2999-05-01", "published_1": "12:00", "expires_0": "2999-06-01", "expires_1": "12:00"}
    ann.send(change(node_id), ann.open(change(node_id)), "_publish", **typed)
    assert (stored(node_id)["published"].year, stored(node_id)["expires"].year) == (2999, 2999)
    add = "/admin/nodes/node/add/?type=basic-page"
    ann.send(add, ann.open(add), "_publish", title="New", **typed)
    assert mongo["cms.nodes"].find_one({"metadata.title": "New"})["metadata"]["published"].year == 2999


def test_tag_of_dots_is_refused_at_its_field(mongo, editor):
    ann, page = editor(), node()
    answer = ann.send(change(page), ann.open(change(page)), tags="news, ..")
    assert "“..” can&#x27;t be a tag." in str(answer.context["form"].errors["tags"])
    assert stored(page)["tags"] == []


@pytest.mark.slow
def test_forms_refuse_long_pasted_text_without_cutting_it(editor):
    ann, photo_id = editor(), upload(gallery())
    for address, form, name, most in (
        (change(node()), "node_form", "title", 300),
        (f"/admin/nodes/photo/{photo_id}/change/", "node_form", "alt", 500),
        ("/admin/nodes/sitesettings/", "settings_form", "tagline", 200),
        ("/admin/nodes/sitesettings/", "settings_form", "menu-0-label", 60),
    ):
        html = ann.client.get(address).content.decode()
        assert "maxlength" not in re.search(rf'<(?:input|textarea)[^>]* name="{name}"[^>]*>', html)[0]
        typed = {name: "word " * (most // 5) + "end"} | ({"menu-0-target": "/"} if "menu" in name else {})
        refused = ann.send(address, fields(html, form), **typed).content.decode()
        assert f"at most {most} characters (it has {most + 3})" in refused
        assert fields(refused, form)[name] == [typed[name]]


def test_inserts_refuse_long_pasted_text_without_cutting_it(editor):
    ann, address = editor(), change(node())
    menu = ann.client.get(address).content.decode().partition('id="insert-dialog"')[2].partition("</dialog>")[0]
    assert 'name="caption"' in menu
    assert "maxlength" not in menu
    text = f"::button{{link=/a text={'x' * 201}}}"
    refused = ann.send(address, ann.open(address), text=text)
    assert "at most 200 characters (it has 201)" in refused.content.decode()
    assert ann.fields(refused)["text"] == [text]


def test_invisible_lines_are_dropped():
    assert LinesField(forms.CharField(max_length=80)).clean("a\n\u200b\n\u2800\u3164\n \nb") == ["a", "b"]


def test_choice_of_types_begins_with_the_last_used_one_and_ends_with_folders(mongo, editor):
    ann = editor()

    def offered() -> list[str]:
        return [type.type_name for type in ann.client.get("/admin/nodes/node/add/").context["types"]]

    node("blog", "blog")
    types = offered()
    assert (types[0], types[-1]) == ("blog-entry", "folder")
    ann.send(ADD, ann.open(ADD), title="Page")
    assert offered() == ["basic-page", *(name for name in types if name != "basic-page")]
    add_folder = "/admin/nodes/node/add/?type=folder"
    ann.send(add_folder, ann.open(add_folder), title="Folder")
    assert (offered()[0], offered()[-1]) == ("blog-entry", "folder")
