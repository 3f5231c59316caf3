"""Typed text is kept whatever happens between typing and saving."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from marginalia.mongo.clock import now
from nodes.services import drafts, editing, trash
from nodes.types import Actor, TagChange
from tests.support.interrupting import before_command
from tests.support.nodes.build import EDITOR, PAST, node, nonce, save, stored
from tests.support.nodes.editors import fields

ADD = "/admin/nodes/node/add/?type=basic-page"


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def log_in_again(ann, address, html, password="pw"):
    kept = fields(html, "login-form")
    assert "_password" in kept
    return ann.client.post(address, {**kept, "_username": "ann", "_password": password})


def test_expired_login_returns_the_form(mongo, editor):
    ann, node_id = editor(), node(text="old")
    form = ann.open(change(node_id))
    ann.client.logout()
    asked = ann.send(change(node_id), form, text="typed\n\nlong", title="T <b>")
    assert asked.status_code == 403
    wrong = log_in_again(ann, change(node_id), asked.content.decode(), "wrong")
    assert wrong.status_code == 403
    again = log_in_again(ann, change(node_id), wrong.content.decode())
    html = again.content.decode()
    assert again.status_code == 200
    form = fields(html)
    assert (form["text"], form["title"]) == (["typed\n\nlong"], ["T <b>"])
    assert stored(node_id)["title"] != "T <b>", "nothing is saved before it was seen again"
    assert ann.send(change(node_id), form).status_code == 302
    assert (stored(node_id)["detail"]["text"], stored(node_id)["title"]) == ("typed\n\nlong", "T <b>")


def test_expired_login_returns_a_new_page(mongo, editor):
    ann = editor()
    form = ann.open(ADD)
    ann.client.logout()
    asked = ann.send(ADD, form, text="typed", title="T")
    form = fields(log_in_again(ann, ADD, asked.content.decode()).content.decode())
    assert ann.send(ADD, form).status_code == 302
    assert mongo["cms.nodes"].find_one()["metadata"]["title"] == "T"


def test_forged_form_is_not_saved_by_logging_in(mongo, editor):
    """A form without its token is refused before the login."""
    ann, node_id = editor(), node(title="Old")
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(change(node_id), {"title": "x", "_username": "ann", "_password": "pw"}).status_code == 403
    assert "sessionid" not in strict.cookies
    assert ann.client.get(change(node_id)).status_code == 200


def test_form_with_an_old_token_after_logout_asks_to_log_in(mongo, editor):
    """A browser that lost its cookies has neither the session nor the token."""
    ann, node_id = editor(), node(title="Old")
    form = ann.open(change(node_id))
    ann.client.logout()
    ann.client.handler.enforce_csrf_checks = True
    sent = form | {"csrfmiddlewaretoken": "x" * 64, "_username": "ann", "_password": "pw"}
    refused = ann.send(change(node_id), sent, text="typed").content.decode()
    assert "Your log-in has expired." in refused
    assert "You logged in" not in refused
    assert ann.client.get(change(node_id)).status_code == 302, "the forged form logs nobody in"
    form = fields(log_in_again(ann, change(node_id), refused).content.decode())
    assert form["text"] == ["typed"]
    assert stored(node_id)["detail"]["text"] == ""


def test_form_older_than_its_token_returns_the_text(mongo, editor):
    """A login in another tab changes the token."""
    ann, node_id = editor(), node(title="Old")
    form = ann.open(change(node_id))
    ann.client.handler.enforce_csrf_checks = True
    refused = ann.send(change(node_id), form | {"csrfmiddlewaretoken": "x" * 64}, text="typed")
    assert refused.status_code == 403
    again = fields(refused.content.decode(), "again-form")
    assert again["text"] == ["typed"]
    shown = ann.client.post(change(node_id), again)
    assert shown.status_code == 200
    assert fields(shown.content.decode())["text"] == ["typed"]
    assert stored(node_id)["detail"]["text"] == ""


def test_invalid_form_keeps_all_typed_text(mongo, editor):
    ann, node_id = editor(), node(text="old")
    answer = ann.send(change(node_id), ann.open(change(node_id)), title="", text="typed", published_0="nonsense")
    form = fields(answer.content.decode())
    assert (form["text"], form["published_0"]) == (["typed"], ["nonsense"])
    # Scripts look for this attribute.
    assert "data-unstored" in answer.content.decode()
    assert "data-unstored" not in ann.client.get(change(node_id)).content.decode()


def test_second_conflict_is_shown_while_deciding_the_first(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base", text="one\n\ntwo")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob 1")
    deciding = fields(ann.send(change(node_id), hers, title="Ann", text="one of Ann\n\ntwo").content.decode())
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob 2", text="one\n\ntwo of Bob")
    answer = ann.send(change(node_id), deciding, **{"choice-title": "mine"})
    assert answer.status_code == 409
    assert "data-unstored" in answer.content.decode()
    deciding = fields(answer.content.decode())
    assert (deciding["mine-title"], deciding["theirs-title"]) == (["Ann"], ["Bob 2"])
    assert deciding["text"] == ["one of Ann\n\ntwo of Bob"]
    assert ann.send(change(node_id), deciding, title="Both", **{"choice-title": "edit"}).status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["detail"]["text"]) == ("Both", "one of Ann\n\ntwo of Bob")


def test_conflict_keeps_other_changes_of_both_editors(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text="one\n\ntwo\n\nthree")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), text="one\n\ntwo of Bob\n\nthree of Bob")
    answer = ann.send(change(node_id), hers, text="one of Ann\n\ntwo of Ann\n\nthree")
    deciding = fields(answer.content.decode())
    assert ann.send(change(node_id), deciding, **{"choice-text": "theirs"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo of Bob\n\nthree of Bob"


def test_text_typed_in_the_conflict_box_is_kept(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob")
    deciding = fields(ann.send(change(node_id), hers, title="Ann").content.decode())
    answer = ann.send(change(node_id), deciding, title="Something new", **{"choice-title": "theirs"})
    assert answer.status_code == 200
    assert fields(answer.content.decode())["title"] == ["Something new"]
    assert stored(node_id)["title"] == "Bob"


def test_own_second_tab_with_equal_text_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(title="Old")
    first, second = ann.open(change(node_id)), ann.open(change(node_id))
    assert ann.send(change(node_id), first, title="New", tags="a").status_code == 302
    after = nonce(node_id)
    assert ann.send(change(node_id), second, title="New", tags="a").status_code == 302
    assert nonce(node_id) == after


def test_form_saved_again_after_back_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(text="one")
    form = ann.open(change(node_id))
    for text in ("one two", "one two three"):
        assert ann.send(change(node_id), form, text=text).status_code == 302
    assert stored(node_id)["detail"]["text"] == "one two three"


def test_tag_removed_again_after_back_is_removed(mongo, editor):
    ann, node_id = editor(), node(tags=("a",))
    form = ann.open(change(node_id))
    for tags in ("a, x", "a"):
        assert ann.send(change(node_id), form, tags=tags).status_code == 302
    assert stored(node_id)["tags"] == ["a"]


def test_restoring_a_version_keeps_tags_added_meanwhile(mongo, editor):
    """Tags are changed relative to those shown, so tags added before the button is pressed stay."""
    ann, node_id = editor(), node(text="old", tags=("a", "c"))
    first = nonce(node_id)
    editing.save(EDITOR, node_id, first, {"detail.text": "new"}, TagChange.between("ac", "a"))
    address = f"/admin/nodes/node/{node_id}/history/{first}/"
    form = fields(ann.client.get(address).content.decode(), "confirm_form")
    editing.change_tags(node_id, TagChange(added=frozenset("b")))
    ann.client.post(address, form)
    assert stored(node_id)["detail"]["text"] == "old"
    assert sorted(stored(node_id)["tags"]) == ["a", "b", "c"]


def test_conflict_without_a_known_base_shows_every_difference(mongo, editor):
    """Without the merge base, it is not known who changed what."""
    ann, node_id = editor(), node(title="Base", text="base")
    form = ann.open(change(node_id))
    mongo["cms.revisions"].delete_many({})
    mongo["cms.nodes"].update_one({}, {"$set": {"metadata.nonce": node_id, "metadata.title": "Theirs"}})
    answer = ann.send(change(node_id), form, text="mine")
    deciding = fields(answer.content.decode())
    assert deciding["conflict"] == ["title", "text"] or sorted(deciding["conflict"]) == ["text", "title"]
    assert stored(node_id)["title"] == "Theirs"


def test_new_page_trashed_meanwhile_is_saved_as_another(mongo, editor):
    """The form created the page and continues with it.

    If the page is gone, the same button must not be refused forever.
    """
    ann = editor()
    form = ann.open(ADD)
    ann.send(ADD, form, title="First")
    made = mongo["cms.nodes"].find_one()["_id"]
    trash.trash(EDITOR, made, nonce(made))
    refused = ann.send(ADD, form, title="Typed", text="long")
    assert refused.status_code == 409
    again = fields(refused.content.decode())
    assert (again["title"], again["text"]) == (["Typed"], ["long"])
    assert ann.send(ADD, again).status_code == 302
    assert mongo["cms.nodes"].find_one()["metadata"]["title"] == "Typed"
    assert mongo["cms.trash"].find_one()["metadata"]["title"] == "First"


@pytest.mark.parametrize("page", ["publish", "history"])
def test_decided_conflict_is_saved_from_any_page(mongo, editor, page):
    """Publishing a draft and restoring a version have their own pages, which cannot process the form of the page."""
    ann, node_id = editor(), node(title="First", text="text")
    first = nonce(node_id)
    save(node_id, first, title="Second")
    if page == "publish":
        address = f"/admin/nodes/node/{node_id}/publish/"
        ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Drafted")
    else:
        address = f"/admin/nodes/node/{node_id}/history/{first}/"
    form = fields(ann.client.get(address).content.decode(), "confirm_form")
    save(node_id, nonce(node_id), title="Another's")
    met = ann.client.post(address, form)
    assert met.status_code == 409
    html = met.content.decode()
    to = re.search(r'id="node_form"[^>]* action="([^"]+)"', html, re.S)
    deciding = fields(html)
    sent = ann.send(to[1] if to else address, deciding, title="Decided", **{"choice-title": "edit"})
    assert sent.status_code == 302
    assert stored(node_id)["title"] == "Decided"


def test_draft_conflict_is_decided_on_publishing(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base", text="text")
    ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Drafted", tags="of-draft")
    assert stored(node_id)["title"] == "Base"
    bob.send(change(node_id), bob.open(f"{change(node_id)}?version=live"), title="Bob's", summary="Bob's")
    draft = mongo["cms.nodes"].find_one()["draft"]["nonce"]
    answer = ann.client.post(f"/admin/nodes/node/{node_id}/publish/", {"draft": str(draft)})
    assert answer.status_code == 409
    deciding = fields(answer.content.decode())
    assert deciding["tags"] == ["of-draft"]
    assert ann.send(change(node_id), deciding, "_publish", **{"choice-title": "mine"}).status_code == 302
    metadata = stored(node_id)
    assert (metadata["title"], metadata["summary"], metadata["tags"]) == ("Drafted", "Bob's", ["of-draft"])
    assert "draft" not in mongo["cms.nodes"].find_one()


def test_readers_see_the_live_version_during_a_draft(mongo, editor, client):
    ann, node_id = editor(), node(slug="page", title="Live", text="Live text")
    form = ann.open(change(node_id))
    ann.send(change(node_id), form, "_draft", title="Drafted", text="Drafted text")
    public = client.get("/page").content.decode()
    assert "Live text" in public
    assert "Drafted" not in public
    assert "Drafted text" in ann.client.get(f"/admin/nodes/node/{node_id}/preview/").content.decode()
    ann.send(change(node_id), ann.open(change(node_id)), "_publish", title="Drafted again")
    assert stored(node_id)["title"] == "Drafted again"
    assert "Drafted text" in client.get("/page").content.decode()


def test_draft_form_saved_twice_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(title="Live")
    form = ann.open(change(node_id))
    for text in ("one", "one two", "one two"):
        assert ann.send(change(node_id), form, "_draft", text=text).status_code == 302
    assert mongo["cms.nodes"].find_one()["draft"]["metadata"]["detail"]["text"] == "one two"


def test_draft_form_opened_before_a_move_is_saved(mongo, editor):
    ann, node_id, folder = editor(), node(title="Live"), node("folder", "folder")
    form = ann.open(change(node_id))
    editing.save(EDITOR, node_id, nonce(node_id), {"parent_id": folder, "slug": "moved"})
    assert ann.send(change(node_id), form, "_draft", title="Typed").status_code == 302
    assert mongo["cms.nodes"].find_one({"_id": node_id})["draft"]["metadata"]["title"] == "Typed"
    assert (stored(node_id)["parent_id"], stored(node_id)["slug"]) == (folder, "moved")


@pytest.mark.parametrize(("name", "typed"), [("slug", "other"), ("section", None)])
def test_draft_with_another_slug_is_refused_at_its_field(mongo, editor, name, typed):
    ann, node_id, folder = editor(), node(), node("folder", "folder")
    form = ann.open(change(node_id))
    answer = ann.send(change(node_id), form, "_draft", title="Typed", **{name: typed or str(folder)})
    assert "A draft cannot change the address." in str(answer.context["form"].errors[name])
    assert fields(answer.content.decode())["title"] == ["Typed"]
    assert "draft" not in mongo["cms.nodes"].find_one({"_id": node_id})


def test_page_trashed_during_a_save_returns_the_text(mongo, editor):
    ann, node_id = editor(), node()
    form = ann.open(change(node_id))
    looks = []

    def is_second_look(command) -> bool:
        looks.extend([command] if command["filter"].get("_id") == node_id else [])
        return len(looks) == 2

    with before_command("find", "cms.nodes", lambda: trash.trash(EDITOR, node_id, nonce(node_id)), is_second_look):
        answer = ann.send(change(node_id), form, text="typed long")
    assert answer.status_code == 409
    assert fields(answer.content.decode())["text"] == ["typed long"]


def preview_link(person, node_id):
    html = person.client.post(f"/admin/nodes/node/{node_id}/preview-link/").content.decode()
    return html.partition("http://testserver")[2].partition('"')[0]


def test_preview_link_shows_the_draft_until_it_expires(mongo, editor, client):
    from unittest.mock import patch

    ann, node_id = editor(), node(slug="page", title="Live", text="Live text")
    drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "Drafted text"})
    path = preview_link(ann, node_id)
    shown = client.get(path)
    assert "Drafted text" in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    assert shown["X-Robots-Tag"] == "noindex"
    assert client.get(path[:-3] + "abc").status_code == 404
    with patch("django.core.signing.time.time", return_value=4_000_000_000):
        assert client.get(path).status_code == 404


def test_preview_link_of_a_published_draft_redirects(mongo, editor, client):
    ann, node_id = editor(), node(slug="page", text="Live text")
    saved = drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "Drafted text"})
    path = preview_link(ann, node_id)
    drafts.publish_draft(Actor.of(ann.user), node_id, saved.nonce)
    assert client.get(path)["Location"] == "/page"
    drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "A later secret"})
    assert "secret" not in client.get(path).content.decode()


def test_preview_link_shows_no_later_draft(mongo, editor, client):
    ann, node_id = editor(), node(slug="page", text="Live text")
    saved = drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "Drafted text"})
    path = preview_link(ann, node_id)
    drafts.save_draft(Actor.of(ann.user), node_id, saved.nonce, {"detail.text": "A later secret"})
    answer = client.get(path)
    assert answer.status_code == 410
    assert "secret" not in answer.content.decode()
    assert "Ask for a new one" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert answer["X-Robots-Tag"] == "noindex"
    assert "A later secret" in client.get(preview_link(ann, node_id)).content.decode()


def test_preview_link_of_an_unpublished_page_works(mongo, editor, client):
    ann, node_id = editor(), node("blog-entry", parent=node("blog", "blog"), published=None, text="Not yet public")
    path = preview_link(ann, node_id)
    assert "Not yet public" in client.get(path).content.decode()
    assert client.get("/blog/page").status_code == 404
    editing.save(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "A later secret"})
    answer = client.get(path)
    assert (answer.status_code, "secret" in answer.content.decode()) == (410, False)
    editing.save(Actor.of(ann.user), node_id, nonce(node_id), {"published": PAST})
    assert client.get(path)["Location"] == "/blog/page"


def test_preview_link_of_a_scheduled_page_redirects_later(mongo, editor, client, monkeypatch):
    ann, node_id = editor(), node(slug="page", published=now() + timedelta(days=1), text="Not yet public")
    path = preview_link(ann, node_id)
    assert "Not yet public" in client.get(path).content.decode()
    later = now() + timedelta(days=2)
    monkeypatch.setattr("reader.views.previews.now", lambda: later)
    assert client.get(path)["Location"] == "/page"


@pytest.mark.parametrize("hidden_by", ["scheduled", "expired", "section"])
def test_stale_preview_link_reveals_no_hidden_address(mongo, editor, client, hidden_by):
    ann, blog = editor(), node("blog", "blog", published=None if hidden_by == "section" else PAST)
    dates = {"scheduled": {"published": now() + timedelta(days=1)}, "expired": {"expires": PAST + timedelta(days=1)}}
    node_id = node("blog-entry", "told", parent=blog, **dates.get(hidden_by, {}))
    path = preview_link(ann, node_id)
    save(node_id, nonce(node_id), title="Changed")
    answer = client.get(path)
    assert answer.status_code == 410
    assert "told" not in answer.content.decode()
