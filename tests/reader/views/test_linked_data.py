"""Metadata for search engines and link previews: JSON-LD with schema.org, and an image."""

import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import models
from django.utils.translation import gettext_lazy as _

from cms.testing.build import EDITOR, node
from nodes.content import Entry, PhotoField
from nodes.services import editing
from nodes.services.site import save_settings
from tests.support.nodes import photo_build, pictures
from tests.support.nodes.content import registered

VOCABULARY = Path(__file__).parents[3] / "node_modules/schema-dts/dist/schema.d.ts"
INTERFACE = re.compile(r"^(?:export )?interface (\w+) extends ([^{]*) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)


@cache
def vocabulary() -> dict[str, tuple[list[str], set[str]]]:
    """Return the parents and own properties of every interface of schema-dts. A missing file fails the test."""
    assert VOCABULARY.exists(), "The tests need schema-dts: `make checkers` installs it."
    return {
        name: (parents.split(", "), set(re.findall(r'^    "(\w+)"\?', rest, re.MULTILINE)))
        for name, parents, rest in INTERFACE.findall(VOCABULARY.read_text())
    }


def properties(name: str) -> set[str]:
    """Return the properties of an interface: its own and those of its parents."""
    if name not in vocabulary():
        return set()
    parents, own = vocabulary()[name]
    return own.union(*map(properties, parents))


def check(said: Any) -> None:
    """Assert that every object, at any depth, has a type and properties that exist in schema.org."""
    if isinstance(said, list):
        for item in said:
            check(item)
    if isinstance(said, dict):
        names = {name for name in said if not name.startswith("@")}
        assert f"{said['@type']}Leaf" in vocabulary(), said["@type"]
        assert names <= properties(f"{said['@type']}Leaf"), f"{said['@type']}: {names}"
        for value in said.values():
            check(value)


def graph(client, address: str) -> dict[str, dict[str, Any]]:
    """Return the objects on a page, by type."""
    [block] = BLOCK.findall(client.get(address).content.decode())
    data = json.loads(block)
    assert data["@context"] == "https://schema.org"
    return {item["@type"]: item for item in data["@graph"]}


def metas(client, address: str) -> dict[str, str]:
    page = client.get(address).content.decode()
    return dict(re.findall(r'<meta (?:name|property)="([^"]*)" content="([^"]*)">', page))


@pytest.fixture
def site(mongo):
    """A blog with a post that shows a photo, a gallery, and a page in a folder."""
    photo = photo_build.upload(photo_build.gallery(title="Lakes"), pictures.jpeg(), fields={"summary": "In spring."})
    blog = node("blog", "news", title="News", summary="All of it")
    text = f"It begins.\n\n![](photo:{photo})"
    made = datetime(2022, 1, 2, tzinfo=UTC)
    node("blog-entry", "post", parent=blog, title="A post", text=text, tags=("a", "b"), published=made)
    node(slug="home", title="Welcome", text="Come in.")
    node(slug="page", parent=node("folder", "folder", title="Folder"), title="A page", text="About us.")
    return photo


ADDRESSES = ("/", "/news/post", "/news", "/gallery/lake", "/gallery", "/folder/page", "/folder")


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_name_exists_in_schema_org(client, site, address):
    for item in graph(client, address).values():
        check(item)


def test_unknown_name_is_detected():
    with pytest.raises(AssertionError, match="hedline"):
        check({"@type": "Article", "hedline": "x"})
    with pytest.raises(AssertionError, match="Artikel"):
        check([{"@type": "Artikel"}])


def test_post_describes_itself_and_its_place(client, site):
    said = graph(client, "/news/post")
    post = said["BlogPosting"]
    assert (post["headline"], post["description"], post["url"]) == (
        "A post",
        "It begins.",
        "http://testserver/news/post",
    )
    assert (post["datePublished"], post["keywords"]) == ("2022-01-02T00:00:00+00:00", ["a", "b"])
    assert (post["author"]["name"], post["isPartOf"]) == (
        "Ann",
        {"@type": "Blog", "name": "News", "url": "http://testserver/news"},
    )
    assert post["image"]["caption"] == "A lake"
    assert [(i["position"], i["name"], i["item"]) for i in said["BreadcrumbList"]["itemListElement"]] == [
        (1, "News", "http://testserver/news"),
        (2, "A post", "http://testserver/news/post"),
    ]


def test_page_without_a_date_has_no_author(client, site):
    """Its author may have no author page."""
    node("basic-page", "words", author={"_id": None, "name": "Wilma"})
    assert "author" not in graph(client, "/words")["Article"]


def test_front_page_describes_the_site_and_its_posts(client, mongo):
    save_settings({"name": "Ours", "tagline": "We <write>"}, {"name": "Marginalia", "tagline": ""})
    assert graph(client, "/").keys() == {"WebSite"}
    blog = node("blog", "news", title="News")
    for day in (1, 2):
        node("blog-entry", f"p{day}", parent=blog, title=f"<b> {day}", published=datetime(2022, 1, day, tzinfo=UTC))
    said = graph(client, "/")
    check(list(said.values()))
    site, posts = said["WebSite"], said["ItemList"]["itemListElement"]
    assert (site["url"], site["name"], site["description"], site["inLanguage"]) == (
        "http://testserver/",
        "Ours",
        "We <write>",
        "en",
    )
    assert [(item["position"], item["name"], item["url"]) for item in posts] == [
        (1, "<b> 2", "http://testserver/news/p2"),
        (2, "<b> 1", "http://testserver/news/p1"),
    ]


def test_photo_describes_its_file(client, site):
    photo = graph(client, "/gallery/lake")["ImageObject"]
    assert (photo["caption"], photo["description"], photo["encodingFormat"]) == ("A lake", "In spring.", "image/jpeg")
    assert client.get(photo["contentUrl"].removeprefix("http://testserver")).status_code == 200
    assert client.get(photo["thumbnailUrl"].removeprefix("http://testserver")).status_code == 200
    across, down = photo_build.document(site)["metadata"]["detail"]["resolution"]
    assert (photo["width"]["value"], photo["height"]["value"]) == (across, down)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("language", ["en", "zh-hans", "de"])
@pytest.mark.parametrize("address", ["/news/post", "/gallery/lake", "/gallery"])
def test_page_with_a_photo_has_a_preview_image(client, site, address, language):
    save_settings({"language": language}, {"language": "en"})
    said = metas(client, address)
    assert said["twitter:card"] == "summary_large_image"
    assert said["og:image:alt"] == "A lake"
    assert said["og:image:width"].isdecimal()
    assert said["og:image:height"].isdecimal()
    assert client.get(said["og:image"].removeprefix("http://testserver")).status_code == 200


def test_page_without_a_photo_has_no_preview_image(client, site):
    said = metas(client, "/folder/page")
    assert (said["twitter:card"], "og:image" in said) == ("summary", False)


def test_hidden_photo_is_no_preview_image(client, site):
    photo = photo_build.document(site)
    editing.save(EDITOR, site, photo["metadata"]["nonce"], {"published": None}, collection="cms.assets.files")
    assert "og:image" not in metas(client, "/news/post")
    assert "image" not in graph(client, "/news/post")["BlogPosting"]


@pytest.mark.parametrize(
    ("evil", "shown"),
    [
        *((evil, evil) for evil in ("</script><script>alert(1)</script>", "]]>", "\u2028 & \\u003c")),
        ("<!-- <script>", "<!– <script>"),
        ('"}], "x": [{"', "“}], “x”: [{”"),
    ],
)
def test_typed_text_cannot_leave_its_element(client, mongo, evil, shown):
    blog = node("blog", "news", title=evil)
    node("blog-entry", "post", parent=blog, title=evil, summary=evil, tags=(evil,))
    page = client.get("/news/post").content.decode()
    said = graph(client, "/news/post")
    assert [said["BlogPosting"][name] for name in ("headline", "description")] == [shown, shown]
    assert said["BreadcrumbList"]["itemListElement"][0]["name"] == evil
    assert not re.search("[<>&\u2028]", BLOCK.search(page)[1])


EVIL = "</script><script>alert(1)</script>\u2028"


class Concert(Entry):
    """An evening with music: says what its fields say in the words of schema.org."""

    schema_org = "Event"
    date_field = "begins"

    begins = models.DateTimeField()
    place = models.CharField(max_length=100, blank=True)
    price = models.DecimalField(max_digits=6, decimal_places=2, default=0)

    def linked_data(self):
        return {
            "location": {"@type": "Place", "name": self.place},
            "offers": {"@type": "Offer", "price": self.price},
            "attendee": [],
            "maximumAttendeeCapacity": 0,
            "eventStatus": _("Public"),
        }


def test_content_type_adds_its_own_properties(client, mongo):
    with registered(Concert):
        begins = datetime(2030, 5, 1, 20, tzinfo=UTC)
        given = {"detail.begins": begins, "detail.place": EVIL, "detail.price": "7.5"}
        node("concert", "song", parent=node("blog", "news"), title="A song", **given)
        page = client.get("/news/song").content.decode()
        said = graph(client, "/news/song")["Event"]
    assert (said["name"], said["startDate"], said["offers"]["price"]) == ("A song", "2030-05-01T20:00:00Z", "7.50")
    assert (said["location"]["name"], said["eventStatus"], said["maximumAttendeeCapacity"]) == (EVIL, "Public", 0)
    assert "attendee" not in said
    check(said)
    assert not re.search("[<>&\u2028]", BLOCK.search(page)[1])


class Exhibition(Entry):
    """Has a poster."""

    poster = PhotoField(null=True, blank=True)


def test_photo_of_a_field_is_preferred_to_those_of_the_text(client, mongo):
    gallery = photo_build.gallery()
    poster, other = (photo_build.upload(gallery, pictures.jpeg(), f"{name}.jpg") for name in ("poster", "other"))
    hidden = photo_build.upload(gallery, pictures.jpeg(), "hidden.jpg", fields={"published": None})
    with registered(Exhibition):
        section, text = node("blog", "shows"), f"![x](photo:{other})"
        for slug, named in (("one", poster), ("two", hidden), ("three", None)):
            node("exhibition", slug, parent=section, text=text, **{"detail.poster": named})
        shown = {slug: client.get(f"/shows/{slug}").content.decode() for slug in ("one", "two", "three")}
    pictured = {
        slug: re.search(r'og:image" content="[^"]*/media/([0-9a-f]{24})/', html)[1] for slug, html in shown.items()
    }
    assert pictured == {"one": str(poster), "two": str(other), "three": str(other)}
