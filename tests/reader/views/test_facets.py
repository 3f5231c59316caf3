"""A section filtered by facets: its list, links and metadata for search engines."""

import re
from datetime import timedelta
from html import unescape

import pytest

from cms.testing.build import EDITOR, PAST, node, nonce, save
from nodes.services import trash
from reader import page_cache
from tests.support.nodes.content import Cookbook, Recipe, registered

DISHES = [
    ("tart", "dessert", True, ["pears", "flour"]),
    ("cake", "dessert", False, ["flour", "eggs"]),
    ("stew", "main", True, ["beans"]),
]


@pytest.fixture
def cookbook(mongo):
    with registered(Recipe, Cookbook):
        section = node("cookbook", "cooking")
        for n, (slug, course, is_vegan, ingredients) in enumerate(DISHES):
            detail = {"course": course, "is_vegan": is_vegan, "ingredients": ingredients}
            dated = {
                "published": PAST + timedelta(days=n),
                **{f"detail.{name}": value for name, value in detail.items()},
            }
            node("recipe", slug, parent=section, **dated)
        node("blog-entry", "news", parent=node("blog", "blog"))
        yield section


@pytest.fixture
def read(cookbook, client):
    """Return a function that returns the page of the cookbook for a query."""
    return lambda query="", path="/cooking": client.get(f"{path}?{query}" if query else path).content.decode()


def listed(html: str) -> list[str]:
    return re.findall(r'<h2><a href="/cooking/([^"]+)">', html)


def links(html: str) -> dict[str, str]:
    """Return the links that add or remove a filter, by their text."""
    nav = re.search(r'<nav class="facets".*?</nav>', html, re.S)
    found = re.findall(r'<li><a href="([^"]+)"[^>]*>(.*?)</a>', nav[0] if nav else "", re.S)
    return {re.sub(r"<[^>]+>", "", said): unescape(href) for href, said in found}


def meta(html: str) -> tuple[str, bool]:
    """Return the canonical URL, and whether the page is noindex."""
    return unescape(re.search(r'rel="canonical" href="http://testserver([^"]*)"', html)[1]), "noindex" in html


def test_facets_show_labels_and_counts(read):
    html = read()
    assert listed(html) == ["stew", "cake", "tart"]
    assert list(links(html)) == [
        "Main course 1",
        "Dessert 2",
        "Yes 2",
        "No 1",
        "flour 2",
        "beans 1",
        "eggs 1",
        "pears 1",
    ]
    assert re.findall(r'<p id="facet-\d">(.*?)</p>', html) == ["Course", "Is vegan", "Ingredients"]
    assert meta(html) == ("/cooking", False)


def test_each_link_adds_or_removes_a_value(read):
    dessert = links(read())["Dessert 2"]
    assert dessert == "/cooking?course=dessert"
    html = read(path=dessert)
    assert listed(html) == ["cake", "tart"]
    assert "<title>Dessert · Cooking" in html
    assert meta(html) == (dessert, False)
    assert links(html)["Dessert 2, remove"] == "/cooking"
    assert 'aria-current="true"' in html
    vegan = links(html)["Yes 1"]
    assert vegan == "/cooking?course=dessert&is_vegan=true"
    html = read(path=vegan)
    assert listed(html) == ["tart"]
    assert meta(html) == (vegan, True)
    assert links(html)["Dessert 1, remove"] == "/cooking?is_vegan=true"
    assert listed(read("ingredients=flour&ingredients=eggs")) == ["cake"]


def test_order_and_unknown_parameters_are_ignored(read):
    html = read("utm_source=x&is_vegan=true&servings=2&course=dessert&course=dessert&$where=1&ingredients=")
    assert listed(html) == ["tart"]
    assert meta(html) == ("/cooking?course=dessert&is_vegan=true", True)
    assert meta(read("servings=2")) == ("/cooking", False)
    assert 'class="facets"' not in read("course=dessert", path="/")


@pytest.mark.parametrize(
    "query",
    [
        "course=supper",
        "course=dessert&course=main",
        "course=%00%24ne",
        "course=%3Cscript%3Ealert(1)%3C/script%3E",
        "course=" + "x" * 1_000,
        "&".join(f"ingredients={n}" for n in range(60)),
        "is_vegan=%ff",
    ],
)
def test_empty_result_links_to_all(read, client, query):
    answer = client.get(f"/cooking?{query}")
    html = answer.content.decode()
    assert answer.status_code == 200
    assert listed(html) == []
    assert 'No pages match all these filters. <a href="/cooking">Show all</a>' in html
    assert meta(html)[1]
    assert "<script>alert" not in html


def test_links_to_values_are_limited(read):
    """Each link contains all other values, so a page for a long URL would be ten thousand times as long."""
    most = "&".join(f"ingredients={n}" for n in range(50))
    assert len(links(read(most))) == 50
    assert links(read(f"{most}&ingredients=50")) == {}


def test_further_pages_keep_the_facets_and_are_noindex(cookbook, read, client, monkeypatch):
    monkeypatch.setattr(Cookbook, "page_size", 1)
    html = read("course=dessert")
    assert listed(html) == ["cake"]
    older = unescape(re.search(r'class="older" rel="next" href="([^"]+)"', html)[1])
    assert older in unescape(re.search(r'<link rel="next" href="/cooking([^"]+)"', html)[1])
    html = read(path=f"/cooking{older}")
    assert listed(html) == ["tart"]
    assert meta(html) == (f"/cooking{older}", True)
    assert client.get("/cooking?course=dessert&from=nothing").status_code == 404


def test_page_is_cached_until_the_site_changes(cookbook, read, client, commands):
    first = read("course=dessert&is_vegan=false")
    with commands.recorded():
        assert read("is_vegan=false&course=dessert") == first
    assert len(commands) == 1  # the site's versions and the section's nonce
    cake = node("recipe", "pie", parent=cookbook, **{"detail.course": "dessert"})
    assert listed(read("course=dessert&is_vegan=false")) == ["cake", "pie"]
    trash.trash(EDITOR, cake, nonce(cake))
    assert listed(read("course=dessert&is_vegan=false")) == ["cake"]
    save(cookbook, nonce(cookbook), published=None)
    assert client.get("/cooking?course=dessert").status_code == 404


def test_empty_result_is_neither_counted_nor_cached(cookbook, client, commands):
    client.get("/cooking")
    pages = len(page_cache.storage.cache.entries)
    with commands.recorded():
        for address in ("/cooking?course=x", "/cooking?course=x&is_vegan=true", "/blog?course=x"):
            client.get(address)
    assert "aggregate" not in commands.names
    client.get("/cooking/tart?course=dessert")
    client.get("/?course=dessert")
    assert len(page_cache.storage.cache.entries) == pages
