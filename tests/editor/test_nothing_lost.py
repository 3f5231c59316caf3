"""Typed text is kept when a form is invalid, or when its page was trashed before or during the save."""

from cms.testing.build import EDITOR, node, nonce
from cms.testing.editors import fields
from nodes.services import trash
from tests.support.interrupting import before_command

ADD = "/admin/nodes/node/add/?type=basic-page"


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def test_invalid_form_keeps_all_typed_text(mongo, editor):
    ann, node_id = editor(), node(text="old")
    answer = ann.send(change(node_id), ann.open(change(node_id)), title="", text="typed", published_0="nonsense")
    form = fields(answer.content.decode())
    assert (form["text"], form["published_0"]) == (["typed"], ["nonsense"])
    # Scripts look for this attribute.
    assert "data-unstored" in answer.content.decode()
    assert "data-unstored" not in ann.client.get(change(node_id)).content.decode()


def test_new_page_trashed_meanwhile_is_saved_as_another(mongo, editor):
    """The form created the page and continues with it.

    If the page is gone, the same button must not be refused forever.
    """
    ann = editor()
    form = ann.open(ADD)
    ann.send(ADD, form, title="First")
    made = mongo["cms.nodes"].find_one()["_id"]
    trash.trash(EDITOR, made, nonce(made))
    refused = ann.send(ADD, form, title="Typed", text="long")
    assert refused.status_code == 409
    again = fields(refused.content.decode())
    assert (again["title"], again["text"]) == (["Typed"], ["long"])
    assert ann.send(ADD, again).status_code == 302
    assert mongo["cms.nodes"].find_one()["metadata"]["title"] == "Typed"
    assert mongo["cms.trash"].find_one()["metadata"]["title"] == "First"


def test_page_trashed_during_a_save_returns_the_text(mongo, editor):
    ann, node_id = editor(), node()
    form = ann.open(change(node_id))
    looks = []

    def is_second_look(command) -> bool:
        looks.extend([command] if command["filter"].get("_id") == node_id else [])
        return len(looks) == 2

    with before_command("find", "cms.nodes", lambda: trash.trash(EDITOR, node_id, nonce(node_id)), is_second_look):
        answer = ann.send(change(node_id), form, text="typed long")
    assert answer.status_code == 409
    assert fields(answer.content.decode())["text"] == ["typed long"]
