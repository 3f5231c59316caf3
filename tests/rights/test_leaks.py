"""Indirect ways to notice hidden content: entity tags, counts, neighbours, tags, titles."""

import re
from datetime import timedelta

import pytest
from django.template import Context, Template

from cms.testing import build
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.services import drafts, editing, trash
from tests.rights.world import World, body
from tests.support.nodes import photo_build

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def site(mongo):
    return World()


def nonce(node_id):
    return database()["cms.nodes"].find_one({"_id": node_id})["metadata"]["nonce"]


def hide(site, thing, how):
    """Unpublish a post."""
    match how:
        case "unpublished":
            editing.save(site.chief, thing.id, nonce(thing.id), {"published": None})
        case "expired":
            editing.save(site.chief, thing.id, nonce(thing.id), {"expires": now() - timedelta(seconds=1)})
        case "trashed":
            trash.trash(site.chief, thing.id, nonce(thing.id))
        case "its section unpublished":
            editing.save(site.chief, site.blog, nonce(site.blog), {"published": None})
        case "its section expired":
            editing.save(site.chief, site.blog, nonce(site.blog), {"expires": now() - timedelta(seconds=1)})
        case "its section trashed":
            trash.trash(site.chief, site.blog, nonce(site.blog))


HOW = ("unpublished", "expired", "trashed", "its section unpublished", "its section expired", "its section trashed")


# Checking each way takes long: two of them always, the rest in `make test-slow`.
@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=() if "unpublished" in how else pytest.mark.slow) for how in HOW]
)
def test_hidden_page_is_not_confirmed_to_a_client_cache(site, client, how):
    """No 304 for hidden content, by entity tag or time, from any page that showed it."""
    thing = site.thing("live")
    services.post(Target("nodes.node", str(thing.id)), author=CommentAuthor("A"), source="Zqcomment", token="t" * 24)
    paths = ["/", "/news", thing.path, "/tag/shared", f"/tag/{'tag'}live", "/news/archive", "/search?q=zqlivezq"]
    paths += [f"{at}/feed/{form}" for at in ("", "/news", "/tag/shared") for form in ("atom", "rss", "json")]
    paths += [f"/comments/{page}/nodes.node/{thing.id}" for page in ("on", "feed")] + ["/sitemap-blog-entry-1.xml"]
    before = {path: client.get(path) for path in paths}
    assert all(answer.status_code == 200 for answer in before.values())
    assert sum("ETag" in answer for answer in before.values()) >= 10
    hide(site, thing, how)
    for path, answer in before.items():
        for name, header in (("ETag", "if-none-match"), ("Last-Modified", "if-modified-since")):
            if name in answer:
                after = client.get(path, headers={header: answer[name]})
                assert after.status_code != 304, (path, name)
                assert "zqlivezq" not in body(after).replace("q=zqlivezq", "") or "search" in path
        after = client.get(path)
        assert thing.slug not in body(after) or thing.slug in path
        assert "Zqcomment" not in body(after)


def test_hidden_photo_is_not_confirmed_to_a_client_cache(site, client):
    photo = photo_build.upload(site.gallery)
    content = photo_build.document(photo)["metadata"]["content_id"]
    for spec in ("original", "w320.jpg", "s160-50x50.webp"):
        address = f"/media/{photo}/{content}/{spec}"
        first = client.get(address)
        assert client.get(address, headers={"if-none-match": first["ETag"]}).status_code == 304
    database()["cms.assets.files"].update_one({"_id": photo}, {"$set": {"metadata.published": None}})
    for spec in ("original", "w320.jpg", "s160-50x50.webp"):
        address = f"/media/{photo}/{content}/{spec}"
        for headers in ({"if-none-match": first["ETag"]}, {"if-none-match": "*"}, {"range": "bytes=0-1"}, {}):
            assert client.get(address, headers=headers).status_code == 404
        assert client.head(address).status_code == 404


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("how", HOW[:3])
def test_counts_exclude_hidden_pages(site, client, how):
    shown, hidden = site.thing("live"), site.thing("live")
    assert '<span class="count">2</span>' in body(client.get("/news/archive"))
    assert "2 results" in body(client.get("/search?q=common"))
    hide(site, hidden, how)
    assert '<span class="count">1</span>' in body(client.get("/news/archive"))
    assert re.search(r"\b1 result\b", body(client.get("/search?q=common")))
    assert shown.slug in body(client.get("/search?q=common"))


def test_newest_comments_exclude_hidden_pages(site):
    things = {state: site.thing(state) for state in ("live", "draft", "scheduled", "expired", "private")}
    for state, thing in things.items():
        services.post(
            Target("nodes.node", str(thing.id)), author=CommentAuthor(state), source="x", token=state.ljust(24, "x")
        )
    each = "{% for comment in list %}{{ comment.author.name }} {% endfor %}"
    shown = Template("{% load comments %}{% get_recent_comments 10 as list %}" + each)
    assert shown.render(Context()).split() == ["live"]


def test_preview_of_a_draft_leaves_nothing_for_readers(site, client):
    """The draft has an earlier date, but the page of readers keeps the neighbours of its own date."""
    early, middle, late = (
        build.node("blog-entry", name, parent=site.blog, title=name.title(), published=build.PAST + timedelta(days=day))
        for day, name in enumerate(("early", "middle", "late"), 1)
    )
    drafts.save_draft(site.chief, late, nonce(late), {"published": build.PAST + timedelta(hours=30), "title": "Zqplan"})
    site.clients["editor"].get(f"/admin/nodes/node/{late}/preview/")
    shown = body(client.get("/news/late"))
    assert 'rel="next" href="/news/middle"' in shown
    assert "Zqplan" not in shown
    assert middle != early


def test_authors_do_not_learn_about_drafts_of_others(site):
    """Neither by tags in use, nor by uses of a photo, nor by the sections to choose from."""
    photo = photo_build.upload(site.gallery)
    build.node(slug="secret", title="Zqtitle", published=None, tags=("zqtag",), text=f"![](photo:{photo})")
    seen = [body(site.clients["author"].get(path)) for path in AUTHORS_SEE(photo)]
    for said in seen:
        assert "zqtag" not in said
        assert "Zqtitle" not in said
        assert "Zqsection" not in said
    told = [body(site.clients["editor"].get(path)) for path in AUTHORS_SEE(photo)]
    assert "zqtag" in told[1], "while editors are"
    assert "Zqtitle" in told[3]
    build.node(slug="public", title="Zqpublic", text=f"![](photo:{photo})")
    assert "Zqpublic" in body(site.clients["author"].get(AUTHORS_SEE(photo)[3])), "what all see, authors see too"


def AUTHORS_SEE(photo):
    return (
        "/admin/",
        "/admin/nodes/node/",
        "/admin/nodes/node/add/?type=blog-entry",
        f"/admin/nodes/photo/{photo}/change/",
        "/admin/nodes/photo/",
        "/admin/nodes/node/trash/",
    )
