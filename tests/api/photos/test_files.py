"""Files in the API: uploading, reading, replacing, and uploading in pieces."""

import json

from bson import ObjectId

from cms.testing import build
from nodes.selectors import stored_assets
from tests.api.photos.sending import body, problem, send
from tests.support.nodes import photo_build
from tests.support.nodes.photo_build import audit, count

PDF = b"%PDF-1.7\n" + bytes(range(256)) * 2_000


def post(asker, data=PDF, query="filename=programme.pdf", kind="application/pdf", **headers):
    return send(asker, "POST", f"/files?{query}", data, kind, **headers)


def test_file_is_uploaded_read_and_replaced(editor, visitor):
    created = post(editor, query="filename=programme.pdf&publish=true&title=Programme&tags=fern")
    assert created.status_code == 201
    said = created.json()
    assert (said["title"], said["duplicates"]) == ("Programme", [])
    path = said["file"].removeprefix("/api/v1")
    whole = visitor.get(path)
    assert (body(whole), whole["Content-Type"], whole["Cache-Control"]) == (PDF, "application/pdf", "public, no-cache")
    assert body(visitor.get(path, Range="bytes=10-19")) == PDF[10:20]
    node = visitor.get(f"/nodes/{said['id']}").json()
    assert (node["type"], node["file"]["size"], node["path"]) == (
        "file",
        len(PDF),
        f"/media/file/{said['id']}/programme.pdf",
    )
    change = f"/files/{said['id']}/content?filename=notes.txt"
    assert problem(send(editor, "PUT", change, b"Notes", "text/plain", If_Match=f'"{ObjectId()}"')) == (412, "stale")
    assert send(editor, "PUT", change, b"Notes", "text/plain", If_Match=f'"{said["nonce"]}"').status_code == 200
    assert body(visitor.get(path)) == b"Notes"
    audit()


def test_hidden_file_needs_permission(editor, visitor):
    said = post(editor, query=f"filename=a.pdf&publish=true&section={build.node('folder', published=None)}").json()
    path = said["file"].removeprefix("/api/v1")
    assert [asker.get(path).status_code for asker in (visitor, editor)] == [404, 200]
    assert visitor.get(f"/nodes/{said['id']}").status_code == 404


def test_refused_uploads_store_nothing(editor, visitor, settings):
    settings.FILES_MAX_BYTES = 1_000
    before = count()
    assert post(visitor).status_code == 401
    assert problem(post(editor)) == (413, "too-large")
    assert problem(post(editor, b"a=1", kind="application/x-www-form-urlencoded")) == (415, "unsupported-media-type")
    assert problem(post(editor, b"x", f"filename=a.txt&section={ObjectId()}"))[0] == 422
    assert count() == before


def test_repeated_upload_creates_one_file(editor):
    first, second = (post(editor, Idempotency_Key="one").json() for _attempt in range(2))
    assert first["id"] == second["id"]


def test_photos_and_files_have_separate_endpoints(editor, visitor):
    photo_id = photo_build.upload(None)
    file_id = post(editor, query="filename=a.pdf&publish=true").json()["id"]
    assert visitor.get(f"/files/{photo_id}/file").status_code == 404
    assert visitor.get(f"/photos/{file_id}/file").status_code == 404


def test_file_is_uploaded_in_pieces(editor):
    announced = {"filename": "programme.pdf", "length": len(PDF), "publish": True}
    begun = send(editor, "POST", "/files/uploads", json.dumps(announced).encode(), "application/json")
    assert begun.status_code == 201, begun.content
    path = begun["Location"].removeprefix("/api/v1")
    half = 255 * 1024
    octets = "application/octet-stream"

    def put(path, start, stop):
        return send(editor, "PUT", path, PDF[start:stop], octets, Content_Range=f"bytes {start}-{stop - 1}/{len(PDF)}")

    assert put(path.replace("/files/", "/photos/"), 0, half).status_code == 404
    assert put(path, 0, half).status_code == 308
    finished = put(path, half, len(PDF))
    assert finished.status_code == 201, finished.content
    assert stored_assets.get_file(finished.json()["id"]).metadata.detail.size == len(PDF)
    audit()
