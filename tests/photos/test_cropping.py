"""Cropped and rotated photos: what readers get, and that they get nothing outside the crop."""

import io

import pytest
from django.contrib.auth.models import User
from PIL import Image, ImageChops, ImageStat

from cms.testing import build
from marginalia.mongo.connection import database
from marginalia.tasks import worker
from nodes.errors import EditConflict, InvalidField
from nodes.selectors import stored_photos
from photos import addresses
from photos.assets.framing import Cut
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, busy_decoder, document, gallery, replace, upload

pytestmark = pytest.mark.usefixtures("mongo")

CORNER = [0.0, 0.0, 0.25, 0.5]
TURNS = {0: None, 90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def cut(photo_id, **said):
    fields = {f"detail.{name}": value for name, value in said.items()}
    return photos.save(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], fields)


def opened(response) -> Image.Image:
    return Image.open(io.BytesIO(response.getvalue())).convert("RGB")


def alike(one: Image.Image, other: Image.Image) -> bool:
    return one.size == other.size and max(ImageStat.Stat(ImageChops.difference(one, other)).mean) < 6


@pytest.mark.parametrize(
    ("rotation", "size", "point"),
    [
        (0, (50, 40), (0.5, 0.25)),
        (90, (40, 50), (0.75, 0.5)),
        (180, (50, 40), (0.5, 0.75)),
        (270, (40, 50), (0.25, 0.5)),
    ],
)
def test_size_and_focal_point_refer_to_the_crop(rotation, size, point):
    shown = Cut((0.5, 0.0, 0.5, 0.4), rotation)
    assert (shown.size((100, 100)), shown.point((0.75, 0.1))) == (size, point)
    assert shown.point(None) == (0.5, 0.5)
    assert Cut((0.5, 0.0, 0.5, 0.4)).point((0.1, 0.9)) == (0, 1)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("lying", STORED)
def test_copies_show_the_crop_in_any_orientation(client, lying):
    upright = pictures.image((600, 400))
    stored = upright.transpose(STORED[lying]) if STORED[lying] is not None else upright
    photo_id = upload(gallery(), pictures.png(lying, stored), "a.png")
    assert stored_photos.get(photo_id).metadata.detail.resolution == [600, 400]
    part = upright.crop((60, 40, 360, 240))
    for rotation in TURNS:
        cut(photo_id, crop=[0.1, 0.1, 0.5, 0.5], rotation=rotation or None)
        wanted = part.transpose(TURNS[rotation]) if rotation else part
        photo = stored_photos.get(photo_id)
        assert addresses.size(photo) == wanted.size
        assert alike(opened(client.get(addresses.copy_path(photo, 320))), wanted)


def test_square_is_cropped_around_the_focal_point(client):
    photo_id = upload(gallery(), pictures.encoded("PNG", pictures.image((1200, 300))), "a.png")
    cut(photo_id, crop=[0.25, 0.0, 0.5, 1.0], rotation=180, focal=[0.3, 0.5])
    # The dark half is on the right after half a turn.
    square = opened(client.get(addresses.square_path(stored_photos.get(photo_id), 160)))
    assert square.getpixel((155, 80))[2] < 60
    cut(photo_id, focal=[0.7, 0.5])
    assert opened(client.get(addresses.square_path(stored_photos.get(photo_id), 160))).getpixel((5, 80))[2] > 150


def urls(photo_id):
    photo = stored_photos.get(photo_id)
    return [
        addresses.original_path(photo),
        addresses.copy_path(photo, 320),
        addresses.copy_path(photo, 320, "webp"),
        addresses.square_path(photo, 160),
    ]


def test_old_urls_show_the_crop_to_readers(client):
    photo_id = upload(gallery(), pictures.encoded("PNG", pictures.image((600, 400))), "a.png")
    old = urls(photo_id)
    assert all(client.get(address).status_code == 200 for address in old)
    cut(photo_id, crop=[0.5, 0.0, 0.5, 1.0])
    for address in old:
        response = client.get(address)
        assert (response.status_code, response.headers["Cache-Control"]) == (302, "private, no-store")
        shown = opened(client.get(response.headers["Location"]))
        # The left, dark half is in no copy.
        assert min(ImageStat.Stat(shown).extrema[1]) > 150
        assert client.get(f"{address}?former=1").status_code == 302
    photo = stored_photos.get(photo_id)
    assert addresses.original_path(photo).endswith("/w320-c5000x0x5000x10000.jpg")
    assert client.get(addresses.copy_path(photo, 320)).headers["Cache-Control"].endswith("immutable")


class TestOutsideTheCrop:
    def test_editors_see_the_whole_photo_uncached(self, client):
        photo_id = upload(gallery(), pictures.png(1, pictures.image((600, 400))), "a.png")
        cut(photo_id, crop=CORNER)
        photo = stored_photos.get(photo_id)
        client.force_login(User.objects.create_superuser("ann"))
        for address in (addresses.uncut_path(photo), addresses.uncut_path(photo, 320)):
            response = client.get(address)
            assert (response.status_code, response.headers["Cache-Control"]) == (200, "private, no-store")
            assert opened(response).size in ((600, 400), (320, 213))

    def test_busy_decoder_does_not_send_the_whole_photo(self, client):
        photo_id = upload(gallery())
        client.get(addresses.copy_path(stored_photos.get(photo_id), 640))
        cut(photo_id, crop=CORNER)
        photo = stored_photos.get(photo_id)
        with busy_decoder():
            assert client.get(addresses.copy_path(photo, 320)).status_code == 503
        assert client.get(addresses.copy_path(photo, 320)).status_code == 200

    def test_page_of_the_photo_describes_the_crop(self, client):
        photo_id = upload(gallery(), pictures.png(1, pictures.image((600, 400))), "a.png")
        page = client.get("/gallery/a").content.decode()
        assert "Download the original" in page
        assert "600 × 400" in page
        cut(photo_id, crop=CORNER, rotation=90)
        page = client.get("/gallery/a").content.decode()
        assert "Download the original" not in page
        assert "200 × 150" in page
        assert "/original" not in page

    @pytest.mark.parametrize("form", ["rss", "atom", "json"])
    def test_feeds_contain_the_crop(self, client, form):
        photo_id = upload(gallery(), pictures.png(1, pictures.image((600, 400))), "a.png")
        assert "/original" in client.get(f"/gallery/feed/{form}").content.decode()
        cut(photo_id, crop=CORNER)
        feed = client.get(f"/gallery/feed/{form}").content.decode()
        assert addresses.original_path(stored_photos.get(photo_id)) in feed
        assert "image/jpeg" in feed
        assert "/original" not in feed


class TestSaving:
    def test_crop_and_rotation_merge_and_two_crops_conflict(self):
        photo_id = upload(gallery())
        seen = document(photo_id)["metadata"]["nonce"]
        photos.save(build.EDITOR, photo_id, seen, {"detail.rotation": 90, "detail.crop": None})
        photos.save(build.EDITOR, photo_id, seen, {"detail.rotation": None, "detail.crop": CORNER})
        detail = document(photo_id)["metadata"]["detail"]
        assert (detail["crop"], detail["rotation"]) == (CORNER, 90)
        with pytest.raises(EditConflict):
            photos.save(build.EDITOR, photo_id, seen, {"detail.crop": [0.0, 0.0, 0.5, 0.9]})
        cut(photo_id, crop=None, rotation=None)
        detail = document(photo_id)["metadata"]["detail"]
        assert (detail["crop"], detail["rotation"]) == (None, None)

    @pytest.mark.parametrize(
        "crop",
        [
            [0.5, 0.0, 0.6, 1.0],
            [-0.1, 0.0, 0.5, 0.5],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, float("nan"), 1.0],
            [0.1, 0.2, 0.3],
            ["a", 0, 1, 1],
            [{"$gt": 0}, 0, 1, 1],
        ],
    )
    def test_invalid_crop_is_refused(self, crop):
        photo_id = upload(gallery())
        with pytest.raises(InvalidField):
            cut(photo_id, crop=crop)
        assert document(photo_id)["metadata"]["detail"].get("crop") is None
        with pytest.raises(InvalidField):
            cut(photo_id, rotation=45)

    def test_worker_renders_the_copies_of_each_crop(self):
        photo_id = upload(gallery())
        while worker.work():
            continue
        cut(photo_id, crop=CORNER, rotation=90)
        while worker.work():
            continue
        made = set(database()["cms.renditions.files"].distinct("metadata.spec"))
        assert {"w320.jpg", "w320-c0x0x2500x5000-r90.jpg", "s160-50x50-c0x0x2500x5000-r90.webp"} <= made
        audit()

    def test_new_file_is_shown_whole_and_the_former_one_cropped(self):
        photo_id = upload(gallery())
        cut(photo_id, crop=CORNER, rotation=90)
        colour = document(photo_id)["metadata"]["detail"]["colour"]
        replace(photo_id, pictures.png(picture=pictures.image(mode="L")), "b.png")
        assert addresses.is_whole(stored_photos.get(photo_id))
        assert document(photo_id)["metadata"]["detail"]["colour"] != colour
        photos.restore_content(build.EDITOR, photo_id, photo_id)
        assert document(photo_id)["metadata"]["detail"]["colour"] == colour
        assert addresses.cut(stored_photos.get(photo_id)) == Cut(tuple(CORNER), 90)
        audit()
