"""Forms of nodes whose type changes while editors type: no typed or stored data is lost."""

import pytest

from cms.testing.build import EDITOR, node, nonce, stored
from nodes.services import drafts
from tests.support.nodes.content import NewDish, OldDish, installed, registered


@pytest.fixture
def blog(mongo):
    with registered(OldDish):
        yield node("blog", "blog")


@pytest.fixture
def stew(blog):
    return node("dish", "stew", parent=blog, text="Hot stew", **{"detail.serves": 4, "detail.amount": "2 l"})


def address(node_id, what="change"):
    return f"/admin/nodes/node/{node_id}/{what}/"


def test_form_of_the_old_release_is_shown_again_by_the_new(stew, editor):
    ann = editor()
    form = ann.open(address(stew))
    with installed(NewDish):
        response = ann.send(address(stew), form, title="Bean stew", serves="6", notes="Slowly")
        html = response.content.decode()
        assert response.status_code == 200
        assert "The site was updated while you were editing" in html
        assert "serves, “6”" in html
        assert "This field is required" not in html
        assert (stored(stew)["title"], stored(stew)["detail"]["serves"]) == ("Stew", 4)
        again = ann.fields(response)
        assert (again["title"], again["notes"]) == (["Bean stew"], ["Slowly"])
        # Fields missing in the old form keep their stored values.
        assert (again["servings"], again["number"], again["unit"]) == (["4"], ["2"], ["l"])
        assert ann.send(address(stew), again).status_code == 302
        said = stored(stew)
        assert (said["title"], said["detail"]["servings"], said["detail"]["number"]) == ("Bean stew", 4, "2")
        assert (said["detail"]["notes"], said["schema_version"]) == ("Slowly", 3)


def test_form_of_the_new_release_is_refused_by_the_old(stew, editor):
    ann = editor()
    with installed(NewDish):
        form = ann.open(address(stew))
    html = ann.send(address(stew), form, title="Bean stew", servings="6").content.decode()
    assert "The site was updated while you were editing" in html
    assert "servings, “6”" in html
    assert (stored(stew)["title"], stored(stew)["detail"]["serves"]) == ("Stew", 4)


def test_form_of_a_new_page_is_shown_again_too(blog, editor):
    ann = editor()
    form = ann.open("/admin/nodes/node/add/?type=dish")
    with installed(NewDish):
        response = ann.send("/admin/nodes/node/add/?type=dish", form, title="Soup", section=str(blog), serves="6")
        assert "The site was updated while you were editing" in response.content.decode()
        again = ann.fields(response)
        assert (again["title"], again["servings"]) == (["Soup"], ["2"])
        assert ann.send("/admin/nodes/node/add/?type=dish", again).status_code == 302


def test_page_of_a_newer_release_is_shown_read_only(stew, editor):
    ann = editor()
    form = ann.open(address(stew))
    with installed(NewDish):
        assert ann.send(address(stew), ann.open(address(stew)), servings="8").status_code == 302
    before = stored(stew)
    html = ann.client.get(address(stew)).content.decode()
    assert "This page was saved by a newer version of the site." in html
    assert "node_form" not in html
    # An open form is not lost.
    response = ann.send(address(stew), form, title="Bean stew")
    assert "This content was saved by a newer version of the site" in response.content.decode()
    assert ann.fields(response)["title"] == ["Bean stew"]
    assert stored(stew) == before
    assert ann.client.get(address(stew, "history")).status_code == 200
    with installed(NewDish):
        assert "node_form" in ann.client.get(address(stew)).content.decode()


def test_newer_draft_is_shown_and_kept(stew, editor, mongo):
    with installed(NewDish):
        drafts.save_draft(EDITOR, stew, nonce(stew), {"detail.servings": 6})
    before = mongo["cms.nodes"].find_one({"_id": stew})
    html = editor().client.get(address(stew)).content.decode()
    assert "This page was saved by a newer version of the site." in html
    assert mongo["cms.nodes"].find_one({"_id": stew}) == before


def test_page_that_cannot_be_upgraded_is_shown_as_stored(stew, editor, mongo):
    mongo["cms.nodes"].update_one({"_id": stew}, {"$set": {"metadata.detail.amount": "unreadable"}})
    ann = editor()
    with installed(NewDish):
        html = ann.client.get(address(stew)).content.decode()
        assert "be upgraded to the current version" in html
        assert "unreadable" in html
        assert "node_form" not in html
        assert ann.client.post(address(stew), {"title": "x"}).status_code == 403
        assert ann.client.get("/admin/nodes/node/").status_code == 200
        assert ann.client.get(address(stew, "history")).status_code == 200
        assert ann.client.get(address(stew, "preview")).status_code in (200, 404)
    assert "node_form" in ann.client.get(address(stew)).content.decode()
