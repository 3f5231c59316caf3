"""Links to nodes and photos by their ids, as readers see them."""

import json
from datetime import timedelta

import pytest
from bson import ObjectId

from cms.testing import build
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.models import tree
from nodes.selectors import stored_nodes
from nodes.services import trash
from photos import texts
from photos.services.photos import save as save_photo
from tests.support.nodes.content import Cookbook, Recipe, registered
from tests.support.nodes.photo_build import document, gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def folder() -> ObjectId:
    return build.node("folder", "folder")


@pytest.fixture
def target(folder) -> ObjectId:
    return build.node("basic-page", "target", parent=folder)


def body(client, text: str, text_format: str = "markdown") -> str:
    """Return the body of a text for readers."""
    page = build.node("basic-page", f"page-{ObjectId()}", text=text, **{"detail.format": text_format})
    path = stored_nodes.get(page).get_absolute_url()
    return str(client.get(path).context["body"])


@pytest.mark.parametrize(
    ("text_format", "text"), [("markdown", "[w](node:{}#s-x)"), ("html", "<p><a href='node:{}#s-x'>w</a></p>")]
)
def test_link_leads_to_the_url_of_the_node(client, target, text_format, text):
    assert body(client, text.format(target), text_format) == '<p><a href="/folder/target#s-x">w</a></p>'


def test_link_follows_a_moved_node_at_once(client, folder, target):
    page = build.node(text=f"[w](node:{target})")

    def link() -> str:
        return str(client.get("/page").context["body"])

    assert link() == '<p><a href="/folder/target">w</a></p>'
    build.save(target, build.nonce(target), slug="renamed")
    assert link() == '<p><a href="/folder/renamed">w</a></p>'
    build.save(target, build.nonce(target), parent_id=build.node("folder", "other"))
    assert link() == '<p><a href="/other/renamed">w</a></p>'
    build.save(target, build.nonce(target), slug="home", parent_id=None)
    assert link() == '<p><a href="/">w</a></p>'
    trash.trash(build.EDITOR, target, build.nonce(target))
    assert link() == "<p>w</p>"
    trash.restore(build.EDITOR, target, parent_id=folder, slug="back")
    assert link() == '<p><a href="/folder/back">w</a></p>'
    build.save(folder, build.nonce(folder), slug="moved")
    assert link() == '<p><a href="/moved/back">w</a></p>'
    build.save(folder, build.nonce(folder), published=None)
    assert link() == "<p>w</p>"
    assert database()["cms.nodes"].find_one({"_id": page})["derived"]["refs"] == [target]


def test_link_to_a_hidden_node_leaves_its_words(client, folder):
    hidden = build.node("folder", "hidden", published=None)
    ids = [
        build.node("basic-page", "draft", published=None),
        build.node("basic-page", "ahead", published=now() + timedelta(days=1)),
        build.node("basic-page", "expired", expires=now() - timedelta(days=1)),
        build.node("basic-page", "inside", parent=hidden),
        hidden,
        ObjectId(),
        "no-id",
        "{$gt: 1}",
    ]
    html = body(client, " ".join(f"[*w{n}*](<node:{i}>)" for n, i in enumerate(ids)))
    assert html == "<p>" + " ".join(f"<em>w{n}</em>" for n in range(len(ids))) + "</p>"


def test_link_to_an_uninstalled_type_leaves_its_words(client):
    with registered(Recipe, Cookbook):
        pie = build.node("recipe", "pie", parent=build.node("blog", "blog"), **{"detail.course": "main"})
        assert body(client, f"[w](node:{pie})") == '<p><a href="/blog/pie">w</a></p>'
    assert body(client, f"[w](node:{pie})") == "<p>w</p>"


def test_photos_can_be_linked(client):
    photo_id = upload(gallery("lakes"), name="one.jpg")
    by_all_names = f"[a](photo:{photo_id}) [b](photo:lakes/one) [c](photo:none)"
    assert body(client, by_all_names) == '<p><a href="/lakes/one">a</a> <a href="/lakes/one">b</a> c</p>'
    save_photo(build.EDITOR, photo_id, document(photo_id)["metadata"]["nonce"], {"published": None})
    assert body(client, f"[a](photo:{photo_id})") == "<p>a</p>"


def test_photo_within_a_link_is_not_linked_itself(client, target):
    photo_id = upload(gallery("lakes"), name="one.jpg")
    html = body(client, f"[![a](photo:{photo_id})](node:{target})")
    assert html.startswith('<p><a href="/folder/target"><picture>')
    assert html.count("<a ") == 1
    unlinked = body(client, f"[![a](photo:{photo_id})](node:{ObjectId()})")
    assert unlinked.startswith('<p><a href="/lakes/one"><picture>')


def test_feeds_contain_absolute_urls(client, target):
    blog = build.node("blog", "blog")
    build.node("blog-entry", "post", parent=blog, text=f"[w](node:{target}) [x](node:{ObjectId()})")
    (item,) = json.loads(client.get("/blog/feed/json").content)["items"]
    assert item["content_html"] == '<p><a href="http://testserver/folder/target">w</a> x</p>'


def test_all_links_of_a_text_cost_one_query_and_none_cached(client, folder, commands):
    ids = [build.node("basic-page", f"target-{n}", parent=folder) for n in range(12)]
    page = build.node(text=" ".join(f"[w](node:{i})" for i in ids))
    client.get("/page")
    node = stored_nodes.get(page)
    tree.current()
    build.save(folder, build.nonce(folder), summary="Another version of the site.")
    client.get("/folder")
    with commands.recorded() as log:
        texts.body(node)
    assert [event.command["find"] for event in log.sent if event.command.get("find") != "cms.site"] == ["cms.nodes"]
    with commands.recorded() as log:
        texts.body(node)
    assert {event.command.get("find") for event in log.sent} <= {"cms.site"}


def test_links_beyond_the_limit_leave_their_words(client, target):
    many = " ".join(f"[w](node:{ObjectId()})" for _ in range(200))
    assert "href" not in body(client, f"{many} [last](node:{target})")
    assert "/folder/target" in body(client, f"[first](node:{target}) {many}")
