"""Search weights that a type sets for its fields."""

import pytest
from django.db import models
from django_mongodb_backend.fields import ArrayField

from cms.testing.build import PAST, node
from nodes.checks import check_content
from nodes.content import Entry
from nodes.selectors import lists
from nodes.selectors.lists import Filters
from tests.support.nodes.content import registered


class Book(Entry):
    """A book: by whom it is weighs as much as its title."""

    searched_as_title = ["writer"]
    searched_as_tags = ["subjects"]

    writer = models.CharField(max_length=100, blank=True)
    subjects = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    notes = models.TextField(blank=True)


@pytest.fixture
def library(mongo):
    with registered(Book):
        yield node("blog", "books")


def test_search_weights_are_set_by_the_type(library, client):
    for slug, given in {
        "noted": {"detail.notes": "Melville"},
        "subject": {"detail.subjects": ["Melville", "whales"]},
        "written": {"detail.writer": "Herman Melville"},
        "other": {"detail.writer": "Another"},
    }.items():
        node("book", slug, parent=library, **given)
    found = client.get("/search", {"q": "melville"}).context["results"].hits
    assert [hit.node.metadata.slug for hit in found] == ["written", "subject", "noted"]
    listed = lists.page(Filters(search="melville"), PAST).rows
    assert [row.node.metadata.slug for row in listed] == ["written", "subject", "noted"]


def test_author_weighs_as_a_title_and_a_subject_as_a_tag(library, client):
    node("book", "subject", parent=library, **{"detail.subjects": ["whales"]})
    node("book", "titled", parent=library, title="Whales")
    node("book", "tagged", parent=library, tags=("whales",), text="whales")
    node("book", "noted", parent=library, text="whales", summary="whales")
    found = client.get("/search", {"q": "whales"}).context["results"].hits
    assert [hit.node.metadata.slug for hit in found][0] == "titled"
    assert {hit.node.metadata.slug for hit in found[1:3]} == {"subject", "tagged"}


def test_type_has_its_own_weight_and_words(library, client):
    class Tool(Entry):
        """A tool."""

        search_weight = 3.0
        code = models.CharField(max_length=20, blank=True)

        def search_words(self):
            return [f"MX{self.code}"]

    with registered(Tool):
        node("tool", "tool", parent=library, text="An awl.", **{"detail.code": "42"})
        node("book", "book", parent=library, text="An awl.")
        for query, slugs in (("mx42", ["tool"]), ("awl", ["tool", "book"])):
            found = client.get("/search", {"q": query}).context["results"].hits
            assert [hit.node.metadata.slug for hit in found] == slugs


def test_unknown_field_name_fails_the_checks():
    class Odd(Entry):
        searched_as_title = ("nothing",)
        searched_as_tags = ("source", "said")
        said = models.CharField(max_length=10, blank=True)

    with registered(Odd):
        assert [error.id for error in check_content()] == ["nodes.E011"] * 2
