"""Queries on a cluster: those of readers, commenters and editors are sent to the right shards, or are documented exceptions.

A listener records the driver's commands while pages are fetched and forms are sent.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from cms.testing.build import EDITOR, node, nonce
from cms.testing.editors import Editor, fields
from marginalia.comments.moderation import pending
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Target
from marginalia.mongo.collections import Collection, ShardKey, declared_collections
from marginalia.mongo.sharding import targeting
from marginalia.mongo.sharding.targeting import Broadcast
from nodes.selectors import stored_photos
from photos import addresses
from photos.services import photos
from tests.support import routing
from tests.support.commands import CommandLog
from tests.support.comments import site
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, replace, upload
from tests.support.routing import Operation

DOCUMENT = Path(__file__).parents[2] / "docs/internals/operations.md"
NODES = "/admin/nodes/node/"
# Commands about the system itself, which mongos answers alone or every shard answers.
OWN = ("$indexStats", "$collStats", "$currentOp", "$listSearchIndexes")


def sent(commands: CommandLog) -> Iterable[tuple[Operation, Collection]]:
    known = {item.collection.name: item.collection for item in declared_collections()}
    for event in commands.sent:
        for one in routing.operations(event.command_name, event.command):
            if one.collection in known:
                yield one, known[one.collection]


def judged(commands: CommandLog) -> set[Broadcast]:
    """Assert that all commands are routed or documented, and return the exceptions used."""
    used, known = set(), targeting.broadcasts()
    for one, collection in sent(commands):
        assert routing.is_allowed(one, collection), f"mongos refuses this: {one}"
        if not routing.is_routed(one, collection):
            excuse = routing.find_exception(one, known)
            assert excuse, f"every shard is asked: {one}"
            used.add(excuse)
    return used


def get(client: Client, *urls: str) -> None:
    for address in urls:
        assert client.get(address).status_code < 400, address


def readers(client: Client) -> set[str]:
    """Fetch every kind of public page, and return the URLs."""
    blog, folder = node("blog", "news"), node("folder", "about")
    photos = gallery("photos")
    lake = upload(photos, name="lake.jpg", tags=("water",))
    upload(photos, name="hill.jpg")
    for n in range(3):
        node("blog-entry", f"post-{n}", parent=blog, tags=("water",), text=f"Water {n} ![](photo:{lake})")
    node("basic-page", "us", parent=folder)
    moved = node("basic-page", "old", parent=folder)
    editing = Editor(site_user("mover"))
    editing.send(f"{NODES}{moved}/change/", editing.open(f"{NODES}{moved}/change/"), slug="new")
    content = document(lake)["metadata"]["content_id"]
    return {
        *("/", "/news", "/news/post-1", "/about", "/about/us", "/about/old", "/photos", "/photos/lake", "/photos/hill"),
        *(
            "/tag/water",
            "/tag/water/feed/atom",
            "/author/ann",
            "/search?q=water",
            "/search/suggestions?q=wat",
            "/feed/rss",
            "/news/feed/atom",
            "/news/feed/json",
        ),
        *(
            "/news/archive",
            "/news/archive/2020",
            "/news/archive/2020/01",
            "/sitemap.xml",
            "/robots.txt",
            "/media/find?camera=Any",
        ),
        f"/media/{lake}/{content}/w320.webp",
        f"/media/{lake}/{content}/original",
    }


def test_photos_are_read_from_the_shard_of_their_gallery(client, mongo, commands):
    """The first content, a later one, and a crop. After a photo was moved, the other shards are asked too."""
    first, second = gallery("first"), gallery("second")
    lake, hill = upload(first), upload(first, name="hill.jpg")
    replace(hill, pictures.png())
    urls = [address for one in (lake, hill) for address in shown(one)]

    def asks_all(urls: list[str]) -> bool:
        with commands.recorded():
            for address in urls:
                answer = client.get(address)
                assert answer.status_code == 200, address
                b"".join(answer.streaming_content)
        return "cms.assets.files" in {broadcast.collection for broadcast in judged(commands)}

    assert all(f"/{first}/" in address for address in urls)
    assert not asks_all(urls)
    before = {address: client.get(address).headers["ETag"] for address in urls}
    for one in (lake, hill):
        photos.save(EDITOR, one, document(one)["metadata"]["nonce"], {"parent_id": second})
    assert asks_all(urls)
    assert {address: client.get(address).headers["ETag"] for address in urls} == before
    urls = [address for one in (lake, hill) for address in shown(one)]
    assert all(f"/{second}/" in address for address in urls)
    assert not asks_all(urls)


def shown(photo_id: ObjectId) -> list[str]:
    """Return some URLs of images that pages show of a photo."""
    photo = stored_photos.get(photo_id)
    return [addresses.original_path(photo), addresses.copy_path(photo, 320, "webp"), addresses.square_path(photo, 160)]


def site_user(name: str) -> Any:
    from django.contrib.auth.models import User

    return User.objects.create_superuser(name, f"{name}@example.org", "pw")


def test_queries_of_readers_are_targeted(client, mongo, commands):
    urls = readers(client)
    with commands.recorded():
        for address in urls:
            answer = client.get(address)
            b"".join(answer.streaming_content if answer.streaming else [])
            assert answer.status_code in (200, 301), address
        assert client.get("/news/nothing-there").status_code == 404
    used = judged(commands)
    # Apart from cached data, only URLs with an id ask every shard.
    assert {(b.collection, b.paths) for b in used} <= {
        # The names of all authors.
        ("cms.nodes", ()),
        ("cms.assets.files", ()),
        ("cms.nodes", ("_id",)),
        ("cms.nodes", ("metadata.type",)),
        ("cms.nodes", ("metadata.published",)),
        ("cms.nodes", ("metadata.expires",)),
        ("cms.assets.files", ("_id",)),
        ("cms.assets.files", ("metadata.detail.exif",)),
        # Searches.
        ("cms.nodes", ("derived.terms",)),
        ("cms.assets.files", ("derived.terms",)),
    }


@pytest.mark.parametrize("layout", ["documents", "embedded", "buckets"])
@pytest.mark.parametrize("order", [pytest.param("oldest", marks=pytest.mark.slow), "threaded"])
def test_queries_of_commenters_are_targeted(post_page, rules, client, commands, moderator, layout, order):
    rules(TARGETS={"nodes.node": {"LAYOUT": layout, "ORDER": order}}, RATE=(1000, 600))
    with commands.recorded():
        posters(client, post_page, rules, moderator)
    used = judged(commands)
    assert {b.collection for b in used} <= {"cms.nodes", "comments", "comment_pages", "comments.pending", "discussions"}


def posters(client: Client, post: Target, rules: Any, moderator: Any) -> None:
    """Post, reply, edit, flag, remove, read in every way, hold and decide."""

    def url(name: str, slug: str) -> str:
        return reverse(f"comments-{name}", args=[post.label, post.pk, slug])

    for text in ("One", "Two", "Three"):
        assert site.post(client, post, text, email="ann@example.org").status_code == 302
    first, second, third = selectors.iterate(post)
    site.post(client, post, "An answer", parent=first.slug)
    edit = client.get(url("edit", second.slug))
    client.post(url("edit", second.slug), {**site.fields_of(edit.content.decode()), "text": "Changed"})
    client.post(url("delete", third.slug))
    client.post(url("flag", first.slug))
    get(client, "/news/hello", reverse("comments-discussion", args=[post.label, post.pk]))
    get(client, reverse("comments-feed", args=[post.label, post.pk]), url("thread", first.slug))
    assert client.get(url("url-redirect", first.slug)).status_code in (301, 302)
    rules(MODE="hold-all")
    for text in ("Held", "Spam"):
        site.post(client, post, text)
    staff = Client()
    staff.force_login(moderator)
    get(staff, reverse("admin:marginalia_comments_moderation_changelist"), reverse("comments-mine"))
    approved, rejected = selectors.held()
    staff.post(reverse("admin:marginalia_comments_moderation_decide"), {"action": "approve"})
    staff.post(reverse("comments-approve", args=[approved.id]))
    pending.reject(rejected.id, by="mona")
    services.restore(post, third.slug)
    services.remove(post, first.slug)
    assert selectors.count(post) == 4
    selectors.recent(10)
    selectors.by_author("1")


def test_queries_of_page_editors_are_targeted(editor, commands):
    ann = editor()
    blog, folder = node("blog", "blog"), node("folder", "folder")
    for n in range(3):
        node("blog-entry", f"post-{n}", parent=blog, tags=("a",))
    with commands.recorded():
        pages(ann, blog, folder)
    judged(commands)


def pages(ann: Editor, blog: ObjectId, folder: ObjectId) -> None:
    """List, create, save, draft, publish, compare, move, copy, trash, restore, delete."""
    filters = ("state=live", "state=scheduled", "state=unpublished", "state=expired", "state=drafted", "type=blog")
    get(
        ann.client,
        *(f"{NODES}?{query}" for query in ("", *filters, "tag=a", f"section={blog}", "section=top", "q=post")),
    )
    add = f"{NODES}add/?type=basic-page&parent={folder}"
    added = ann.send(add, ann.open(add), title="Hello", text="one")
    address = re.match(r".*/change/", added["Location"])[0]
    ann.send(address, ann.open(address), title="Hello again", slug="again", tags="x, y")
    ann.send(address, ann.open(address), tags="y, z")
    page = address.removesuffix("change/")
    ann.send(address, ann.open(address), button="_draft", text="two")
    get(ann.client, address, f"{page}history/", f"{page}preview/", f"{page}publish/")
    press(ann, f"{page}publish/")
    press(ann, f"{page}move/", parent_id="")
    press(ann, f"{page}duplicate/")
    press(ann, f"{page}delete/")
    get(ann.client, f"{NODES}trash/")
    press(ann, f"{page}restore/")
    press(ann, f"{page}delete/")
    press(ann, f"{page}delete-for-good/")
    section = f"{NODES}{blog}/"
    press(ann, f"{section}move/", parent_id=str(folder))
    inside = node("basic-page", "inside", parent=folder)
    for action in ("publish", "unpublish", "tag", "move", "trash"):
        chosen = {"action": action, "chosen": [str(inside)], f"nonce-{inside}": str(nonce(inside)), "tags": "t"}
        assert ann.client.post(NODES, {**chosen, "target": "top"}).status_code in (200, 302)


def press(ann: Editor, address: str, **typed: str) -> None:
    """Open a page, and send its form with the typed values."""
    form = fields(ann.client.get(address).content.decode(), "confirm_form")
    assert ann.client.post(address, {**form, **typed}).status_code in (200, 302), address


def test_queries_of_photo_editors_are_targeted(editor, commands):
    ann, parent = editor(), gallery()
    photo = upload(parent)
    node("blog-entry", "post", parent=node("blog", "blog"), text=f"![](photo:{photo})")
    with commands.recorded():
        library(ann, parent, photo)
    judged(commands)


def library(ann: Editor, parent: ObjectId, photo: ObjectId) -> None:
    """Upload, list, save, replace, restore, trash."""
    files = [SimpleUploadedFile("new.jpg", pictures.jpeg())]
    json = {"accept": "application/json"}
    sent = ann.client.post(reverse("admin:nodes_photo_upload", args=[parent]), {"files": files}, headers=json)
    assert sent.json()["results"][0]["ok"]
    every = reverse("admin:nodes_photo_changelist")
    get(ann.client, every, f"{every}?tag=a", f"{every}?gallery={parent}", reverse("admin:nodes_photo_stalled"))
    page = reverse("admin:nodes_photo_change", args=[photo])
    html = ann.client.get(page).content.decode()
    ann.client.post(page, {**fields(html), "title": "Other", "tags": "b"})
    replace(photo, pictures.png())
    restored = {"content": str(photo), "nonce": str(document(photo)["metadata"]["nonce"])}
    ann.client.post(reverse("admin:nodes_photo_go_back", args=[photo]), restored)
    throw = reverse("admin:nodes_photo_trash", args=[photo])
    ann.client.post(throw, {"nonce": str(document(photo)["metadata"]["nonce"]), "confirmed": "1"})
    assert document(photo) is None


def test_untargeted_queries_are_the_documented_ones():
    listed = DOCUMENT.read_text().partition("| Collection | Filter | Why |")[2].partition("\n\n")[0]
    table = re.findall(r"^\| `([\w.]+)` \| (.+?) \| (.+?) \|$", listed, re.MULTILINE)
    written = [(name, tuple(re.findall(r"`(.+?)`", paths)), why) for name, paths, why in table]
    assert written == [(b.collection, b.paths, b.reason) for b in targeting.broadcasts()]


@pytest.mark.parametrize(
    ("filter", "key", "targeted"),
    [
        ({"a": 1}, "a", True),
        ({"a": {"$in": [1, 2]}}, "a", True),
        ({"a": {"$gt": 1}}, "a", True),
        ({"a": None, "b": 1}, "a", True),
        ({"$and": [{"b": 1}, {"a": 1}]}, "a", True),
        ({"$or": [{"a": 1}, {"a": 2}]}, "a", True),
        ({"$or": [{"a": 1}, {"b": 2}]}, "a", False),
        ({"b": 1}, "a", False),
        ({}, "a", False),
        ({"a": {"$ne": 1}}, "a", False),
        ({"a": {"$exists": True}}, "a", False),
        ({"a": {"$gt": 1}}, "hashed", False),
        ({"a": 1}, "hashed", True),
    ],
)
def test_filter_with_the_shard_key_is_targeted(filter, key, targeted):
    keys = (("a", "hashed"),) if key == "hashed" else (("a", 1), ("b", 1))
    assert targeting.is_targeted(filter, keys) is targeted


def test_writes_that_mongos_refuses_are_detected():
    collection = Collection("c", (), ShardKey((("a", 1), ("b", 1))))

    def allowed(name: str, **command: Any) -> bool:
        (one,) = routing.operations(name, {name: "c", **command})
        return routing.is_allowed(one, collection)

    assert not allowed("findAndModify", query={"a": 1})
    assert not allowed("findAndModify", query={"_id": 1})
    assert allowed("findAndModify", query={"a": 1, "b": 2})
    assert not allowed("update", updates=[{"q": {"a": 1}}])
    assert allowed("update", updates=[{"q": {"_id": 1}}])
    assert allowed("update", updates=[{"q": {"a": 1}, "multi": True}])
    assert not allowed("update", updates=[{"q": {"_id": 1}, "upsert": True}])
    assert not allowed("delete", deletes=[{"q": {"a": {"$gt": 1}, "b": 1}, "limit": 1}])
