"""The photo library of the admin: uploads through forms, the page of one photo, bulk."""

import io
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from mongo.clock import now
from mongo.connection import database
from nodes.admin.photos.describing import address
from nodes.photos.links import in_admin, library
from nodes.services import photos
from nodes.types import NEVER, Actor
from tests.support.nodes import build, pictures
from tests.support.nodes.editors import fields
from tests.support.nodes.photo_build import audit, count, document, gallery, replace, shown, upload

pytestmark = pytest.mark.usefixtures("mongo")

JSON = {"accept": "application/json"}


def user(*permissions: str, name: str = "editor") -> User:
    account = User.objects.create_user(name, is_staff=True)
    for codename in permissions:
        account.user_permissions.add(Permission.objects.get(codename=codename))
    return account


@pytest.fixture
def editor(client) -> Client:
    client.force_login(user("publish_node", "change_node"))
    return client


def files(**named: bytes) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(name.replace("__", "."), data) for name, data in named.items()]


def send(client: Client, parent: ObjectId, sent: list[SimpleUploadedFile], **more):
    return client.post(reverse("admin:nodes_photo_upload", args=[parent]), {"files": sent, **more}, headers=JSON)


class TestUploading:
    def test_several_files_each_have_a_result(self, editor):
        parent = gallery()
        sent = files(
            one__jpg=pictures.jpeg(), two__png=pictures.png(), bad__jpg=b"<html>" * 20, three__jpg=pictures.jpeg()
        )
        results = send(editor, parent, sent).json()["results"]
        assert [(r["name"], r["ok"]) for r in results] == [
            ("one.jpg", True), ("two.png", True), ("bad.jpg", False), ("three.jpg", True),
        ]  # fmt: skip
        assert "web page" in results[2]["reason"]
        assert "“one”" in results[3]["note"]
        assert document(ObjectId(results[0]["id"]))["metadata"]["parent_id"] == parent
        assert document(ObjectId(results[0]["id"]))["metadata"]["published"] is None
        assert editor.get(results[0]["thumbnail"]).status_code == 200
        audit()

    def test_without_a_script_it_is_a_form_like_others(self, editor):
        parent = gallery()
        url = reverse("admin:nodes_photo_upload", args=[parent])
        response = editor.post(url, {"files": files(lake__jpg=pictures.jpeg(), bad__png=b"x" * 99)}, follow=True)
        photo_id = database()["cms.assets.files"].find_one({"metadata.parent_id": parent})["_id"]
        assert response.redirect_chain == [(address([photo_id]), 302)]
        text = unescape(response.content.decode())
        assert "lake" in text
        assert "Bad.png: The site does not know this kind of picture" in text

    def test_words_and_publication_come_with_the_file(self, editor):
        result = send(editor, gallery(), files(a__jpg=pictures.jpeg()), alt="A lake", publish="1", tags="x, y").json()
        metadata = document(ObjectId(result["results"][0]["id"]))["metadata"]
        assert metadata["published"]
        assert (metadata["detail"]["alt"], metadata["tags"]) == ("A lake", ["x", "y"])
        assert result["results"][0]["markdown"] == f"![A lake](photo:{result['results'][0]['id']})"

    def test_nothing_is_published_without_words(self, editor):
        parent = gallery()
        before = count()
        response = send(editor, parent, files(a__jpg=pictures.jpeg()), publish="1")
        assert response.status_code == 422
        assert "alternative text" in response.json()["results"][0]["reason"]
        assert count() == before

    def test_without_the_token_nothing_stays(self):
        parent = gallery()
        before = count()
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(user("publish_node"))
        response = send(strict, parent, files(a__jpg=pictures.jpeg()))
        assert response.status_code == 403
        assert count() == before

    def test_without_the_right_no_byte_is_taken(self, client, monkeypatch):
        parent = gallery()
        client.force_login(user("view_node"))
        monkeypatch.setattr(photos.Upload, "__init__", lambda *a, **k: pytest.fail("began to write"))
        assert send(client, parent, files(a__jpg=pictures.jpeg())).status_code == 403
        client.logout()
        assert send(client, parent, files(a__jpg=pictures.jpeg())).status_code == 302

    def test_a_body_that_breaks_off_leaves_nothing(self, editor):
        parent = gallery()
        before = count()
        head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.jpg"\r\n\r\n'
        url = reverse("admin:nodes_photo_upload", args=[parent])
        response = editor.post(
            url, head + pictures.jpeg()[:400], content_type="multipart/form-data; boundary=x", headers=JSON
        )
        assert response.status_code == 422
        assert count() == before

    def test_many_chunks_come_through_a_form(self, editor):
        noise = pictures.encoded("PNG", pictures.image((1000, 800)).effect_spread(300), compress_level=0)
        result = send(editor, gallery(), files(noise__png=noise)).json()["results"][0]
        assert shown(ObjectId(result["id"])) == noise


class TestOnePhoto:
    def form(self, client: Client, photo_id: ObjectId, **changed) -> dict[str, Any]:
        return fields(client.get(in_admin(photo_id)).content.decode()) | changed

    def test_saving_changes_what_was_typed(self, editor):
        photo_id = upload(gallery(), tags=("lake",))
        data = self.form(
            editor, photo_id, title="Evening", alt="A lake at night", tags="lake, night", focal_0="20", focal_1="90"
        )
        response = editor.post(in_admin(photo_id), {**data, "_save": "1"})
        assert response.status_code == 302
        metadata = document(photo_id)["metadata"]
        assert (metadata["title"], metadata["tags"]) == ("Evening", ["lake", "night"])
        assert (metadata["detail"]["alt"], metadata["detail"]["focal"]) == ("A lake at night", [0.2, 0.9])
        assert metadata["detail"]["sha256"]

    def test_a_part_is_shown_and_then_all_of_it_again(self, editor):
        photo_id = upload(gallery(), pictures.png(1, pictures.image((600, 400))), "a.png")
        part = {"crop_0": "10", "crop_1": "20", "crop_2": "50", "crop_3": "40", "rotation": "90"}
        assert editor.post(in_admin(photo_id), {**self.form(editor, photo_id), **part, "_save": "1"}).status_code == 302
        metadata = document(photo_id)["metadata"]
        assert (metadata["detail"]["crop"], metadata["detail"]["rotation"]) == ([0.1, 0.2, 0.5, 0.4], 90)
        page = editor.get(in_admin(photo_id)).content.decode()
        assert "160 × 300 (of 600 × 400)" in page
        assert "readers get what is shown" in page
        # Sent again as it is, it changes nothing.
        editor.post(in_admin(photo_id), {**self.form(editor, photo_id), "_save": "1"})
        assert document(photo_id)["metadata"]["nonce"] == metadata["nonce"]
        beyond = editor.post(in_admin(photo_id), {**self.form(editor, photo_id), "crop_2": "95", "_save": "1"})
        assert "reaches beyond the picture" in str(beyond.context["form"].errors["crop"])
        lacking = editor.post(in_admin(photo_id), {**self.form(editor, photo_id), "crop_2": "", "_save": "1"})
        assert "all of these numbers" in str(lacking.context["form"].errors["crop"])
        nothing = dict.fromkeys(part, "")
        assert (
            editor.post(in_admin(photo_id), {**self.form(editor, photo_id), **nothing, "_save": "1"}).status_code == 302
        )
        assert document(photo_id)["metadata"]["detail"]["crop"] is None
        assert document(photo_id)["metadata"]["detail"]["rotation"] is None

    def test_publishing_needs_words(self, editor):
        photo_id = upload(gallery(), fields={"published": None, "detail.alt": ""})
        response = editor.post(in_admin(photo_id), {**self.form(editor, photo_id), "_publish": "1"})
        assert "alternative text" in str(response.context["form"].errors["alt"])
        data = self.form(editor, photo_id, alt="A lake")
        assert editor.post(in_admin(photo_id), {**data, "_publish": "1"}).status_code == 302
        assert document(photo_id)["metadata"]["published"]

    @pytest.mark.parametrize("right", ["publish_node", "change_photo"])
    def test_publish_keeps_the_date_of_what_expired_and_ends_what_waited(self, client, right):
        parent, soon = gallery(), now() + timedelta(days=1)
        client.force_login(user(right))
        expired = upload(parent, name="a.jpg", fields={"expires": build.PAST + timedelta(days=1)})
        scheduled = upload(parent, name="b.jpg", fields={"published": soon})
        for photo_id in (expired, scheduled):
            assert client.post(in_admin(photo_id), {**self.form(client, photo_id), "_publish": "1"}).status_code == 302
            assert document(photo_id)["metadata"]["expires"] == NEVER
        assert document(expired)["metadata"]["published"] == build.PAST
        assert document(scheduled)["metadata"]["published"] < soon

    def test_a_clash_shows_both_and_loses_nothing(self, editor):
        photo_id = upload(gallery(), fields={"summary": "one\n\ntwo", "published": None})
        mine = self.form(editor, photo_id, title="Mine", summary="one of mine\n\ntwo", focal_0="10", focal_1="10")
        theirs = {"title": "Theirs", "summary": "one\n\ntwo of theirs", "detail.alt": "Their words"}
        theirs |= {"published": build.PAST, "detail.comments": "closed", "detail.focal": [0.5, 0.2]}
        photos.save(Actor(None, "Bob"), photo_id, document(photo_id)["metadata"]["nonce"], theirs)
        response = editor.post(in_admin(photo_id), {**mine, "_save": "1"})
        assert response.status_code == 409
        assert "Bob changed this page" in response.content.decode()
        deciding = fields(response.content.decode())
        assert (deciding["mine-title"], deciding["theirs-title"]) == (["Mine"], ["Theirs"])
        undecided = editor.post(in_admin(photo_id), {**deciding, "choice-title": "mine", "_save": "1"})
        assert "Choose whose version to keep" in undecided.content.decode()
        deciding = fields(undecided.content.decode()) | {"choice-title": "mine", "choice-focal": "theirs"}
        assert editor.post(in_admin(photo_id), {**deciding, "_save": "1"}).status_code == 302
        metadata = document(photo_id)["metadata"]
        assert (metadata["title"], metadata["summary"]) == ("Mine", "one of mine\n\ntwo of theirs")
        assert metadata["published"] == build.PAST
        detail = metadata["detail"]
        assert (detail["alt"], detail["comments"], detail["focal"]) == ("Their words", "closed", [0.5, 0.2])

    def test_a_second_clash_while_deciding_the_first(self, editor):
        photo_id = upload(gallery())
        mine = self.form(editor, photo_id, title="Mine")
        for title in ("Theirs", "Theirs again"):
            photos.save(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], {"title": title})
            response = editor.post(in_admin(photo_id), {**mine, "_save": "1"})
            assert response.status_code == 409
            mine = fields(response.content.decode()) | {"choice-title": "mine"}
            assert mine["theirs-title"] == [title]
        assert editor.post(in_admin(photo_id), {**mine, "_save": "1"}).status_code == 302
        assert document(photo_id)["metadata"]["title"] == "Mine"

    def test_a_log_in_that_expired_gives_the_words_back(self, editor):
        account = User.objects.get(username="editor")
        account.set_password("pw")
        account.save()
        editor.force_login(account)
        photo_id = upload(gallery())
        mine = self.form(editor, photo_id, summary="A long description")
        editor.logout()
        asked = editor.post(in_admin(photo_id), {**mine, "_save": "1"})
        assert asked.status_code == 403
        kept = fields(asked.content.decode(), "login-form") | {"_username": "editor", "_password": "pw"}
        again = fields(editor.post(in_admin(photo_id), kept).content.decode())
        assert again["summary"] == ["A long description"]
        assert document(photo_id)["metadata"]["summary"] != "A long description"
        assert editor.post(in_admin(photo_id), {**again, "_save": "1"}).status_code == 302
        assert document(photo_id)["metadata"]["summary"] == "A long description"

    def test_a_form_older_than_its_token_gives_the_words_back(self, editor):
        photo_id = upload(gallery())
        mine = self.form(editor, photo_id, summary="A long description")
        editor.handler.enforce_csrf_checks = True
        refused = editor.post(in_admin(photo_id), {**mine, "csrfmiddlewaretoken": "x" * 64})
        again = fields(refused.content.decode(), "again-form")
        assert fields(editor.post(in_admin(photo_id), again).content.decode())["summary"] == ["A long description"]

    def test_a_photo_that_went_concurrently_gives_the_words_back(self, editor):
        photo_id = upload(gallery())
        mine = self.form(editor, photo_id, summary="A long <description>")
        photos.throw_away(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
        gone = editor.post(in_admin(photo_id), {**mine, "_save": "1"})
        assert gone.status_code == 409
        assert "A long &lt;description&gt;</textarea>" in gone.content.decode()
        assert editor.get(in_admin(photo_id)).status_code == 404

    def test_its_history_says_who_did_what(self, editor):
        photo = upload(gallery())
        form = fields(editor.get(in_admin(photo)).content.decode())
        editor.post(in_admin(photo), {**form, "title": "Dawn", "_save": "x"})
        address = reverse("admin:nodes_photo_history", args=[photo])
        assert address in editor.get(in_admin(photo)).content.decode()
        answer = editor.get(address)
        saved = [(row["revision"].version.saved_by, row["acts"], row["changed"]) for row in answer.context["rows"]]
        assert saved == [("editor", ["Saved"], "Title"), ("Ann", ["Imported", "Published"], "")]
        assert "<strong>Imported</strong>" in answer.content.decode()

    def test_replacing_keeps_the_photo(self, editor):
        photo_id = upload(gallery())
        url = reverse("admin:nodes_photo_replace", args=[photo_id])
        result = editor.post(url, {"files": files(new__png=pictures.png())}, headers=JSON).json()["results"][0]
        assert (result["ok"], result["id"]) == (True, str(photo_id))
        assert shown(photo_id).startswith(b"\x89PNG")
        bad = editor.post(url, {"files": files(new__png=b"no")}, headers=JSON)
        assert bad.status_code == 422
        audit()

    def test_a_former_file_can_be_shown_again(self, editor):
        photo_id = upload(gallery())
        replace(photo_id, pictures.png())
        page = editor.get(in_admin(photo_id))
        [former] = page.context["former"]
        assert former.id == photo_id
        editor.post(reverse("admin:nodes_photo_go_back", args=[photo_id]), {"content": str(former.id)})
        assert document(photo_id)["metadata"]["content_id"] == photo_id

    def test_what_texts_show_it_is_listed(self, editor):
        photo_id = upload(gallery())
        blog = build.node("blog", "blog")
        build.node("blog-entry", "post", parent=blog, title="On lakes", text=f"![](photo:{photo_id})")
        assert [use.title for use in editor.get(in_admin(photo_id)).context["uses"].named] == ["On lakes"]

    def test_who_may_not_see_a_draft_does_not_learn_of_it_here(self, client):
        photo_id = upload(gallery())
        build.node("basic-page", "public", text=f"![](photo:{photo_id})")
        build.node("basic-page", "secret", text=f"![](photo:{photo_id})", published=None)
        client.force_login(user("add_node", "change_node"))
        page = client.get(in_admin(photo_id)).content.decode()
        assert 'href="/public"' in page
        assert "and on 1 page that is not listed here" in page
        assert "Secret" not in page

    def test_to_the_trash_unless_it_changed(self, editor):
        photo_id = upload(gallery())
        url = reverse("admin:nodes_photo_trash", args=[photo_id])
        editor.post(url, {"nonce": str(ObjectId())})
        assert document(photo_id)
        editor.post(url, {"nonce": str(document(photo_id)["metadata"]["nonce"])})
        assert document(photo_id) is None
        assert database()["cms.trash"].find_one({"_id": photo_id})

    def test_who_changes_photos_alone_puts_back_what_he_threw_away(self, client):
        photo_id = upload(gallery())
        client.force_login(user("change_photo"))
        nonce = str(document(photo_id)["metadata"]["nonce"])
        for back in ("undo", "restore"):
            thrown = client.post(reverse("admin:nodes_photo_trash", args=[photo_id]), {"nonce": nonce}, follow=True)
            assert "is in the trash" in thrown.content.decode()
            assert str(photo_id) in client.get(reverse("admin:nodes_node_trash")).content.decode()
            if back == "undo":
                client.post(reverse("admin:nodes_node_undo"), {"items": f"{photo_id}:{nonce}"})
            else:
                page = client.get(address := reverse("admin:nodes_node_restore", args=[photo_id])).content.decode()
                told = client.post(address, fields(page, "confirm_form"), follow=True).content.decode()
                assert f"<a href='{in_admin(photo_id)}'>" in told, "its own page, not that of a node"
            assert document(photo_id), back

    def test_the_trash_shows_photos_to_those_who_see_them(self, client):
        photo_id = upload(gallery())
        photos.throw_away(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
        restore = reverse("admin:nodes_node_restore", args=[photo_id])
        for right, seen, status in (("add_photo", True, 403), ("view_node", False, 404), ("change_photo", True, 200)):
            client.force_login(user(right, name=right))
            page = client.get(reverse("admin:nodes_node_trash")).content.decode()
            assert (str(photo_id) in page, restore in page) == (status == 200, status == 200)
            assert ('<th scope="row">' in page) is seen
            assert client.get(restore).status_code == status

    def test_a_stranger_sees_no_photo(self, client):
        photo_id = upload(gallery())
        client.force_login(user("view_user"))
        assert client.get(in_admin(photo_id)).status_code == 404
        assert client.get(library()).status_code == 403

    def test_who_may_only_write_sees_but_does_not_change(self, client):
        photo_id = upload(gallery())
        client.force_login(user("add_node", "change_node"))
        assert client.get(in_admin(photo_id)).status_code == 200
        assert client.post(in_admin(photo_id), {"title": "x"}).status_code == 403
        assert client.post(reverse("admin:nodes_photo_replace", args=[photo_id])).status_code == 403


class TestLibrary:
    def test_filters(self, editor):
        first, second = gallery("first"), gallery("second")
        lake = upload(first, tags=("lake",))
        plain = upload(second, pictures.png(), "b.png", fields={"published": None})
        other = upload(second, pictures.encoded("JPEG"), "c.jpg")

        def found(**query: str) -> set[ObjectId]:
            return {row["photo"].pk for row in editor.get(library(), query).context["rows"]}

        assert found() == {lake, plain, other}
        assert found(section=str(second)) == {plain, other}
        assert found(state="unpublished") == {plain}
        assert found(tag="lake") == {lake}
        assert found(camera="Nikon Z 8") == {lake, plain}
        assert found(camera="Nikon Z 8", lens="Z 50mm f/1.8 S", focal_length="50", year="2024", layout="list") == {
            lake,
            plain,
        }
        assert found(year="2023") == set()
        photos.save(build.EDITOR, lake, document(lake)["metadata"]["nonce"], {"detail.alt": "A heron by the water"})
        assert found(q="heron") == {lake}
        assert found(q="heron", section=str(second)) == set()

    def test_what_is_done_in_bulk(self, editor):
        first, second = gallery("first"), gallery("second")
        ids = [upload(first, name=f"{n}.jpg", fields={"published": None}) for n in range(3)]

        def run(**said):
            nonces = {f"nonce-{i}": str(document(i)["metadata"]["nonce"]) for i in ids if document(i)}
            return editor.post(library(), {"chosen": [str(i) for i in ids], **nonces, **said}, follow=True)

        run(action="publish")
        run(action="tag", tags="lake")
        run(action="move", target=str(second))
        stored = [document(i)["metadata"] for i in ids]
        assert all(m["published"] and m["tags"] == ["lake"] and m["parent_id"] == second for m in stored)
        photos.save(build.EDITOR, ids[0], stored[0]["nonce"], {"detail.alt": ""} | {"published": None})
        text = unescape(run(action="publish").content.decode())
        assert "alternative text" in text
        assert "Move 3 photos to the trash?" in run(action="trash").content.decode()
        assert document(ids[0])
        so_far = run(action="trash", confirmed="1", more="1").json()["so_far"]
        assert [document(i) for i in ids] == [None, None, None]
        told = editor.post(
            library(), {"action": "trash", "confirmed": "1", "so_far": so_far}, follow=True
        ).content.decode()
        assert "3 photos done" in told
        assert "Undo" in told

    def test_bulk_publish_keeps_the_date_of_what_is_public_and_revives_what_expired(self, editor):
        parent, soon = gallery(), now() + timedelta(days=1)
        public = upload(parent, name="a.jpg")
        expired = upload(parent, name="b.jpg", fields={"expires": build.PAST + timedelta(days=1)})
        scheduled = upload(parent, name="c.jpg", fields={"published": soon})
        ids = (public, expired, scheduled)
        nonces = {f"nonce-{i}": str(document(i)["metadata"]["nonce"]) for i in ids}
        editor.post(library(), {"chosen": [str(i) for i in ids], **nonces, "action": "publish"})
        times = {i: (document(i)["metadata"]["published"], document(i)["metadata"]["expires"]) for i in ids}
        assert times[public] == (build.PAST, NEVER)
        assert times[expired] == (build.PAST, NEVER)
        assert times[scheduled][0] < soon

    def test_photos_have_pages_of_sixty(self, editor, monkeypatch):
        monkeypatch.setattr("nodes.admin.photos.library.SIZE", 2)
        parent = gallery()
        ids = [upload(parent, name=f"{n}.jpg") for n in range(3)]
        first = editor.get(library())
        assert [row["photo"].pk for row in first.context["rows"]] == ids[:0:-1]
        second = editor.get(library() + first.context["older"])
        assert [row["photo"].pk for row in second.context["rows"]] == ids[:1]


def test_the_driver_reads_what_came_through_a_form(editor):
    result = send(editor, gallery(), files(a__gif=pictures.gif())).json()["results"][0]
    assert io.BytesIO(shown(ObjectId(result["id"]))).read(6) == b"GIF89a"
