"""Pages of authors: the posts signed with a name, and the author's own page."""

import json
import re
from datetime import UTC, datetime

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.urls import reverse

from cms.testing.build import node, nonce, save
from cms.testing.editors import Editor
from marginalia.mongo.clock import now
from nodes.services import editing
from nodes.types import Actor
from reader import page_cache
from tests.support.nodes import photo_build

MARY = {"_id": None, "name": "Mary Écrivain"}
ADDRESS = "/author/mary-%C3%A9crivain"


@pytest.fixture
def blog(mongo) -> ObjectId:
    return node("blog", "news")


def post(blog: ObjectId, slug: str, day: int = 1, author: dict | None = MARY, **fields) -> ObjectId:
    return node(
        "blog-entry", slug, parent=blog, **{"published": datetime(2021, 1, day, tzinfo=UTC), **fields}, author=author
    )


def slugs(client, address: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return [entry.metadata.slug for entry in answer.context["listing"].nodes]


class TestAuthorWithoutPage:
    def test_posts_signed_with_the_name_are_listed(self, client, blog):
        post(blog, "a", 1)
        post(blog, "b", 2, {"_id": ObjectId(), "name": "Mary écrivain"})
        post(blog, "others", 3, {"_id": None, "name": "John"})
        post(blog, "draft", published=None)
        post(node("blog", "hidden", published=None), "hidden")
        assert slugs(client, ADDRESS) == ["b", "a"]
        page = client.get(ADDRESS).content.decode()
        assert "<h1>Mary Écrivain</h1>" in page
        assert f'href="{ADDRESS}/feed/atom"' in page

    def test_lists_link_only_authors_of_listed_posts(self, client, blog):
        post(blog, "post", tags=("ink",))
        node("basic-page", "page", author={"_id": None, "name": "John"}, tags=("ink",))
        page = client.get("/tag/ink").content.decode()
        assert f'href="{ADDRESS}"' in page
        assert ">Page</a>" in page
        assert "/author/john" not in page

    def test_author_without_public_posts_returns_404(self, client, blog):
        post(blog, "draft", published=None)
        assert client.get(ADDRESS).status_code == 404
        assert client.get("/author/nobody").status_code == 404
        assert client.get(f"{ADDRESS}/feed/atom").status_code == 404
        save(found := post(blog, "a"), nonce(found), title="Public")
        assert client.get(ADDRESS).status_code == 200

    def test_name_is_spelled_as_in_public_posts(self, client, blog):
        post(blog, "a", 1, {"_id": None, "name": "Mary écrivain"})
        post(blog, "draft", author=MARY, published=None)
        assert "<h1>Mary écrivain</h1>" in client.get(ADDRESS).content.decode()
        assert client.get(f"{ADDRESS}/feed/json").json()["title"].startswith("Mary écrivain")

    def test_other_spelling_of_the_url_redirects(self, client, blog):
        post(blog, "a")
        assert client.get("/author/Mary-ÉCRIVAIN").headers["Location"] == ADDRESS
        assert client.get("/author/***").status_code == 404

    def test_further_pages_are_linked(self, client, blog):
        for day in range(1, 13):
            post(blog, f"post-{day}", day)
        answer = client.get(ADDRESS)
        first = answer.context["listing"]
        # The name is the title, so entries don't repeat it.
        assert 'rel="author"' not in answer.content.decode()
        assert 'rel="author"' in client.get("/news").content.decode()
        assert slugs(client, f"{ADDRESS}?from={first.older}") == ["post-2", "post-1"]
        assert client.get(f"{ADDRESS}?from=x").status_code == 404

    def test_photographer_has_photos(self, client, mongo):
        photo = photo_build.upload(photo_build.gallery())
        assert 'href="/author/ann" rel="author"' in client.get("/gallery/lake").content.decode()
        answer = client.get("/author/ann")
        assert [one.pk for one in answer.context["photos"]] == [photo]

    def test_page_is_cached_until_the_site_changes(self, client, blog, commands):
        post(blog, "a")
        client.get(ADDRESS)
        with commands.recorded():
            client.get(ADDRESS)
        assert len(commands) == 1
        post(blog, "b", 2)
        assert slugs(client, ADDRESS) == ["b", "a"]

    def test_page_costs_three_commands(self, client, blog, commands):
        post(blog, "a")
        client.get(ADDRESS)
        page_cache.storage.clear()
        with commands.recorded():
            client.get(ADDRESS)
        # The site, the posts, the photos.
        assert len(commands) == 3

    def test_name_that_cannot_be_a_url_is_not_linked(self, client, blog):
        post(blog, "a", author={"_id": None, "name": "***"})
        page = client.get("/news").content.decode()
        assert '<bdi class="by">***</bdi>' in page


class TestLinks:
    def test_every_byline_links_to_the_author(self, client, blog):
        post(blog, "a", tags=("ink",))
        link = f'<a href="{ADDRESS}" rel="author">Mary Écrivain</a>'
        for address in ("/", "/news", "/news/a", "/tag/ink"):
            assert link in client.get(address).content.decode(), address
        page = client.get("/news/a").content.decode()
        assert f'<meta property="article:author" content="http://testserver{ADDRESS}">' in page

    def test_feeds_and_metadata_name_the_author(self, client, blog):
        post(blog, "a")
        url = f"http://testserver{ADDRESS}"
        page = client.get("/news/a").content.decode()
        said = json.loads(re.search(r'<script type="application/ld\+json">(.*?)</script>', page)[1])["@graph"][0]
        assert said["author"] == {"@type": "Person", "name": "Mary Écrivain", "url": url}
        assert f"<uri>{url}</uri>" in client.get("/news/feed/atom").content.decode()
        (item,) = client.get(f"{ADDRESS}/feed/json").json()["items"]
        assert item["authors"] == [{"name": "Mary Écrivain", "url": url}]

    def test_sitemap_lists_authors_once(self, client, blog):
        post(blog, "a")
        assert f"<loc>http://testserver{ADDRESS}</loc>" in client.get("/sitemap-sections-1.xml").content.decode()
        node("author", "mary", title="Mary Écrivain")
        assert ADDRESS not in client.get("/sitemap-sections-1.xml").content.decode()
        assert "<loc>http://testserver/mary</loc>" in client.get("/sitemap-author-1.xml").content.decode()


class TestAuthorPage:
    def test_page_covers_all_names_of_the_author(self, client, blog):
        post(blog, "a", 1)
        post(blog, "b", 2, {"_id": None, "name": "M. E."})
        page = node(
            "author",
            "mary",
            parent=node("folder", "team"),
            title="Mary Écrivain",
            text="Writes.",
            **{"detail.names": ["M. E."]},
        )
        for address in (ADDRESS, "/author/m-e"):
            assert client.get(address).headers["Location"] == "/team/mary"
        assert slugs(client, "/team/mary") == ["b", "a"]
        shown = client.get("/team/mary").content.decode()
        assert "<p>Writes.</p>" in shown
        assert '"mainEntity": {"@type": "Person", "name": "Mary Écrivain"' in shown
        feed = client.get("/author/m-e/feed/json").json()
        assert (feed["home_page_url"], len(feed["items"])) == ("http://testserver/team/mary", 2)
        # While that page is hidden, each name has its own list again.
        save(page, nonce(page), published=None)
        assert slugs(client, ADDRESS) == ["a"]

    def test_renamed_page_keeps_its_urls(self, client, blog):
        post(blog, "a")
        page = node("author", "mary", title="Mary Écrivain")
        save(page, nonce(page), slug="mary-smith", title="Mary Smith", detail__names=["Mary Écrivain"])
        assert client.get("/mary").headers["Location"] == "/mary-smith"
        assert client.get(ADDRESS).headers["Location"] == "/mary-smith"
        assert slugs(client, "/mary-smith") == ["a"]

    def test_later_page_does_not_take_over_the_name(self, client, blog):
        post(blog, "a")
        node("author", "mary", title="Mary Écrivain", published=datetime(2022, 1, 1, tzinfo=UTC))
        node("author", "other", title="Mary Écrivain", published=datetime(2022, 1, 2, tzinfo=UTC))
        assert client.get(ADDRESS).headers["Location"] == "/mary"

    def test_page_without_posts_is_shown(self, client, mongo):
        node("author", "mary", title="Mary", text="Has not written yet.")
        assert slugs(client, "/mary") == []
        assert "Has not written yet." in client.get("/mary").content.decode()

    def test_author_writes_and_editor_publishes_the_page(self, client, mongo):
        user = get_user_model().objects.create_user("mary@example.org", password="x", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=["add_node", "change_node"]))
        writer = Editor(user)
        add = f"{reverse('admin:nodes_node_add')}?type=author"
        writer.send(add, writer.open(add), title="Mary", slug="mary", text="Writes.")
        found = mongo["cms.nodes"].find_one({"metadata.slug": "mary"})
        assert (found["metadata"]["author"], found["metadata"]["published"]) == ({"_id": user.pk, "name": "mary"}, None)
        assert client.get("/mary").status_code == 404
        editing.save(Actor(None, "Editor"), found["_id"], nonce(found["_id"]), {"published": now()})
        assert client.get("/mary").status_code == 200


def test_email_address_is_not_shown_as_a_name():
    user = get_user_model()(username="mary@example.org")
    assert Actor.of(user).name == "mary"
    user.first_name = "Mary"
    assert Actor.of(user).name == "Mary"


def test_portrait_is_a_rendered_copy(client, mongo):
    photo = photo_build.upload(node("gallery", "faces"))
    node("author", "ann", parent=node("folder", "people"), **{"detail.picture": photo})
    html = client.get("/people/ann").content.decode()
    [portrait] = re.findall(r'<p class="portrait">(.*?)</p>', html)
    assert str(photo) in portrait
    assert all(client.get(copy).status_code == 200 for copy in re.findall(r"/media/[^ \"]+", portrait))
