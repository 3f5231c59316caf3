"""The recipes app's additions to the admin."""

import re

import pytest
from bson import ObjectId

from cms.testing.build import node, nonce, save, stored
from cms.testing.editors import fields
from cms.testing.factories import factory_for

SOUP = {"course": "starter", "ingredients": ["water", "salt"], "steps": [{"what": "Boil", "minutes": 10}]}
LIST = "/admin/nodes/node/?type=recipe"


@pytest.fixture
def soup(mongo):
    return factory_for("recipe")(slug="soup", parent_id=node("blog", "kitchen"), **SOUP)


def test_form_has_radio_buttons_and_the_cooking_time(soup, editor):
    html = editor().client.get(f"/admin/nodes/node/{soup}/change/").content.decode()
    assert 'type="radio" name="course"' in html
    assert "<p>10 minutes</p>" in html
    assert html.index("<summary>Cooking</summary>") < html.index('name="course"') < html.index('name="servings"')


def test_new_recipe_has_a_summary_of_its_ingredients(soup, editor):
    ann, address = editor(), f"/admin/nodes/node/add/?type=recipe&section={stored(soup)['parent_id']}"
    form = ann.open(address)
    saved = ann.send(address, form, title="Tea", course="dessert", ingredients="water\nleaves", servings="3")
    tea = ObjectId(re.search("[0-9a-f]{24}", saved.url)[0])
    assert (stored(tea)["detail"]["servings"], stored(tea)["summary"]) == (3, "water, leaves")


def test_conflict_about_the_course_is_decided(soup, editor):
    ann, address = editor(), f"/admin/nodes/node/{soup}/change/"
    form = ann.open(address)
    save(soup, nonce(soup), detail__course="main")
    asked = ann.send(address, form, course="dessert")
    assert asked.status_code == 409
    assert ann.send(address, fields(asked.content.decode()), **{"choice-course": "mine"}).status_code == 302
    assert stored(soup)["detail"]["course"] == "dessert"


def test_list_counts_the_ingredients_and_doubles_servings(soup, editor):
    ann = editor()
    assert "<td>2</td>" in ann.client.get(LIST).content.decode()
    form = {"action": "examples.recipes.admin.DoubleServings", "chosen": str(soup), f"nonce-{soup}": str(nonce(soup))}
    assert "will stay the same" in ann.client.post(LIST, form).content.decode()
    assert stored(soup)["detail"]["servings"] == 2
    assert ann.client.post(LIST, form | {"confirmed": "1"}).status_code == 302
    assert stored(soup)["detail"]["servings"] == 4


def test_dashboard_has_the_tile_and_the_link(soup, editor):
    html = editor().client.get("/admin/").content.decode()
    assert "Unpublished recipes" in html
    assert "/admin/nodes/node/broken-links/" in html
