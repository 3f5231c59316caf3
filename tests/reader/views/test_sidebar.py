"""The documentation theme: all pages of a section beside the text."""

import re

import pytest

from cms.testing.build import node, nonce, save
from marginalia.mongo.clock import now
from nodes.collections import keys_of
from nodes.models import tree, version_cache
from nodes.selectors import outline, stored_nodes
from nodes.services.site import save_settings
from reader import page_cache
from tests.support.commands import explain, stages


@pytest.fixture
def library(mongo):
    library = node("folder", "library", title="Library")
    guides = node("folder", "guides", parent=library, title="Guides")
    hidden = node("folder", "hidden", parent=library, title="Hidden", published=None)
    node("basic-page", "zoo", parent=library, title="A zoo")
    node("basic-page", "glossary", parent=library, title="Glossary")
    node("basic-page", "soon", parent=library, title="Soon", published=None)
    node("basic-page", "paper", parent=guides, title="Choosing <paper>")
    node("basic-page", "unseen", parent=hidden, title="Unseen")
    node("basic-page", "about", title="About")
    save_settings({"theme": "documentation"}, {"theme": "magazine"})
    return library


def lines(client, path):
    html = client.get(path).content.decode()
    sidebar = html.partition('<details class="sidebar">')[2].partition("</details>")[0]
    return re.findall(r'<li class="([^"]*)"><a href="([^"]*)"( aria-current="page")?>([^<]*)</a>', sidebar)


def test_section_is_listed_in_reading_order(client, library):
    assert lines(client, "/library/guides/paper") == [
        ("depth-1", "/library/zoo", "", "A zoo"),
        ("depth-1", "/library/glossary", "", "Glossary"),
        ("depth-1 is-section", "/library/guides", "", "Guides"),
        ("depth-2", "/library/guides/paper", ' aria-current="page"', "Choosing &lt;paper&gt;"),
    ]
    assert [line[1] for line in lines(client, "/library") if line[2]] == []


def test_other_pages_and_themes_have_no_sidebar(client, library):
    # A section of posts has none either, because posts are listed by date.
    node("blog-entry", "post", parent=node("blog", "news"))
    for path in ("/", "/about", "/search", "/news/post"):
        assert "sidebar" not in client.get(path).content.decode()
    save_settings({"theme": "magazine"}, {"theme": "documentation"})
    html = client.get("/library/glossary").content.decode()
    assert "sidebar" not in html
    assert "documentation.css" not in html


def test_change_in_the_section_shows_at_once(client, library):
    assert len(lines(client, "/library/glossary")) == 4
    node("basic-page", "more", parent=library, title="More")
    assert "More" in [line[3] for line in lines(client, "/library/glossary")]


def test_sidebar_costs_one_bounded_query_by_an_index(mongo, client, library, commands, monkeypatch):
    def queries():
        found = [event for event in commands.sent if event.command.get("hint") == keys_of("by_name")]
        return [event for event in found if isinstance(event.command["filter"]["metadata.parent_id"], dict)]

    with commands.recorded():
        client.get("/library/glossary")
    (query,) = queries()
    used = stages(explain(mongo, query))
    assert "IXSCAN" in used
    assert not used & {"SORT", "COLLSCAN"}
    with commands.recorded():
        client.get("/library/zoo")
    assert queries() == []
    monkeypatch.setattr(outline, "MOST_PAGES", 1)
    version_cache.clear()
    page_cache.storage.clear()
    assert len([line for line in lines(client, "/library/glossary") if "is-section" not in line[0]]) == 1


def test_theme_of_a_section_applies_to_everything_in_it(client, library):
    save_settings({"theme": "magazine"}, {"theme": "documentation"})
    save(library, nonce(library), detail__theme="documentation")
    for path, is_inside in (("/library", True), ("/library/guides/paper", True), ("/about", False), ("/", False)):
        html = client.get(path).content.decode()
        assert ("theme-documentation" in html) is is_inside, path
        assert ("site/documentation.css" in html) is is_inside, path
        assert ('<details class="sidebar">' in html) is is_inside, path
    guides = stored_nodes.resolve(tree.current(), "library/guides", now()).pk
    save(guides, nonce(guides), detail__theme="magazine")
    assert "theme-documentation" not in client.get("/library/guides/paper").content.decode()
    assert "theme-documentation" in client.get("/library/zoo").content.decode()


def test_home_page_lists_the_sections_with_their_pages(client, library):
    html = client.get("/").content.decode()
    listed = html.partition('<ul class="sections">')[2].partition("</main>")[0]
    assert re.findall(r'href="([^"]*)"', listed) == ["/library", "/library/zoo", "/library/glossary", "/library/guides"]
    assert "<search>" in html.partition("<main")[2]


def test_sidebar_contains_a_search_field(client, library):
    html = client.get("/library").content.decode()
    sidebar = html.partition('<details class="sidebar">')[2].partition("</details>")[0]
    assert 'name="q"' in sidebar


def test_hidden_section_does_not_change_the_theme_of_its_missing_pages(client, mongo):
    node("folder", "secret", published=None, **{"detail.theme": "documentation"})
    shown = node("folder", "shown", **{"detail.theme": "documentation"})
    assert "theme-documentation" in client.get("/shown").content.decode()
    for path in ("/secret", "/secret/page", "/nothing"):
        assert "theme-documentation" not in client.get(path).content.decode()
    assert shown
