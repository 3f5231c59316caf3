"""Many photos described in one form: one row each, saved and reported separately."""

from typing import Any

import pytest
from bson import ObjectId
from django.test import Client
from django.urls import reverse

from cms.testing import build
from cms.testing.editors import fields
from editor.photos import describing
from editor.photos.describing import address
from photos.addresses import admin_path, library_path
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, upload
from tests.support.nodes.photo_forms import files, user

pytestmark = pytest.mark.usefixtures("mongo")
DRAFT = {"published": None, "detail.alt": ""}


def drafts(*names: str) -> list[ObjectId]:
    parent = gallery()
    return [upload(parent, name=f"{name}.jpg", fields=DRAFT) for name in names]


def sent(client: Client, ids: list[ObjectId], button: str, **changed: Any):
    """Send the form as a browser does. `changed` is keyed by field and row number: alt__0="A lake"."""
    data = fields(client.get(address(ids)).content.decode(), "describe")
    for key, value in changed.items():
        name, _line, row = key.rpartition("__")
        data[f"{ids[int(row)]}-{name}"] = value
    return client.post(reverse("admin:nodes_photo_describe"), {**data, "photo": ids, button: "1"})


def said(photo_id: ObjectId) -> tuple[Any, ...]:
    metadata = document(photo_id)["metadata"]
    return metadata["title"], metadata["detail"]["alt"], metadata["tags"], metadata["detail"]["focal"]


def test_upload_without_scripts_leads_to_the_descriptions(editor):
    url = reverse("admin:nodes_photo_upload", args=[gallery("uploads")])
    response = editor.post(
        url, {"files": files(a__jpg=pictures.jpeg(), b__png=pictures.png(), c__png=b"x" * 99)}, follow=True
    )
    page = response.content.decode()
    assert [row.photo.metadata.title for row in response.context["rows"]] == ["a", "b"]
    assert "This file format isn&#x27;t supported" in page
    assert page.count('class="photo-row"') == 2


def test_each_row_is_saved(editor):
    one, two = drafts("one", "two")
    typed = {
        "alt__0": "A lake",
        "title__0": "Evening",
        "tags__0": "lake, night",
        "focal_0__0": "20",
        "focal_1__0": "90",
    }
    response = sent(editor, [one, two], "_save", **typed, alt__1="A wood")
    assert (response.status_code, response.url) == (302, library_path(document(one)["metadata"]["parent_id"]))
    assert said(one) == ("Evening", "A lake", ["lake", "night"], [0.2, 0.9])
    assert said(two) == ("two", "A wood", [], None)
    assert document(one)["metadata"]["published"] is None


def test_described_photos_are_all_published(editor):
    ids = drafts("one", "two")
    assert sent(editor, ids, "_publish", alt__0="A lake", alt__1="A wood").status_code == 302
    assert all(document(one)["metadata"]["published"] for one in ids)


def test_photo_without_a_description_is_saved_unpublished(editor):
    one, two = drafts("one", "two")
    response = sent(editor, [one, two], "_publish", alt__0="A lake", title__1="Second")
    assert response.status_code == 422
    first, second = response.context["rows"]
    assert (first.problem, "alternative text" in second.problem) == ("", True)
    assert response.content.decode().count('class="state state-live">Live<') == 1
    assert document(one)["metadata"]["published"]
    assert document(two)["metadata"]["published"] is None
    assert said(two)[0] == "Second"


def test_concurrent_edits_merge_and_conflicts_are_asked_again(editor):
    one, two = ids = drafts("one", "two")
    data = fields(editor.get(address(ids)).content.decode(), "describe") | {"photo": ids, "_save": "1"}
    for photo_id, theirs in ((one, {"detail.alt": "Theirs"}), (two, {"title": "Theirs"})):
        photos.save(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], theirs)
    url = reverse("admin:nodes_photo_describe")
    response = editor.post(url, {**data, f"{one}-title": "Mine", f"{one}-tags": "a", f"{two}-title": "Mine"})
    assert response.status_code == 422
    assert said(one) == ("Mine", "Theirs", ["a"], None)
    first, second = response.context["rows"]
    assert (first.problem, "“Theirs”" in second.problem) == ("", True)
    assert said(two)[0] == "Theirs"
    again = fields(response.content.decode(), "describe") | {"photo": ids, "_save": "1"}
    assert again[f"{two}-title"] == ["Mine"]
    assert editor.post(url, again).status_code == 302
    assert said(two)[0] == "Mine"


def test_invalid_row_keeps_its_input_and_others_are_saved(editor):
    one, two = drafts("one", "two")
    response = sent(editor, [one, two], "_save", title__0="", alt__0="Kept", focal_0__0="20", alt__1="A wood")
    assert response.status_code == 422
    assert set(response.context["rows"][0].form.errors) == {"title", "focal"}
    assert "Kept" in response.content.decode()
    assert (said(one)[1], said(two)[1]) == ("", "A wood")


def test_authors_describe_uploads_until_they_are_published(client):
    author = user("add_node", "change_node", name="author")
    client.force_login(author)
    url = reverse("admin:nodes_photo_upload", args=[gallery("uploads")])
    results = client.post(url, {"files": files(a__jpg=pictures.jpeg())}, headers={"accept": "application/json"}).json()
    mine, other = ObjectId(results["results"][0]["id"]), drafts("other")[0]
    assert client.get(results["results"][0]["describe"]).status_code == 200
    assert b"Publish all" not in client.get(address([mine])).content
    assert sent(client, [mine], "_publish", alt__0="A lake").status_code == 302
    assert said(mine)[1] == "A lake"
    assert document(mine)["metadata"]["published"] is None
    assert client.get(address([other])).status_code == 404
    data = fields(client.get(address([mine])).content.decode(), "describe")
    photos.save(build.EDITOR, mine, document(mine)["metadata"]["nonce"], {"published": build.PAST})
    assert client.get(address([mine])).status_code == 404
    refused = client.post(reverse("admin:nodes_photo_describe"), data | {f"{mine}-alt": "Typed", "_save": "1"})
    assert (refused.status_code, said(mine)[1]) == (409, "A lake")
    assert "Typed</textarea>" in refused.content.decode()


def test_text_of_unsaveable_rows_is_shown(editor):
    ids = drafts("one", "two")
    data = fields(editor.get(address(ids)).content.decode(), "describe") | {"photo": ids, "_publish": "1"}
    typed = {f"{one}-alt": f"Lake {n} <b>" for n, one in enumerate(ids)}
    photos.move_to_trash(build.EDITOR, ids[1], document(ids[1])["metadata"]["nonce"])
    url = reverse("admin:nodes_photo_describe")
    response = editor.post(url, {**data, **typed})
    assert (response.status_code, said(ids[0])[1]) == (409, "Lake 0 <b>")
    assert response.context["lost"] == [[("Alternative text", "Lake 1 <b>"), ("Title", "two")]]
    assert "Lake 1 &lt;b&gt;</textarea>" in response.content.decode()
    assert editor.post(url, {"photo": ids[1:], **typed}).context["lost"] == [[("Alternative text", "Lake 1 <b>")]]
    assert editor.post(url, {"photo": ids[1:]}).status_code == 404


def test_rows_beyond_the_limit_keep_their_text(editor, monkeypatch):
    ids = drafts("one", "two")
    data = fields(editor.get(address(ids)).content.decode(), "describe") | {"photo": ids, "_save": "1"}
    monkeypatch.setattr(describing, "MOST", 1)
    typed = {f"{one}-title": f"Lake {n}" for n, one in enumerate(ids)}
    response = editor.post(reverse("admin:nodes_photo_describe"), data | typed)
    assert (response.status_code, response.context["lost"]) == (409, [[("Title", "Lake 1")]])
    assert [said(one)[0] for one in ids] == ["Lake 0", "two"]


@pytest.mark.parametrize("named", ["", "?photo=x", "?photo[$ne]=1", "?photo=" + "a" * 24])
def test_invalid_photo_ids_return_404(editor, named):
    assert editor.get(reverse("admin:nodes_photo_describe") + named).status_code == 404


def test_cropped_photo_is_shown_whole_for_the_focal_point(editor):
    photo_id = upload(gallery())
    photos.save(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], {"detail.crop": [0.0, 0.0, 0.5, 0.5]})
    picture = editor.get(address([photo_id])).context["rows"][0].picture
    assert picture.endswith("/w320.jpg?former=1")
    assert editor.get(picture).status_code == 200
    assert editor.get(admin_path(photo_id)).status_code == 200
