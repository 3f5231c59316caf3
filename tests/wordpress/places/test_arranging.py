"""The places of imported posts and pages: their tree, their URLs, the section, and links between them."""

import pytest
from django.core.management import CommandError

from cms.testing import build
from nodes.services import trash
from nodes.types import Actor
from tests.support.wxr import export, item, page
from tests.wordpress.stored import html_of, stored
from wordpress.export.old_site import OldSite

pytestmark = pytest.mark.usefixtures("mongo")

ANN = Actor(None, "Ann")


class TestTree:
    def test_pages_keep_their_tree_in_any_file_order(self, mongo, run, client):
        pages = (
            page(3, "Leaf", post_parent=2),
            page(2, "Middle", "Middle's text", post_parent=1),
            page(1, "Root", "Root's text"),
            page(4, "Other leaf", post_parent=2),
        )
        run(export(*pages))
        nodes = stored(mongo)
        assert {path: metadata["type"] for path, metadata in nodes.items() if path != "blog"} == {
            "page-1": "folder",
            "page-1/page-2": "folder",
            "page-1/page-2/page-3": "basic-page",
            "page-1/page-2/page-4": "basic-page",
        }
        assert "Middle’s text" in client.get("/page-1/page-2").content.decode()
        assert client.get("/page-1/page-2/page-3").status_code == 200

    def test_missing_and_circular_parents_are_handled(self, mongo, run):
        said = run(export(page(1, "A", post_parent=99), page(2, "B", post_parent=3), page(3, "C", post_parent=2)))
        assert {"page-1", "page-2", "page-2/page-3"} <= set(stored(mongo))
        assert "Put at the top because the parent page is missing:" in said

    def test_page_below_a_private_one_is_reported(self, mongo, run, client):
        said = run(export(page(1, "Hidden", status="private"), page(2, "Open", "text", post_parent=1)))
        assert client.get("/page-1/page-2").status_code == 404
        assert said[said.index("Was public, but its parent page is not:") + 1] == "  page 2 “Open”"

    def test_child_in_a_later_export_is_placed_below_its_parent(self, mongo, run):
        """The parent page becomes a folder, as in a single export."""
        run(export(page(1, "Above")))
        run(export(page(1, "Above"), page(2, "Below", post_parent=1)))
        assert set(stored(mongo)) == {"page-1", "page-1/page-2"}

    def test_home_page_stays_the_home_page(self, run, client):
        run(export(page(1, "Start", "The start", post_name="home")))
        assert "The start" in client.get("/").content.decode()

    def test_home_page_with_subpages_stays_the_home_page(self, run, client):
        link = '<a href="https://old.example/page-1/">up</a>'
        run(export(page(1, "Start", "The start", post_name="home"), page(2, "Below", link, post_parent=1)))
        assert "The start" in client.get("/home").content.decode()
        assert '<a href="/home">up</a>' in client.get("/home/page-2").content.decode()


class TestAddresses:
    def test_slugs_can_be_in_any_script_and_spelling(self, mongo, run):
        run(
            export(
                page(1, "A", post_name="%ce%b5%cf%80%ce%af"), page(2, "Été 1", post_name=""), page(3, "!", post_name="")
            )
        )
        assert {"επί", "été-1", "page-3"} <= set(stored(mongo))

    def test_taken_slugs_are_numbered_and_reported(self, mongo, run):
        build.node("basic-page", "about")
        same = [page(number, f"P{number}", post_name="about") for number in (1, 2)]
        said = run(
            export(*same, page(3, "B", post_name="blog"), page(4, "T", post_name="tag"), item(5, post_name="feed"))
        )
        nodes = stored(mongo)
        assert {"about", "about-2", "about-3", "blog", "blog-2", "tag-2", "blog/feed-2"} == set(nodes)
        assert said[said.index("Renamed because the URL is taken:") + 1] == "  page 1 “P1”: about → about-2"

    def test_page_without_title_and_slug_is_imported(self, mongo, run):
        said = run(
            export(item(1, "", "A text that goes on for more than eight words, certainly", post_name=""), item(2, ""))
        )
        nodes = stored(mongo)
        assert nodes["blog/post-1"]["title"] == "A text that goes on for more than…"
        assert nodes["blog/post-2"]["title"] == "Untitled"
        assert "  post 1: post-1" in said

    def test_long_titles_and_slugs_are_cut(self, mongo, run):
        run(export(item(1, "T" * 400, post_name="s" * 300)))
        (metadata,) = [m for path, m in stored(mongo).items() if path != "blog"]
        assert len(metadata["title"]) == 300
        assert len(metadata["slug"]) <= 200

    def test_duplicate_item_is_imported_once(self, mongo, run):
        said = run(export(item(1, "First"), item(1, "Second"), item("", "No id")))
        assert [m["title"] for path, m in stored(mongo).items() if path != "blog"] == ["First"]
        assert "Left out because they are duplicates:" in said
        assert "Left out because they have no ID:" in said


class TestLinks:
    def test_links_lead_to_the_new_urls_of_public_pages(self, mongo, run, client):
        body = " ".join(
            f'<a href="{address}">x</a>'
            for address in (
                "https://old.example/2012/03/post-2/#more-2",
                "/?p=2#part",
                "https://www.old.example/page-4",
                "?page_id=5",
                "http://old.example/2011/12/31/post-2/",
                "https://old.example/2012/03/post-3/",
                "/tag/news/",
                "http://copy.example/demo/?p=77",
            )
        )
        run(
            export(
                item(1, "One", body),
                item(2, "Two", guid="http://copy.example/demo/?p=77"),
                item(3, "Three", status="draft"),
                page(4, "Four"),
                page(5, "Five", post_parent=4),
            )
        )
        text = html_of(stored(mongo)["blog/post-1"])
        addresses = [part.split('"')[0] for part in text.split('href="')[1:]]
        assert addresses == [
            "/blog/post-2",
            "/blog/post-2#s-part",
            "/page-4",
            "/page-4/page-5",
            "/blog/post-2",
            "https://old.example/2012/03/post-3/",
            "https://old.example/tag/news/",
            "/blog/post-2",
        ]
        for address in addresses:
            if address.startswith("/"):
                assert client.get(address).status_code == 200

    def test_links_lead_into_the_section(self, mongo, run):
        run(export(item(1, "One", '<a href="/?page_id=2">x</a>'), page(2, "Two")), section="old")
        assert 'href="/old/page-2"' in html_of(stored(mongo)["old/blog/post-1"])

    def test_shared_guids_are_not_resolved(self, mongo, run):
        guid = "http://copy.example/?p=9"
        run(export(item(1, "One", f'<a href="{guid}">x</a>', guid=guid), item(2, "Two", guid=guid)))
        assert f'href="{guid}"' in html_of(stored(mongo)["blog/post-1"])


def test_invalid_urls_find_nothing():
    old = OldSite()
    old.add_site("https://old.example")
    old.add_page(1, "http://[broken", "also broken", "one")
    for url in ("http://[broken", "", "https://", "https://old.example/?p=x", "https://old.example/?p=99", "x"):
        assert old.find_page(url) is None
        assert old.find_file(url) is None


class TestSection:
    def test_section_contains_everything(self, mongo, run, client):
        data = export(item(1, "One", "text"), page(2, "Two"))
        run(data, section="Old-Site")
        assert set(stored(mongo)) == {"old-site", "old-site/blog", "old-site/blog/post-1", "old-site/page-2"}
        assert stored(mongo)["old-site"]["title"] == "Old site"
        assert "text" in client.get("/old-site/blog/post-1").content.decode()
        assert run(data, section="old-site")[-1] == "0 changes"

    def test_existing_section_is_used(self, mongo, run):
        folder = build.node("folder", "old", title="Mine")
        blog = build.node("blog", "blog", parent=folder)
        run(export(item(1, "One")), section="old")
        assert stored(mongo)["old/blog/post-1"]["parent_id"] == blog
        assert stored(mongo)["old"]["title"] == "Mine"

    def test_node_that_is_no_folder_is_refused(self, mongo, run):
        build.node("blog", "old")
        with pytest.raises(CommandError, match="Specify a folder"):
            run(export(item(1, "One")), section="old")
        assert set(stored(mongo)) == {"old"}

    @pytest.mark.parametrize("slug", ["admin", "a/b", "!"])
    def test_impossible_section_is_refused(self, mongo, run, slug):
        with pytest.raises(CommandError, match="--section"):
            run(export(item(1, "One")), section=slug)
        assert stored(mongo) == {}

    def test_existing_blog_gets_the_posts(self, mongo, run):
        blog = build.node("blog", "blog", title="Ours")
        run(export(item(1, "One")))
        assert stored(mongo)["blog/post-1"]["parent_id"] == blog

    def test_trashed_blog_is_reported(self, mongo, run):
        run(export(item(1, "One")))
        blog = stored(mongo)["blog"]
        trash.trash(ANN, stored(mongo)["blog/post-1"]["parent_id"], blog["nonce"])
        with pytest.raises(CommandError, match="in the trash"):
            run(export(item(1, "One"), item(2, "Two")))
