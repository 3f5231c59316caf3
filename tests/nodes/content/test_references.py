"""Fields that reference nodes and photos: chosen by URL, stored by id, indexed as uses, hidden with their target."""

import re

import pytest
from bson import ObjectId
from django.template import Context, Template

from cms.testing.build import node, nonce, save, stored
from nodes.errors import InvalidField
from tests.support.nodes.photo_build import gallery, upload

GONE = ObjectId("5f0000000000000000000001")


@pytest.fixture
def stew(recipes):
    return node("recipe", "stew", parent=recipes, **{"detail.course": "main"})


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("spelling", ["/cooking", "http://testserver/cooking", "cooking/", "{id}", "node:{id}"])
def test_node_is_referenced_by_url_or_id(stew, recipes, editor, spelling):
    ann = editor()
    form = ann.open(change(stew))
    assert form["goes_with"] == [""]
    assert ann.send(change(stew), form, goes_with=spelling.format(id=recipes)).status_code == 302
    assert stored(stew)["detail"]["goes_with"] == recipes
    assert ann.open(change(stew))["goes_with"] == ["/cooking"]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("typed", ["/nowhere", "/hidden", "node:5", "https://[", "{'$gt': ''}", "/"])
def test_hidden_node_cannot_be_referenced(stew, editor, typed):
    node(slug="hidden", published=None)
    ann = editor()
    answer = ann.send(change(stew), ann.open(change(stew)), goes_with=typed)
    assert answer.status_code == 200
    assert "No public page has this URL." in answer.content.decode()
    assert stored(stew)["detail"].get("goes_with") is None


def test_deleted_node_stays_referenced_by_its_id(stew, editor):
    save(stew, nonce(stew), detail__goes_with=GONE)
    ann = editor()
    form = ann.open(change(stew))
    assert form["goes_with"] == [f"node:{GONE}"]
    assert ann.send(change(stew), form).status_code == 302
    assert stored(stew)["detail"]["goes_with"] == GONE


def test_chosen_node_is_shown_with_its_state(stew, recipes, editor):
    def shown():
        html = ann.client.get(change(stew)).content.decode()
        return " ".join(
            re.findall(r'<p class="chosen">(?:<img[^>]*>)? ?<strong>(.*?)</strong> <small>(.*?)</small>', html)[0]
        )

    ann, hidden = editor(), node(slug="hidden", title="Plans", published=None)
    for chosen, said in (
        (recipes, "Cooking Cookbook · /cooking"),
        (hidden, "Plans not public"),
        (GONE, " deleted"),
    ):
        save(stew, nonce(stew), detail__goes_with=chosen)
        assert shown() == said


def test_titles_are_offered(stew, editor):
    html = editor().client.get(change(stew)).content.decode()
    assert '<option value="/cooking/stew">Stew</option>' in html


def test_photos_and_pages_are_not_interchangeable(stew, editor):
    photo, ann = upload(gallery()), editor()
    assert ann.send(change(stew), ann.open(change(stew)), picture=f"photo:{photo}").status_code == 302
    assert stored(stew)["detail"]["picture"] == photo
    refused = ann.send(change(stew), ann.open(change(stew)), picture="/cooking")
    assert "No public photo has this URL." in refused.content.decode()


def test_references_of_fields_are_indexed(stew, recipes, mongo):
    save(stew, nonce(stew), detail__goes_with=recipes)
    assert mongo["cms.nodes"].find_one({"_id": stew})["derived"]["refs"] == [recipes]


def test_services_refuse_invalid_ids(stew):
    for value in ("soup", {"$ne": None}, 5):
        with pytest.raises(InvalidField):
            save(stew, nonce(stew), detail__goes_with=value)


def test_templates_get_only_public_nodes(stew, recipes):
    page = Template("{% load content %}{% referred id as other %}{{ other.metadata.title }}")
    assert page.render(Context({"id": recipes})) == "Cooking"
    for nothing in (None, GONE, node(slug="hidden", published=None)):
        assert page.render(Context({"id": nothing})) == ""
