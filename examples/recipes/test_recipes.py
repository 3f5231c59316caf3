"""Tests for the recipes app on a real database, with the same services and forms that editors use."""

import json

import pytest
from django.core.management import call_command

from cms.testing.build import EDITOR, node, nonce, save, stored
from cms.testing.editors import fields
from cms.testing.factories import factory_for
from nodes.errors import EditConflict, InvalidField, WrongInsert
from nodes.services import editing

SOUP = {"course": "starter", "ingredients": ["water", "salt"], "steps": [{"what": "Boil", "minutes": 10}]}


@pytest.fixture
def blog(mongo):
    return node("blog", "kitchen")


@pytest.fixture
def soup(blog):
    return factory_for("recipe")(slug="soup", parent_id=blog, text="My grandmother's.", **SOUP)


def test_the_declaration_is_sound_and_short():
    call_command("check", fail_level="WARNING")
    with open("examples/recipes/content.py", encoding="utf-8") as file:
        assert len(file.read().partition("@insert")[0].splitlines()) <= 40


def test_the_page_shows_what_the_fields_say(soup, client):
    html = client.get("/kitchen/soup").content.decode()
    for said in ("grandmother", "Starter, for 2", "<li>salt</li>", "<li>Boil (10 minutes)</li>", '"@type": "Recipe"'):
        assert said in html


def test_shopping_list_is_a_cached_text_file(soup, client):
    assert 'href="/kitchen/soup/shopping-list.txt"' in client.get("/kitchen/soup").content.decode()
    for cache in ("miss", "hit"):
        response = client.get("/kitchen/soup/shopping-list.txt")
        assert (response.content, response["Content-Type"]) == (b"water\nsalt", "text/plain; charset=utf-8")
        assert response.wsgi_request.page_cache == cache


def test_search_engines_are_told_what_the_fields_say(soup, client):
    html = client.get("/kitchen/soup").content.decode()
    said = json.loads(html.partition('<script type="application/ld+json">')[2].partition("</script>")[0])["@graph"][0]
    assert (said["recipeYield"], said["recipeIngredient"]) == (2, ["water", "salt"])


def test_it_is_found_where_posts_are(soup, client):
    for address in ("/", "/kitchen", "/kitchen/feed/atom", "/search?q=salt", "/sitemap-recipe-1.xml"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "/kitchen/soup" in answer.content.decode()


def test_the_kitchen_is_narrowed_by_course(blog, soup, client):
    factory_for("recipe")(slug="tart", parent_id=blog, course="dessert")
    html = client.get("/kitchen").content.decode()
    assert '<a href="/kitchen?course=dessert">Dessert <span class="count">1</span></a>' in html
    html = client.get("/kitchen?course=dessert").content.decode()
    assert "/kitchen/tart" in html
    assert "/kitchen/soup" not in html


def test_a_text_has_a_timer(soup, client):
    save(soup, nonce(soup), detail__text="Boil it.\n\n::timer{minutes=10}")
    assert "<strong>Set a timer for 10 minutes.</strong>" in client.get("/kitchen/soup").content.decode()
    with pytest.raises(WrongInsert, match="minutes"):
        save(soup, nonce(soup), detail__text="::timer{minutes=0}")


def test_an_editor_writes_one(blog, mongo, editor):
    ann, address = editor(), f"/admin/nodes/node/add/?type=recipe&section={blog}"
    form = ann.open(address) | {"steps-0-what": ["Boil"], "steps-0-minutes": ["5"]}
    assert ann.send(address, form, title="Tea", course="dessert", ingredients="water\nleaves").status_code == 302
    detail = mongo["cms.nodes"].find_one({"metadata.slug": "tea"})["metadata"]["detail"]
    assert (detail["servings"], detail["ingredients"]) == (2, ["water", "leaves"])
    assert [(step["what"], step["minutes"]) for step in detail["steps"]] == [("Boil", 5)]


def test_no_caller_stores_what_the_fields_refuse(soup):
    with pytest.raises(InvalidField, match="not a valid choice"):
        editing.save(EDITOR, soup, nonce(soup), {"detail.course": "supper"})
    assert stored(soup)["detail"]["course"] == "starter"


def test_servings_and_an_ingredient_changed_at_once_are_merged(soup):
    seen = nonce(soup)
    save(soup, seen, detail__servings=6)
    save(soup, seen, detail__ingredients=["water", "sea salt"])
    assert stored(soup)["detail"]["servings"] == 6
    assert stored(soup)["detail"]["ingredients"] == ["water", "sea salt"]


def test_servings_changed_by_both_are_decided_on_the_conflict_page(soup, editor):
    seen = nonce(soup)
    save(soup, seen, detail__servings=6)
    with pytest.raises(EditConflict):
        save(soup, seen, detail__servings=4)
    ann, bob, address = editor(), editor("bob"), f"/admin/nodes/node/{soup}/change/"
    theirs, mine = ann.open(address), bob.open(address)
    assert ann.send(address, theirs, servings="8").status_code == 302
    asked = bob.send(address, mine, servings="3")
    assert asked.status_code == 409
    assert bob.send(address, fields(asked.content.decode()), **{"choice-servings": "mine"}).status_code == 302
    assert stored(soup)["detail"]["servings"] == 3


def test_api_returns_the_shopping_list(soup, client):
    answer = client.get(f"/api/v1/x/recipes/{soup}/shopping-list")
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-cache")
    assert answer.json() == {"title": stored(soup)["title"], "ingredients": ["water", "salt"]}
    missing = client.get(f"/api/v1/x/recipes/{'0' * 24}/shopping-list")
    assert (missing.status_code, missing["Content-Type"]) == (404, "application/problem+json")


def test_api_schema_contains_the_shopping_list(mongo, client):
    schema = client.get("/api/v1/openapi.json").json()
    operation = schema["paths"]["/api/v1/x/recipes/{node_id}/shopping-list"]["get"]
    assert operation["operationId"] == "recipes_shopping_list"
    assert schema["components"]["schemas"]["ShoppingList"]["required"] == ["title", "ingredients"]
