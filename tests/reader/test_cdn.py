"""Headers for a CDN: how long a page can be cached, under which keys, and which pages not at all."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from cms.testing.build import node, nonce, save
from marginalia.comments.backends import backend
from marginalia.comments.backends.discussions import Intent
from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from nodes.models import Node
from reader import cdn
from tests.support.site_settings import ROOT

NAMES = ("Surrogate-Key", "Cache-Tag")


@pytest.fixture
def post(mongo, settings):
    """A post and its discussion's key, behind a cache."""
    settings.CDN_PURGE_URLS = ["http://127.0.0.1:6082"]
    found = node("blog-entry", "post", parent=node("blog", "blog"), text="Text", published=now() - timedelta(days=1))
    return found, f"discussion-{Target('nodes.node', str(found)).id}"


def keys(response) -> set[str]:
    tags = response["Cache-Tag"].split(",")
    assert response["Surrogate-Key"].split(" ") == tags
    return set(tags)


def seconds(response) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"([\w-]+)=(\d+)", response["Cache-Control"])}


def test_no_cdn_header_is_sent_without_the_setting(post, settings, client):
    settings.CDN_PURGE_URLS = []
    for _ in ("made", "kept"):
        response = client.get("/blog/post")
        assert response["Cache-Control"] == "no-cache"
        assert not set(NAMES) & set(response.headers)


def test_pages_have_keys_of_their_dependencies(post, client):
    own, discussion = post
    section = Node.objects.get(pk=own).metadata.parent_id
    expected = {
        "/blog/post": {"lists", f"node-{own}", discussion},
        "/blog": {"lists", "tags", f"node-{section}"},
        "/feed/atom": {"lists", "texts"},
        "/sitemap.xml": {"lists"},
        "/tag/none": None,
        f"/api/v1/nodes/{own}": {"lists", "texts"},
        f"/api/v1/nodes/{own}/comments": {"lists", discussion},
    }
    found = {}
    for address in expected:
        made, kept = client.get(address), client.get(address)
        found[address] = keys(made) if "Cache-Tag" in made else None
        assert (keys(kept) if "Cache-Tag" in kept else None) == found[address]
    assert found == expected


def test_page_and_its_304_can_be_cached_until_they_expire(post, client):
    made = client.get("/blog/post")
    for response in (made, client.get("/blog/post"), client.get("/blog/post", headers={"if-none-match": made["ETag"]})):
        said = seconds(response)
        assert response["Cache-Control"].startswith("public, max-age=0, s-maxage=")
        assert 45 <= said["s-maxage"] <= 50
        assert (said["stale-while-revalidate"], said["stale-if-error"]) == (10, 3_600)
        assert keys(response) == keys(made)
    assert response.status_code == 304


def test_cdn_lifetime_ends_at_the_next_due_time(post, client):
    own, _discussion = post
    save(own, nonce(own), expires=now() + timedelta(seconds=15))
    response = client.get("/blog/post")
    assert response["Cache-Control"] == f"public, max-age=0, s-maxage={seconds(response)['s-maxage']}"
    assert 10 <= seconds(response)["s-maxage"] <= 14
    save(own, nonce(own), expires=now() + timedelta(seconds=0.9))
    assert not set(NAMES) & set(client.get("/").headers)


def test_stale_pages_end_before_content_expires(post, client, settings):
    own, _discussion = post
    save(own, nonce(own), expires=now() + timedelta(minutes=10))
    said = seconds(client.get("/blog/post"))
    assert 550 < said["s-maxage"] + said["stale-if-error"] <= 600
    settings.STALE_MINUTES = 2
    assert seconds(client.get("/blog/post"))["stale-if-error"] == 120
    settings.STALE_MINUTES = 0
    assert seconds(client.get("/blog/post"))["stale-if-error"] == 10


def test_personal_and_uncached_pages_are_not_for_the_cdn(post, client, editor):
    personal = Client()
    personal.cookies["messages"] = "anything"
    for response in (
        personal.get("/blog/post"),
        client.get("/blog/post", headers={"authorization": "Bearer x"}),
        client.get("/search?q=text"),
        client.get("/no-such-page"),
        client.get("/blog/post?utm_source=x"),
        client.post("/blog/post"),
        client.get("/healthz"),
    ):
        assert not set(NAMES) & set(response.headers)
        assert "s-maxage" not in response.headers.get("Cache-Control", "")
    assert keys(client.get("/blog/post"))


def test_page_of_a_discussion_being_written_is_not_for_the_cdn(post, client):
    target = Target("nodes.node", str(post[0]))
    discussions = backend().store.discussions
    claim = discussions.claim(target, Intent("op", "abc", "post", number=True, delta=1))
    assert not set(NAMES) & set(client.get("/blog/post").headers)
    discussions.drop(claim)
    assert keys(client.get("/blog/post"))


def test_page_with_too_many_keys_is_not_for_the_cdn(post, client, monkeypatch):
    monkeypatch.setattr(cdn, "MAX_KEYS", 3)
    assert keys(client.get("/blog/post"))
    monkeypatch.setattr(cdn, "MAX_KEYS", 2)
    assert not set(NAMES) & set(client.get("/blog/post").headers)


def test_varnish_uses_the_times_and_cookies_of_the_site(settings):
    text = (ROOT / "deploy/varnish.vcl").read_text()
    assert re.findall(r"set req\.grace = (\d+)s;", text) == [str(cdn.STALE_WHILE_REVALIDATE)]
    assert f"({settings.SESSION_COOKIE_NAME}|messages|just_sent)=" in text
