"""The picture that editors chose for a page: in lists, above its text and in previews.

Also texts for search engines.
"""

import json
import re
from datetime import timedelta

import feedparser
import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.selectors import references, stored_photos
from nodes.services import drafts, editing, trash
from nodes.services.site import invalidate, save_settings
from photos import addresses
from tests.support.nodes import photo_build, pictures
from tests.support.nodes.photo_build import document

LISTS = ["/", "/news", "/tag/t", "/news/archive/2020", "/search?q=harbour"]
THUMBNAIL = re.compile(r'<a class="thumbnail" href="([^"]*)" tabindex="-1" aria-hidden="true"><picture>(.*?)</picture>')


@pytest.fixture
def photo(mongo) -> ObjectId:
    """A public photo with a focal point."""
    fields = {"detail.alt": "Boats & nets", "detail.focal": [0.2, 0.8]}
    return photo_build.upload(photo_build.gallery("plates"), pictures.jpeg(), "boats.jpg", fields=fields)


@pytest.fixture
def post(photo) -> ObjectId:
    return node(
        "blog-entry",
        "harbour",
        parent=node("blog", "news"),
        title="Harbour",
        text="Harbour and quay.",
        tags=("t",),
        **{"detail.picture": photo},
    )


def page(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def said(html: str, name: str) -> str | None:
    found = re.search(rf'<meta (?:property|name)="{name}" content="([^"]*)"', html)
    return found and found[1]


def hide(photo_id: ObjectId) -> None:
    seen = document(photo_id)["metadata"]["nonce"]
    editing.save(EDITOR, photo_id, seen, {"published": None}, collection="cms.assets.files")


def throw_away(photo_id: ObjectId) -> None:
    trash.trash(EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], "cms.assets.files")


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("address", LISTS)
def test_lists_show_the_picture_around_its_focal_point(client, post, photo, address):
    [(link, picture)] = THUMBNAIL.findall(page(client, address))
    assert link == "/news/harbour"
    assert 'alt=""' in picture
    width, height = addresses.size(stored_photos.get(photo))
    assert f'width="{width}" height="{height}"' in picture
    assert 'class="across-2 down-8 red-' in picture
    assert f"/{photo}/" in picture
    assert client.get(re.search(r'<img src="([^"]*)"', picture)[1]).status_code == 200
    offered = re.search(r'srcset="([^"]*)" sizes="([^"]*)"', picture)
    assert client.get(offered[1].split()[0]).headers["Content-Type"] == "image/avif"
    assert "vw" in offered[2] or "rem" in offered[2]
    assert stored_photos.get(photo).metadata.detail.focal == [0.2, 0.8]


def test_newest_post_on_the_front_page_has_the_largest_picture(client, post, photo):
    earlier = PAST - timedelta(days=1)
    node("blog-entry", "older", parent=stored(post)["parent_id"], published=earlier, **{"detail.picture": photo})
    sizes = re.findall(r'sizes="([^"]*)"', "".join(picture for _link, picture in THUMBNAIL.findall(page(client, "/"))))
    # Each picture has two sources with the same sizes: AVIF and WebP.
    assert len(set(sizes)) == 2
    assert "46rem" in sizes[0]
    save_settings({"home": "list"}, {"home": "lead"})
    assert set(re.findall(r'sizes="([^"]*)"', page(client, "/"))) == {"(min-width: 40rem) 17rem, 7rem"}


def test_lists_by_name_and_by_hand_show_pictures(client, photo):
    folder = node("folder", "folder")
    node("basic-page", "quay", parent=folder, **{"detail.picture": photo})
    node("basic-page", "plain", parent=folder)
    assert [link for link, _picture in THUMBNAIL.findall(page(client, "/folder"))] == ["/folder/quay"]


@pytest.mark.parametrize("take_away", [hide, throw_away])
def test_hidden_picture_is_shown_nowhere(client, post, photo, take_away):
    urls = [*LISTS, "/news/harbour", "/feed/rss", "/feed/atom", "/feed/json"]
    assert all(str(photo) in page(client, address) for address in urls)
    take_away(photo)
    assert [address for address in urls if str(photo) in page(client, address)] == []


def test_scheduled_picture_is_shown_from_its_time_on(client, post, photo):
    other = photo_build.upload(node("gallery", "walls"), pictures.jpeg(3), "other.jpg")
    for before, after in ((photo, None), (photo, other)):
        draft = drafts.save_draft(EDITOR, post, nonce(post), {"detail.picture": after})
        drafts.schedule(EDITOR, post, draft.nonce, now() + timedelta(hours=1))
        assert str(before) in page(client, "/news")
        due = {"draft.due": now() - timedelta(seconds=1)}
        assert (
            database()["cms.nodes"].update_one({"_id": post, "draft.due": {"$gt": now()}}, {"$set": due}).matched_count
        )
        invalidate()
        html = page(client, "/news")
        assert str(before) not in html
        assert bool(THUMBNAIL.findall(html)) == bool(after) == (str(other) in html)
        database()["cms.nodes"].update_one({"_id": post}, {"$unset": {"draft": ""}})
        invalidate()


def test_list_reads_all_pictures_with_one_query(client, post, photo, commands):
    for number in range(5):
        other = photo_build.upload(node("gallery", f"g{number}"), pictures.jpeg(number), f"{number}.jpg")
        node("blog-entry", f"p{number}", parent=stored(post)["parent_id"], **{"detail.picture": other})
    client.get("/")
    with commands.recorded():
        assert len(THUMBNAIL.findall(page(client, "/news"))) == 6
    assert sum("cms.assets.files" in str(event.command) for event in commands.sent) <= 1


def test_picture_is_above_the_text_and_in_previews(client, post, photo):
    html = page(client, "/news/harbour")
    [lead] = re.findall(r'<figure class="lead shape-150">(.*?)</figure>', html)
    assert 'href="/plates/boats"' in lead
    assert 'alt="Boats &amp; nets"' in lead
    assert 'loading="lazy"' not in lead
    assert re.search(r'srcset="[^"]+" sizes="[^"]+" width="\d+" height="\d+"', lead)
    assert str(photo) in said(html, "og:image")
    assert said(html, "og:image").startswith("http")
    assert said(html, "og:image:alt") == "Boats &amp; nets"
    assert int(said(html, "og:image:width")) > int(said(html, "og:image:height")) > 0
    assert said(html, "twitter:card") == "summary_large_image"
    [block] = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html)
    assert str(photo) in json.loads(block)["@graph"][0]["image"]["url"]


def test_picture_within_the_text_is_not_repeated_above(client, post, photo):
    save(post, nonce(post), detail__text=f"Look.\n\n![Boats](photo:{photo})")
    html = page(client, "/news/harbour")
    assert '<figure class="lead' not in html
    assert '<figure class="photo">' in html


def test_first_photo_of_the_text_is_used_only_in_previews(client, post, photo):
    save(post, nonce(post), detail__picture=None, detail__text=f"![Boats](photo:{photo})")
    assert "derived.picture" not in database()["cms.nodes"].find_one({"_id": post})["derived"]
    html = page(client, "/news/harbour")
    assert str(photo) in said(html, "og:image")
    assert '<figure class="lead' not in html
    assert not THUMBNAIL.findall(page(client, "/news"))


def test_chosen_picture_of_a_gallery_beats_its_newest(client, photo):
    gallery = node("gallery", "walls")
    photo_build.upload(gallery, pictures.jpeg(3), "newest.jpg")
    assert str(photo) not in said(page(client, "/walls"), "og:image")
    save(gallery, nonce(gallery), detail__picture=photo)
    assert str(photo) in said(page(client, "/walls"), "og:image")


def test_feeds_contain_the_picture(client, post, photo):
    rss, atom = (feedparser.parse(client.get(f"/feed/{form}").content).entries[0] for form in ("rss", "atom"))
    [media] = rss.media_content
    assert (media["type"], media["medium"]) == ("image/jpeg", "image")
    assert int(media["width"]) > int(media["height"]) > 0
    [link] = [link for link in atom.links if link.rel == "enclosure"]
    item = client.get("/feed/json").json()["items"][0]
    assert media["url"] == link["href"] == item["image"]
    assert f"/{photo}/" in item["image"]
    assert client.get(item["image"].removeprefix("http://testserver")).status_code == 200


def test_picture_counts_as_used_by_the_page(post, photo):
    assert [use.node.pk for use in references.find_uses([photo])] == [post]
    save(post, nonce(post), detail__picture=None)
    assert references.find_uses([photo]) == []


def test_share_picture_of_the_site_is_the_fallback(client, post, photo):
    other = photo_build.upload(node("gallery", "walls"), pictures.jpeg(3), "site.jpg")
    node("basic-page", "plain", text="Nothing to see.")
    assert said(page(client, "/plain"), "twitter:card") == "summary"
    save_settings({"share_picture": other}, {"share_picture": None})
    for address in ("/", "/plain", "/news", "/tag/t"):
        html = page(client, address)
        assert str(other) in said(html, "og:image"), address
        assert said(html, "twitter:card") == "summary_large_image"
    assert str(photo) in said(page(client, "/news/harbour"), "og:image")
    hide(other)
    assert said(page(client, "/plain"), "og:image") is None


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("address", ["/news/harbour", "/news", "/about"])
def test_seo_fields_replace_title_and_description(client, post, address):
    node("basic-page", "about", title="About", summary="Us")
    html = page(client, address)
    assert said(html, "og:title") != "To <find> it"
    key = {"/news/harbour": post, "/news": stored(post)["parent_id"]}.get(address)
    key = key or database()["cms.nodes"].find_one({"metadata.slug": "about"})["_id"]
    save(key, nonce(key), detail__seo_title="To <find> it", detail__seo_description="What <they> read")
    html = page(client, address)
    assert "<title>To &lt;find&gt; it · " in html
    assert said(html, "og:title") == "To &lt;find&gt; it"
    assert said(html, "description") == said(html, "og:description") == "What &lt;they&gt; read"
    assert "<h1>To" not in html
    assert not client.get("/search?q=they").context["results"].hits


@pytest.mark.parametrize("value", ["$ne", {"$gt": ""}, [], "photo:" + "0" * 24, "0" * 23, 7])
def test_invalid_id_is_refused(post, photo, value):
    with pytest.raises(editing.InvalidField):
        save(post, nonce(post), detail__picture=value)
    assert stored(post)["detail"]["picture"] == photo
    save(post, nonce(post), detail__picture=str(photo))
    assert stored(post)["detail"]["picture"] == photo


def test_missing_picture_is_stored_and_shown_nowhere(client, post):
    save(post, nonce(post), detail__picture=ObjectId())
    assert '<figure class="lead' not in page(client, "/news/harbour")
    assert not THUMBNAIL.findall(page(client, "/news"))
