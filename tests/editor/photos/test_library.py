"""The photo library of the admin: filters, pages and bulk actions."""

from datetime import timedelta
from html import unescape

import pytest
from bson import ObjectId

from cms.testing import build
from marginalia.mongo.clock import now
from nodes.access import TOP
from nodes.selectors import stored_photos
from nodes.types import NEVER
from photos.addresses import library_path
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")


def test_galleries_are_indented_below_their_own_folder(editor):
    top, below = gallery("zoo"), gallery("portraits", parent=build.node("folder", "authors"))
    library, *galleries = editor.get(library_path()).context["galleries"]
    assert library[0] == TOP
    assert galleries == [(str(below), "Portraits"), (str(top), "Zoo")]


def test_library_is_filtered(editor):
    first, second = gallery("first"), gallery("second")
    lake = upload(first, tags=("lake",))
    plain = upload(second, pictures.png(), "b.png", fields={"published": None})
    other = upload(second, pictures.encoded("JPEG"), "c.jpg")

    def found(**query: str) -> set[ObjectId]:
        return {row["photo"].pk for row in editor.get(library_path(), query).context["rows"]}

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


def test_camera_list_is_read_again_only_for_photo_changes(editor):
    def read() -> int:
        editor.get(library_path())
        return stored_photos.values.cache_info().misses

    lake = upload(gallery())
    before = read()
    build.node(slug="page")
    assert read() == before
    photos.save(build.EDITOR, lake, document(lake)["metadata"]["nonce"], {"title": "Lake"})
    assert read() == before + 2


def test_upload_results_are_announced_to_screen_readers(editor):
    gallery()
    page = editor.get(library_path()).content.decode()
    assert '<ul class="photo-results photo-rows" aria-live="polite">' in page
    assert 'data-most="60"' in page


def test_bulk_actions_publish_move_tag_and_trash_photos(editor):
    first, second = gallery("first"), gallery("second")
    ids = [upload(first, name=f"{n}.jpg", fields={"published": None}) for n in range(3)]

    def run(**said):
        nonces = {f"nonce-{i}": str(document(i)["metadata"]["nonce"]) for i in ids if document(i)}
        return editor.post(library_path(), {"chosen": [str(i) for i in ids], **nonces, **said}, follow=True)

    run(action="publish")
    run(action="tag", tags="lake")
    run(action="move", target=str(second))
    stored = [document(i)["metadata"] for i in ids]
    assert all(m["published"] and m["tags"] == ["lake"] and m["parent_id"] == second for m in stored)
    photos.save(build.EDITOR, ids[0], stored[0]["nonce"], {"detail.alt": ""} | {"published": None})
    text = unescape(run(action="publish").content.decode())
    assert "alternative text" in text
    assert "Move 3 photos to trash?" in run(action="trash").content.decode()
    assert document(ids[0])
    so_far = run(action="trash", confirmed="1", more="1").json()["so_far"]
    assert [document(i) for i in ids] == [None, None, None]
    told = editor.post(
        library_path(), {"action": "trash", "confirmed": "1", "so_far": so_far}, follow=True
    ).content.decode()
    assert "3 photos changed" in told
    assert "Undo" in told


def test_bulk_publish_keeps_past_dates_and_revives_expired(editor):
    parent, soon = gallery(), now() + timedelta(days=1)
    public = upload(parent, name="a.jpg")
    expired = upload(parent, name="b.jpg", fields={"expires": build.PAST + timedelta(days=1)})
    scheduled = upload(parent, name="c.jpg", fields={"published": soon})
    ids = (public, expired, scheduled)
    nonces = {f"nonce-{i}": str(document(i)["metadata"]["nonce"]) for i in ids}
    editor.post(library_path(), {"chosen": [str(i) for i in ids], **nonces, "action": "publish"})
    times = {i: (document(i)["metadata"]["published"], document(i)["metadata"]["expires"]) for i in ids}
    assert times[public] == (build.PAST, NEVER)
    assert times[expired] == (build.PAST, NEVER)
    assert times[scheduled][0] < soon


def test_library_shows_sixty_photos_a_page(editor, monkeypatch):
    monkeypatch.setattr("editor.photos.library.SIZE", 2)
    parent = gallery()
    ids = [upload(parent, name=f"{n}.jpg") for n in range(3)]
    first = editor.get(library_path())
    assert [row["photo"].pk for row in first.context["rows"]] == ids[:0:-1]
    second = editor.get(library_path() + first.context["older"])
    assert [row["photo"].pk for row in second.context["rows"]] == ids[:1]
