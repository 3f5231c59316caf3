"""Replacing the file of a photo. Crashes and races are in tests/faults/test_photo_crashes.py."""

import pytest

from cms.testing import build
from photos.assets.errors import BadPicture
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, gallery, replace, send, shown, upload

pytestmark = pytest.mark.usefixtures("mongo")

OLD = pictures.encoded("PNG", pictures.image((600, 400)), compress_level=0)
NEW = pictures.encoded("PNG", pictures.image((400, 600), seed=5), compress_level=0)


def test_invalid_replacement_leaves_the_photo_unchanged():
    photo_id = upload(gallery(), OLD, "a.png")
    before = count()
    coming = photos.Replacement(build.EDITOR, photo_id, "b.png")
    with pytest.raises(BadPicture):
        send(coming, b"<html>" * 100)
    assert count() == before
    assert shown(photo_id) == OLD
    replace(photo_id, NEW, "b.png")
    assert shown(photo_id) == NEW
    audit()
