"""The documentation theme: all pages of a section beside the text."""

import re

import pytest

from cms.testing.build import node
from nodes.collections import keys_of
from nodes.models import version_cache
from nodes.selectors import outline
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
