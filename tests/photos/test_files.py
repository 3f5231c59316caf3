"""Files: uploads, downloads, permissions, replacements and deletion."""

import io
import zipfile

import pytest
from bson import ObjectId
from django.test import Client

from cms.testing import build
from cms.testing.photos import send
from marginalia.mongo.connection import database
from nodes.access import System
from nodes.actions import Delete, Trash
from nodes.errors import ChangedSince
from nodes.selectors import stored_assets, stored_photos
from photos import damage
from photos.actions import ReplaceFile, RestoreContent, UploadFile
from photos.assets.blobs import detect_type
from photos.assets.errors import BadFile
from photos.services import sweeping
from tests.support.commands import CommandLog
from tests.support.nodes.photo_build import audit, count, upload
from tests.support.nodes.photo_forms import user

pytestmark = pytest.mark.usefixtures("mongo")

PDF = b"%PDF-1.7\n" + b"page " * 100_000
SYSTEM = System("Ann")


def zip_file() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 10_000_000)
    return target.getvalue()


def add(data: bytes = PDF, name: str = "programme.pdf", section: ObjectId | None = None, **options) -> ObjectId:
    """Upload a file, and return its id. By default, it is public."""
    fields = {"published": build.PAST, **options.pop("fields", {})}
    action = UploadFile(user=options.pop("user", SYSTEM), gallery_id=section, filename=name, fields=fields, **options)
    return action.execute(data[start : start + 50_000] for start in range(0, len(data), 50_000)).id


def url(file_id: ObjectId) -> str:
    return stored_assets.get_file(file_id).get_absolute_url()


def read(client: Client, path: str, **headers: str) -> bytes:
    return b"".join(client.get(path, headers=headers).streaming_content)


def test_file_is_stored_and_sent_in_ranges(client):
    file_id = add()
    response = client.get(url(file_id))
    assert b"".join(response.streaming_content) == PDF
    assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("application/pdf", "nosniff")
    assert response["Content-Disposition"] == 'inline; filename="programme.pdf"'
    assert response["Cache-Control"] == "public, no-cache"
    part = client.get(url(file_id), headers={"range": "bytes=300000-300009"})
    assert (part.status_code, b"".join(part.streaming_content)) == (206, PDF[300_000:300_010])
    assert client.get(url(file_id), headers={"if-none-match": response["ETag"]}).status_code == 304
    audit()


@pytest.mark.parametrize(
    ("name", "data", "content_type"),
    [
        ("a.html", b"<!doctype html><script>alert(1)</script>", "text/html"),
        ("a.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "image/svg+xml"),
        ("a.pdf", b"<!doctype html><script>alert(1)</script>", "text/html"),
        ("a.mp3", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "application/xml"),
        ("a.png", b"MZ\x90\0" + b"\0" * 500, "application/vnd.microsoft.portable-executable"),
        ("a.txt", b"text\0more", "application/octet-stream"),
    ],
)
def test_types_that_could_contain_scripts_are_only_downloaded(client, name, data, content_type):
    response = client.get(url(add(data, name)))
    assert response["Content-Type"].partition(";")[0] == content_type
    assert response["Content-Disposition"].startswith("attachment")
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "head", "content_type"),
    [
        ("a.mp4", b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41", "video/mp4"),
        (
            "a.webm",
            b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm",
            "video/webm",
        ),
        ("a.mp3", b"ID3\x04\0\0\0\0\0\x23TSSE", "audio/mpeg"),
        ("a.mp3", b"\xff\xfb\x90\x64", "audio/mpeg"),
        ("a.m4a", b"\0\0\0\x20ftypM4A \0\0\2\0M4A mp42isom", "audio/mp4"),
        ("a.ogg", b"OggS\0\2" + b"\0" * 22 + b"\x01\x1e\x01vorbis", "audio/ogg"),
        ("a.wav", b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        ("A.PDF", b"%PDF-1.7\n", "application/pdf"),
        ("a.txt", "Wörter".encode()[:-1] + "ö".encode()[:1], "text/plain"),
        ("notes", b"a,b\n1,2\n", "text/plain"),
        ("a.bin", bytes(range(256)), "application/octet-stream"),
    ],
)
def test_content_determines_the_type(name, head, content_type):
    assert detect_type(head + b"\0" * 500 if content_type[0] in "va" and content_type[:2] != "ap" else head, name) == (
        content_type
    )


def test_archives_are_stored_as_they_are(client):
    data = zip_file()
    file_id = add(data, "archive.zip")
    assert read(client, url(file_id)) == data
    assert stored_assets.get_file(file_id).metadata.detail.content_type == "application/zip"


@pytest.mark.parametrize("data", [b"", b"x" * 2_000_000])
def test_empty_and_large_files_are_refused_and_store_nothing(settings, data):
    settings.FILES_MAX_BYTES = 1_000_000
    before = count()
    with pytest.raises(BadFile, match="empty|The maximum size"):
        add(data, "a.bin")
    assert count() == before
    audit()


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a\r\nX-Evil: 1.pdf", "文件 “1”.pdf", 'a"b;c.pdf', "\0.pdf", "." * 300]
)
def test_hostile_names_change_neither_urls_nor_headers(client, name):
    response = client.get(url(add(name=name)))
    assert response.status_code == 200
    assert "X-Evil" not in response.headers
    assert not {"\r", "\n", "\0"} & set(response["Content-Disposition"])
    assert "/" not in stored_assets.get_file(ObjectId(url_id(response))).filename


def url_id(response) -> str:
    return response.request["PATH_INFO"].split("/")[3]


def test_unpublished_file_is_sent_only_to_editors(client):
    file_id = add(fields={"published": None})
    assert client.get(url(file_id)).status_code == 404
    client.force_login(user("publish_node"))
    response = client.get(url(file_id))
    assert (response.status_code, response["Cache-Control"]) == (200, "private, no-store")


def test_file_in_an_unpublished_section_is_not_sent(client):
    folder = build.node("folder", "members", published=None)
    assert client.get(url(add(section=folder))).status_code == 404
    assert client.get(url(add(section=build.node("folder", "open")))).status_code == 200


def test_replaced_file_keeps_its_url(client):
    file_id = add()
    path = url(file_id)
    etag = client.get(path)["ETag"]
    ReplaceFile(user=SYSTEM, photo_id=file_id, filename="programme-2.txt").begin().write([b"New text"])
    response = client.get(path)
    assert (b"".join(response.streaming_content), response["Content-Type"]) == (
        b"New text",
        "text/plain; charset=utf-8",
    )
    assert response["ETag"] != etag
    former = stored_photos.former_contents(stored_assets.get_file(file_id))
    assert [content.filename for content in former] == ["programme.pdf"]
    RestoreContent(user=SYSTEM, node_id=file_id, content_id=former[0].id).execute()
    assert read(client, path) == PDF
    audit()


def test_second_of_two_replacements_of_the_same_version_is_refused():
    file_id = add()
    seen = stored_assets.get_file(file_id).metadata.nonce
    ReplaceFile(user=SYSTEM, photo_id=file_id, filename="a.txt", seen=seen).begin().write([b"First"])
    with pytest.raises(ChangedSince):
        ReplaceFile(user=SYSTEM, photo_id=file_id, filename="b.txt", seen=seen).begin().write([b"Second"])
    assert stored_assets.get_file(file_id).filename == "a.txt"


def test_aborted_upload_leaves_nothing():
    before = count()
    upload_ = UploadFile(user=SYSTEM, gallery_id=None, filename="a.bin").begin()
    send(upload_, PDF)
    upload_.abort()
    assert count() == before
    audit()


def test_sweep_deletes_replaced_bytes_after_the_grace_period(settings):
    settings.PHOTOS = {**settings.PHOTOS, "GRACE_HOURS": 0}
    file_id = add()
    ReplaceFile(user=SYSTEM, photo_id=file_id, filename="b.txt").begin().write([b"Second"])
    swept = sweeping.sweep()
    assert swept.superseded == 1
    assert stored_photos.former_contents(stored_assets.get_file(file_id)) == []
    assert sweeping.sweep() == sweeping.Swept()
    documents = database()["cms.assets.files"].find({}, damage.PROJECTION)
    assert list(damage.find_damaged(database(), documents)) == []


def test_deleted_file_leaves_no_bytes():
    file_id = add()
    nonce = stored_assets.get_file(file_id).metadata.nonce
    Trash(user=SYSTEM, node_id=file_id, seen=nonce).execute()
    assert stored_assets.get_file(file_id) is None
    trashed = database()["cms.trash"].find_one({"_id": file_id})["metadata"]["nonce"]
    Delete(user=SYSTEM, node_id=file_id, seen=trashed).execute()
    assert database()["cms.assets.chunks"].count_documents({"files_id": file_id}) == 0


def test_file_is_no_photo(client):
    file_id = add(tags=("fern",))
    photo_id = upload(None)
    assert stored_photos.get(file_id) is None
    assert stored_photos.by_ids([file_id, photo_id])[0].pk == photo_id
    assert str(file_id) not in client.get("/search?q=programme").content.decode()
    assert client.get("/tag/fern").status_code == 404
    assert client.get(f"/media/{file_id}").status_code == 404


def test_download_needs_few_commands(client):
    path = url(add())
    client.get(path)
    with CommandLog().recorded() as log:
        read(client, path)
    assert len(log.sent) <= 5
