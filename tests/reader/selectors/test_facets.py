"""Lists filtered by the facets of a type."""

from datetime import timedelta

import pytest
from django.db import models

from cms.testing.build import EDITOR, PAST, node, nonce, save
from marginalia.mongo import doctor
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.checks import check_content
from nodes.content import NodeField, Page, facets
from nodes.models import version_cache
from nodes.services import trash
from reader.selectors import faceted_lists
from tests.support.commands import explain, stages
from tests.support.nodes.content import Cookbook, Recipe, registered


@pytest.fixture
def cookbook(mongo):
    with registered(Recipe, Cookbook):
        yield node("cookbook", "cooking")


def recipe(cookbook, slug: str, course: str = "main", published=PAST, **fields):
    detail = {f"detail.{name}": value for name, value in {"course": course, **fields}.items()}
    return node("recipe", slug, parent=cookbook, published=published, **detail)


@pytest.fixture
def slugs(cookbook):
    """Return a function that returns the slugs of the recipes in the cookbook with these values."""

    def having(*wanted, size: int = 20, cursor: str | None = None) -> list[str]:
        found = faceted_lists.filtered(cookbook, "recipe", wanted, now(), size=size, cursor=cursor)
        return [one.metadata.slug for one in found.nodes]

    return having


@pytest.fixture
def counted(cookbook):
    """Return a function that counts the recipes in the cookbook for each additional value."""
    return lambda *wanted: faceted_lists.count_values(cookbook, "recipe", wanted, now())


def test_save_stores_the_values_of_its_facets(cookbook):
    made = recipe(cookbook, "pie", "dessert", ingredients=["pears", "flour"], is_vegan=True)
    assert database()["cms.nodes"].find_one({"_id": made})["derived"]["facets"] == [
        "recipe.course=dessert",
        "recipe.ingredients=flour",
        "recipe.ingredients=pears",
        "recipe.is_vegan=true",
    ]
    save(made, nonce(made), detail__course="main", detail__ingredients=[])
    assert database()["cms.nodes"].find_one({"_id": made})["derived"]["facets"] == [
        "recipe.course=main",
        "recipe.is_vegan=true",
    ]
    assert "facets" not in database()["cms.nodes"].find_one({"_id": cookbook})["derived"]


def test_values_are_limited():
    with registered(Recipe, Cookbook):
        found = facets.from_detail("recipe", {"course": "x" * 500, "ingredients": [str(n) for n in range(90)]})
    assert len(found) == facets.MOST
    assert max(map(len, found)) <= len("recipe.course=") + facets.LONGEST
    assert facets.parse_facet("recipe.course=a=b.c") == ("course", "a=b.c")


def test_truncated_value_is_found_by_its_link(cookbook, slugs):
    long = f"{'x' * (facets.LONGEST - 1)} and more"
    recipe(cookbook, "pie", ingredients=[long])
    (stored,) = facets.from_detail("recipe", {"ingredients": [long]})
    assert facets.parse_facet(stored) == ("ingredients", "x" * (facets.LONGEST - 1))
    assert slugs(*[facets.parse_facet(stored)]) == slugs(("ingredients", long)) == ["pie"]


def test_nodes_with_all_values_are_listed_newest_first(cookbook, slugs):
    recipe(cookbook, "pie", "dessert", is_vegan=True, published=None)
    for n, (slug, course, vegan) in enumerate(
        [("tart", "dessert", True), ("cake", "dessert", False), ("stew", "main", True)]
    ):
        made = recipe(cookbook, slug, course, is_vegan=vegan)
        save(made, nonce(made), published=PAST + timedelta(days=n))
    assert slugs() == ["stew", "cake", "tart"]
    assert slugs(("course", "dessert")) == ["cake", "tart"]
    assert slugs(("course", "dessert"), ("is_vegan", "true")) == ["tart"]
    assert slugs(("course", "dessert"), ("course", "main")) == []
    assert slugs(("$gt", "")) == []
    first = faceted_lists.filtered(cookbook, "recipe", [("course", "dessert")], now(), size=1)
    assert slugs(("course", "dessert"), size=1, cursor=first.older) == ["tart"]
    with pytest.raises(ValueError):
        slugs(("course", "dessert"), cursor="none")


def test_values_are_counted_and_cached_until_the_site_changes(cookbook, counted):
    tart = recipe(cookbook, "tart", "dessert", is_vegan=True)
    recipe(cookbook, "cake", "dessert")
    recipe(cookbook, "stew", "main", is_vegan=True)
    recipe(cookbook, "unseen", "main", published=None)
    assert counted() == {"course": {"dessert": 2, "main": 1}, "is_vegan": {"true": 2, "false": 1}, "ingredients": {}}
    assert counted(("course", "dessert"))["is_vegan"] == {"false": 1, "true": 1}
    trash.trash(EDITOR, tart, nonce(tart))
    assert counted(("course", "dessert"))["is_vegan"] == {"false": 1}


def test_most_frequent_values_are_shown(cookbook, counted):
    for n in range(3):
        recipe(cookbook, f"r-{n}", ingredients=[f"rare {n}-{i}" for i in range(20)] + ["salt"])
    told = counted()["ingredients"]
    assert len(told) == faceted_lists.MAX_VALUES_SHOWN
    assert next(iter(told.items())) == ("salt", 3)


def test_counts_of_an_empty_result_are_not_cached(cookbook, counted, commands):
    recipe(cookbook, "pie", "dessert", ingredients=["pears"])
    for _ in range(2):
        with commands.recorded():
            assert not any(counted(("ingredients", "no-such-thing")).values())
        assert "aggregate" in commands.names
    counted(("ingredients", "pears"))
    with commands.recorded():
        assert counted(("ingredients", "pears"))["course"] == {"dessert": 1}
    assert "aggregate" not in commands.names


def test_lists_and_counts_use_indexes(cookbook, slugs, counted, mongo, commands):
    other = node("cookbook", "other")
    for n in range(20):
        recipe(other, f"o-{n}", published=PAST + timedelta(days=n, hours=1))
    for n in range(40):
        recipe(
            cookbook, f"r-{n}", "dessert" if n % 4 else "main", is_vegan=bool(n % 2), published=PAST + timedelta(days=n)
        )
    version_cache.clear()
    with commands.recorded():
        assert len(slugs(("course", "main"), size=5)) == 5
        assert len(slugs(("course", "dessert"), ("is_vegan", "true"), size=5)) == 5
        assert counted(("course", "main"))["course"] == {"main": 10}
        assert counted()["course"] == {"dessert": 30, "main": 10}
    plans = [explain(mongo, event) for event in commands.sent if "derived.facets" in str(event.command)]
    assert len(plans) == 4
    for one in plans:
        assert not stages(one) & {"COLLSCAN", "SORT"}, one
    assert [one["executionStats"]["totalDocsExamined"] for one in plans[:1]] == [6]
    with commands.recorded():
        counted()
    assert "aggregate" not in commands.names
    # Combinations of three values are too many to cache.
    three = ("course", "dessert"), ("is_vegan", "true"), ("ingredients", "flour")
    with commands.recorded():
        assert counted(*three) == counted(*three) == {"course": {}, "is_vegan": {}, "ingredients": {}}
    assert commands.names.count("aggregate") == 2
    assert [finding for finding in doctor.examine() if finding.name.startswith("query-")] == []


def test_unsupported_facet_fails_the_checks():
    class Odd(Page):
        facets = ("size", "day", "long", "nothing", "other", "at")
        size = models.IntegerField(default=1)
        long = models.TextField(blank=True)
        other = NodeField(null=True, blank=True)
        day = models.DateField(null=True, blank=True)
        at = models.DateTimeField(null=True, blank=True)

    with registered(Odd):
        found = [(error.id, error.msg.split("“")[1].split("”")[0]) for error in check_content()]
    assert found == [("nodes.E007", name) for name in ("long", "nothing", "other", "at")]
