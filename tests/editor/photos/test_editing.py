"""The page of one photo in the admin: form, file, history and permissions."""

import re
from datetime import timedelta
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from cms.testing import build
from cms.testing.editors import fields
from editor.photos import describing
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.types import NEVER, Actor
from photos.addresses import admin_path, library_path
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, document, gallery, replace, shown, upload
from tests.support.nodes.photo_forms import JSON, files, user

pytestmark = pytest.mark.usefixtures("mongo")


def form(client: Client, photo_id: ObjectId, **changed) -> dict[str, Any]:
    return fields(client.get(admin_path(photo_id)).content.decode()) | changed


def replacing_url(client: Client, photo_id: ObjectId) -> str:
    """Return the URL to which the photo's page sends a new file."""
    page = client.get(admin_path(photo_id)).content.decode()
    found = re.search(rf'action="({reverse("admin:nodes_photo_replace", args=[photo_id])}[^"]*)"', page)
    assert found
    return found[1]


def test_saving_stores_the_typed_values(editor):
    photo_id = upload(gallery(), tags=("lake",))
    data = form(
        editor, photo_id, title="Evening", alt="A lake at night", tags="lake, night", focal_0="20", focal_1="90"
    )
    response = editor.post(admin_path(photo_id), {**data, "_save": "1"})
    assert response.status_code == 302
    metadata = document(photo_id)["metadata"]
    assert (metadata["title"], metadata["tags"]) == ("Evening", ["lake", "night"])
    assert (metadata["detail"]["alt"], metadata["detail"]["focal"]) == ("A lake at night", [0.2, 0.9])
    assert metadata["detail"]["sha256"]


def test_alternative_text_is_one_line(editor):
    photo_id = upload(gallery())
    editor.post(admin_path(photo_id), {**form(editor, photo_id, alt="A lake\r\n at night\n"), "_save": "1"})
    assert document(photo_id)["metadata"]["detail"]["alt"] == "A lake at night"


def test_crop_is_stored_and_reset(editor):
    photo_id = upload(gallery(), pictures.png(1, pictures.image((600, 400))), "a.png")
    part = {"crop_0": "10", "crop_1": "20", "crop_2": "50", "crop_3": "40", "rotation": "90"}
    assert editor.post(admin_path(photo_id), {**form(editor, photo_id), **part, "_save": "1"}).status_code == 302
    metadata = document(photo_id)["metadata"]
    assert (metadata["detail"]["crop"], metadata["detail"]["rotation"]) == ([0.1, 0.2, 0.5, 0.4], 90)
    page = editor.get(admin_path(photo_id)).content.decode()
    assert "160 × 300 (of 600 × 400)" in page
    assert "Readers see only the part that you chose" in page
    # A photo has no draft that could wait for a future date.
    assert "If the time is in the future, the photo appears then." in page
    assert "what changed on a live one" not in page
    # Sent again unchanged, the form changes nothing.
    editor.post(admin_path(photo_id), {**form(editor, photo_id), "_save": "1"})
    assert document(photo_id)["metadata"]["nonce"] == metadata["nonce"]
    beyond = editor.post(admin_path(photo_id), {**form(editor, photo_id), "crop_2": "95", "_save": "1"})
    assert "extends beyond the photo" in str(beyond.context["form"].errors["crop"])
    lacking = editor.post(admin_path(photo_id), {**form(editor, photo_id), "crop_2": "", "_save": "1"})
    assert "all of these numbers" in str(lacking.context["form"].errors["crop"])
    nothing = dict.fromkeys(part, "")
    assert editor.post(admin_path(photo_id), {**form(editor, photo_id), **nothing, "_save": "1"}).status_code == 302
    assert document(photo_id)["metadata"]["detail"]["crop"] is None
    assert document(photo_id)["metadata"]["detail"]["rotation"] is None


def test_publishing_needs_a_description(editor):
    photo_id = upload(gallery(), fields={"published": None, "detail.alt": ""})
    response = editor.post(admin_path(photo_id), {**form(editor, photo_id), "_publish": "1"})
    assert "alternative text" in str(response.context["form"].errors["alt"])
    data = form(editor, photo_id, alt="A lake")
    assert editor.post(admin_path(photo_id), {**data, "_publish": "1"}).status_code == 302
    assert document(photo_id)["metadata"]["published"]


@pytest.mark.parametrize("right", ["publish_node", "change_photo"])
def test_publish_keeps_past_dates_and_ends_future_ones(client, right):
    parent, soon = gallery(), now() + timedelta(days=1)
    client.force_login(user(right))
    expired = upload(parent, name="a.jpg", fields={"expires": build.PAST + timedelta(days=1)})
    scheduled = upload(parent, name="b.jpg", fields={"published": soon})
    for photo_id in (expired, scheduled):
        assert client.post(admin_path(photo_id), {**form(client, photo_id), "_publish": "1"}).status_code == 302
        assert document(photo_id)["metadata"]["expires"] == NEVER
    assert document(expired)["metadata"]["published"] == build.PAST
    assert document(scheduled)["metadata"]["published"] < soon


def test_conflict_shows_both_sides_and_loses_nothing(editor):
    photo_id = upload(gallery(), fields={"summary": "one\n\ntwo", "published": None})
    mine = form(editor, photo_id, title="Mine", summary="one of mine\n\ntwo", focal_0="10", focal_1="10")
    theirs = {"title": "Theirs", "summary": "one\n\ntwo of theirs", "detail.alt": "Their words"}
    theirs |= {"published": build.PAST, "detail.comments": "closed", "detail.focal": [0.5, 0.2]}
    photos.save(Actor(None, "Bob"), photo_id, document(photo_id)["metadata"]["nonce"], theirs)
    response = editor.post(admin_path(photo_id), {**mine, "_save": "1"})
    assert response.status_code == 409
    assert "Bob changed this page" in response.content.decode()
    deciding = fields(response.content.decode())
    assert (deciding["mine-title"], deciding["theirs-title"]) == (["Mine"], ["Theirs"])
    undecided = editor.post(admin_path(photo_id), {**deciding, "choice-title": "mine", "_save": "1"})
    assert "Choose which version to keep" in undecided.content.decode()
    deciding = fields(undecided.content.decode()) | {"choice-title": "mine", "choice-focal": "theirs"}
    assert editor.post(admin_path(photo_id), {**deciding, "_save": "1"}).status_code == 302
    metadata = document(photo_id)["metadata"]
    assert (metadata["title"], metadata["summary"]) == ("Mine", "one of mine\n\ntwo of theirs")
    assert metadata["published"] == build.PAST
    detail = metadata["detail"]
    assert (detail["alt"], detail["comments"], detail["focal"]) == ("Their words", "closed", [0.5, 0.2])


def test_second_conflict_is_shown_while_deciding_the_first(editor):
    photo_id = upload(gallery())
    mine = form(editor, photo_id, title="Mine")
    for title in ("Theirs", "Theirs again"):
        photos.save(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], {"title": title})
        response = editor.post(admin_path(photo_id), {**mine, "_save": "1"})
        assert response.status_code == 409
        mine = fields(response.content.decode()) | {"choice-title": "mine"}
        assert mine["theirs-title"] == [title]
    assert editor.post(admin_path(photo_id), {**mine, "_save": "1"}).status_code == 302
    assert document(photo_id)["metadata"]["title"] == "Mine"


def test_expired_login_returns_the_text(editor):
    account = User.objects.get(username="editor")
    account.set_password("pw")
    account.save()
    editor.force_login(account)
    photo_id = upload(gallery())
    mine = form(editor, photo_id, summary="A long description")
    editor.logout()
    asked = editor.post(admin_path(photo_id), {**mine, "_save": "1"})
    assert asked.status_code == 403
    kept = fields(asked.content.decode(), "login-form") | {"_username": "editor", "_password": "pw"}
    again = fields(editor.post(admin_path(photo_id), kept).content.decode())
    assert again["summary"] == ["A long description"]
    assert document(photo_id)["metadata"]["summary"] != "A long description"
    assert editor.post(admin_path(photo_id), {**again, "_save": "1"}).status_code == 302
    assert document(photo_id)["metadata"]["summary"] == "A long description"


def test_form_older_than_its_token_returns_the_text(editor):
    photo_id = upload(gallery())
    mine = form(editor, photo_id, summary="A long description")
    editor.handler.enforce_csrf_checks = True
    refused = editor.post(admin_path(photo_id), {**mine, "csrfmiddlewaretoken": "x" * 64})
    again = fields(refused.content.decode(), "again-form")
    assert fields(editor.post(admin_path(photo_id), again).content.decode())["summary"] == ["A long description"]


def test_photo_trashed_meanwhile_returns_the_text(editor):
    photo_id = upload(gallery())
    mine = form(editor, photo_id, summary="A long <description>")
    photos.move_to_trash(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
    gone = editor.post(admin_path(photo_id), {**mine, "_save": "1"})
    assert gone.status_code == 409
    assert "A long &lt;description&gt;</textarea>" in gone.content.decode()
    assert editor.get(admin_path(photo_id)).status_code == 404


def test_history_shows_who_did_what(editor):
    photo = upload(gallery())
    form = fields(editor.get(admin_path(photo)).content.decode())
    editor.post(admin_path(photo), {**form, "title": "Dawn", "_save": "x"})
    address = reverse("admin:nodes_photo_history", args=[photo])
    assert address in editor.get(admin_path(photo)).content.decode()
    answer = editor.get(address)
    saved = [(row["revision"].version.saved_by, row["acts"], row["changed"]) for row in answer.context["rows"]]
    assert saved == [("editor", ["Saved"], "Title"), ("Ann", ["Imported", "Published"], "")]
    html = answer.content.decode()
    assert re.findall(r'<span class="acts">(.*?)</span>', html, re.S)[1].split() == ["Imported", "·", "Published"]
    assert (html.count('class="initials"'), "View or restore" in html) == (2, False)


def test_replacing_the_file_keeps_the_photo(editor):
    photo_id = upload(gallery())
    url = replacing_url(editor, photo_id)
    result = editor.post(url, {"files": files(new__png=pictures.png())}, headers=JSON).json()["results"][0]
    assert (result["ok"], result["id"]) == (True, str(photo_id))
    assert shown(photo_id).startswith(b"\x89PNG")
    bad = editor.post(replacing_url(editor, photo_id), {"files": files(new__png=b"no")}, headers=JSON)
    assert bad.status_code == 422
    audit()


def test_photo_changed_meanwhile_is_not_replaced(editor):
    photo_id = upload(gallery())
    url = replacing_url(editor, photo_id)
    replace(photo_id, pictures.webp(), "theirs.webp")
    for headers in (JSON, {}):
        answer = editor.post(url, {"files": files(mine__png=pictures.png())}, headers=headers, follow=not headers)
        assert "This item has changed since you opened this page." in answer.content.decode()
    assert document(photo_id)["metadata"]["detail"]["filename"] == "theirs.webp"
    assert document(photo_id)["metadata"]["locked"] is None
    without_version = reverse("admin:nodes_photo_replace", args=[photo_id])
    assert editor.post(without_version, {"files": files(mine__png=pictures.png())}).status_code == 404
    audit()


def test_former_file_can_be_restored(editor):
    photo_id = upload(gallery())
    replace(photo_id, pictures.png())
    page = editor.get(admin_path(photo_id))
    [former] = page.context["former"]
    assert former.id == photo_id
    url = reverse("admin:nodes_photo_go_back", args=[photo_id])
    data = {"content": str(former.id), "nonce": str(document(photo_id)["metadata"]["nonce"])}
    told = editor.post(url, {**data, "nonce": str(ObjectId())}, follow=True).content.decode()
    assert "This item has changed since you opened this page." in told
    assert document(photo_id)["metadata"]["content_id"] != photo_id
    editor.post(url, data)
    assert document(photo_id)["metadata"]["content_id"] == photo_id


def test_pages_that_show_the_photo_are_listed(editor):
    photo_id = upload(gallery())
    blog = build.node("blog", "blog")
    build.node("blog-entry", "post", parent=blog, title="On lakes", text=f"![](photo:{photo_id})")
    assert [use.title for use in editor.get(admin_path(photo_id)).context["uses"].named] == ["On lakes"]


def test_hidden_drafts_that_show_the_photo_are_not_named(client):
    photo_id = upload(gallery())
    build.node("basic-page", "public", text=f"![](photo:{photo_id})")
    build.node("basic-page", "secret", text=f"![](photo:{photo_id})", published=None)
    client.force_login(user("add_node", "change_node"))
    page = client.get(admin_path(photo_id)).content.decode()
    assert 'href="/public"' in page
    assert "and on 1 page that isn't listed here" in page
    assert "Secret" not in page


def test_photo_changed_meanwhile_is_not_trashed(editor):
    photo_id = upload(gallery())
    url = reverse("admin:nodes_photo_trash", args=[photo_id])
    editor.post(url, {"nonce": str(ObjectId())})
    assert document(photo_id)
    editor.post(url, {"nonce": str(document(photo_id)["metadata"]["nonce"])})
    assert document(photo_id) is None
    assert database()["cms.trash"].find_one({"_id": photo_id})


def test_user_with_only_change_photo_restores_from_the_trash(client):
    photo_id = upload(gallery())
    client.force_login(user("change_photo"))
    nonce = str(document(photo_id)["metadata"]["nonce"])
    for back in ("undo", "restore"):
        thrown = client.post(reverse("admin:nodes_photo_trash", args=[photo_id]), {"nonce": nonce}, follow=True)
        assert "was moved to the trash" in thrown.content.decode()
        assert str(photo_id) in client.get(reverse("admin:nodes_node_trash")).content.decode()
        if back == "undo":
            client.post(reverse("admin:nodes_node_undo"), {"items": f"{photo_id}:{nonce}"})
        else:
            page = client.get(address := reverse("admin:nodes_node_restore", args=[photo_id])).content.decode()
            told = client.post(address, fields(page, "confirm_form"), follow=True).content.decode()
            assert f"<a href='{admin_path(photo_id)}'>" in told, "its own page, not that of a node"
        assert document(photo_id), back


def test_trash_lists_photos_for_users_who_can_see_them(client):
    photo_id = upload(gallery())
    photos.move_to_trash(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
    restore = reverse("admin:nodes_node_restore", args=[photo_id])
    for right, seen, status in (("add_photo", True, 403), ("view_node", False, 404), ("change_photo", True, 200)):
        client.force_login(user(right, name=right))
        page = client.get(reverse("admin:nodes_node_trash")).content.decode()
        assert (str(photo_id) in page, restore in page) == (status == 200, status == 200)
        assert ('<th scope="row">' in page) is seen
        assert client.get(restore).status_code == status


def test_user_without_permission_sees_no_photo(client):
    photo_id = upload(gallery())
    client.force_login(user("view_user"))
    assert client.get(admin_path(photo_id)).status_code == 404
    assert client.get(library_path()).status_code == 403


def test_writer_without_photo_permission_can_only_look(client):
    photo_id = upload(gallery())
    client.force_login(user("add_node", "change_node"))
    assert client.get(admin_path(photo_id)).status_code == 200
    assert client.post(admin_path(photo_id), {"title": "x"}).status_code == 403
    assert client.post(reverse("admin:nodes_photo_replace", args=[photo_id])).status_code == 403


def test_uploader_is_led_to_the_description_form(client):
    author = user("add_node", "change_node")
    plates, draft = gallery(), {"published": None}
    own, other = (upload(plates, name=name, fields=draft) for name in ("own.jpg", "other.jpg"))
    database()["cms.assets.files"].update_one(
        {"_id": own}, {"$set": {"metadata.author": {"_id": author.pk, "name": "A"}}}
    )
    client.force_login(author)
    pages = [client.get(admin_path(photo)).content.decode() for photo in (own, other)]
    assert [describing.address([own]) in page for page in pages] == [True, False]
    assert all('<fieldset class="module aligned" disabled>' in page for page in pages)
