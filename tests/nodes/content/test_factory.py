"""The factory that creates nodes of any type from its declaration."""

import pytest

from cms.testing.build import node, stored
from cms.testing.factories import factory_for
from nodes import content
from nodes.errors import InvalidField
from tests.support.nodes.content import Cookbook, Everything, Recipe, registered


@pytest.fixture(autouse=True)
def types(mongo):
    with registered(Recipe, Cookbook, Everything):
        yield


def test_every_type_is_created_from_its_declaration():
    for what in content.types():
        if not what.is_file:
            made = stored(factory_for(what.type_name)())
            assert (made["type"], made["title"]) == (what.type_name, str(what.label))
            assert made["published"] is not None


def test_given_values_are_used_and_the_rest_is_generated():
    book = node("cookbook", "cooking")
    said = {"title": "Soup", "course": "starter", "ingredients": ["water"], "summary": "Hot", "tags": ("quick",)}
    made = stored(factory_for("recipe")(parent_id=book, published=None, text="Boil.", **said))
    assert (made["parent_id"], made["slug"], made["published"]) == (book, "soup", None)
    assert (made["title"], made["summary"], made["tags"]) == ("Soup", "Hot", ["quick"])
    detail = made["detail"]
    assert (detail["course"], detail["ingredients"], detail["servings"]) == ("starter", ["water"], 2)
    assert detail["text"] == "Boil."


def test_batch_has_different_slugs():
    made = factory_for("recipe").create_batch(3, parent_id=node("cookbook", "cooking"))
    assert {stored(one)["slug"] for one in made} == {"recipe", "recipe-2", "recipe-3"}


@pytest.mark.parametrize("wrong", [{"course": "supper"}, {"unknown": 1}, {"servings": "many"}])
def test_values_refused_by_the_fields_are_refused(wrong):
    with pytest.raises(InvalidField):
        factory_for("recipe")(**wrong)
