"""Files being written to GridFS: locked while their writer is alive."""

from datetime import timedelta

import pytest
from gridfs import GridFSBucket

from cms.testing import build
from marginalia.mongo.clock import now
from photos.assets import locks
from photos.assets.errors import UploadLost
from photos.assets.writer import CHUNK, Writer
from photos.services.sweeping import sweep
from tests.support.processes import until


def content() -> dict:
    """The metadata of a file without a photo."""
    return {"type": "photo-content", "parent_id": build.ObjectId(), "slug": "x"}


def test_slow_sender_keeps_the_lock(mongo, monkeypatch):
    monkeypatch.setattr(locks, "RENEW_INTERVAL", timedelta(milliseconds=20))
    writer = Writer("cms.assets", build.ObjectId(), "slow", content(), place={})
    first = writer.lock.moment
    until(lambda: mongo["cms.assets.files"].find_one({"_id": writer.id})["metadata"]["locked"] > first)
    writer.write(b"at last")
    assert writer.finish()
    assert GridFSBucket(mongo, "cms.assets").open_download_stream(writer.id).read() == b"at last"


def test_writer_without_its_lock_stops_writing(mongo):
    writer = Writer("cms.assets", build.ObjectId(), "x", content(), place={})
    writer.write(bytes(9 * CHUNK))
    mongo["cms.assets.files"].update_one({"_id": writer.id}, {"$set": {"metadata.locked": now() - locks.STALE_AFTER}})
    with pytest.raises(UploadLost):
        writer.finish()
    assert mongo["cms.assets.files"].find_one({"_id": writer.id})["length"] == 0
    sweep()
    assert mongo["cms.assets.chunks"].count_documents({}) == 0
