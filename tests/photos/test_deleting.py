"""Photos in the trash, and their permanent deletion. Failures are in tests/faults/test_photo_crashes.py."""

from datetime import timedelta

import pytest

from cms.testing import build
from marginalia.mongo.clock import now
from nodes.services import trash
from photos.services import photos
from photos.services.sweeping import Swept, sweep
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, document, gallery, replace, shown, upload

pytestmark = pytest.mark.usefixtures("mongo")

OLD = pictures.encoded("PNG", pictures.image((600, 400)), compress_level=0)
NEW = pictures.encoded("PNG", pictures.image((400, 600), seed=5), compress_level=0)
LATER = timedelta(days=3)


def test_permanent_deletion_deletes_every_byte():
    photo_id = upload(gallery(), OLD, "a.png")
    replace(photo_id, NEW, "b.png")
    photos.move_to_trash(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
    sweep(moment=now() + LATER)
    trash.delete(photo_id)
    assert count() == (0, 0, 1)
    audit()


def test_trashed_photo_keeps_its_content():
    photo_id = upload(gallery(), OLD, "a.png")
    photos.move_to_trash(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
    assert sweep(moment=now() + LATER) == Swept()
    trash.restore(build.EDITOR, photo_id)
    assert shown(photo_id) == OLD
