"""Messages after an action on a page: the result and its effect for readers, and confirmations before."""

import re
from datetime import timedelta
from html import unescape

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from cms.testing.editors import fields
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.services import drafts, editing, trash
from nodes.types import Actor
from tests.support.nodes import pictures
from tests.support.nodes.edit_form import FUTURE, FUTURE_FIELDS, FUTURE_TEXT, change, last_message, submit
from tests.support.nodes.photo_build import gallery, upload

ADD = "/admin/nodes/node/add/?type=basic-page"
NEVER_PUBLISHED = {"published_0": "", "published_1": ""}


VIEW = " View page.[/page]"


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("dates", "button", "typed", "words"),
    [
        ({"published": None}, "_continue", {}, "Draft saved."),
        ({"published": None}, "_publish", {}, "Published." + VIEW),
        ({"published": None}, "_publish", FUTURE_FIELDS, f"Scheduled. The page goes live on {FUTURE_TEXT}."),
        ({}, "_continue", {}, "Updated." + VIEW),
        ({}, "_draft", {}, "Draft saved. Readers still see the live version."),
        ({"published": FUTURE}, "_continue", {}, f"Scheduled. The page goes live on {FUTURE_TEXT}."),
        ({"published": FUTURE}, "_publish", {}, "Published." + VIEW),
        ({"published": FUTURE}, "_continue", NEVER_PUBLISHED, "The schedule was cancelled. The page is a draft."),
        (
            {"expires": PAST + timedelta(days=1)},
            "_continue",
            {},
            "Saved. Readers can't see the page, because it expired on January 2, 2020.",
        ),
        ({"expires": PAST + timedelta(days=1)}, "_publish", {}, "Published." + VIEW),
    ],
)
def test_save_reports_its_result(mongo, editor, dates, button, typed, words):
    node_id = node(**dates)
    assert submit(editor(), change(node_id), button, title="Typed", **typed) == words
    document = mongo["cms.nodes"].find_one()
    said = document["draft"]["metadata"] if button == "_draft" else document["metadata"]
    assert said["title"] == "Typed"


@pytest.mark.slow
def test_new_page_reports_its_result(editor):
    assert submit(editor(), ADD, title="One", slug="one") == "Draft saved."
    assert submit(editor("bob"), ADD, "_publish", title="Two", slug="two") == "Published. View page.[/two]"
    assert (
        submit(editor("cy"), ADD, "_publish", title="Three", **FUTURE_FIELDS)
        == f"Scheduled. The page goes live on {FUTURE_TEXT}."
    )


def test_author_is_told_that_an_editor_publishes(author):
    own = Actor.of(author.user).as_document()
    assert submit(author, ADD, title="One", slug="one") == "Draft saved. An editor can now publish this draft."
    public = node(slug="public", author=own)
    told_of_changes = "Draft saved. Readers still see the live version. An editor can now publish this draft."
    assert submit(author, change(public), "_draft", title="Typed") == told_of_changes


def test_restored_scheduled_page_is_reported_as_a_draft(mongo, editor):
    ann, passed = editor(), " Items whose publication date passed while they were in the trash are now drafts."
    for slug, days, words in (("one", 1, ""), ("two", -1, passed)):
        page = node(slug=slug, title=slug, published=FUTURE)
        trash.trash(EDITOR, page, nonce(page))
        moments = {"trashed_at": PAST, "metadata.published": now() + timedelta(days=days)}
        mongo["cms.trash"].update_one({"_id": page}, {"$set": moments})
        form = fields(ann.client.get(change(page, "restore")).content.decode(), "confirm_form")
        restored = last_message(ann.client.post(change(page, "restore"), form, follow=True))
        assert re.sub(r"<.*?>", "", restored) == f"Restored: {slug}.{words}"
        trash.trash(EDITOR, page, nonce(page))
        mongo["cms.trash"].update_one({"_id": page}, {"$set": moments})
        thrown = {"items": f"{page}:{mongo['cms.trash'].find_one()['metadata']['nonce']}"}
        assert last_message(ann.client.post("/admin/nodes/node/undo/", thrown, follow=True)) == f"Restored.{words}"


def test_publishing_a_draft_is_reported(editor):
    ann, node_id = editor(), node()
    drafts.save_draft(EDITOR, node_id, nonce(node_id), {"title": "Other"})
    assert submit(ann, change(node_id), "_publish") == "Changes published. View page.[/page]"
    assert stored(node_id)["title"] == "Other"


class TestTextWarnings:
    """The warnings that are shown before readers see a text."""

    QUESTION = "Check this before readers see the page"

    @pytest.fixture
    def flawed(self, mongo):
        hidden = node(slug="hidden", title="Plans", published=None)
        return f"![](https://site.example/a.png)\n\nSee [our & plans](node:{hidden})"

    def press(self, ann, page, button, value="1", **typed):
        return ann.client.post(page, {**ann.open(page), **typed, button: value}, follow=True)

    def test_publishing_asks_first_and_keeps_what_was_typed(self, editor, flawed):
        ann, node_id = editor(), node(published=None)
        answer = self.press(ann, change(node_id), "_publish", text=flawed)
        html = answer.content.decode()
        asked = html.partition(self.QUESTION)[2].partition("Publish anyway")[0]
        assert '#text-1-4">Line 1:</a>' in asked
        assert "https://site.example/a.png" in asked
        assert '#text-3-18">Line 3:</a>' in asked
        assert "“our &amp; plans”" in asked
        assert fields(html)["text"] == [flawed]
        assert stored(node_id)["published"] is None
        assert last_message(self.press(ann, change(node_id), "_publish", "despite-warnings", text=flawed)) == (
            "Published. View page.[/page]"
        )

    def test_new_page_is_not_created_before_the_answer(self, editor, flawed):
        ann = editor()
        asked = self.press(ann, ADD, "_publish", title="New", slug="new", text=flawed)
        assert self.QUESTION in asked.content.decode()
        assert not database()["cms.nodes"].find_one({"metadata.slug": "new"})
        sent = {**ann.fields(asked), "_publish": "despite-warnings"}
        assert last_message(ann.client.post(ADD, sent, follow=True)) == "Published. View page.[/new]"

    @pytest.mark.slow
    def test_drafts_are_saved_without_asking(self, editor, flawed):
        ann, node_id = editor(), node(published=None)
        assert submit(ann, change(node_id), text=flawed) == "Draft saved."
        live = node(slug="live")
        assert submit(ann, change(live), "_draft", text=flawed) == "Draft saved. Readers still see the live version."
        assert self.QUESTION in self.press(ann, change(live), "_publish").content.decode()

    def test_update_of_a_live_page_asks_only_about_new_warnings(self, editor, flawed):
        ann, node_id = editor(), node(text=flawed)
        assert submit(ann, change(node_id), title="Other") == "Updated. View page.[/page]"
        html = self.press(
            ann, change(node_id), "_continue", text=f"{flawed}\n\n[gone](node:{ObjectId()})"
        ).content.decode()
        asked = html.partition(self.QUESTION)[2].partition("Publish anyway")[0]
        assert ("“gone”" in asked, "site.example" in asked) == (True, False)

    def test_photo_without_alternative_text_is_listed_with_this_reason(self, editor, mongo):
        photo = upload(gallery(), pictures.jpeg(), fields={"published": None, "detail.alt": ""})
        html = self.press(
            editor(), change(node(published=None)), "_publish", text=f"![](photo:{photo})"
        ).content.decode()
        assert "(no alternative text)" in html.partition(self.QUESTION)[2].partition("Publish anyway")[0]

    def test_review_of_a_draft_lists_the_warnings_first(self, editor, flawed):
        ann, node_id = editor(), node()
        drafts.save_draft(EDITOR, node_id, nonce(node_id), {"detail.text": flawed})
        html = ann.client.get(change(node_id, "publish")).content.decode()
        assert f'href="{change(node_id)}#text-1-4"' in html
        assert (
            "site.example/a.png"
            not in ann.client.get(change(node_id, "discard")).content.decode().partition("errornote")[2]
        )


def test_publishing_into_a_hidden_section_is_reported(editor):
    page = node(parent=node("folder", "closed", published=None), published=None)
    assert (
        submit(editor(), change(page), "_publish") == "Published. Readers will see the page when its section is public."
    )


def test_moving_and_restoring_are_reported(editor):
    ann, node_id, folder = editor(), node(title="One"), node("folder", "folder")
    first = nonce(node_id)
    editing.save(EDITOR, node_id, first, {"title": "Two"})
    address = change(node_id, f"history/{first}")
    data = fields(ann.client.get(address).content.decode(), "confirm_form")
    assert (
        last_message(ann.client.post(address, data, follow=True)) == "The older version was restored. View page.[/page]"
    )
    address = change(node_id, "move")
    data = fields(ann.client.get(address).content.decode(), "confirm_form") | {"section": str(folder)}
    words = "Moved to /folder/page. The old URL redirects there. View page.[/folder/page]"
    assert last_message(ann.client.post(address, data, follow=True)) == words


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("button", ["_continue", "_publish"])
def test_date_that_unpublishes_a_page_needs_confirmation(editor, client, button):
    ann, node_id = editor(), node()
    typed = {"expires_0": "2020-02-01", "expires_1": "00:00"}
    asked = ann.send(change(node_id), ann.open(change(node_id)), button, title="Typed", **typed)
    html = asked.content.decode()
    assert "This will unpublish the page. Readers won't be able to see it until it's published again." in unescape(html)
    assert f'name="{button}" value="1">Unpublish page' in html
    assert client.get("/page").status_code == 200
    again = fields(html)
    assert again["title"] == ["Typed"]
    assert last_message(ann.client.post(change(node_id), {**again, button: "1"}, follow=True)).startswith(
        "The page was unpublished. Readers can't see the page until it's published again."
    )
    assert client.get("/page").status_code == 404


def test_draft_that_unpublishes_a_page_needs_confirmation(editor, client):
    ann, node_id = editor(), node()
    question = "This will unpublish the page. Readers won't be able to see it until it's published again."
    ended = {"expires_0": "2020-02-01", "expires_1": "00:00"}
    assert ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Typed", **ended).status_code == 302
    assert question in unescape(ann.client.get(change(node_id, "publish")).content.decode())
    drafts.discard_draft(node_id, database()["cms.nodes"].find_one()["draft"]["nonce"])
    drafts.save_draft(EDITOR, node_id, nonce(node_id), {"title": "Other"})
    assert question not in unescape(ann.client.get(change(node_id, "publish")).content.decode())
    asked = ann.send(change(node_id), ann.open(change(node_id)), "_publish", **ended)
    assert question in unescape(asked.content.decode())
    assert client.get("/page").status_code == 200


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("button", ["_continue", "_publish", "_save"])
def test_future_date_of_a_live_page_is_a_field_error(editor, client, button):
    ann, node_id = editor(), node(title="Live")
    response = ann.send(change(node_id), ann.open(change(node_id)), button, title="Typed", **FUTURE_FIELDS)
    page = response.content.decode()
    assert "This item is already public" in str(response.context["form"].errors["published"])
    assert "This will unpublish the page" not in page
    assert ">Typed<" in page.replace("\n", "")
    document = database()["cms.nodes"].find_one()
    assert (document["metadata"]["title"], document["metadata"]["published"]) == ("Live", PAST)
    assert "draft" not in document
    assert client.get("/page").status_code == 200


def test_page_that_stays_public_needs_no_confirmation(editor):
    ann, node_id = editor(), node()
    typed = {
        "published_0": "2021-01-01",
        "published_1": "00:00",
        "expires_0": f"{FUTURE:%Y-%m-%d}",
        "expires_1": "00:00",
    }
    assert submit(ann, change(node_id), **typed) == "Updated. View page.[/page]"


def test_unpublishing_is_confirmed_and_reported(editor, client):
    ann, node_id = editor(), node()
    assert "unpublish/" in ann.client.get(change(node_id)).content.decode()
    page = ann.client.get(change(node_id, "unpublish")).content.decode()
    assert "This will unpublish the page. Readers won't be able to see it until it's published again." in unescape(page)
    assert client.get("/page").status_code == 200
    data = fields(page, "confirm_form")
    words = "The page was unpublished. Readers can't see the page until it's published again."
    assert last_message(ann.client.post(change(node_id, "unpublish"), data, follow=True)) == words
    assert client.get("/page").status_code == 404
    assert stored(node_id)["published"] is None
    assert "unpublish/" not in ann.client.get(change(node_id)).content.decode()


def test_page_changed_meanwhile_is_not_unpublished(editor):
    ann, node_id = editor(), node()
    data = fields(ann.client.get(change(node_id, "unpublish")).content.decode(), "confirm_form")
    editing.save(EDITOR, node_id, nonce(node_id), {"published": now()})
    page = ann.client.post(change(node_id, "unpublish"), data).content.decode()
    assert "This page has changed since you opened it" in page
    assert stored(node_id)["published"]


def test_conflict_with_own_window_is_described_as_own(editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node(title="Base")
    form = ann.open(change(node_id))
    ann.send(change(node_id), ann.open(change(node_id)), title="One", summary="Mine too")
    assert sent_title(ann, node_id, form).startswith("You changed this page in another window")
    assert sent_title(bob, node_id, form).startswith("ann changed this page")


def sent_title(editor, node_id, form):
    html = editor.send(change(node_id), form, title="Two").content.decode()
    note = re.search(r'<p class="errornote">(.*?)</p>', html, re.S)
    return note[1].strip()


def test_merge_with_own_window_is_described_as_own(editor):
    ann, node_id = editor("ann"), node(title="Base")
    form = ann.open(change(node_id))
    ann.send(change(node_id), ann.open(change(node_id)), summary="Mine too")
    other = {**form, "title": "Two", "_continue": "1"}
    words = "Updated. View page.[/page] Merged with your changes in another window: Summary."
    assert last_message(ann.client.post(change(node_id), other, follow=True)) == words


def test_editor_with_the_same_name_is_described_as_another(editor):
    ann, node_id = editor("ann"), node(title="Base")
    form = ann.open(change(node_id))
    editing.save(Actor(None, "ann"), node_id, nonce(node_id), {"summary": "Theirs"})
    told_of = last_message(ann.client.post(change(node_id), {**form, "title": "Two", "_continue": "1"}, follow=True))
    assert told_of.endswith("Merged with changes by ann: Summary.")
