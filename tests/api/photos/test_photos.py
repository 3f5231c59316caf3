"""Photo files in the API: reading ranges, uploading, replacing."""

import io
import json
import threading
import tracemalloc
from typing import Any

import pytest
from bson import ObjectId
from django.test import override_settings
from PIL import Image

from api.rights.scopes import Scope
from cms.testing import build
from marginalia.mongo.clock import now
from nodes.services import editing, trash
from photos.assets.exif import Base
from photos.assets.locks import STALE_AFTER
from photos.services import photos
from tests.api.photos.sending import OTHER, body, field, post, problem, send
from tests.support.interrupting import before_command
from tests.support.nodes import photo_build, pictures
from tests.support.nodes.photo_build import audit, count, document, shown
from tests.support.nodes.pictures import exif_block

LAKE = pictures.jpeg()
NOISE = pictures.encoded("PNG", pictures.image((1100, 800), seed=5).effect_spread(100), compress_level=0)


def test_file_supports_ranges_and_etags(visitor, gallery):
    key = photo_build.upload(gallery, OTHER, "lake.png")
    path = f"/photos/{key}/file"
    whole = visitor.get(path)
    assert (whole.status_code, body(whole), whole["Content-Type"]) == (200, OTHER, "image/png")
    assert (whole["Cache-Control"], whole["Accept-Ranges"]) == ("public, no-cache", "bytes")
    part = visitor.get(path, Range="bytes=10-19", If_Range=whole["ETag"])
    assert (part.status_code, body(part), part["Content-Range"]) == (206, OTHER[10:20], f"bytes 10-19/{len(OTHER)}")
    assert visitor.get(path, If_None_Match=whole["ETag"]).status_code == 304
    assert visitor.get(path, Range="bytes=999999-").status_code == 416
    head = visitor.client.head(f"/api/v1{path}")
    assert (head.status_code, body(head), head["Content-Length"]) == (200, b"", str(len(OTHER)))
    photo_build.replace(key, LAKE, "lake.jpg")
    other = visitor.get(path, Range="bytes=10-19", If_Range=whole["ETag"])
    assert (other.status_code, body(other)) == (200, shown(key))


def test_readers_get_only_the_crop_of_a_cropped_photo(visitor, gallery):
    key = photo_build.upload(gallery, OTHER, "lake.png")
    photos.save(build.EDITOR, key, document(key)["metadata"]["nonce"], {"detail.crop": [0.5, 0, 0.5, 1]})
    answer = visitor.get(f"/photos/{key}/file")
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/jpeg")
    assert Image.open(io.BytesIO(body(answer))).size == (30, 40)


def test_file_of_a_hidden_photo_needs_permission(visitor, author, editor, account, asker, gallery):
    key = photo_build.upload(gallery, OTHER, "lake.png", fields={"published": None})
    path = f"/photos/{key}/file"
    reader = asker(account("rea"), Scope.READ)
    assert [one.get(path).status_code for one in (visitor, reader, author, editor)] == [404, 404, 200, 200]
    answer = editor.get(path)
    assert body(answer) == OTHER
    assert (answer["Cache-Control"], answer["Vary"]) == ("private, no-cache", "Authorization, Cookie")
    assert problem(visitor.get(f"/photos/{ObjectId()}/file")) == problem(visitor.get(path)) == (404, "not-found")


def test_uploader_describes_a_photo_until_it_is_published(author, account, asker, editor, gallery):
    made = post(author, gallery)
    said, etag = json.loads(made.content), made["ETag"]
    path, key = said["node"].removeprefix("/api/v1"), ObjectId(said["id"])

    def describe(who, words, seen):
        return who.send("PATCH", path, words, If_Match=seen)

    words = {"title": "Lake", "summary": "Short", "tags": ["a"], "detail": {"alt": "A lake", "focal": [0.2, 0.4]}}
    other = asker(account("bob", "Authors"), Scope.WRITE)
    assert problem(describe(other, words, etag)) == (403, "forbidden")
    assert problem(other.send("POST", f"{path}/tags", {"add": ["b"]})) == (403, "forbidden")
    for more in ({"slug": "x"}, {"detail": {"crop": [0, 0, 0.5, 0.5]}}, {"published": "2021-01-01T00:00:00Z"}):
        assert problem(describe(author, {**words, **more}, etag)) == (403, "forbidden"), more
    for act in ("publish", "trash"):
        assert problem(author.send("POST", f"{path}/{act}", If_Match=etag)) == (403, "forbidden")
    answer = describe(author, words, etag)
    assert answer.status_code == 200, answer.content
    assert author.send("POST", f"{path}/tags", {"add": ["b"]}).status_code == 200
    stored = document(key)["metadata"]
    assert (stored["title"], stored["summary"], stored["tags"]) == ("Lake", "Short", ["a", "b"])
    assert (stored["detail"]["alt"], stored["detail"]["focal"]) == ("A lake", [0.2, 0.4])

    def publish():
        assert editor.send("POST", f"{path}/publish", If_Match=answer["ETag"]).status_code == 200

    # The photo is published before the description arrives.
    with before_command("insert", "cms.revisions", publish):
        assert problem(describe(author, {"title": "Late"}, answer["ETag"])) == (403, "forbidden")
    assert problem(describe(author, {"title": "Late"}, f'"{document(key)["metadata"]["nonce"]}"')) == (403, "forbidden")
    assert problem(author.send("POST", f"{path}/tags", {"add": ["c"]})) == (403, "forbidden")
    assert (document(key)["metadata"]["title"], document(key)["metadata"]["tags"]) == ("Lake", ["a", "b"])


def test_upload_creates_a_photo(author, gallery):
    answer = post(author, gallery, LAKE, "&title=Lake&alt=A+lake&tags=a&tags=b", kind="image/jpeg")
    assert problem(answer) == (422, "invalid")  # the name has a PNG extension
    answer = send(
        author,
        "POST",
        f"/photos?gallery={gallery}&filename=lake.jpg&title=Lake&alt=A+lake&tags=a&tags=b",
        LAKE,
        "image/jpeg",
    )
    said = json.loads(answer.content)
    assert (answer.status_code, answer["Location"]) == (201, f"/api/v1/nodes/{said['id']}")
    stored = document(ObjectId(said["id"]))["metadata"]
    assert (stored["title"], stored["slug"], stored["tags"], stored["published"]) == ("Lake", "lake", ["a", "b"], None)
    assert (stored["detail"]["alt"], stored["parent_id"], stored["author"]["name"]) == ("A lake", gallery, "ann")
    assert said["nonce"] == str(stored["nonce"])
    assert author.read(said["node"].removeprefix("/api/v1"))["title"] == "Lake"
    audit()
    twin = send(author, "POST", f"/photos?gallery={gallery}&filename=lake.jpg", LAKE, "image/jpeg")
    assert json.loads(twin.content)["duplicates"] == [said["id"]]


def test_upload_as_octet_stream_stores_the_detected_type(author, gallery):
    answer = post(author, gallery, OTHER, kind="application/octet-stream")
    assert answer.status_code == 201
    key = ObjectId(json.loads(answer.content)["id"])
    assert document(key)["metadata"]["detail"]["content_type"] == "image/png"


def test_photo_with_unusual_exif_types_is_accepted(author, gallery):
    make = exif_block(Base.Make, 5, inner=False)
    data = pictures.encoded("PNG", exif=b"Exif\0\0" + make)
    assert post(author, gallery, data).status_code == 201
    audit()


def test_invalid_upload_is_refused_and_stores_nothing(author, editor, visitor, account, asker, gallery, mongo):
    blog = build.node("blog", "news")
    nothing = count()
    reading = asker(account("rea", "Editors"), Scope.READ)
    refused = {
        problem(answer)
        for answer in (
            post(visitor, gallery),
            post(reading, gallery),
            post(author, gallery, more="&publish=true&alt=x"),
            post(author, ObjectId()),
            post(editor, gallery, more="&publish=true"),
            post(editor, blog),
            post(editor, ObjectId()),
            post(editor, gallery, more="&slug=a/b"),
            post(editor, gallery, more="&detail.alt=x"),
            post(editor, gallery, b"no picture"),
            post(editor, gallery, OTHER[:-30]),
            post(editor, gallery, kind="text/plain"),
            post(editor, gallery, kind="multipart/form-data; boundary=b"),
            post(editor, gallery, Idempotency_Key="x" * 256),
        )
    }
    assert refused == {
        (400, "bad-request"),
        (401, "unauthorized"),
        (403, "forbidden"),
        (422, "invalid"),
        (415, "unsupported-media-type"),
    }
    queries = ("&slug=a/b", "&title=%00", "&summary=a%00")
    assert [field(post(editor, gallery, more=query)) for query in queries] == [
        "query.slug",
        "query.title",
        "query.summary",
    ]
    assert [field(post(editor, *wrong)) for wrong in ((blog,), (gallery, b"x"))] == ["query.gallery", "body"]
    with override_settings(PHOTOS={"MAX_BYTES": len(OTHER) - 1}):
        assert problem(post(editor, gallery)) == (413, "too-large")
    assert count() == nothing
    assert mongo["rate_limits"].count_documents({"_id": {"$regex": "^lease:"}}) == 0
    published = json.loads(post(editor, gallery, more="&publish=true&alt=x&slug=a").content)
    assert document(ObjectId(published["id"]))["metadata"]["published"] <= now()
    taken = post(editor, gallery, more="&slug=a")
    assert problem(taken) == (409, "conflict")
    assert json.loads(taken.content)["free"] == "a-2"


def test_upload_sent_again_with_one_key_creates_one_photo(author, editor, gallery):
    first = post(author, gallery, Idempotency_Key="one")
    again = post(author, gallery, LAKE, more="&title=Other", Idempotency_Key="one")
    assert first.status_code == again.status_code == 201
    assert json.loads(first.content) == json.loads(again.content)
    assert count()[0] == 1
    others = [post(author, gallery, Idempotency_Key="two"), post(editor, gallery, Idempotency_Key="one")]
    assert {one.status_code for one in others} == {201}
    assert count()[0] == 3
    key = ObjectId(json.loads(first.content)["id"])
    trash.trash(build.EDITOR, key, document(key)["metadata"]["nonce"], collection="cms.assets.files")
    assert problem(post(author, gallery, Idempotency_Key="one")) == (409, "conflict")


def test_concurrent_uploads_with_one_key_create_one_photo(account, asker, gallery):
    user = account("ann", "Authors")
    askers = [asker(user, Scope.WRITE) for _n in range(6)]
    together, answers = threading.Barrier(len(askers)), []

    def work(one: Any) -> None:
        together.wait()
        answers.append(post(one, gallery, NOISE, Idempotency_Key="one"))

    threads = [threading.Thread(target=work, args=(one,)) for one in askers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.status_code for one in answers} <= {201, 409}
    assert all(one["Retry-After"] for one in answers if one.status_code == 409)
    made = {json.loads(one.content)["id"] for one in answers if one.status_code == 201}
    assert len(made) == 1
    assert count()[0] == 1
    assert shown(ObjectId(made.pop())) == NOISE
    audit()


def test_upload_of_a_dead_process_is_completed_by_a_retry(author, gallery, mongo):
    files = mongo["cms.assets.files"]
    made = json.loads(post(author, gallery, NOISE, Idempotency_Key="one").content)["id"]
    files.update_one({"_id": ObjectId(made)}, {"$set": {"metadata.content_id": None, "metadata.locked": now()}})
    waiting = post(author, gallery, NOISE, Idempotency_Key="one")
    assert problem(waiting) == (409, "conflict")
    assert waiting["Retry-After"]
    files.update_one({"_id": ObjectId(made)}, {"$set": {"metadata.locked": now() - STALE_AFTER - STALE_AFTER}})
    again = post(author, gallery, NOISE, Idempotency_Key="one")
    assert (again.status_code, json.loads(again.content)["id"]) == (201, made)
    assert shown(ObjectId(made)) == NOISE
    audit()


def test_replacement_needs_the_current_version(visitor, author, editor, gallery):
    key = photo_build.upload(gallery, OTHER, "lake.png", tags=("a",))
    before = document(key)["metadata"]
    seen, path = f'"{before["nonce"]}.abc"', f"/photos/{key}/content?filename=lake.png"
    assert problem(send(visitor, "PUT", path, NOISE, If_Match=seen)) == (401, "unauthorized")
    assert problem(send(author, "PUT", path, NOISE, If_Match=seen)) == (403, "forbidden")
    assert problem(send(editor, "PUT", path, NOISE)) == (428, "if-match-needed")
    assert problem(send(editor, "PUT", path, NOISE, If_Match=f'"{ObjectId()}"')) == (412, "stale")
    assert problem(send(editor, "PUT", path, b"none", If_Match=seen)) == (422, "invalid")
    assert shown(key) == OTHER
    answer = send(editor, "PUT", path, NOISE, If_Match=seen)
    after = document(key)["metadata"]
    assert (answer.status_code, json.loads(answer.content)["nonce"]) == (200, str(after["nonce"]))
    assert shown(key) == NOISE
    assert {name: after[name] for name in ("slug", "tags", "title")} == {
        name: before[name] for name in ("slug", "tags", "title")
    }
    assert problem(send(editor, "PUT", path, OTHER, If_Match=seen)) == (412, "stale")
    assert send(editor, "PUT", path, OTHER, If_Match=answer["ETag"]).status_code == 200
    assert shown(key) == OTHER


def test_replacement_conflicts_with_a_save_during_the_upload(gallery):
    key = photo_build.upload(gallery, OTHER, "lake.png")
    nonce = document(key)["metadata"]["nonce"]
    coming = photos.Replacement(build.EDITOR, key, "lake.png", seen_nonce=nonce)
    photo_build.send(coming, NOISE)
    editing.save(build.EDITOR, key, nonce, {"title": "Other"}, collection="cms.assets.files")
    with pytest.raises(photos.ChangedSince):
        coming.finish()
    assert (shown(key), document(key)["metadata"]["locked"]) == (OTHER, None)
    photo_build.replace(key, NOISE, "lake.png")
    assert shown(key) == NOISE


def test_photo_is_locked_while_it_is_replaced(editor, gallery):
    key = photo_build.upload(gallery, OTHER, "lake.png")
    seen, path = f'"{document(key)["metadata"]["nonce"]}"', f"/photos/{key}/content?filename=lake.png"
    held = photos.Replacement(build.EDITOR, key, "lake.png")
    answer = send(editor, "PUT", path, NOISE, If_Match=seen)
    assert problem(answer) == (409, "conflict")
    assert answer["Retry-After"]
    held.abort()
    assert send(editor, "PUT", path, NOISE, If_Match=seen).status_code == 200


class Zeros(io.RawIOBase):
    """A picture followed by zeros, generated while it is read.

    `largest` is the largest number of bytes requested at once.
    """

    def __init__(self, begin: bytes, length: int) -> None:
        self._begin, self.left, self.largest = begin, length, 0

    def read(self, size: int = -1) -> bytes:
        self.largest = max(self.largest, size)
        size = min(size, self.left)
        begin, self._begin = self._begin[:size], self._begin[size:]
        self.left -= size
        return begin + bytes(size - len(begin))


def stream(asker: Any, gallery: ObjectId, source: io.IOBase, length: int) -> Any:
    """Return the response to an upload whose body is read from `source`."""
    said = {"wsgi.input": source, "CONTENT_TYPE": "image/jpeg", "CONTENT_LENGTH": str(length)}
    path = f"/api/v1/photos?gallery={gallery}&filename=lake"
    return asker.client.generic("POST", path, **said)


def test_large_body_is_never_whole_in_memory(author, gallery):
    length = 24 * 2**20
    post(author, gallery)  # everything that is loaded once
    source = Zeros(LAKE, length)
    tracemalloc.start()
    try:
        answer = stream(author, gallery, source, length)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (answer.status_code, source.left) == (201, 0), answer.content
    assert source.largest <= 2**20
    assert peak < length / 2


def test_interrupted_upload_stores_nothing(author, gallery):
    nothing = count()
    answer = stream(author, gallery, io.BytesIO(NOISE[:-9]), len(NOISE))
    assert problem(answer) == (400, "bad-request")
    assert count() == nothing
    answer = stream(author, gallery, io.BytesIO(NOISE), len(NOISE))
    assert shown(ObjectId(json.loads(answer.content)["id"])) == NOISE
