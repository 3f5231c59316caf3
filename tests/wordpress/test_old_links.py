"""Old permalinks and "?p=" redirect to current pages, if readers can see them."""

import pytest
from bson import ObjectId
from django.test import Client

from cms.testing import build
from nodes.services import editing, trash
from nodes.types import Actor
from tests.support.nodes import pictures
from tests.support.wxr import attachment, export, item, meta, page
from tests.wordpress.stored import snapshot, stored, target

pytestmark = pytest.mark.usefixtures("mongo")

ANN = Actor(None, "Ann")
SITE = export(
    item(1, "One", "x"),
    page(2, "Two", "x", link="https://old.example/about/"),
    item(3, "Three", "x", link="https://old.example/?p=3"),
    item(4, "Vier", "x", link="https://old.example/2012/%c3%bcber/", post_name="vier"),
    item(5, "Five", "secret", status="draft", link="https://old.example/?p=5"),
    item(6, "Six", "secret", post_password="enter", link="https://old.example/2012/six/"),
)


def leads(client: Client, address: str, **extra: str) -> str:
    """Return the target of a permanent redirect, or "" for a 404."""
    response = client.get(address, **extra)
    if response.status_code == 404:
        return ""
    assert response.status_code == 301
    return response["Location"]


def id_of(mongo, path: str) -> tuple[ObjectId, ObjectId]:
    metadata = stored(mongo)[path]
    return ObjectId(target(metadata, mongo).pk), metadata["nonce"]


def test_every_old_url_redirects_to_the_current_one(run, client):
    run(SITE)
    for address, present in {
        "/2012/03/post-1/": "/blog/post-1",
        "/2012/03/post-1": "/blog/post-1",
        "/?p=1": "/blog/post-1",
        "/?page_id=1": "/blog/post-1",
        "/about/": "/page-2",
        "/about": "/page-2",
        "/?page_id=2": "/page-2",
        "/?p=2": "/page-2",
        "/?p=3": "/blog/post-3",
        "/2012/%C3%BCber/": "/blog/vier",
        "/?p=4&preview=true": "/blog/vier",
    }.items():
        assert leads(client, address) == present
    assert client.head("/?p=1").status_code == 301
    assert client.get("/?p=1")["Cache-Control"] == client.get("/about/")["Cache-Control"] == "no-cache"


def test_old_url_of_a_hidden_page_returns_404(run, client):
    run(SITE)
    for address in ("/2012/six/", "/2012/six", "/2012/seven/"):
        assert leads(client, address) == ""
    for address in (
        "/?p=5",
        "/?p=6",
        "/?p=99",
        "/?p=",
        "/?p=x",
        f"/?p={'9' * 5000}",
        "/?p=1&p=%00",
        "/?attachment_id=-1",
    ):
        assert client.get(address).status_code == 404


def test_numbers_without_an_import_are_ignored(mongo, client):
    assert client.get("/?p=5").status_code == 200


def test_redirects_follow_moves_and_end_with_the_page(mongo, run, client):
    run(SITE)
    folder = build.node("folder", "archive")
    editing.save(ANN, *id_of(mongo, "page-2"), {"parent_id": folder, "slug": "us"})
    assert leads(client, "/about/") == leads(client, "/?page_id=2") == "/archive/us"
    trash.trash(ANN, *id_of(mongo, "blog/post-1"))
    assert leads(client, "/2012/03/post-1/") == ""
    assert client.get("/?p=1").status_code == 404


def test_page_at_its_own_url_overrides_a_redirect(run, client):
    run(export(page(2, "Two", link="https://old.example/about/")))
    build.node("basic-page", "about")
    assert client.get("/about").status_code == 200


def test_wordpress_endings_redirect(mongo, run, client):
    run(SITE)
    post, page_id = id_of(mongo, "blog/post-1")[0], id_of(mongo, "page-2")[0]
    for address, present in {
        "/feed/": "/feed/rss",
        "/feed": "/feed/rss",
        "/feed/rss2": "/feed/rss",
        "/feed/rdf": "/feed/rss",
        "/comments/feed/": "/feed/rss",
        "/comments/feed": "/feed/rss",
        "/comments/feed/atom/": "/feed/atom",
        "/2012/03/post-1/feed/": f"/comments/feed/nodes.node/{post}",
        "/2012/03/post-1/feed": f"/comments/feed/nodes.node/{post}",
        "/about/feed/atom": f"/comments/feed/nodes.node/{page_id}",
        "/2012/03/post-1/amp/": "/blog/post-1",
        "/2012/03/post-1/embed": "/blog/post-1",
        "/2012/03/post-1/comment-page-1/": "/blog/post-1#comments",
        "/about/comment-page-12": "/page-2#comments",
        "/about/2/": "/page-2",
        "/2012/03/post-1/page/3/": "/blog/post-1",
        "/?feed=rss2": "/feed/rss",
        "/?feed=comments-rss2": "/feed/rss",
        "/?feed=comments-atom": "/feed/atom",
        "/?p=1&feed=rss2": f"/comments/feed/nodes.node/{post}",
        "/2012/03/post-1/?feed=rss2": f"/comments/feed/nodes.node/{post}",
    }.items():
        assert leads(client, address) == present
        assert client.get(present).status_code == 200


def test_wordpress_endings_of_hidden_pages_return_404(run, client):
    run(SITE)
    for ending in ("feed/", "amp/", "comment-page-1/", "2/", "?feed=rss2"):
        assert leads(client, f"/2012/six/{ending}") == ""
        assert leads(client, f"/2012/nothing/{ending}") == ""
    assert leads(client, "/nowhere/comments/feed/") == ""


def test_wordpress_endings_without_an_import_return_404(mongo, client):
    for address in ("/feed/", "/comments/feed/", "/amp/", "/comment-page-1", "/2/"):
        assert leads(client, address) == ""
    assert client.get("/?feed=rss2").status_code == 200


def test_feed_of_a_page_made_a_folder_redirects_to_it(run, client):
    run(export(page(1, "Above"), page(2, "Below", post_parent=1)))
    assert leads(client, "/page-1/feed/") == "/page-1"


def test_feed_of_a_site_in_a_folder_redirects(run, client):
    site = "https://old.example/weblog"
    run(export(item(1, "One", "x", link=f"{site}/2012/one/"), site=site))
    assert leads(client, "/weblog/feed/") == leads(client, "/weblog/comments/feed") == "/feed/rss"
    assert leads(client, "/feed/") == ""


def test_old_url_is_found_in_either_unicode_form(run, client):
    run(
        export(item(1, "One", "x", link="https://old.example/caf%C3%A9/"), item(2, link="https://old.example/e%CC%81/"))
    )
    assert leads(client, "/cafe%CC%81/") == "/blog/post-1"
    assert leads(client, "/%C3%A9/") == "/blog/post-2"


def test_old_site_in_a_folder_redirects(run, client):
    site = "https://old.example/weblog"
    run(export(item(1, "One", "x", link=f"{site}/2012/one/"), site=site))
    assert leads(client, "/weblog/?p=1") == leads(client, "/weblog/2012/one/") == "/blog/post-1"
    assert client.get("/?p=1").status_code == 404


def test_doubled_slash_redirects(run, client):
    run(export(item(1, "One", "x", link="https://old.example//greek/one/")))
    assert leads(client, "/", PATH_INFO="//greek/one/") == "/blog/post-1"


def test_two_sites_are_distinguished_by_host(run, client, settings):
    settings.ALLOWED_HOSTS = ["*"]
    other = "https://www.other.example"
    run(SITE)
    run(export(page(1, "Other", link=f"{other}/about/", post_name="other"), site=other))
    assert leads(client, "/about/", HTTP_HOST="old.example") == "/page-2"
    assert leads(client, "/about/", HTTP_HOST="www.old.example") == "/page-2"
    assert leads(client, "/about/", HTTP_HOST="other.example:8000") == "/other"
    assert leads(client, "/?p=1", HTTP_HOST="other.example") == "/other"
    assert leads(client, "/about/") == ""
    assert leads(client, "/2012/03/post-1/") == "/blog/post-1"


def test_no_redirect_leaves_the_site(run, client):
    run(
        export(
            item(1, "One", "x", link="https://evil.example//evil.example/x/"),
            item(2, "Two", "x", link="javascript:x()"),
        )
    )
    assert leads(client, "//evil.example/x/") in ("/blog/post-1", "")
    assert leads(client, "/?p=2&next=//evil.example") == "/blog/post-2"


def test_form_is_not_redirected(run, client):
    run(SITE)
    assert client.post("/2012/03/post-1/").status_code != 301
    assert client.post("/?p=1").status_code == 405


def test_urls_of_pictures_redirect(run, client, tmp_path):
    (tmp_path / "a.jpg").write_bytes(pictures.jpeg())
    url = "https://old.example/wp-content/uploads/a.jpg"
    run(
        export(attachment(7, url, "A", meta("_wp_attached_file", "a.jpg"), link="https://old.example/one/a/")),
        media=tmp_path,
    )
    assert leads(client, "/?attachment_id=7") == leads(client, "/one/a/") == "/pictures/a"


def test_second_run_changes_no_redirect_and_dry_run_writes_none(mongo, run):
    run(SITE, dry_run=True)
    assert "wordpress.links" not in snapshot(mongo) or not mongo["wordpress.links"].count_documents({})
    run(SITE)
    before = snapshot(mongo)
    assert mongo["wordpress.links"].count_documents({}) == 10
    run(SITE)
    assert snapshot(mongo) == before


def test_redirects_are_found_by_an_index(mongo, run):
    run(SITE)
    plan = mongo["wordpress.links"].find({"path": "about"}).explain()["queryPlanner"]["winningPlan"]
    assert "IXSCAN" in str(plan)
    assert "COLLSCAN" not in str(plan)
