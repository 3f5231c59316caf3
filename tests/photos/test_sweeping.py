"""Sweeping: what is deleted, in few commands, each to the right shards, by one sweep at a time."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from bson import ObjectId
from django.core.management import call_command

from cms.testing import build
from marginalia.mongo.clock import now
from marginalia.mongo.collections import declared_collections
from marginalia.mongo.connection import database
from nodes.selectors import stored_photos
from photos.addresses import copy_path, square_path
from photos.assets import locks
from photos.assets.locks import STALE_AFTER
from photos.services import photos
from photos.services.sweeping import Swept, exclusively, sweep
from tests.support import routing
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, document, gallery, replace, send, shown, upload
from tests.support.processes import until

pytestmark = pytest.mark.usefixtures("mongo")

LATER = timedelta(days=3)
MANY = 1_000


def stall(copies: int) -> None:
    """Store the given number of uploads that stopped after their first chunk."""
    db, parents = database(), [gallery(f"stalled-{n}") for n in range(5)]
    coming = document(upload(gallery("model")))
    files, chunks = [], []
    for n in range(copies):
        place = {"parent_id": parents[n % 5], "slug": f"stalled-{n}", "content_id": None}
        metadata = {**coming["metadata"], **place, "locked": now() - 2 * STALE_AFTER}
        files.append({**coming, "_id": ObjectId(), "length": 0, "metadata": metadata})
        chunks.append({"_id": ObjectId(), "files_id": files[-1]["_id"], "n": 0, "data": b"x" * 100})
    db["cms.assets.files"].insert_many(files)
    db["cms.assets.chunks"].insert_many(chunks)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("sweep_uploads", *arguments, stdout=out)
    return out.getvalue()


def test_stalled_upload_is_swept_and_reported():
    replace(upload(gallery()), pictures.png())
    photos.Upload(build.EDITOR, gallery("other"), "stalled.png")
    database()["cms.assets.files"].update_many(
        {"metadata.locked": {"$ne": None}}, {"$set": {"metadata.locked": now() - STALE_AFTER - timedelta(minutes=1)}}
    )
    assert run("--dry-run").startswith("Dry run: would delete: 1 stalled uploads")
    assert run().startswith("Deleted: 1 stalled uploads")
    assert run().startswith("Deleted: 0 stalled uploads")
    audit()


def test_slow_upload_is_not_swept(monkeypatch):
    monkeypatch.setattr(locks, "RENEW_INTERVAL", timedelta(milliseconds=20))
    picture = pictures.encoded("PNG", pictures.image((600, 400)), compress_level=0)
    coming = photos.Upload(build.EDITOR, gallery(), "a.png")
    coming.feed(picture[:1000])
    begun = document(coming.id)["metadata"]["locked"]
    until(lambda: document(coming.id)["metadata"]["locked"] > begun)
    # Without the renewal, the upload would be swept at this moment.
    assert sweep(moment=begun + STALE_AFTER + timedelta(milliseconds=1)) == Swept()
    send(coming, picture[1000:])
    assert shown(coming.finish().id) == picture


def test_copies_without_a_url_are_swept(client, settings):
    photo_id = upload(gallery())
    photo = stored_photos.get(photo_id)
    for address in (copy_path(photo, 320), copy_path(photo, 640), square_path(photo, 160)):
        assert client.get(address).status_code == 200
    photos.save(build.EDITOR, photo_id, photo.metadata.nonce, {"detail.focal": [0.1, 0.9]})
    settings.PHOTOS = {"WIDTHS": (320, 960)}
    assert client.get(square_path(stored_photos.get(photo_id), 160)).status_code == 200
    assert sweep().renditions == 0, "they may just have been told to a reader"
    later = now() + timedelta(hours=2)
    assert sweep(dry_run=True, moment=later).renditions == 2
    assert sweep(moment=later).renditions == 2
    left = database()["cms.renditions.files"].distinct("metadata.spec")
    assert left == ["s160-10x90.jpg", "w320.jpg"]
    audit()


@pytest.mark.slow
def test_thousand_stalled_uploads_take_a_hundred_commands(commands):
    stall(MANY)
    with commands.recorded():
        assert sweep() == Swept(stalled=MANY)
    assert len(commands) <= MANY // 10
    assert count()[:2] == (1, 1)
    audit()


def test_healthy_photos_take_few_commands(commands, client):
    db = database()
    model = document(upload(gallery()))
    files, chunks = [], []
    for n in range(MANY):
        content_id = ObjectId()
        metadata = {**model["metadata"], "slug": f"photo-{n}", "content_id": content_id}
        files.append({**model, "_id": content_id, "metadata": metadata})
        chunks.append({"_id": ObjectId(), "files_id": content_id, "n": 0, "data": b"x"})
    db["cms.assets.files"].insert_many(files)
    db["cms.assets.chunks"].insert_many(chunks)
    with commands.recorded():
        assert sweep(moment=now() + LATER) == Swept()
    assert len(commands) <= MANY // 10


def test_sweep_writes_only_to_the_right_shards(commands, client):
    stall(3)
    photo_id = upload(gallery("photos"))
    assert client.get(f"/media/{photo_id}/{photo_id}/w320.webp").status_code == 200
    replace(photo_id, pictures.png(), "new.png")
    replace(photo_id, pictures.webp(), "newer.webp")
    lost = {"_id": ObjectId(), "files_id": ObjectId(), "n": 0, "data": b"x"}
    database()["cms.assets.chunks"].insert_one(lost)
    known = {item.collection.name: item.collection for item in declared_collections()}
    with commands.recorded():
        for moment in (now() + LATER, now() + 2 * LATER):
            sweep(moment=moment)
    writes = [
        one
        for event in commands.sent
        if event.command_name in ("update", "delete", "findAndModify")
        for one in routing.operations(event.command_name, event.command)
        if one.collection in known
    ]
    assert {one.collection for one in writes} >= {"cms.assets.files", "cms.assets.chunks", "cms.renditions.files"}
    for one in writes:
        assert routing.is_allowed(one, known[one.collection]), one
        assert routing.is_routed(one, known[one.collection]), one
    audit()


def test_ids_of_other_types_are_swept_too():
    kept = upload(gallery())
    for lost in ("a text", 7, ObjectId()):
        chunk = {"files_id": lost, "n": 0, "data": b"x"}
        database()["cms.assets.chunks"].insert_one(chunk, bypass_document_validation=True)
    assert sweep() == Swept(orphans=3)
    assert database()["cms.assets.chunks"].distinct("files_id") == [kept]


OF_FILES = [
    {"$unset": {"metadata": 1}},
    {"$set": {"metadata": "a text"}},
    *(
        {"$unset": {f"metadata.{name}": 1}}
        for name in ("type", "parent_id", "slug", "content_id", "detail", "superseded")
    ),
    {"$set": {"metadata.detail": "a text"}},
    {"$set": {"metadata.detail.focal": 7}},
    {"$set": {"metadata.superseded": "a text"}},
]
OF_COPIES = [
    {"$unset": {"metadata": 1}},
    {"$set": {"metadata": "a text"}},
    {"$unset": {"metadata.source": 1}},
    {"$unset": {"metadata.spec": 1}},
    {"$unset": {"uploadDate": 1}},
]


def harm(collection: str, query: dict[str, Any], damage: dict[str, Any]) -> None:
    """Change a document without validation."""
    database().command("update", collection, updates=[{"q": query, "u": damage}], bypassDocumentValidation=True)


def sweep_late() -> None:
    """Sweep twice, after every grace period."""
    for moment in (now() + LATER, now() + 2 * LATER):
        sweep(dry_run=True, moment=moment)
        sweep(moment=moment)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("damage", OF_COPIES, ids=str)
def test_sweep_deletes_damaged_copies(client, damage):
    photo_id = upload(gallery())
    copies = [f"/media/{photo_id}/{photo_id}/w320.{extension}" for extension in ("webp", "jpg")]
    assert [client.get(copy).status_code for copy in copies] == [200, 200]
    stored = database()["cms.renditions.files"]
    harm(stored.name, {"metadata.spec": "w320.webp"}, damage)
    sweep_late()
    assert stored.count_documents({}) == 1, "what is damaged can be made again"
    audit()
    assert [client.get(copy).status_code for copy in copies] == [200, 200]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("damage", OF_FILES, ids=str)
@pytest.mark.parametrize("kind", ["photo", "photo-content"])
def test_sweep_keeps_content_a_damaged_photo_could_show(client, damage, kind):
    photo_id, stored = upload(gallery("photos")), database()["cms.assets.files"]
    assert client.get(f"/media/{photo_id}/{photo_id}/w320.webp").status_code == 200
    current = replace(photo_id, pictures.png(), "new.png")
    harm(stored.name, {"metadata.type": kind}, damage)
    stall(1)
    sweep_late()
    assert stored.count_documents({"metadata.locked": {"$ne": None}}) == 0
    assert stored.find_one({"_id": current})["length"] > 0
    assert database()["cms.assets.chunks"].count_documents({"files_id": current}) > 0


def test_sweeps_run_one_at_a_time():
    stall(1)
    with exclusively() as first, exclusively() as second:
        assert (first, second) == (True, False)
        assert run() == "Another sweep is already running. Nothing was deleted.\n"
    assert run().startswith("Deleted: 1 stalled uploads,")


def test_lease_of_a_dead_sweeper_expires():
    with exclusively():
        database()["rate_limits"].update_one({"_id": "lease:sweep_uploads"}, {"$set": {"expires": now()}})
        with exclusively() as second:
            assert second
        with exclusively() as third:
            assert third
