"""The list of nodes of one type: columns and filters by the declared fields."""

import re

import pytest
from django.db import models

from cms.testing.build import node
from marginalia.mongo.clock import now
from nodes.content import Entry, facets
from nodes.selectors import lists
from nodes.selectors.lists import Filters
from tests.support.commands import explain, stages
from tests.support.nodes.content import COURSES, registered

LIST = "/admin/nodes/node/"


class Dinner(Entry):
    """A dish with its own columns."""

    facets = ["course", "cook", "is_vegan"]
    list_display = ["course", "serves", "cook"]

    course = models.CharField(max_length=20, choices=COURSES, blank=True)
    serves = models.PositiveSmallIntegerField(default=2)
    cook = models.CharField(max_length=100, blank=True)
    is_vegan = models.BooleanField(default=False)


@pytest.fixture
def dinners(mongo):
    with registered(Dinner):
        blog = node("blog", "blog")
        for slug, given in {
            "stew": {"course": "main", "cook": "Ann <b>", "serves": 7},
            "cake": {"course": "dessert", "cook": "Bob", "is_vegan": True},
            "pie": {"course": "dessert", "cook": "Ann <b>"},
        }.items():
            fields = {f"detail.{name}": value for name, value in given.items()}
            node("dinner", slug, parent=blog, **fields)
        yield blog


def page(person, **query):
    html = person.client.get(LIST, query).content.decode()
    titles = re.findall(r'/change/">([^<]*)</a>', html)
    return titles, html


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["Pie", "Cake", "Stew"]),
        ({"facet-course": "dessert"}, ["Pie", "Cake"]),
        ({"facet-course": "dessert", "facet-cook": "Ann <b>"}, ["Pie"]),
        ({"facet-is_vegan": "true"}, ["Cake"]),
        ({"facet-course": "dessert", "state": "live"}, ["Pie", "Cake"]),
        ({"facet-course": "supper"}, ["Pie", "Cake", "Stew"]),
        ({"facet-cook": "$where"}, []),
        ({"facet-serves": "7"}, ["Pie", "Cake", "Stew"]),
    ],
)
def test_list_of_a_type_is_filtered_by_its_facets(dinners, editor, query, expected):
    assert page(editor(), type="dinner", **query)[0] == expected


def test_list_of_a_type_has_its_columns(dinners, editor):
    ann = editor()
    _titles, html = page(ann, type="dinner")
    for name in ("Course", "Serves", "Cook"):
        assert f'<th scope="col">{name}</th>' in html
    assert "<td>Main course</td><td>7</td><td>Ann &lt;b&gt;</td>" in html
    assert 'name="facet-course"' in html
    for other in ({}, {"type": "blog"}, {"type": "nothing"}):
        titles, html = page(ann, **other)
        assert titles
        assert "Serves" not in html
        assert "facet-" not in html


def test_lists_by_facets_use_an_index(dinners, mongo, commands):
    for number in range(40):
        node("dinner", f"d{number}", parent=dinners, **{"detail.course": "starter" if number % 10 else "main"})
    course, cook = facets.format_facet("dinner", "course", "main"), facets.format_facet("dinner", "cook", "Ann <b>")
    for wanted in ((course,), (course, cook)):
        with commands.recorded():
            found = lists.page(Filters(type="dinner", facets=wanted), now(), size=3)
        plan = explain(mongo, commands.sent[0])
        assert not stages(plan) & {"COLLSCAN", "SORT"}
        assert plan["executionStats"]["totalDocsExamined"] <= 2 * len(found.rows) + 5
