"""Fields that name nodes and photos: chosen by address, kept by id, noted as uses, gone where readers may not see them."""

import re

import pytest
from bson import ObjectId
from django.template import Context, Template

from nodes.errors import InvalidField
from tests.support.nodes.build import node, nonce, save, stored
from tests.support.nodes.photo_build import gallery, upload

GONE = ObjectId("5f0000000000000000000001")


@pytest.fixture
def stew(recipes):
    return node("recipe", "stew", parent=recipes, **{"detail.course": "main"})


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


@pytest.mark.parametrize("spelling", ["/cooking", "http://testserver/cooking", "cooking/", "{id}", "node:{id}"])
def test_a_node_is_named_by_its_address_or_id(stew, recipes, editor, spelling):
    ann = editor()
    form = ann.open(change(stew))
    assert form["goes_with"] == [""]
    assert ann.send(change(stew), form, goes_with=spelling.format(id=recipes)).status_code == 302
    assert stored(stew)["detail"]["goes_with"] == recipes
    assert ann.open(change(stew))["goes_with"] == ["/cooking"]


@pytest.mark.parametrize("typed", ["/nowhere", "/hidden", "node:5", "https://[", "{'$gt': ''}", "/"])
def test_what_is_not_there_for_readers_has_no_address(stew, editor, typed):
    node(slug="hidden", published=None)
    ann = editor()
    answer = ann.send(change(stew), ann.open(change(stew)), goes_with=typed)
    assert answer.status_code == 200
    assert "No public page has this address." in answer.content.decode()
    assert stored(stew)["detail"].get("goes_with") is None


def test_what_went_stays_named_by_its_id(stew, editor):
    save(stew, nonce(stew), detail__goes_with=GONE)
    ann = editor()
    form = ann.open(change(stew))
    assert form["goes_with"] == [f"node:{GONE}"]
    assert ann.send(change(stew), form).status_code == 302
    assert stored(stew)["detail"]["goes_with"] == GONE


def test_what_is_chosen_is_shown_and_why_readers_do_not_see_it(stew, recipes, editor):
    def shown():
        html = ann.client.get(change(stew)).content.decode()
        return " ".join(
            re.findall(r'<p class="chosen">(?:<img[^>]*>)?<strong>(.*?)</strong><small>(.*?)</small>', html)[0]
        )

    ann, hidden = editor(), node(slug="hidden", title="Plans", published=None)
    for chosen, said in (
        (recipes, "Cooking cookbook · /cooking"),
        (hidden, "Plans not public"),
        (GONE, " not there any more"),
    ):
        save(stew, nonce(stew), detail__goes_with=chosen)
        assert shown() == said


def test_titles_are_offered(stew, editor):
    html = editor().client.get(change(stew)).content.decode()
    assert '<option value="/cooking/stew">Stew</option>' in html


def test_a_photo_is_no_page_and_a_page_no_photo(stew, editor):
    photo, ann = upload(gallery()), editor()
    assert ann.send(change(stew), ann.open(change(stew)), picture=f"photo:{photo}").status_code == 302
    assert stored(stew)["detail"]["picture"] == photo
    refused = ann.send(change(stew), ann.open(change(stew)), picture="/cooking")
    assert "No public photo has this address." in refused.content.decode()


def test_it_is_noted_what_the_fields_use(stew, recipes, mongo):
    save(stew, nonce(stew), detail__goes_with=recipes)
    assert mongo["cms.nodes"].find_one({"_id": stew})["derived"]["refs"] == [recipes]


def test_services_refuse_what_is_no_id(stew):
    for value in ("soup", {"$ne": None}, 5):
        with pytest.raises(InvalidField):
            save(stew, nonce(stew), detail__goes_with=value)


def test_templates_get_what_readers_see(stew, recipes):
    page = Template("{% load content %}{% referred id as other %}{{ other.metadata.title }}")
    assert page.render(Context({"id": recipes})) == "Cooking"
    for nothing in (None, GONE, node(slug="hidden", published=None)):
        assert page.render(Context({"id": nothing})) == ""
