"""Files in texts: downloads, players and links."""

import pytest

from cms.testing import build
from nodes.access import System
from nodes.actions import SaveNode
from nodes.selectors import references, stored_assets
from photos.actions import ReplaceFile, UploadFile
from tests.support.commands import CommandLog
from tests.support.nodes.photo_build import upload

pytestmark = pytest.mark.usefixtures("mongo")

SYSTEM = System("Ann")
MP3 = b"ID3\x04\0\0\0\0\0\x23TSSE" + b"\0" * 500


def add(name="programme.pdf", data=b"%PDF-1.7 " + b"x" * 2_000, published=build.PAST):
    action = UploadFile(user=SYSTEM, gallery_id=None, filename=name, fields={"published": published})
    return action.execute([data]).id


def page(client, text, slug="about"):
    node_id = build.node(slug=slug, text=text)
    return node_id, client.get(f"/{slug}").content.decode()


def test_file_insert_links_to_the_file_with_its_type_and_size(client):
    file_id = add()
    node_id, html = page(client, f'::file{{file=node:{file_id} text="The programme"}}')
    assert f'href="/media/file/{file_id}/programme.pdf?download"' in html
    assert "The programme</a>" in html
    assert "PDF, 2.0\xa0KB" in html
    assert [use.node.pk for use in references.find_uses([file_id])] == [node_id]


def test_players_play_only_files_of_their_type(client):
    song, document = add("song.mp3", MP3), add()
    _id, html = page(
        client, f"::audio{{file=node:{song}}}\n\n::audio{{file=node:{document}}}\n\n::video{{file=node:{song}}}"
    )
    assert html.count("<audio controls") == 1
    assert "<video" not in html
    assert html.count("?download") == 3


def test_link_to_a_file_leads_to_its_bytes(client):
    file_id = add()
    _id, html = page(client, f"[Programme](node:{file_id})")
    assert f'<a href="/media/file/{file_id}/programme.pdf">Programme</a>' in html


def test_hidden_file_is_not_shown(client):
    file_id = add(published=None)
    _id, html = page(client, f"::file{{file=node:{file_id}}}\n\n[Programme](node:{file_id})")
    assert str(file_id) not in html
    assert "Programme" in html


def test_photo_and_file_are_not_confused(client):
    file_id, photo_id = add(), upload(None)
    _id, html = page(
        client, f"::photo{{photo=photo:{file_id}}}\n\n::file{{file=node:{photo_id}}}\n\n![x](photo:{file_id})"
    )
    assert str(file_id) not in html
    assert "insert-file" not in html


def test_page_shows_the_current_title_and_type(client):
    file_id = add()
    page(client, f"::file{{file=node:{file_id}}}")
    seen = stored_assets.get_file(file_id).metadata.nonce
    SaveNode(user=SYSTEM, node_id=file_id, seen=seen, fields={"title": "New title"}).execute()
    assert "New title</a>" in client.get("/about").content.decode()
    ReplaceFile(user=SYSTEM, photo_id=file_id, filename="notes.txt").begin().write([b"Notes"])
    assert "TXT, 5\xa0bytes" in client.get("/about").content.decode()


def test_ten_files_are_read_together(client):
    ids = [add(f"{number}.pdf") for number in range(10)]
    counts = []
    for slug, used in (("one", ids[:1]), ("ten", ids)):
        build.node(slug=slug, text="\n\n".join(f"::file{{file=node:{file_id}}}" for file_id in used))
        client.get("/")
        with CommandLog().recorded() as log:
            assert client.get(f"/{slug}").status_code == 200
        counts.append(len(log))
    assert counts[0] == counts[1]
