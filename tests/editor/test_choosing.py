"""The suggestions of the chooser, and their permissions."""

from io import BytesIO

import pytest
from django.contrib.auth.models import Group, Permission
from PIL import Image

from cms.testing.build import node, nonce, save
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload

CHOOSE = "/admin/nodes/node/choose/"


@pytest.fixture
def client(editor):
    return editor().client


@pytest.fixture
def author(editor):
    made = editor("bob", is_superuser=False)
    made.user.user_permissions.add(*Permission.objects.filter(codename__in=("add_node", "change_node")))
    return made


def choices(client, query="", wanted="link", **more):
    return client.get(CHOOSE, {"q": query, "for": wanted, **more}).json()["choices"]


def titles(*asked):
    return [one["title"] for one in choices(*asked)]


def test_thumbnail_shows_the_whole_photo(client):
    wide = upload(gallery("pictures"), pictures.jpeg(picture=pictures.image((400, 100))), name="logo.jpg")
    (found,) = [one for one in choices(client, "logo") if one["ref"] == f"photo:{wide}"]
    thumbnail = Image.open(BytesIO(client.get(found["thumbnail"]).getvalue()))
    assert thumbnail.size == (320, 80)


def test_pages_sections_photos_and_tags_are_offered_by_title(client):
    blog, place = node("blog", "lakes", title="Lakes"), gallery("pictures")
    post = node("blog-entry", "como", parent=blog, title="Lake Como", published=None)
    photo = upload(place, name="lake.jpg", tags=("lake district",))
    found = {one["title"]: one for one in choices(client, "lak")}
    assert list(found) == ["Lake Como", "Lakes", "lake", "lake district"]
    hidden, public, picture, tag = found.values()
    assert hidden == {
        "ref": f"node:{post}",
        "address": f"node:{post}",
        "title": "Lake Como",
        "kind": "Blog post",
        "path": "/lakes/como",
        "note": "not public",
        "thumbnail": "",
    }
    assert (public["ref"], public["address"], public["note"]) == (f"node:{blog}", "/lakes", "")
    assert (picture["ref"], picture["kind"], picture["path"]) == (f"photo:{photo}", "Photo", "/pictures/lake")
    assert client.get(picture["thumbnail"]).status_code == 200
    assert (tag["ref"], tag["kind"], tag["path"]) == ("/tag/lake%20district", "Tag", "/tag/lake district")
    assert client.get(tag["ref"]).status_code == 200


def test_pages_with_the_words_in_their_text_are_offered_only_if_no_title_has_them(client):
    node(slug="fees", title="Our fees")
    node(slug="news", title="News", text="The fees of the harbour changed.")
    assert titles(client, "fees") == ["Our fees"]
    assert titles(client, "harbour") == ["News"]


def test_fields_are_offered_what_they_accept(client):
    node(slug="one", title="A lake", tags=("lake",))
    upload(gallery(), name="lake.jpg")
    assert titles(client, "lake", "node") == ["A lake"]
    assert titles(client, "lake", "photo") == ["lake"]
    assert titles(client, "", "photo") == ["lake"]
    assert titles(client, "/one", "node") == ["A lake"]
    assert titles(client, "/one", "photo") == titles(client, "/gallery/lake", "node") == []


def test_url_of_the_site_offers_its_page(client):
    page, photo = node(slug="about", title="About us"), upload(gallery(), name="lake.jpg")
    hidden = node(slug="hidden", title="Hidden", published=None)
    for typed in ("/about", "/about/", "http://testserver/about#s-winter", f"node:{page}", f"node:{page}#s-winter"):
        assert [one["ref"] for one in choices(client, typed)] == [f"node:{page}"], typed
    save(page, nonce(page), slug="us")
    assert [one["address"] for one in choices(client, "http://testserver/about")] == ["/us"]
    assert titles(client, f"photo:{photo}") == ["lake"]
    assert [one["note"] for one in choices(client, f"node:{hidden}")] == ["not public"]
    for typed in (
        "/none",
        "/hidden",
        "http://other.example/us",
        "//nowhere",
        "node:x",
        "node:" + "0" * 24,
        "http://[",
        "\0",
    ):
        assert choices(client, typed) == [], typed


def test_empty_search_offers_the_last_changed_pages(client, author):
    node(slug="one", title="One")
    node(slug="mine", title="Mine", published=None, author={"_id": author.user.pk, "name": "Bob"})
    assert titles(client) == ["Mine", "One"]
    assert titles(author.client) == ["Mine"]


def test_author_is_offered_public_and_own_pages(client, author):
    closed = node("blog", "closed", title="Closed lake", published=None)
    node("blog-entry", "in", parent=closed, title="Lake in it")
    node(slug="secret", title="Secret lake", published=None)
    mine = node(slug="mine", title="My lake", published=None, author={"_id": author.user.pk, "name": "Bob"})
    node(slug="public", title="Public lake")
    assert titles(client, "lake") == ["Public lake", "My lake", "Secret lake", "Lake in it", "Closed lake"]
    assert titles(author.client, "lake") == ["Public lake", "My lake"]
    assert titles(author.client, f"node:{mine}") == ["My lake"]
    assert titles(author.client, f"node:{closed}") == []


def test_choosing_is_only_for_writers(client, editor):
    moderator = editor("mo", is_superuser=False)
    moderator.user.groups.add(Group.objects.get(name="Moderators"))
    assert client.get(CHOOSE).status_code == 200
    assert moderator.client.get(CHOOSE).status_code == 403
    assert client.post(CHOOSE).status_code == 405


@pytest.mark.parametrize("query", ["$where", "a" * 5_000, "{'$gt': ''}", "\x00", "%", "(" * 50, "x:" * 100])
def test_special_characters_are_searched_as_text(client, query):
    assert choices(client, query, "anything") == []
    assert choices(client, query, "$ne") == []


def targets(client, *refs):
    return client.get("/admin/nodes/node/targets/", {"refs": " ".join(refs)}).json()["targets"]


def test_targets_of_references_have_present_titles_and_pictures(client):
    page = node(slug="fees", title="Our fees")
    photo = upload(gallery("pictures"), name="lake.jpg")
    refs = [f"node:{page}", f"photo:{photo}", "node:" + "0" * 24, "node:nonsense", "other:x", ""]
    found = targets(client, *refs)
    assert list(found) == [f"node:{page}", f"photo:{photo}"]
    assert found[f"node:{page}"]["title"] == "Our fees"
    assert targets(client, "/pictures/lake", "/nowhere", "//other.org/x") == {"/pictures/lake": found[f"photo:{photo}"]}
    picture = found[f"photo:{photo}"]["picture"]
    assert client.get(picture["path"]).status_code == 200
    assert picture["width"] > 0
    assert targets(client, *["node:" + "1" * 24] * 49, f"node:{page}")
    assert targets(client, *["node:" + "1" * 24] * 50, f"node:{page}") == {}


def test_targets_that_the_user_cannot_see_are_left_out(client, author):
    hidden, public = node(slug="hidden", title="Secret", published=None), node(slug="public", title="Public")
    refs = [f"node:{hidden}", f"node:{public}"]
    assert list(targets(author.client, *refs)) == [f"node:{public}"]
    assert list(targets(client, *refs)) == refs
