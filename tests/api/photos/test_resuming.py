"""Photos uploaded in pieces: in order, after interruptions, by several clients, and with an expiry."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.test import override_settings

from api.photos.staged import LIFETIME, MAX_UPLOADS, PART_SIZE
from api.rights.scopes import Scope
from cms.testing import build
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.services import trash
from photos.assets.locks import STALE_AFTER
from tests.api.photos.sending import field, post, problem, send
from tests.support.crashing import killed_after_writes
from tests.support.nodes import photo_build, pictures
from tests.support.nodes.photo_build import audit, count, document, shown

# Three full parts and a shorter one.
PICTURE = pictures.encoded("PNG", pictures.image((620, 470), seed=5).effect_spread(100), compress_level=0)
LENGTH = len(PICTURE)


def begin(asker: Any, gallery: ObjectId, length: int = LENGTH, key: str = "", **said: Any) -> Any:
    """Return the response to the announcement of an upload."""
    announced = {"gallery": str(gallery), "filename": "lake.png", "length": length, **said}
    headers = {"Idempotency_Key": key} if key else {}
    return send(asker, "POST", "/photos/uploads", json.dumps(announced).encode(), "application/json", **headers)


def put(asker: Any, path: str, start: int, stop: int, data: bytes = PICTURE, total: int = LENGTH) -> Any:
    """Return the response to a piece."""
    named = f"bytes {start}-{stop - 1}/{total}"
    return send(asker, "PUT", path, data[start:stop], "application/octet-stream", Content_Range=named)


def ask(asker: Any, path: str, total: int = LENGTH) -> Any:
    """Return the response to the question how much of an upload has arrived."""
    return send(asker, "PUT", path, b"", Content_Range=f"bytes */{total}")


def received(answer: Any) -> int:
    """Return the number of bytes received, from a response that reports the progress."""
    assert answer.status_code in (308, 409), answer.content
    return int(answer["Range"].rpartition("-")[2]) + 1 if answer.has_header("Range") else 0


def place(answer: Any) -> str:
    assert answer.status_code == 201, answer.content
    return answer["Location"].removeprefix("/api/v1")


def stored() -> tuple[int, int]:
    """Return the numbers of stored uploads and parts."""
    db = database()
    return db["api.uploads"].count_documents({}), db["api.upload_parts"].count_documents({})


def test_pieces_in_order_create_a_photo(author, gallery, mongo):
    assert LENGTH > 3 * PART_SIZE
    path = place(begin(author, gallery, title="Lake", alt="A lake", tags=["a"]))
    assert received(ask(author, path)) == 0
    assert received(put(author, path, 0, 10)) == 0  # less than a part
    assert received(put(author, path, 0, PART_SIZE + 10)) == PART_SIZE
    assert received(put(author, path, 0, PART_SIZE)) == PART_SIZE  # once more
    assert count()[0] == 0
    gap = put(author, path, PART_SIZE + 1, 2 * PART_SIZE)
    assert problem(gap) == (409, "conflict")
    assert (received(gap), json.loads(gap.content)["received"]) == (PART_SIZE, PART_SIZE)
    assert received(put(author, path, 500, 2 * PART_SIZE)) == 2 * PART_SIZE
    assert received(ask(author, path)) == 2 * PART_SIZE
    assert stored() == (1, 2)
    begun = mongo["api.uploads"].find_one()["begun"]
    assert mongo["api.upload_parts"].distinct("begun") == [begun]
    last = put(author, path, 2 * PART_SIZE, LENGTH)
    said = json.loads(last.content)
    assert (last.status_code, last["Location"]) == (201, f"/api/v1/nodes/{said['id']}")
    key = ObjectId(said["id"])
    assert shown(key) == PICTURE
    metadata = document(key)["metadata"]
    assert (metadata["title"], metadata["tags"], metadata["detail"]["alt"]) == ("Lake", ["a"], "A lake")
    assert stored() == (0, 0)
    # The response was lost.
    for again in (put(author, path, 2 * PART_SIZE, LENGTH), ask(author, path)):
        assert (again.status_code, json.loads(again.content)) == (201, said)
    assert count()[0] == 1
    audit()


def test_upload_with_a_used_key_ignores_old_parts(author, gallery, mongo):
    path = place(begin(author, gallery, key="lake"))
    assert received(put(author, path, 0, PART_SIZE)) == PART_SIZE
    # The state left by a process that died while it removed the upload.
    mongo["api.uploads"].delete_one({})
    path = place(begin(author, gallery, key="lake"))
    assert received(ask(author, path)) == 0
    assert put(author, path, 0, LENGTH).status_code == 201


def test_upload_belongs_to_one_account(author, account, asker, visitor, gallery):
    path = place(begin(author, gallery))
    other = asker(account("bob", "Authors"), Scope.WRITE)
    reading = asker(account("cleo", "Editors"), Scope.READ)
    assert problem(put(visitor, path, 0, PART_SIZE)) == (401, "unauthorized")
    assert problem(begin(visitor, gallery)) == (401, "unauthorized")
    assert (
        problem(begin(reading, gallery)) == problem(begin(author, gallery, publish=True, alt="x")) == (403, "forbidden")
    )
    for answer in (put(other, path, 0, PART_SIZE), ask(other, path), send(other, "DELETE", path, b"")):
        assert problem(answer) == (404, "not-found")
    # A token without the scope for writing.
    idle = asker(get_user_model()._default_manager.get(username="ann"))
    for answer in (put(idle, path, 0, PART_SIZE), ask(idle, path), send(idle, "DELETE", path, b"")):
        assert problem(answer) == (403, "forbidden")
    assert stored() == (1, 0)
    put(author, path, 0, LENGTH)
    assert problem(ask(other, path)) == (404, "not-found")
    assert ask(author, path).status_code == 201


def test_invalid_announcement_is_refused_before_the_upload(author, gallery):
    for said, named in (
        ({"slug": "a/b"}, "slug"),
        ({"title": "\0"}, "title"),
        ({"summary": "\0"}, "summary"),
        ({"gallery": str(build.node("blog", "news", title="News"))}, "gallery"),
    ):
        answer = begin(author, said.pop("gallery", gallery), **said)
        assert (*problem(answer), field(answer)) == (422, "invalid", f"body.{named}")
    assert stored() == (0, 0)


def test_wrong_range_reports_the_expected_range(author, editor, gallery):
    path = place(begin(author, gallery))
    put(author, path, 0, PART_SIZE)
    for header in (
        "",
        "bytes 0-9",
        f"bytes 9-5/{LENGTH}",
        f"bytes 0-{LENGTH}/{LENGTH}",
        "bytes */1",
        "bytes 0-9/*",
        "x",
    ):
        answer = send(author, "PUT", path, b"1234567890", Content_Range=header)
        assert (problem(answer), received(answer)) == ((409, "conflict"), PART_SIZE), header
    short = send(author, "PUT", path, b"12345", Content_Range=f"bytes {PART_SIZE}-{PART_SIZE + 9}/{LENGTH}")
    assert problem(short) == (400, "bad-request")
    assert stored() == (1, 1)
    assert problem(begin(author, gallery, 0)) == (422, "invalid")
    assert problem(begin(author, gallery, **{"$set": 1})) == (422, "invalid")
    assert field(begin(editor, gallery, publish=True)) == "body.alt"
    assert field(begin(editor, ObjectId())) == "body.gallery"
    there = place(begin(editor, gone := photo_build.gallery("gone")))
    trash.trash(build.EDITOR, gone, build.nonce(gone))
    assert field(put(editor, there, 0, LENGTH)) == "body.gallery"
    assert send(editor, "DELETE", there, b"").status_code == 204
    with override_settings(PHOTOS={"MAX_BYTES": LENGTH - 1}):
        assert problem(begin(author, gallery)) == (413, "too-large")
    assert stored() == (1, 1)


def test_file_that_is_no_picture_stores_nothing(author, gallery):
    nothing = count()
    path = place(begin(author, gallery))
    answer = put(author, path, 0, LENGTH, bytes(LENGTH))
    assert problem(answer) == (422, "invalid")
    assert (count(), stored()) == (nothing, (0, 0))
    assert problem(ask(author, path)) == (404, "not-found")


def test_account_has_a_limit_of_uploads_and_can_cancel_one(author, account, asker, gallery):
    paths = [place(begin(author, gallery)) for _n in range(MAX_UPLOADS)]
    put(author, paths[0], 0, PART_SIZE)
    assert problem(begin(author, gallery)) == (409, "conflict")
    assert begin(asker(account("bob", "Authors"), Scope.WRITE), gallery).status_code == 201
    assert send(author, "DELETE", paths[0], b"").status_code == 204
    assert stored() == (MAX_UPLOADS, 0)
    assert problem(put(author, paths[0], 0, PART_SIZE)) == (404, "not-found")
    assert begin(author, gallery).status_code == 201


def test_one_key_starts_one_upload(author, gallery):
    first, again = begin(author, gallery, key="one"), begin(author, gallery, key="one")
    assert place(first) == place(again)
    put(author, place(first), 0, PART_SIZE)
    assert json.loads(begin(author, gallery, key="one").content)["received"] == PART_SIZE
    assert stored() == (1, 1)
    made = put(author, place(first), PART_SIZE, LENGTH)
    after = begin(author, gallery, key="one")
    assert (place(after), json.loads(after.content)["received"]) == (place(first), LENGTH)
    assert json.loads(ask(author, place(after)).content) == json.loads(made.content)
    # A complete upload with this key returns the same photo.
    assert json.loads(post(author, gallery, PICTURE, Idempotency_Key="one").content) == json.loads(made.content)
    assert (count()[0], stored()) == (1, (0, 0))


def test_key_of_another_announcement_is_refused(author, gallery):
    path = place(begin(author, gallery, key="one", title="Lake", tags=["a"]))
    for said in ({"title": "Hill"}, {"filename": "hill.png"}, {"tags": ["b"]}):
        answer = begin(author, gallery, key="one", **{"title": "Lake", "tags": ["a"], **said})
        assert problem(answer) == (422, "key-reused"), said
    other = photo_build.gallery("hills")
    assert problem(begin(author, other, key="one", title="Lake", tags=["a"])) == (422, "key-reused")
    assert problem(begin(author, gallery, LENGTH + 1, "one", title="Lake", tags=["a"])) == (422, "key-reused")
    assert place(begin(author, gallery, key="one", title="Lake", tags=["a"])) == path
    assert put(author, path, 0, LENGTH).status_code == 201
    assert problem(begin(author, gallery, key="one", filename="hill.png")) == (422, "key-reused")
    assert place(begin(author, gallery, key="one", title="Lake", tags=["a"])) == path
    # File names are stored in their normalized form.
    path = place(begin(author, gallery, key="two", filename="my: lake.png"))
    assert put(author, path, 0, LENGTH).status_code == 201
    assert place(begin(author, gallery, key="two", filename="my: lake.png")) == path


def test_upload_expires_after_a_day(author, gallery, mongo):
    path = place(begin(author, gallery))
    mongo["api.uploads"].update_one({}, {"$set": {"begun": now() - LIFETIME + timedelta(minutes=1)}})
    assert received(put(author, path, 0, PART_SIZE)) == PART_SIZE
    mongo["api.uploads"].update_one({}, {"$set": {"begun": now() - LIFETIME}})
    assert problem(put(author, path, PART_SIZE, LENGTH)) == (404, "not-found")
    # A finished upload uses no slot.
    assert [begin(author, gallery).status_code for _n in range(MAX_UPLOADS)] == [201] * MAX_UPLOADS
    for name in ("api.uploads", "api.upload_parts"):
        index = mongo[name].index_information()["kept_for_a_day"]
        assert index["expireAfterSeconds"] > LIFETIME.total_seconds()


def test_upload_with_missing_parts_creates_no_photo(author, gallery, mongo):
    nothing = count()
    path = place(begin(author, gallery))
    put(author, path, 0, 3 * PART_SIZE)
    mongo["api.upload_parts"].delete_one({"n": 1})
    assert problem(put(author, path, 3 * PART_SIZE, LENGTH)) == (404, "not-found")
    assert count()[0] == nothing[0]


@pytest.mark.slow
def test_upload_killed_after_any_write_resumes_to_one_photo(author, gallery, mongo):
    """The client asks for the progress and continues from there, after every interruption."""
    files = mongo["cms.assets.files"]

    def go_on(path: str) -> Any:
        answer = ask(author, path)
        while answer.status_code == 308:
            start = received(answer)
            answer = put(author, path, start, min(start + PART_SIZE, LENGTH))
        return answer

    def whole(key: str) -> None:
        go_on(place(begin(author, gallery, key=key)))

    writes = 0
    while killed_after_writes(writes, partial(whole, str(writes))):
        before = files.count_documents({"metadata.locked": None})
        path = place(begin(author, gallery, key=str(writes)))
        answer = go_on(path)
        if answer.status_code == 409:
            # The process died while it created the photo.
            long_ago = now() - STALE_AFTER - STALE_AFTER
            files.update_many({"metadata.locked": {"$ne": None}}, {"$set": {"metadata.locked": long_ago}})
            mongo["rate_limits"].delete_many({"_id": {"$regex": "^lease:"}})
            answer = ask(author, path)
        assert answer.status_code == 201, answer.content
        assert shown(ObjectId(json.loads(answer.content)["id"])) == PICTURE
        assert files.count_documents({}) <= before + 1
        assert mongo["api.uploads"].count_documents({}) == 0
        files.delete_many({})
        mongo["cms.assets.chunks"].delete_many({})
        mongo["rate_limits"].delete_many({})
        writes += 1
    assert writes > 12
