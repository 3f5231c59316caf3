"""Drafts saved in the form of a page: readers don't see them, and the page's URL stays."""

import pytest

from cms.testing.build import EDITOR, node, nonce, stored
from cms.testing.editors import fields
from nodes.services import editing


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def test_readers_see_the_live_version_during_a_draft(mongo, editor, client):
    ann, node_id = editor(), node(slug="page", title="Live", text="Live text")
    form = ann.open(change(node_id))
    ann.send(change(node_id), form, "_draft", title="Drafted", text="Drafted text")
    public = client.get("/page").content.decode()
    assert "Live text" in public
    assert "Drafted" not in public
    assert "Drafted text" in ann.client.get(f"/admin/nodes/node/{node_id}/preview/").content.decode()
    ann.send(change(node_id), ann.open(change(node_id)), "_publish", title="Drafted again")
    assert stored(node_id)["title"] == "Drafted again"
    assert "Drafted text" in client.get("/page").content.decode()


def test_draft_form_opened_before_a_move_is_saved(mongo, editor):
    ann, node_id, folder = editor(), node(title="Live"), node("folder", "folder")
    form = ann.open(change(node_id))
    editing.save(EDITOR, node_id, nonce(node_id), {"parent_id": folder, "slug": "moved"})
    assert ann.send(change(node_id), form, "_draft", title="Typed").status_code == 302
    assert mongo["cms.nodes"].find_one({"_id": node_id})["draft"]["metadata"]["title"] == "Typed"
    assert (stored(node_id)["parent_id"], stored(node_id)["slug"]) == (folder, "moved")


@pytest.mark.parametrize(("name", "typed"), [("slug", "other"), ("section", None)])
def test_draft_with_another_slug_is_refused_at_its_field(mongo, editor, name, typed):
    ann, node_id, folder = editor(), node(), node("folder", "folder")
    form = ann.open(change(node_id))
    answer = ann.send(change(node_id), form, "_draft", title="Typed", **{name: typed or str(folder)})
    assert "A draft can&#x27;t change the page&#x27;s URL." in str(answer.context["form"].errors[name])
    assert fields(answer.content.decode())["title"] == ["Typed"]
    assert "draft" not in mongo["cms.nodes"].find_one({"_id": node_id})
