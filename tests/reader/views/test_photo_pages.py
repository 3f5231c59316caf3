"""Photos on the site: galleries, pages, tags, feeds, texts, comments."""

from datetime import timedelta

import feedparser
import pytest

from cms.testing import build
from marginalia.comments.targets import Target, resolve
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.models import tree
from nodes.selectors import stored_nodes
from nodes.services import editing
from photos import texts
from photos.services import photos
from tests.support.commands import explain, stages
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, replace, upload

pytestmark = pytest.mark.usefixtures("mongo")


def text(response) -> str:
    return response.content.decode()


def test_gallery_shows_its_live_photos_newest_first(client):
    parent = gallery("lakes")
    old = upload(parent, name="old.jpg", fields={"published": build.PAST, "detail.alt": "Old lake"})
    new = upload(parent, name="new.jpg", fields={"published": build.PAST + timedelta(days=1), "detail.alt": "New lake"})
    upload(parent, name="draft.jpg", fields={"published": None, "detail.alt": "Hidden lake"})
    upload(parent, name="later.jpg", fields={"published": now() + timedelta(days=1), "detail.alt": "Hidden lake"})
    replace(old, pictures.png())
    page = text(client.get("/lakes"))
    assert page.index(f"/media/{new}/") < page.index(f"/media/{old}/")
    assert 'alt="New lake"' in page
    assert "Hidden" not in page
    assert "photo-content" not in page


def test_gallery_is_paged(client, monkeypatch):
    monkeypatch.setattr("reader.views.pages.PHOTOS_PER_PAGE", 2)
    parent = gallery("lakes")
    for number in range(5):
        upload(parent, name=f"{number}.jpg", fields={"published": build.PAST + timedelta(days=number)})
    seen, url = [], "/lakes"
    while url:
        listing = client.get(url).context["listing"]
        seen += [photo.metadata.slug for photo in listing.nodes]
        url = f"/lakes?from={listing.older}" if listing.older else ""
    assert seen == ["4", "3", "2", "1", "0"]


def test_photo_page_shows_its_neighbours(client):
    parent = gallery("lakes")
    for number, name in enumerate(("one", "two", "three")):
        upload(parent, name=f"{name}.jpg", fields={"published": build.PAST + timedelta(days=number)})
    page = text(client.get("/lakes/two"))
    assert '<a rel="prev" href="/lakes/three">' in page
    assert '<a rel="next" href="/lakes/one">' in page
    assert "Nikon Z 8" in page
    assert "SN-4711" not in page
    assert 'srcset="' in page
    assert "?download" in page


def test_moved_or_renamed_photo_redirects(client):
    parent, other = gallery("lakes"), gallery("ponds")
    photo_id = upload(parent, name="one.jpg")
    photos.save(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], {"parent_id": other, "slug": "uno"})
    response = client.get("/lakes/one")
    assert (response.status_code, response.headers["Location"]) == (301, "/ponds/uno")
    assert client.get("/ponds/uno").status_code == 200


def test_hidden_photo_has_no_page(client):
    upload(gallery("hidden", published=None), name="one.jpg")
    upload(gallery("lakes"), name="draft.jpg", fields={"published": None})
    assert client.get("/hidden/one").status_code == 404
    assert client.get("/lakes/draft").status_code == 404


def test_tag_page_lists_posts_and_photos_by_time(client):
    parent, blog = gallery("lakes"), build.node("blog", "blog")
    day = timedelta(days=1)
    for number in range(4):
        fields = {"published": build.PAST + 2 * number * day}
        upload(parent, name=f"photo-{number}.jpg", tags=("lake",), fields=fields)
        build.node(
            "blog-entry", f"post-{number}", parent=blog, tags=("lake",), published=build.PAST + (2 * number + 1) * day
        )
    upload(gallery("hidden", published=None), name="hidden.jpg", tags=("lake",))
    wanted = [f"{kind}-{n}" for n in (3, 2, 1, 0) for kind in ("post", "photo")]
    listing = client.get("/tag/lake").context["listing"]
    assert [node.metadata.slug for node in listing.nodes] == wanted
    from nodes.models import tree

    seen, cursor, pages = [], None, []
    while True:
        page = stored_nodes.tagged(tree.current(), "lake", now(), size=3, cursor=cursor)
        seen += [node.metadata.slug for node in page.nodes]
        pages.append(page)
        if not (cursor := page.older):
            break
    assert seen == wanted
    back = stored_nodes.tagged(tree.current(), "lake", now(), size=3, cursor=pages[-1].newer)
    assert [n.metadata.slug for n in back.nodes] == [n.metadata.slug for n in pages[-2].nodes]


@pytest.mark.parametrize("form", ["rss", "atom", "json"])
def test_feed_of_a_gallery_has_enclosures(client, form):
    lakes = gallery("lakes")
    photo_id = upload(lakes, name="one.jpg")
    size = document(photo_id)["length"]
    response = client.get(f"/lakes/feed/{form}")
    assert response.status_code == 200
    address = f"http://testserver/media/{photo_id}/{photo_id}/{lakes}/original"
    if form == "json":
        [item] = response.json()["items"]
        assert item["attachments"] == [{"url": address, "mime_type": "image/jpeg", "size_in_bytes": size}]
    else:
        [entry] = feedparser.parse(response.content).entries
        [enclosure] = entry.enclosures
        assert (enclosure.href, enclosure.type, enclosure.length) == (address, "image/jpeg", str(size))
    assert client.get(address.removeprefix("http://testserver")).status_code == 200


class TestPhotosInTexts:
    def post(self, words: str) -> str:
        blog = build.node("blog", "blog")
        build.node("blog-entry", "post", parent=blog, text=words)
        return "/blog/post"

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize("name", ["{id}", "one", "lakes/one"])
    def test_photo_is_shown_by_id_or_name(self, client, name):
        photo_id = upload(gallery("lakes"), pictures.jpeg(1, pictures.image((900, 600))), name="one.jpg")
        page = text(client.get(self.post(f'Look:\n\n![](photo:{name.format(id=photo_id)} "By night")\n\nSeen.')))
        assert (
            f'<figure class="photo"><a href="/lakes/one"><picture><source type="image/avif" srcset="/media/{photo_id}/'
            in page
        )
        assert 'alt="A lake"' in page
        assert "<figcaption>By night</figcaption>" in page

    def test_typed_text_is_escaped(self, client):
        photo_id = upload(gallery("lakes"))
        page = text(client.get(self.post(f'![<b>"x](photo:{photo_id} "<script>alert(1)</script>")')))
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page

    def test_hidden_photo_leaves_its_words(self, client):
        photo_id = upload(gallery("lakes"), fields={"published": None})
        page = text(client.get(self.post(f"![My words](photo:{photo_id})")))
        assert "My words" in page
        assert "/media/" not in page

    def test_replaced_photo_is_shown_at_once(self, client):
        photo_id = upload(gallery("lakes"))
        url = self.post(f"![](photo:{photo_id})")
        assert f"/media/{photo_id}/{photo_id}/" in text(client.get(url))
        content_id = replace(photo_id, pictures.png())
        assert f"/media/{photo_id}/{content_id}/" in text(client.get(url))

    def test_photos_of_a_text_cost_one_query_and_none_cached(self, client, commands):
        ids = [upload(gallery(f"lakes-{n}")) for n in range(5)]
        url = self.post("\n\n".join(f"![](photo:{i})" for i in ids))
        client.get(url)
        node = stored_nodes.resolve(tree.current(), "blog/post", now())
        with commands.recorded() as log:
            texts.body(node)
        assert all(event.command.get("find") == "cms.site" for event in log.sent)
        assert database()["cms.nodes"].find_one({"_id": node.pk})["derived"]["refs"] == sorted(ids)


def test_photos_accept_comments(client):
    photo_id = upload(gallery("lakes"), name="one.jpg")
    page = text(client.get("/lakes/one"))
    assert "No comments yet" in page
    assert resolve(Target("nodes.photo", str(photo_id))).metadata.title == "one"


def test_section_with_photos_cannot_be_deleted_permanently():
    from nodes.errors import InvalidPlace
    from nodes.services import trash

    parent = gallery("lakes")
    upload(parent)
    trash.trash(build.EDITOR, parent, build.nonce(parent))
    with pytest.raises(InvalidPlace):
        trash.delete(parent)
    with pytest.raises(InvalidPlace):
        editing.create(build.EDITOR, type="photo", parent_id=parent, slug="x", title="x")


def test_slow_photo_search_returns_503_with_advice(client, mongo, monkeypatch):
    upload(gallery("lakes"), name="nikon.jpg")
    monkeypatch.setattr("nodes.selectors.search.MILLISECONDS", 0.001)
    answer = client.get("/media/find?camera=Nikon+Z+8&lens=other")
    assert answer.status_code == 503
    assert "Try searching for one term at a time." in answer.content.decode()


def test_photos_are_found_by_camera_data(client, commands, mongo):
    parent = gallery("lakes")
    upload(parent, name="nikon.jpg")
    upload(parent, pictures.encoded("JPEG"), name="plain.jpg")
    upload(gallery("hidden", published=None), name="hidden.jpg")
    query = {"camera": "Nikon Z 8", "lens": "Z 50mm f/1.8 S", "focal_length": "50", "year": "2024"}
    with commands.recorded() as log:
        found = client.get("/media/find", query)
    assert [photo.metadata.slug for photo in found.context["listing"].nodes] == ["nikon"]
    [event] = [event for event in log.sent if event.command.get("find") == "cms.assets.files"]
    assert "IXSCAN" in stages(explain(mongo, event))
    assert not stages(explain(mongo, event)) & {"SORT", "COLLSCAN"}
    assert found.content.decode() == client.get("/media/find", query | {"year": "2024", "iso": "x"}).content.decode()
    assert not client.get("/media/find", query | {"year": "2023"}).context["listing"].nodes
    hopeless = ({"year": "x"}, {"year": "9" * 30}, {"focal_length": "nan"}, {"focal_length": "1e999"}, {"camera": ""})
    assert {client.get("/media/find", query).status_code for query in hopeless} == {404}
    assert 'href="/media/find?camera=Nikon+Z+8"' in text(client.get("/lakes/nikon"))
