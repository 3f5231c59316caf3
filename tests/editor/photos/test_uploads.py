"""Uploads through admin forms, with JavaScript and without."""

import io
from html import unescape

import pytest
from bson import ObjectId
from django.test import Client
from django.urls import reverse

from editor.photos.describing import address
from marginalia.mongo.connection import database
from nodes.selectors import stored_photos
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, document, gallery, shown
from tests.support.nodes.photo_forms import JSON, files, send, user

pytestmark = pytest.mark.usefixtures("mongo")


def test_several_files_have_a_result_each(editor):
    parent = gallery()
    sent = files(one__jpg=pictures.jpeg(), two__png=pictures.png(), bad__jpg=b"<html>" * 20, three__jpg=pictures.jpeg())
    results = send(editor, parent, sent).json()["results"]
    assert [(r["name"], r["ok"]) for r in results] == [
        ("one.jpg", True),
        ("two.png", True),
        ("bad.jpg", False),
        ("three.jpg", True),
    ]
    assert "web page" in results[2]["reason"]
    assert "“one”" in results[3]["note"]
    assert document(ObjectId(results[0]["id"]))["metadata"]["parent_id"] == parent
    assert document(ObjectId(results[0]["id"]))["metadata"]["published"] is None
    assert editor.get(results[0]["thumbnail"]).status_code == 200
    audit()


def test_upload_works_without_scripts(editor):
    parent = gallery()
    url = reverse("admin:nodes_photo_upload", args=[parent])
    response = editor.post(url, {"files": files(lake__jpg=pictures.jpeg(), bad__png=b"x" * 99)}, follow=True)
    photo_id = database()["cms.assets.files"].find_one({"metadata.parent_id": parent})["_id"]
    assert response.redirect_chain == [(address([photo_id]), 302)]
    text = unescape(response.content.decode())
    assert "lake" in text
    assert "Bad.png: This file format isn't supported" in text


def test_description_and_publication_are_sent_with_the_file(editor):
    result = send(editor, gallery(), files(a__jpg=pictures.jpeg()), alt="A lake", publish="1", tags="x, y").json()
    metadata = document(ObjectId(result["results"][0]["id"]))["metadata"]
    assert metadata["published"]
    assert (metadata["detail"]["alt"], metadata["tags"]) == ("A lake", ["x", "y"])
    assert result["results"][0]["markdown"] == f"![A lake](photo:{result['results'][0]['id']})"


def test_photo_without_a_description_is_not_published(editor):
    parent = gallery()
    before = count()
    response = send(editor, parent, files(a__jpg=pictures.jpeg()), publish="1")
    assert response.status_code == 422
    assert "alternative text" in response.json()["results"][0]["reason"]
    assert count() == before


def test_upload_without_a_token_stores_nothing():
    parent = gallery()
    before = count()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user("publish_node"))
    response = send(strict, parent, files(a__jpg=pictures.jpeg()))
    assert response.status_code == 403
    assert count() == before


def test_upload_without_permission_reads_nothing(client, monkeypatch):
    parent = gallery()
    client.force_login(user("view_node"))
    monkeypatch.setattr(photos.Upload, "__init__", lambda *a, **k: pytest.fail("began to write"))
    assert send(client, parent, files(a__jpg=pictures.jpeg())).status_code == 403
    client.logout()
    assert send(client, parent, files(a__jpg=pictures.jpeg())).status_code == 302


def test_interrupted_body_stores_nothing(editor):
    parent = gallery()
    before = count()
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.jpg"\r\n\r\n'
    url = reverse("admin:nodes_photo_upload", args=[parent])
    response = editor.post(
        url, head + pictures.jpeg()[:400], content_type="multipart/form-data; boundary=x", headers=JSON
    )
    assert response.status_code == 422
    assert count() == before


def test_large_file_is_uploaded_in_chunks(editor):
    noise = pictures.encoded("PNG", pictures.image((1000, 800)).effect_spread(300), compress_level=0)
    result = send(editor, gallery(), files(noise__png=noise)).json()["results"][0]
    assert shown(ObjectId(result["id"])) == noise


def test_uploaded_file_is_readable_through_the_driver(editor):
    result = send(editor, gallery(), files(a__gif=pictures.gif())).json()["results"][0]
    assert io.BytesIO(shown(ObjectId(result["id"]))).read(6) == b"GIF89a"


def test_upload_without_a_gallery_goes_to_the_library(editor):
    gallery("another")
    page = editor.get(reverse("admin:nodes_photo_changelist")).content.decode()
    action = reverse("admin:nodes_photo_upload")
    assert f'action="{action}"' in page
    result = editor.post(action, {"files": files(lake__jpg=pictures.jpeg())}, headers=JSON).json()["results"][0]
    assert stored_photos.get(result["id"]).parent_id is None
    assert result["id"] in editor.get(reverse("admin:nodes_photo_changelist") + "?section=top").content.decode()
