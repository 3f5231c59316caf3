"""Photos in the library: they have no gallery, and readers see them only where texts use them."""

import pytest
from django.urls import reverse

from cms.testing import build
from nodes.access import System
from nodes.actions import Move
from nodes.form_fields import ReferenceField
from nodes.selectors import stored_photos
from tests.support.nodes.photo_build import gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")


def read(client, path):
    return client.get(path).content.decode()


def test_library_photo_is_shown_in_a_text_but_listed_nowhere(client):
    photo_id = upload(None, tags=("fern",))
    listed_id = upload(gallery(), tags=("fern",))
    build.node(slug="about", text=f"![A lake](photo:{photo_id})")
    assert f'href="/media/{photo_id}"' in read(client, "/about")
    assert f"/media/{photo_id}/" in read(client, "/about")
    lists = [read(client, path) for path in ("/tag/fern", "/search?q=lake", "/feed/atom", "/sitemap-photo-1.xml")]
    assert not any(f"/media/{photo_id}" in page for page in lists)
    assert "testserver/lake<" not in lists[-1]
    assert "/gallery/lake<" in lists[-1]
    assert f"/media/{listed_id}/" in lists[0]
    response = client.get(reverse("api:api-nodes"), {"type": "photo"})
    assert [item["id"] for item in response.json()["items"]] == [str(listed_id)]


def test_library_photo_has_its_own_page_until_it_is_moved_to_a_gallery(client):
    photo_id = upload(None)
    photo = stored_photos.get(photo_id)
    assert photo.get_absolute_url() == f"/media/{photo_id}"
    assert "A lake" in read(client, f"/media/{photo_id}")
    seen = photo.metadata.nonce
    Move(user=System("x"), node_id=photo_id, seen=seen, place={"parent_id": gallery("lakes")}).execute()
    response = client.get(f"/media/{photo_id}")
    assert (response.status_code, response["Location"]) == (301, "/lakes/lake")
    assert client.get("/lake").status_code == 404


def test_unpublished_library_photo_has_no_page(client):
    photo_id = upload(None, fields={"published": None})
    assert client.get(f"/media/{photo_id}").status_code == 404


def test_url_of_a_library_photo_can_be_typed_in_a_form():
    photo_id = upload(None)
    field = ReferenceField(photos=True)
    assert field.clean(field.prepare_value(photo_id)) == photo_id
    assert field.clean(f"/media/{photo_id}") == photo_id
