"""Related pages below a post, and its reading time."""

from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce, save
from marginalia.mongo.clock import now
from nodes.collections import keys_of
from nodes.models import version_cache
from nodes.services import drafts
from nodes.types import TagChange
from reader import page_cache
from reader.selectors import related


@pytest.fixture
def blog(mongo) -> ObjectId:
    return node("blog", "news")


def post(blog: ObjectId, slug: str, day: int, *tags: str, **fields) -> ObjectId:
    return node("blog-entry", slug, parent=blog, published=datetime(2021, 1, day, tzinfo=UTC), tags=tags, **fields)


def below(client, address: str) -> list[str]:
    return [one.metadata.slug for one in client.get(address).context["related"].nodes]


class TestRelated:
    def test_most_similar_pages_come_first_without_the_page_itself(self, client, blog):
        post(blog, "this", 1, "ink", "paper", title="Ink on rag paper")
        post(blog, "one-tag", 5, "ink")
        post(blog, "both-tags", 2, "ink", "paper")
        post(blog, "words-too", 3, "ink", title="Rag paper")
        post(blog, "others", 6, "glass")
        assert below(client, "/news/this") == ["both-tags", "words-too", "one-tag"]
        page = client.get("/news/this").content.decode()
        assert "More like this" in page
        assert '<a href="/tag/ink">More pages tagged “ink”</a>' in page

    def test_hidden_pages_are_not_related(self, client, blog):
        post(blog, "this", 1, "ink")
        node("blog-entry", "draft", parent=blog, published=None, tags=("ink",))
        node("blog-entry", "inside", parent=node("blog", "hidden", published=None), tags=("ink",))
        assert below(client, "/news/this") == []
        assert "More like this" not in client.get("/news/this").content.decode()
        node("basic-page", "page", tags=("ink",))
        assert below(client, "/news/this") == ["page"]

    def test_due_changes_use_the_visible_tags(self, client, mongo, blog):
        post(blog, "this", 1, "ink")
        other = post(blog, "other", 2, "ink", "paper")
        saved = drafts.save_draft(EDITOR, other, nonce(other), {}, TagChange(removed=frozenset({"ink"})))
        drafts.schedule(EDITOR, other, saved.nonce, now() + timedelta(hours=1))
        assert below(client, "/news/this") == ["other"]
        mongo["cms.nodes"].update_one({"_id": other}, {"$set": {"draft.due": now() - timedelta(seconds=1)}})
        version_cache.clear()
        page_cache.storage.clear()
        assert below(client, "/news/this") == []
        assert "More like this" not in client.get("/news/this").content.decode()

    def test_related_pages_are_never_stale(self, client, blog):
        post(blog, "this", 1, "ink")
        other = post(blog, "other", 2, "ink")
        assert below(client, "/news/this") == ["other"]
        save(other, nonce(other), published=None)
        assert below(client, "/news/this") == []

    def test_related_pages_cost_at_most_one_small_query(self, client, blog, commands):
        for day in range(1, 9):
            post(blog, f"post-{day}", day, "ink")
        post(blog, "untagged", 9)
        version_cache.clear()
        for address, queries in (("/news/post-1", 1), ("/news/untagged", 0)):
            with commands.recorded():
                assert len(below(client, address)) == related.MAX_SHOWN * queries
            sent = [event.command for event in commands.sent if event.command.get("hint") == keys_of("by_tag")]
            assert [command["limit"] for command in sent] == [related.MAX_COMPARED] * queries


class TestEndOfPost:
    def test_related_pages_are_cards_without_numbers_of_comments(self, client, blog):
        post(blog, "this", 1, "ink")
        post(blog, "other", 2, "ink", title="Oak galls", summary="On ink")
        html = client.get("/news/this").content.decode().partition('class="related"')[2]
        assert '<li class="card">' in html
        assert '<h3><a href="/news/other">Oak galls</a></h3>' in html
        assert '<p class="blurb">On ink</p>' in html
        assert "comment-count" not in html

    def test_author_card_shows_the_page_about_the_author(self, client, blog):
        post(blog, "this", 1)
        assert '<a href="/author/ann" rel="author">Ann</a>' in card(client)
        people = node("folder", "people")
        node("author", "ann", parent=people, title="Ann", summary="Keeps <swifts>")
        html = card(client)
        assert '<a href="/people/ann" rel="author">Ann</a>' in html
        assert '<p class="blurb">Keeps &lt;swifts&gt;</p>' in html

    def test_post_without_author_has_no_author_card(self, client, blog, mongo):
        this = post(blog, "this", 1)
        mongo["cms.nodes"].update_one({"_id": this}, {"$set": {"metadata.author.name": ""}})
        assert "author-card" not in client.get("/news/this").content.decode()

    def test_post_can_be_sent_by_email(self, client, blog):
        post(blog, "this", 1, title="Ink & paper")
        html = client.get("/news/this").content.decode()
        link = "mailto:?subject=Ink%20%26%20paper&amp;body=http%3A%2F%2Ftestserver%2Fnews%2Fthis"
        assert f'<a href="{link}">Send by email</a>' in html


def card(client) -> str:
    return client.get("/news/this").content.decode().partition('class="author-card"')[2].partition("</aside>")[0]


class TestReadingTime:
    def test_posts_show_their_reading_time(self, client, blog, mongo):
        long = post(blog, "long", 1, text="word " * 660)
        post(blog, "short", 2, text="word")
        node("basic-page", "page", text="word")
        assert mongo["cms.nodes"].find_one({"_id": long})["derived"]["minutes"] == 3
        for address in ("/", "/news", "/news/long"):
            assert '<span class="minutes">3 min read</span>' in client.get(address).content.decode(), address
        assert '<span class="minutes">1 min read</span>' in client.get("/news/short").content.decode()
        assert "min read" not in client.get("/page").content.decode()

    def test_reading_time_follows_every_save(self, client, blog, mongo):
        made = post(blog, "long", 1, text="word " * 660)
        save(made, nonce(made), detail__text="")
        assert "minutes" not in mongo["cms.nodes"].find_one({"_id": made})["derived"]
        assert "min read" not in client.get("/news/long").content.decode()
