"""Feeds: whole texts, absolute URLs, stable ids, and nothing sent twice."""

import json
import re
from datetime import UTC, datetime, timedelta

import feedparser
import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce
from marginalia.mongo.clock import now
from nodes.models.stored_site import VERSION_KEYS
from nodes.services import editing, trash
from tests.support.nodes import photo_build

FEEDS = ["/feed/{}", "/news/feed/{}", "/tag/t/feed/{}"]
FORMS = ["rss", "atom", "json"]


@pytest.fixture
def blog(mongo) -> ObjectId:
    blog = node("blog", "news", title="News & more", summary="All of it")
    node(
        "blog-entry",
        "first",
        parent=blog,
        title="First <post>",
        text='A [link](/elsewhere) & more.\n\n```\n<a href="/typed">\n```',
        tags=("t", "TCP/IP"),
        published=datetime(2022, 1, 1, tzinfo=UTC),
    )
    node(
        "blog-entry",
        "红楼梦",
        parent=blog,
        title="红楼梦",
        text="满纸荒唐言\x0b一把辛酸泪",
        tags=("t",),
        summary="A summary",
        published=datetime(2022, 1, 2, tzinfo=UTC),
    )
    return blog


def test_posts_link_only_existing_feeds_of_their_section(client, blog, book):
    node("news", "dated", parent=book)
    found = {address: _named_feeds(client, address) for address in ("/news/first", "/book/dated")}
    assert found == {"/news/first": [f"/news/feed/{form}" for form in ("atom", "rss", "json")], "/book/dated": []}


def _named_feeds(client, address: str) -> list[str]:
    return re.findall(
        r'<link rel="alternate" type="[^"]*" title="[^"]*" href="([^"]*)">', client.get(address).content.decode()
    )


@pytest.mark.parametrize("address", FEEDS)
@pytest.mark.parametrize("form", ["rss", "atom"])
def test_xml_feeds_parse_without_a_warning(client, blog, address, form):
    answer = client.get(address.format(form))
    assert answer["Content-Type"].startswith(f"application/{form}+xml")
    feed = feedparser.parse(answer.content, response_headers={"content-type": answer["Content-Type"]})
    assert not feed.bozo, feed.get("bozo_exception")
    assert feed.version == {"rss": "rss20", "atom": "atom10"}[form]
    newest, first = feed.entries
    assert (newest.title, newest.link) == ("红楼梦", "http://testserver/news/%E7%BA%A2%E6%A5%BC%E6%A2%A6")
    assert "满纸荒唐言" in newest.content[0].value
    assert newest.summary == "A summary"
    assert newest.author == "Ann"
    assert first.title == "First <post>"
    assert 'href="http://testserver/elsewhere"' in first.content[0].value
    assert "/typed" in first.content[0].value
    assert "http://testserver/typed" not in first.content[0].value
    assert {tag.term for tag in first.tags} == {"t", "TCP/IP"}
    assert first.id.startswith("urn:marginalia:")
    assert first.published_parsed[:3] == (2022, 1, 1)
    assert feed.feed.link.startswith("http://testserver/")


@pytest.mark.parametrize("address", FEEDS)
def test_json_feed_follows_version_1_1(client, blog, address):
    answer = client.get(address.format("json"))
    assert answer["Content-Type"].startswith("application/feed+json")
    feed = json.loads(answer.content)
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["feed_url"] == "http://testserver" + address.format("json")
    assert feed["home_page_url"].startswith("http://testserver/")
    newest, first = feed["items"]
    assert newest["title"] == "红楼梦"
    assert newest["authors"] == [{"name": "Ann", "url": "http://testserver/author/ann"}]
    assert 'href="http://testserver/elsewhere"' in first["content_html"]
    assert first["date_published"] == "2022-01-01T00:00:00+00:00"
    assert set(first) >= {"id", "url", "title", "content_html", "date_published", "date_modified", "tags"}


@pytest.mark.parametrize("address", FEEDS)
@pytest.mark.parametrize("form", FORMS)
def test_unchanged_feed_is_not_sent_again(client, blog, address, form):
    address = address.format(form)
    first = client.get(address)
    again = client.get(address, headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304
    assert again.content == b""
    post = node("blog-entry", "more", parent=blog, tags=("t",), published=datetime(2022, 1, 3, tzinfo=UTC))
    changed = client.get(address, headers={"if-none-match": first["ETag"]})
    assert changed.status_code == 200
    trash.trash(EDITOR, post, nonce(post))
    assert client.get(address)["ETag"] == first["ETag"]


def test_readers_using_only_dates_miss_nothing(client, blog, mongo, monkeypatch):
    def get(**headers):
        return client.get("/feed/atom", headers=headers)

    def clock(moment):
        for place in ("reader.views.feeds.now", "reader.page_cache.entries.now", "reader.page_cache.middleware.now"):
            monkeypatch.setattr(place, lambda: moment)

    assert "Last-Modified" not in get(), "more may happen within this second"
    post = node("blog-entry", "more", parent=blog, expires=datetime(2023, 6, 1, 12, tzinfo=UTC))
    long_ago = ObjectId.from_datetime(datetime(2023, 1, 1, tzinfo=UTC))
    mongo["cms.site"].update_one({}, {"$set": dict.fromkeys(VERSION_KEYS, long_ago)})
    clock(datetime(2023, 6, 1, 11, tzinfo=UTC))
    before = get()
    assert before["Last-Modified"] == "Sun, 01 Jan 2023 00:00:01 GMT"
    assert get(if_modified_since=before["Last-Modified"]).status_code == 304
    clock(datetime(2023, 6, 1, 13, tzinfo=UTC))
    expired = get(if_modified_since=before["Last-Modified"])
    assert expired.status_code == 200, "a post went by itself"
    assert expired["Last-Modified"] == "Thu, 01 Jun 2023 12:00:01 GMT"
    trash.trash(EDITOR, post, nonce(post))
    clock(now() + timedelta(seconds=2))
    assert get(if_modified_since=expired["Last-Modified"]).status_code == 200, "a post was taken away"


@pytest.mark.parametrize("address", ["/feed/{}", "/news/feed/{}", "/tag/t/feed/{}"])
@pytest.mark.parametrize("form", FORMS)
def test_missing_summary_is_replaced_by_an_excerpt(client, blog, address, form):
    answer = client.get(address.format(form))
    if form == "json":
        told = [item["summary"] for item in json.loads(answer.content)["items"]]
    else:
        told = [entry.summary for entry in feedparser.parse(answer.content).entries]
    assert told == ["A summary", "A link & more."]


def test_missing_summary_of_a_photo_is_replaced_by_its_alt_text(client, mongo):
    gallery = photo_build.gallery(text="Of *lakes*.")
    photo_build.upload(gallery)
    feed = json.loads(client.get("/gallery/feed/json").content)
    assert [item["summary"] for item in feed["items"]] == ["A lake"]
    assert feed["description"] == "Of lakes."


def test_ids_are_stable(client, blog):
    def ids() -> list[str]:
        return [item["id"] for item in json.loads(client.get("/feed/json").content)["items"]]

    before = ids()
    editing.save(EDITOR, blog, nonce(blog), {"slug": "renamed", "title": "Other"})
    assert ids() == before


def test_feeds_and_archives_of_a_moved_blog_redirect(client, blog):
    editing.save(EDITOR, blog, nonce(blog), {"slug": "Neues-ä".lower()})
    for rest in ("feed/atom", "archive", "archive/2022", "archive/2022/01?from=x"):
        answer = client.get(f"/news/{rest}")
        assert (answer.status_code, answer["Location"]) == (301, f"/neues-%C3%A4/{rest}"), rest
    assert client.get("/neues-ä/feed/atom").status_code == 200


def test_urls_use_the_site_url_if_set(client, blog, settings):
    settings.SITE_URL = "https://example.org"
    text = client.get("/news/feed/atom", headers={"host": "localhost"}).content.decode()
    assert "https://example.org/news" in text
    assert "localhost" not in text


@pytest.mark.parametrize("address", ["/feed/atom", "/news", "/sitemap.xml", "/robots.txt"])
def test_forged_host_is_refused(client, blog, address):
    answer = client.get(address, headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert b"evil.example" not in answer.content


def test_empty_feeds_are_valid(client, mongo):
    node("blog", "empty")
    node("folder", "folder")
    for form in ("rss", "atom"):
        feed = feedparser.parse(client.get(f"/empty/feed/{form}").content)
        assert not feed.bozo
        assert client.get(f"/feed/{form}")["ETag"] == client.get(f"/feed/{form}")["ETag"]
    for none in ("/folder/feed/rss", "/tag/none/feed/rss", "/feed/other", "/none/feed/atom"):
        assert client.get(none).status_code == 404, none


def test_feed_with_a_slash_redirects_if_it_exists(client, blog):
    response = client.get("/news/feed/atom/")
    assert (response.status_code, response["Location"]) == (301, "/news/feed/atom")
    assert client.get("/none/feed/atom/").status_code == 404


def test_pages_link_their_feeds(client, blog):
    photo_build.upload(photo_build.gallery())
    for address, feed in (
        ("/", "/feed/atom"),
        ("/news", "/news/feed/json"),
        ("/news/first", "/news/feed/atom"),
        ("/tag/TCP/IP", "/tag/TCP/IP/feed/rss"),
        ("/gallery/lake", "/gallery/feed/rss"),
    ):
        assert f'href="{feed}"' in client.get(address).content.decode()
        assert client.get(feed).status_code == 200
