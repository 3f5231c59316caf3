"""Forms of nodes, comments, photos and settings, sent with an old token or after a logout: the text is kept."""

from dataclasses import asdict

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from cms.accounts import throttling
from cms.testing.build import node, stored
from cms.testing.editors import fields
from editor.photos import describing
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment
from nodes.models import stored_site
from tests.support.comments import site
from tests.support.nodes.photo_build import document, gallery, upload

ADD = "/admin/nodes/node/add/?type=basic-page"
SETTINGS, DESCRIBE = "/admin/nodes/sitesettings/", "/admin/nodes/photo/describe/"
STALE = "y" * 32

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def chief(mongo) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("mona", password="pw"))
    return client


@pytest.fixture
def comment(mongo, settings) -> Comment:
    settings.COMMENTS = {
        **settings.COMMENTS,
        "POLICY": "marginalia.comments.posting.policy.stock",
        "MODE": "open",
        "MIN_SECONDS": 0,
    }
    target = site.entry()
    site.post(Client(), target, "Theirs")
    return list(selectors.iterate(target))[-1]


def page_of(comment: Comment) -> str:
    return reverse(
        "admin:marginalia_comments_moderation_comment", args=[comment.target.label, comment.target.pk, comment.slug]
    )


def form_of(client: Client, address: str, form: str) -> dict:
    return fields(client.get(address).content.decode(), form)


def source(comment: Comment) -> str:
    return selectors.get(comment.target, comment.slug).source


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
    assert "Your session has expired." in refused
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


def test_edit_with_an_old_token_is_shown_again(chief, comment):
    sent = form_of(chief, page_of(comment), "comment-edit") | {"text": 'Mended "<b>', "edit": "1"}
    chief.cookies["csrftoken"] = STALE
    refused = chief.post(page_of(comment), sent)
    assert refused.status_code == 403
    shown = chief.post(page_of(comment), fields(refused.content.decode(), "again-form"))
    assert (shown.status_code, source(comment)) == (200, "Theirs")
    again = fields(shown.content.decode(), "comment-edit")
    assert again["text"] == ['Mended "<b>']
    assert chief.post(page_of(comment), again | {"edit": "1"}).status_code == 302
    assert source(comment) == 'Mended "<b>'


def test_edit_is_kept_while_the_moderator_logs_in_again(chief, comment):
    sent = form_of(chief, page_of(comment), "comment-edit") | {"text": "Mended", "edit": "1"}
    del chief.cookies["sessionid"]
    asked = chief.post(page_of(comment), sent)
    assert asked.status_code == 403
    kept = fields(asked.content.decode(), "login-form")
    shown = chief.post(page_of(comment), kept | {"_username": "mona", "_password": "pw"})
    assert (shown.status_code, source(comment)) == (200, "Theirs")
    again = fields(shown.content.decode(), "comment-edit")
    assert chief.post(page_of(comment), again | {"edit": "1"}).status_code == 302
    assert source(comment) == "Mended"


def test_too_many_wrong_passwords_keep_the_text(comment):
    sent = {"text": "Typed for hours", "edit": "1", "_username": "mona", "_password": "wrong"}
    for _ in range(throttling.NETWORK_AND_ACCOUNT_LIMIT):
        assert Client().post(page_of(comment), sent).status_code == 403
    refused = Client().post(page_of(comment), sent)
    assert refused.status_code == 429
    assert "Typed for hours" in refused.content.decode()


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("button", ["remove", "restore", "settle", "spam"])
def test_one_click_action_is_neither_done_nor_offered_again(chief, comment, button):
    sent = {"rev": "0", button: "1"}
    refused = chief.post(page_of(comment), sent)
    assert refused.status_code == 403
    assert "again-form" not in refused.content.decode()
    asked = Client().post(page_of(comment), {**sent, "_username": "mona", "_password": "pw"})
    assert (asked.status_code, asked["Location"].partition("?")[0]) == (302, "/admin/login/")
    assert not selectors.get(comment.target, comment.slug).removed


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("button", ["edit", "remove", "settle", "spam"])
def test_showing_a_comment_again_changes_nothing(chief, comment, button):
    """The button that shows the text again changes nothing, whatever else was sent."""
    sent = form_of(chief, page_of(comment), "comment-edit")
    before = selectors.get(comment.target, comment.slug)
    shown = chief.post(page_of(comment), sent | {"text": "Mended", button: "1", "_kept": "1"})
    assert shown.status_code == 200
    assert "Mended</textarea>" in shown.content.decode()
    assert selectors.get(comment.target, comment.slug) == before


def test_descriptions_of_photos_survive_a_login(chief):
    parent, lacking = gallery(), {"published": None, "detail.alt": ""}
    one, two = ids = [upload(parent, fields=lacking, name=f"{n}.jpg") for n in range(2)]
    typed = {f"{one}-alt": "A lake", f"{two}-alt": "A wood", "_publish": "1"}
    sent = form_of(chief, describing.address(ids), "describe") | typed
    del chief.cookies["sessionid"]
    asked = chief.post(DESCRIBE, sent)
    assert asked.status_code == 403
    kept = fields(asked.content.decode(), "login-form")
    shown = chief.post(DESCRIBE, kept | {"_username": "mona", "_password": "pw"})
    assert [document(one)["metadata"]["detail"]["alt"] for one in ids] == ["", ""]
    again = fields(shown.content.decode(), "describe")
    assert chief.post(DESCRIBE, again | {"_publish": "1"}).status_code == 302
    assert [document(one)["metadata"]["detail"]["alt"] for one in ids] == ["A lake", "A wood"]


def test_settings_with_an_old_token_are_shown_again(chief):
    before = asdict(stored_site.read().settings)
    sent = form_of(chief, SETTINGS, "settings_form") | {"tagline": "Typed <b>"}
    chief.cookies["csrftoken"] = STALE
    refused = chief.post(SETTINGS, sent)
    assert refused.status_code == 403
    shown = chief.post(SETTINGS, fields(refused.content.decode(), "again-form"))
    assert asdict(stored_site.read().settings) == before
    again = fields(shown.content.decode(), "settings_form")
    assert again["tagline"] == ["Typed <b>"]
    assert chief.post(SETTINGS, again).status_code == 302
    assert asdict(stored_site.read().settings) == before | {"tagline": "Typed <b>"}


def test_settings_survive_a_login(chief):
    sent = form_of(chief, SETTINGS, "settings_form") | {"tagline": "Typed"}
    del chief.cookies["sessionid"]
    kept = fields(chief.post(SETTINGS, sent).content.decode(), "login-form")
    shown = chief.post(SETTINGS, kept | {"_username": "mona", "_password": "pw"})
    assert fields(shown.content.decode(), "settings_form")["tagline"] == ["Typed"]
    assert stored_site.read().settings.tagline != "Typed"
