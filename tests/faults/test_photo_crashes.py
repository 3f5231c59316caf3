"""Uploads and replacements stopped after each of their writes, and their races."""

import threading
from datetime import timedelta
from unittest.mock import Mock

import pytest
from bson import ObjectId
from pymongo.errors import AutoReconnect

from cms.testing import build
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES
from nodes.errors import NodeGone
from nodes.selectors import stored_photos
from nodes.services import editing, trash
from nodes.types import Actor, TagChange
from photos.addresses import original_path
from photos.assets import contents
from photos.assets.errors import PhotoLocked, UploadLost
from photos.assets.locks import STALE_AFTER
from photos.services import photos
from photos.services.sweeping import Swept, sweep
from tests.support.crashing import killed_after_writes
from tests.support.interrupting import before_command, stopped_before_command
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, document, gallery, replace, send, shown, upload

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("mongo")]

OLD = pictures.encoded("PNG", pictures.image((700, 500)).effect_spread(100), compress_level=0)
NEW = pictures.encoded("PNG", pictures.image((1100, 800), seed=5).effect_spread(100), compress_level=0)
SOON, LATER = timedelta(minutes=10), timedelta(days=3)


def test_upload_killed_after_any_write_is_whole_or_absent():
    parent = gallery()
    empty = count()[:2]
    writes = 0
    while killed_after_writes(writes, lambda: upload(parent, NEW, "a.png")):
        writes += 1
        found = [stored_photos.get(d["_id"]) for d in database()["cms.assets.files"].find()]
        sweep(moment=now() + SOON)
        for photo in filter(None, found):
            assert shown(photo.pk) == NEW
            database()["cms.assets.chunks"].delete_many({"files_id": photo.pk})
            database()["cms.assets.files"].delete_one({"_id": photo.pk})
        assert count()[:2] == empty
    assert writes >= 6
    audit()


def test_replacement_killed_after_any_write_is_old_or_new(client):
    photo_id = upload(gallery(), OLD, "a.png", tags=("lake",))
    before, writes, seen = document(photo_id)["metadata"], 0, set()
    while killed_after_writes(writes, lambda: replace(photo_id, NEW, "b.png")):
        writes += 1
        served = client.get(original_path(stored_photos.get(photo_id))).getvalue()
        assert served == shown(photo_id)
        assert served in (OLD, NEW)
        seen.add(served)
        for moment in (SOON, SOON, LATER, LATER + LATER):
            sweep(moment=now() + moment)
            assert shown(photo_id) == served
        audit()
        assert count()[0] == 1 + (document(photo_id)["metadata"]["content_id"] != photo_id)
    assert writes >= 9
    assert seen == {OLD, NEW}
    assert shown(photo_id) == NEW
    after = document(photo_id)["metadata"]
    for name in ("slug", "parent_id", "title", "tags", "created", "author", "summary", "published"):
        assert after[name] == before[name]


def test_sweep_killed_after_any_write_is_completed_by_the_next():
    parent, other = gallery(), gallery("other")

    def mess() -> ObjectId:
        photo_id = upload(parent, OLD, "a.png")
        replace(photo_id, NEW)
        replace(photo_id, OLD)
        photos.Upload(build.EDITOR, other, "stalled.png").feed(NEW)
        return photo_id

    made, writes = [mess()], 0
    while killed_after_writes(writes, lambda: sweep(moment=now() + LATER)):
        writes += 1
        assert shown(made[-1]) == OLD
        sweep(moment=now() + LATER)
        audit()
        made.append(mess())
    assert writes >= 8
    audit()
    assert count()[0] == 2 * len(made)


def test_dry_run_counts_what_a_sweep_does():
    photo_id = upload(gallery(), OLD, "a.png")
    replace(photo_id, NEW)
    photos.Upload(build.EDITOR, gallery("other"), "stalled.png").feed(NEW)
    database()["cms.assets.chunks"].insert_one({"files_id": ObjectId(), "n": 0, "data": b"x"})
    before = count()
    pretended = sweep(dry_run=True, moment=now() + LATER)
    assert count() == before
    assert pretended == Swept(stalled=1, superseded=1, orphans=1)
    assert sweep(moment=now() + LATER) == pretended
    assert sweep(moment=now() + LATER) == Swept()
    audit()


def test_running_replacement_blocks_others_and_a_dead_one_not():
    photo_id = upload(gallery(), OLD, "a.png")
    first = photos.Replacement(build.EDITOR, photo_id, "b.png")
    with pytest.raises(PhotoLocked):
        photos.Replacement(build.EDITOR, photo_id, "c.png")
    assert shown(photo_id) == OLD
    stale = now() - STALE_AFTER - timedelta(seconds=1)
    database()["cms.assets.files"].update_many({"metadata.locked": {"$ne": None}}, {"$set": {"metadata.locked": stale}})
    replace(photo_id, NEW)
    send(first, OLD)
    with pytest.raises(UploadLost):
        first.finish()
    assert shown(photo_id) == NEW
    sweep(moment=now() + LATER)
    audit()


def test_replacement_that_lost_the_lock_changes_nothing():
    """The lock in the filter of the update decides, not what was read before."""
    photo_id = upload(gallery(), OLD, "a.png")
    first = photos.Replacement(build.EDITOR, photo_id, "b.png")
    send(first, NEW)
    database()["cms.assets.files"].update_one(
        {"_id": photo_id}, {"$set": {"metadata.locked": now() - STALE_AFTER - STALE_AFTER}}
    )
    second = photos.Replacement(build.EDITOR, photo_id, "c.png")
    with pytest.raises(UploadLost):
        first.finish()
    assert shown(photo_id) == OLD
    send(second, NEW)
    second.finish()
    assert shown(photo_id) == NEW
    sweep(moment=now() + LATER)
    audit()


def test_lock_lost_before_the_write_changes_nothing():
    """Taking a lock changes no nonce, so only the lock in the filter of the update can detect it."""
    photo_id = upload(gallery(), OLD, "a.png")

    def take_lock() -> None:
        database()["cms.assets.files"].update_one({"_id": photo_id}, {"$set": {"metadata.locked": now() + STALE_AFTER}})

    with pytest.raises(UploadLost), before_command("insert", "cms.revisions", take_lock):
        replace(photo_id, NEW, "b.png")
    assert shown(photo_id) == OLD
    assert document(photo_id)["metadata"]["locked"] is not None
    sweep(moment=now() + STALE_AFTER)
    sweep(moment=now() + LATER)
    assert count()[0] == 1


def test_stalled_replacement_deletes_no_shown_content():
    """The revision is stored before the write. Once its lock is stale, an editor can restore its content."""
    photo_id = upload(gallery(), OLD, "a.png")
    coming = photos.Replacement(build.EDITOR, photo_id, "b.png")
    send(coming, NEW)

    def sleep() -> None:
        stale = now() - STALE_AFTER - timedelta(seconds=1)
        database()["cms.assets.files"].update_one({"_id": photo_id}, {"$set": {"metadata.locked": stale}})
        photos.restore_content(build.EDITOR, photo_id, coming.id)

    def shows(command) -> bool:
        query = command["updates"][0]["q"]
        return query["_id"] == photo_id and "metadata.nonce" in query

    with pytest.raises(UploadLost), before_command("update", "cms.assets.files", sleep, shows):
        coming.finish()
    assert shown(photo_id) == NEW
    audit()


def test_save_and_tags_during_a_replacement_survive():
    photo_id = upload(gallery(), OLD, "a.png", tags=("old",))
    raced = []

    def edit() -> None:
        nonce = document(photo_id)["metadata"]["nonce"]
        raced.append(photos.save(Actor(None, "Bob"), photo_id, nonce, {"title": "Edited"}))
        editing.change_tags(photo_id, TagChange(frozenset({"new"}), frozenset({"old"})), ASSET_FILES)

    with before_command("insert", "cms.revisions", edit):
        replace(photo_id, NEW, "b.png")
    metadata = document(photo_id)["metadata"]
    assert (metadata["title"], metadata["tags"], shown(photo_id)) == ("Edited", ["new"], NEW)
    # The history contains the editor's save, because it follows `parent` from the stored nonce.
    revision = database()["cms.revisions"].find_one({"_id": metadata["nonce"]})
    assert revision["parent"] == raced[0].nonce
    assert revision["metadata"]["title"] == "Edited"
    assert database()["cms.assets.files"].count_documents({"metadata.type": "photo"}) == 1


def test_frequent_saves_during_replacements_survive():
    photo_id = upload(gallery(), OLD, "a.png")
    stop, saves = threading.Event(), []

    def edit() -> None:
        while not stop.is_set():
            nonce = document(photo_id)["metadata"]["nonce"]
            saves.append(photos.save(build.EDITOR, photo_id, nonce, {"title": f"Title {len(saves)}"}).nonce)

    editor = threading.Thread(target=edit)
    editor.start()
    for number in range(6):
        replace(photo_id, NEW if number % 2 == 0 else OLD, "b.png")
    stop.set()
    editor.join()
    metadata = document(photo_id)["metadata"]
    assert metadata["title"] == f"Title {len(saves) - 1}"
    assert shown(photo_id) == OLD
    history, nonce = [], metadata["nonce"]
    while nonce:
        history.append(nonce)
        nonce = database()["cms.revisions"].find_one({"_id": nonce})["parent"]
    assert set(saves) <= set(history)


def test_former_content_can_be_restored_until_it_is_swept():
    photo_id = upload(gallery(), OLD, "a.png")
    second = replace(photo_id, NEW, "b.png")
    photos.restore_content(build.EDITOR, photo_id, photo_id)
    assert (shown(photo_id), document(photo_id)["metadata"]["detail"]["filename"]) == (OLD, "a.png")
    sweep(moment=now() + SOON)
    photos.restore_content(build.EDITOR, photo_id, second)
    assert (shown(photo_id), document(photo_id)["metadata"]["detail"]["resolution"]) == (NEW, [1100, 800])
    sweep(moment=now() + LATER)
    sweep(moment=now() + LATER)
    with pytest.raises(NodeGone):
        photos.restore_content(build.EDITOR, photo_id, photo_id)
    assert shown(photo_id) == NEW
    audit()


def test_restore_during_a_sweep_loses_nothing(monkeypatch):
    photo_id = upload(gallery(), OLD, "a.png")
    second = replace(photo_id, NEW, "b.png")
    replace(photo_id, OLD, "c.png")
    real = contents.find
    looks = []

    def found(*ids):
        looks.append(real(*ids))
        if len(looks) == 1:
            # The sweep runs after the first lookup, before the photo shows the content.
            sweep(moment=now() + LATER)
        return looks[-1]

    monkeypatch.setattr(contents, "find", found)
    with pytest.raises(NodeGone):
        photos.restore_content(build.EDITOR, photo_id, second)
    monkeypatch.undo()
    assert shown(photo_id) == OLD
    sweep(moment=now() + LATER)
    audit()


def test_restore_killed_during_a_sweep_shows_kept_content():
    """The sweep is about to delete after its last check. From then on, nothing may show the content."""
    photo_id = upload(gallery(), OLD, "a.png")
    second = replace(photo_id, NEW, "b.png")
    replace(photo_id, OLD, "c.png")

    def sweep_until_it_deletes() -> None:
        with stopped_before_command(
            "delete", "cms.assets.chunks", lambda c: c["deletes"][0]["q"]["files_id"] == second
        ):
            sweep(moment=now() + LATER)

    def locks(command) -> bool:
        return "metadata.locked" in command["updates"][0]["u"].get("$set", {})

    with pytest.raises(NodeGone), before_command("update", "cms.assets.files", sweep_until_it_deletes, locks):
        photos.restore_content(build.EDITOR, photo_id, second)
    contents.delete(photo_id, second)
    assert shown(photo_id) == OLD
    audit()


def test_running_download_finishes_with_the_old_bytes(client):
    photo_id = upload(gallery(), OLD, "a.png")
    parts = iter(client.get(original_path(stored_photos.get(photo_id))))
    begun = next(parts)
    replace(photo_id, NEW, "b.png")
    sweep(moment=now() + SOON)
    assert begun + b"".join(parts) == OLD


def test_failed_deletion_can_be_repeated(monkeypatch):
    photo_id = upload(gallery(), OLD, "a.png")
    photos.move_to_trash(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
    with monkeypatch.context() as patched:
        patched.setattr("photos.assets.contents.delete_all", Mock(side_effect=AutoReconnect))
        with pytest.raises(AutoReconnect):
            trash.delete(photo_id)
    with pytest.raises(NodeGone):
        trash.restore(build.EDITOR, photo_id)
    trash.delete(photo_id)
    assert count() == (0, 0, 1)
    audit()
