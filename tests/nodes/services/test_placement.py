"""Moves and new slugs: old URLs redirect."""

from datetime import UTC, datetime

import pytest

from cms.testing.build import EDITOR, PAST, node, nonce
from nodes import errors
from nodes.services import editing, trash

FUTURE = datetime(2900, 1, 1, tzinfo=UTC)


def save(node_id, **mine):
    editing.save(EDITOR, node_id, nonce(node_id), mine)


def test_old_urls_of_a_moved_section_redirect_once(mongo, client):
    target, section = node("folder", "target"), node("folder", "section")
    node(slug="inside", parent=section, text="Found")
    save(section, parent_id=target)
    save(section, slug="renamed")
    save(target, slug="aim")
    for old in ("/section/inside", "/target/section/inside", "/target/renamed/inside", "/aim/section/inside"):
        answer = client.get(old)
        assert (answer.status_code, answer["Location"]) == (301, "/aim/renamed/inside"), old
    assert "Found" in client.get("/aim/renamed/inside").content.decode()


def test_new_page_at_an_old_url_is_shown(mongo, client):
    page = node(slug="old", text="First")
    save(page, slug="new")
    node(slug="old", text="Second")
    assert "Second" in client.get("/old").content.decode()


def test_hidden_section_at_an_old_url_keeps_the_redirect(mongo, client):
    section = node("blog", "news")
    node("blog-entry", "post", parent=section)
    save(section, slug="archive-of-news")
    begun = node("blog", "news", published=None)
    assert client.get("/news/post")["Location"] == "/archive-of-news/post"
    assert client.get("/news")["Location"] == "/archive-of-news"
    save(begun, published=PAST)
    assert client.get("/news/post")["Location"] == "/archive-of-news/post", "the new section has no such post"
    node("blog-entry", "post", parent=begun)
    assert client.get("/news/post").status_code == 200


class TestExistingRedirect:
    """/about redirects to the page that was there and is now at /about-us, whatever else is at /about for a while."""

    @pytest.fixture
    def about_us(self, mongo):
        page = node(slug="about")
        save(page, slug="about-us")
        return page

    def test_permanent_deletion_of_an_earlier_page_keeps_it(self, mongo, client):
        old = node(slug="about")
        trash.trash(EDITOR, old, nonce(old))
        save(node(slug="about"), slug="about-us")
        trash.delete(old)
        assert client.get("/about")["Location"] == "/about-us"

    @pytest.mark.parametrize("published", [None, FUTURE], ids=["draft", "scheduled"])
    def test_renaming_a_page_never_public_there_keeps_it(self, about_us, client, published):
        save(node(slug="about", published=published), slug="about-team")
        assert client.get("/about")["Location"] == "/about-us"

    def test_renaming_a_page_public_there_replaces_it(self, about_us, client):
        save(node(slug="about"), slug="about-team")
        assert client.get("/about")["Location"] == "/about-team"

    @pytest.mark.parametrize("published", [None, PAST], ids=["draft", "public"])
    def test_refused_rename_keeps_it(self, about_us, mongo, published):
        other = node(slug="about", published=published)
        with pytest.raises(errors.SlugTaken):
            save(other, slug="about-us")
        assert mongo["cms.redirects"].find_one()["node_id"] == about_us

    def test_permanently_deleted_page_keeps_no_redirect(self, mongo, client):
        gone = node(slug="about")
        trash.trash(EDITOR, gone, nonce(gone))
        trash.delete(gone)
        draft = node(slug="about", published=None)
        save(draft, slug="about-us")
        save(draft, published=PAST)
        assert client.get("/about")["Location"] == "/about-us"
        assert "deleted_at" not in mongo["cms.redirects"].find_one()
