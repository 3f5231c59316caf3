"""Photo files over HTTP: permissions, sizes, and that each copy is rendered once."""

import io
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth.models import Permission, User
from django.test import Client
from PIL import Image

from cms.testing import build
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.tasks import queue, worker
from nodes.errors import TooBusy
from nodes.selectors import stored_photos
from nodes.services import trash
from photos import views
from photos.addresses import copy_path, original_path, picture, square_path, thumbnail
from photos.assets import images, limits, renditions
from photos.assets.contents import find
from photos.assets.locks import STALE_AFTER
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, busy_decoder, document, gallery, replace, shown, upload

pytestmark = pytest.mark.usefixtures("mongo")


def body(response) -> bytes:
    return response.getvalue()


def test_original_is_the_stored_file(client):
    photo_id = upload(gallery(), pictures.jpeg(6), name="Lake Zürich.jpg")
    response = client.get(original_path(stored_photos.get(photo_id)))
    assert body(response) == shown(photo_id)
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.headers["ETag"] == f'"{photo_id}"'
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Cookie" not in response.headers.get("Vary", "")
    download = client.get(original_path(stored_photos.get(photo_id)) + "?download")
    assert download.headers["Content-Disposition"].startswith("attachment; ")


def test_avif_is_sent_as_avif(client):
    photo = stored_photos.get(upload(gallery(), pictures.avif(), name="lake.avif"))
    download = client.get(original_path(photo) + "?download")
    assert download.headers["Content-Type"] == "image/avif"
    assert "lake.avif" in download.headers["Content-Disposition"]
    with Image.open(io.BytesIO(body(download))) as image:
        assert (image.format, image.size) == ("AVIF", (60, 40))
    with Image.open(io.BytesIO(body(client.get(copy_path(photo, 320, "webp"))))) as image:
        assert (image.format, image.size) == ("WEBP", (60, 40))


def test_copy_is_made_of_a_file_in_several_chunks(client):
    noise = Image.merge("RGB", [Image.effect_noise((600, 400), 90) for _band in "RGB"])
    photo = stored_photos.get(upload(gallery(), pictures.encoded("PNG", noise), "a.png"))
    assert len(shown(photo.pk)) > 2 * 255 * 1024
    with Image.open(io.BytesIO(body(client.get(copy_path(photo, 320, "webp"))))) as image:
        image.load()
        assert (image.format, image.size) == ("WEBP", (320, 213))


def test_ranges_conditions_and_head_are_answered(client):
    photo_id = upload(
        gallery(), pictures.encoded("PNG", pictures.image((600, 400)).effect_spread(200), compress_level=0), "a.png"
    )
    url, whole = original_path(stored_photos.get(photo_id)), shown(photo_id)
    assert len(whole) > 2 * 255 * 1024
    part = client.get(url, headers={"range": "bytes=260000-530000"})
    assert (part.status_code, body(part)) == (206, whole[260000:530001])
    assert body(client.get(url, headers={"range": "bytes=-10"})) == whole[-10:]
    assert client.get(url, headers={"range": f"bytes={len(whole)}-"}).status_code == 416
    unchanged = client.get(url, headers={"if-none-match": f'"{photo_id}"'})
    assert (unchanged.status_code, body(unchanged)) == (304, b"")
    head = client.head(url)
    assert (head.status_code, body(head), head.headers["Content-Length"]) == (200, b"", str(len(whole)))


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("make", [pictures.jpeg, pictures.png, pictures.webp, pictures.avif])
@pytest.mark.parametrize("turned", [1, 3, 6, 8])
def test_copies_are_upright_without_metadata(client, make, turned):
    name = {"jpeg": "a.jpg"}.get(make.__name__, f"a.{make.__name__}")
    upright = pictures.image((900, 600))
    turns = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
    lying = upright.transpose(turns[turned]) if turned in turns else upright
    photo = stored_photos.get(upload(gallery(), make(turned, lying), name))
    assert photo.metadata.detail.resolution == [900, 600]
    for address in (
        copy_path(photo, 320, "webp"),
        copy_path(photo, 320),
        copy_path(photo, 2560),
        square_path(photo, 160),
        original_path(photo),
    ):
        data = body(client.get(address))
        assert not [secret for secret in pictures.SECRETS if secret in data]
        if address == original_path(photo):
            continue
        with Image.open(io.BytesIO(data)) as image:
            assert (
                image.size
                == {"w320": (320, 213), "w256": (900, 600), "s160": (160, 160)}[address.rpartition("/")[2][:4]]
            )
            if image.size[1] != 160:
                red, green, blue = image.convert("RGB").getpixel((image.size[0] // 10, image.size[1] // 10))
                assert red > 200 > 90 > green
    audit()


def test_square_contains_the_focal_point(client):
    wide = pictures.image((1200, 300))
    photo_id = upload(gallery(), pictures.encoded("JPEG", wide), fields={"detail.focal": [0.9, 0.5]})
    with Image.open(io.BytesIO(body(client.get(square_path(stored_photos.get(photo_id), 160))))) as image:
        assert image.convert("L").getpixel((5, 80)) > 150


@pytest.mark.parametrize(
    "spec",
    [
        "w321.webp",
        "w320.png",
        "w0320.jpg",
        "w320.jpg.exe",
        "s160-10x10.jpg",
        "s161-50x50.jpg",
        "s160-050x50.jpg",
        "w320",
        "x",
        "w99999.jpg",
        "w٣٢٠.jpg",
        "..%2Foriginal",
    ],
)
def test_other_sizes_are_not_rendered(client, spec):
    photo_id = upload(gallery())
    assert client.get(f"/media/{photo_id}/{photo_id}/{spec}").status_code == 404
    assert database()["cms.renditions.files"].count_documents({}) == 0


def test_copy_is_rendered_once_and_stored(client):
    photo = stored_photos.get(upload(gallery(), pictures.jpeg(1, pictures.image((700, 500)))))
    first = client.get(copy_path(photo, 320))
    again = client.get(copy_path(photo, 320))
    assert first.headers["ETag"] == again.headers["ETag"]
    assert database()["cms.renditions.files"].count_documents({}) == 1


@pytest.fixture
def large_originals(monkeypatch):
    """Let originals be too large to be sent instead of missing copies."""
    monkeypatch.setattr(views, "MAX_INSTEAD_OF_COPY", 0)


def test_sixteen_concurrent_requests_render_a_copy_once(large_originals):
    photo = stored_photos.get(upload(gallery(), pictures.jpeg(1, pictures.image((1600, 1200)))))
    answers: list[Any] = []
    start = threading.Barrier(16)

    def ask() -> None:
        start.wait()
        answers.append(Client().get(copy_path(photo, 640, "webp")))

    clients = [threading.Thread(target=ask) for _ in range(16)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert {answer.headers["Retry-After"] for answer in answers if answer.status_code == 503} <= {"5"}
    bodies = {body(answer) for answer in answers if answer.status_code == 200}
    assert len(bodies) == 1
    assert bodies == {body(Client().get(copy_path(photo, 640, "webp")))}
    assert Image.open(io.BytesIO(bodies.pop())).size == (640, 480)
    assert database()["cms.renditions.files"].count_documents({}) == 1
    audit()


def test_fifty_requests_for_missing_copies_delay_no_reader(client, large_originals):
    """Sixteen threads, as in a web worker, while a slow picture occupies the only decoder of the process."""
    build.node("blog-entry", "post", parent=build.node("blog", "news"), text="Read me.")
    there = [stored_photos.get(upload(gallery(f"photos-{n}"))) for n in range(5)]
    sizes = [(width, extension) for width in (320, 640, 960, 1280, 1920) for extension in ("jpg", "webp")]
    unmade = [copy_path(photo, *size) for photo in there for size in sizes]
    taken = find(there[0].pk, there[0].pk)
    with ThreadPoolExecutor(at_once := 16) as threads, taken.open() as file:
        with images.open_image(file, "JPEG", limits.limits()):
            asked = [threads.submit(Client().get, address) for address in unmade]
            pages = [threads.submit(Client().get, "/news/post") for _ in range(20)]
            assert [page.result().status_code for page in pages] == [200] * 20
            # Some of the first requests wait. The last ones would too, if all others had waited until their timeout.
            assert max(n for n, answer in enumerate(asked) if not answer.done()) < len(unmade) - at_once
            done = [answer.result() for answer in asked if answer.done()]
            assert {answer.status_code for answer in done} == {503}
            assert {answer.headers["Retry-After"] for answer in done} == {"5"}
            assert len(done) >= len(unmade) - renditions.MAX_MAKERS
        waited = [answer.result() for answer in asked if answer.result() not in done]
    assert [answer.status_code for answer in waited] == [200] * renditions.MAX_MAKERS


def test_busy_decoder_sends_the_nearest_size_temporarily(client):
    photo = stored_photos.get(upload(gallery(), pictures.jpeg(1, pictures.image((1500, 1000)))))
    for made in (copy_path(photo, 320), copy_path(photo, 960), copy_path(photo, 1280, "webp"), square_path(photo, 160)):
        assert client.get(made).status_code == 200
    slugs = iter(("other", "another", "third", "fourth"))

    def asked(address: str) -> Any:
        other = stored_photos.get(upload(gallery(next(slugs))))
        source = find(other.pk, other.pk)
        with ThreadPoolExecutor(2) as waiting, source.open() as file, images.open_image(file, "JPEG", limits.limits()):
            held = [waiting.submit(Client().get, copy_path(other, 320, kind)) for kind in ("jpg", "webp")]
            # Until two requests wait, another one would wait too.
            while database()["cms.renditions.files"].count_documents({"metadata.locked": {"$ne": None}}) < 2:
                assert not any(one.done() for one in held)
            return client.get(address)

    larger = asked(copy_path(photo, 640))
    assert Image.open(io.BytesIO(body(larger))).size == (960, 640)
    assert larger.headers["Cache-Control"] == "public, max-age=10"
    assert larger.headers["ETag"] == client.get(copy_path(photo, 960)).headers["ETag"]
    # Only JPEG for a browser that may know no other format, and squares for squares.
    assert asked(copy_path(photo, 1280)).headers["Content-Type"] == "image/jpeg"
    assert asked(copy_path(photo, 960, "webp")).headers["Content-Type"] == "image/jpeg"
    assert Image.open(io.BytesIO(body(asked(square_path(photo, 480))))).size == (160, 160)
    assert client.get(copy_path(photo, 640)).headers["Cache-Control"] == "public, max-age=31536000, immutable"
    audit()


def test_webp_photo_is_sent_instead_of_copies_that_are_not_made_yet(client, monkeypatch):
    photo = stored_photos.get(upload(gallery(), pictures.webp(), "lake.webp"))
    monkeypatch.setattr(renditions, "_maker_slots", threading.BoundedSemaphore(1))
    with renditions._maker_slots:
        for extension in ("avif", "webp"):
            answer = client.get(copy_path(photo, 320, extension))
            assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/webp")
            assert answer.headers["Cache-Control"] == "public, max-age=10"
        # A browser that asks for JPEG may not support WebP.
        assert client.get(copy_path(photo, 320)).status_code == 503
    assert client.get(copy_path(photo, 320, "webp")).headers["Cache-Control"] != "public, max-age=10"


def test_worker_renders_the_usual_sizes_after_the_upload(client, commands):
    photo_id = upload(gallery(), pictures.jpeg(1, pictures.image((700, 500))))
    assert worker.work().name == "photos.copies"
    assert worker.work() is None
    photo = stored_photos.get(photo_id)
    page = picture(photo) + thumbnail(photo, 160)
    addresses = set(re.findall(r"/media/[^ \"]+", page))
    assert database()["cms.renditions.files"].count_documents({}) == len(addresses) == 13
    with commands.recorded():
        assert {client.get(address).status_code for address in addresses} == {200}
    assert not commands.written
    content_id = replace(photo_id, pictures.png(), "new.png")
    assert worker.work().kwargs["content"] == str(content_id)
    assert database()["cms.renditions.files"].count_documents({"metadata.source": content_id}) > 0
    audit()


def test_worker_renders_nothing_for_a_trashed_photo(mongo):
    photo_id = upload(gallery())
    photos.move_to_trash(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
    assert worker.work().name == "photos.copies"
    assert mongo["cms.renditions.files"].count_documents({}) == 0
    assert mongo["jobs"].find_one()["state"] == queue.DONE


def test_busy_decoder_sends_a_small_original_temporarily(client):
    photo = stored_photos.get(upload(gallery()))
    with busy_decoder():
        response = client.get(copy_path(photo, 320))
    assert (response.status_code, response.headers["Content-Type"]) == (200, "image/jpeg")
    assert body(response) == shown(photo.pk)
    assert response.headers["Cache-Control"] == "public, max-age=10"
    assert len(body(client.get(copy_path(photo, 320)))) < len(shown(photo.pk))


def test_busy_decoder_without_a_substitute_asks_to_retry(client, large_originals):
    photo = stored_photos.get(upload(gallery()))
    with busy_decoder():
        response = client.get(copy_path(photo, 320))
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert database()["cms.renditions.files"].count_documents({}) == 0
    assert client.get(copy_path(photo, 320)).status_code == 200
    audit()


def test_copy_of_a_dead_process_is_rendered_again(mongo, monkeypatch):
    photo_id = upload(gallery())
    source, spec = find(photo_id, photo_id), renditions.Spec(320, "jpg")
    dead = {"source": photo_id, "spec": str(spec), "content_type": "image/jpeg", "locked": now()}
    file = {"length": 0, "chunkSize": 1, "uploadDate": now(), "filename": str(spec), "metadata": dead}
    mongo["cms.renditions.files"].insert_one(file)
    monkeypatch.setattr(renditions, "TIMEOUT", 0)
    with pytest.raises(TooBusy):
        renditions.get_or_make(source, "image/jpeg", spec)
    mongo["cms.renditions.files"].update_one({}, {"$set": {"metadata.locked": now() - STALE_AFTER - STALE_AFTER}})
    monkeypatch.setattr(renditions, "TIMEOUT", 20)
    assert renditions.get_or_make(source, "image/jpeg", spec).length > 0
    audit()


class TestPermissions:
    def hidden(self) -> dict[str, ObjectId]:
        private = gallery("private", published=None)
        return {
            "draft": upload(gallery("public"), fields={"published": None}),
            "in a private gallery": upload(private),
            "expired": upload(gallery("old"), fields={"expires": build.PAST}),
        }

    def test_hidden_photo_is_not_found(self, client):
        for photo_id in self.hidden().values():
            photo = stored_photos.get(photo_id)
            for address in (original_path(photo), copy_path(photo, 320), square_path(photo, 160)):
                assert client.get(address).status_code == 404

    def test_hidden_photo_is_not_found_without_permission(self, client):
        client.force_login(User.objects.create_user("reader"))
        for photo_id in self.hidden().values():
            assert client.get(original_path(stored_photos.get(photo_id))).status_code == 404

    def test_hidden_photo_is_sent_uncached_to_editors(self, client):
        editor = User.objects.create_user("editor", is_staff=True)
        editor.user_permissions.add(Permission.objects.get(codename="view_photo"))
        client.force_login(editor)
        for photo_id in self.hidden().values():
            response = client.get(original_path(stored_photos.get(photo_id)))
            assert (response.status_code, response.headers["Cache-Control"]) == (200, "private, no-store")

    def test_trashed_photo_is_not_found(self, client):
        photo_id = upload(gallery())
        address = original_path(stored_photos.get(photo_id))
        photos.move_to_trash(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"])
        assert client.get(address).status_code == 404
        trash.restore(build.EDITOR, photo_id)
        assert client.get(address).status_code == 200
        audit()

    def test_unfinished_upload_has_no_url(self, client):
        coming = photos.Upload(build.EDITOR, gallery(), "a.jpg")
        assert client.get(f"/media/{coming.id}/{coming.id}/original").status_code == 404
        coming.abort()


def test_url_of_replaced_content_redirects_to_the_current(client):
    photo_id = upload(gallery())
    old = original_path(stored_photos.get(photo_id))
    replace(photo_id, pictures.png(), "new.png")
    response = client.get(old)
    assert (response.status_code, response.headers["Cache-Control"]) == (302, "private, no-store")
    assert response.headers["Location"] == original_path(stored_photos.get(photo_id))
    assert body(client.get(response.headers["Location"])) == shown(photo_id)


def test_former_content_of_a_public_photo_is_not_cached(client):
    """Only editors can see former files. A cache that ignores cookies would show them to everybody."""
    photo_id = upload(gallery())
    old = original_path(stored_photos.get(photo_id))
    replace(photo_id, pictures.png(), "new.png")
    client.force_login(User.objects.create_superuser("editor"))
    former = client.get(f"{old}?former=1")
    assert (former.status_code, former.headers["Cache-Control"]) == (200, "private, no-store")
    unchanged = client.get(f"{old}?former=1", headers={"if-none-match": former.headers["ETag"]})
    assert (unchanged.status_code, unchanged.headers["Cache-Control"]) == (304, "private, no-store")
    present = client.get(f"{original_path(stored_photos.get(photo_id))}?former=1")
    assert (present.status_code, present.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")


def test_picture_offers_the_sizes_of_the_layout():
    photo = stored_photos.get(
        upload(gallery(), pictures.jpeg(1, pictures.image((1000, 500))), fields={"detail.alt": 'A "lake"'})
    )
    html = picture(photo, sizes="50vw")
    assert re.search(r'width="1000" height="500" alt="A &quot;lake&quot;" class="[^"]*" loading="lazy"', html)
    sources = html.split('srcset="')[1].split('"')[0]
    assert [part.split()[-1] for part in sources.split(", ")] == ["320w", "640w", "960w", "1000w"]


@pytest.mark.slow
def test_picture_too_long_for_webp_is_offered_as_jpeg(client):
    photo = stored_photos.get(upload(gallery(), pictures.encoded("PNG", pictures.image((1080, 20_000))), "strip.png"))
    html = picture(photo)
    offered = re.findall(r"/media/[^ \"]+", html)
    assert {copy_path(photo, 640, "webp"), copy_path(photo, 1280)} <= set(offered)
    assert copy_path(photo, 960, "webp") not in offered
    assert {client.get(address).status_code for address in offered} == {200}
    assert client.get(copy_path(photo, 960, "webp")).status_code == 404
    assert client.get(copy_path(photo, 960)).status_code == 200


def test_picture_too_long_for_any_webp_offers_none():
    photo = stored_photos.get(upload(gallery(), pictures.encoded("PNG", pictures.image((200, 20_000))), "strip.png"))
    assert "webp" not in picture(photo)
    assert f'src="{copy_path(photo, 320)}"' in picture(photo)


def test_sixteen_bit_grey_is_rendered_correctly(client):
    data = bytes(part for n in range(64 * 64) for part in ((n * 16) & 255, (n * 16) >> 8))
    grey = Image.frombytes("I;16", (64, 64), data)
    photo = stored_photos.get(upload(gallery(), pictures.encoded("PNG", grey), "scan.png"))
    with Image.open(io.BytesIO(body(client.get(copy_path(photo, 320))))) as image:
        assert image.convert("L").getpixel((32, 2)) < 20
        assert abs(image.convert("L").getpixel((32, 32)) - 128) < 8
        assert image.convert("L").getpixel((32, 61)) > 235


def test_unknown_settings_are_refused(settings):
    settings.PHOTOS = {"MAX_BYTE": 1}
    with pytest.raises(limits.ImproperlyConfigured, match="MAX_BYTE"):
        limits.limits()
