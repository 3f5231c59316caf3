"""Requests that another site sends from a browser: they are refused, and no page offers to repeat them."""

import pytest
from bson import ObjectId
from django.test import Client

from cms.testing.build import EDITOR, node, nonce
from cms.testing.editors import fields
from nodes.services import drafts, trash
from tests.support.nodes.photo_build import document, gallery, upload

ADD = "/admin/nodes/node/add/?type=basic-page"

# Actions of a single button, by the data they send: nothing that took long to type.
OPERATIONS = {
    "": {"action": "publish", "chosen": "{id}", "nonce-{id}": "{nonce}"},
    "{id}/move/": {"nonce": "{nonce}", "section": "{folder}"},
    "{id}/delete/": {"nonce": "{nonce}"},
    "{id}/duplicate/": {"nonce": "{nonce}", "new_id": "{new}", "section": "top"},
    "{id}/publish/": {"draft": "{draft}"},
    "{id}/discard/": {"draft": "{draft}"},
    "{id}/history/{nonce}/": {"nonce": "{nonce}"},
    "{trashed}/restore/": {"nonce": "{thrown}", "slug": "thrown", "section": "top"},
    "{trashed}/delete-for-good/": {"nonce": "{thrown}"},
    "undo/": {"items": "{trashed}:{thrown}"},
    "../photo/": {"action": "publish", "chosen": "{id}", "nonce-{id}": "{nonce}"},
}


@pytest.fixture
def operation(request, mongo):
    """A URL of the admin, and the data that another site would send there."""
    node_id, trashed, folder = node(published=None), node(slug="thrown"), node("folder", "folder")
    drafts.save_draft(EDITOR, node_id, nonce(node_id), {"title": "Drafted"})
    known = {"id": node_id, "nonce": nonce(node_id), "folder": folder, "trashed": trashed, "new": ObjectId()}
    known |= {"thrown": nonce(trashed), "draft": mongo["cms.nodes"].find_one({"_id": node_id})["draft"]["nonce"]}
    trash.trash(EDITOR, trashed, known["thrown"])
    sent = {name.format(**known): value.format(**known) for name, value in OPERATIONS[request.param].items()}
    return f"/admin/nodes/node/{request.param.format(**known)}".replace("node/../", ""), sent


def everything(mongo):
    return [list(mongo[name].find()) for name in ("cms.nodes", "cms.trash", "cms.revisions", "cms.redirects")]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("operation", OPERATIONS, indirect=True)
def test_forged_form_is_not_offered_again(mongo, editor, operation):
    """The page that offers to show typed text would add the CSRF token. Without typed text, nothing is offered."""
    address, sent = operation
    before = everything(mongo)
    refused = Client(enforce_csrf_checks=True).post(address, sent)
    assert refused.status_code == 403
    assert "again-form" not in refused.content.decode()
    ann = editor()
    ann.client.handler.enforce_csrf_checks = True
    assert "again-form" not in ann.client.post(address, sent).content.decode()
    assert everything(mongo) == before


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("operation", OPERATIONS, indirect=True)
def test_operation_is_not_repeated_by_logging_in(mongo, editor, operation):
    """After logging in, the user sees the page again and decides."""
    address, sent = operation
    ann = editor()
    ann.client.logout()
    before = everything(mongo)
    asked = ann.client.post(address, {**sent, "_username": "ann", "_password": "pw"})
    assert (asked.status_code, asked["Location"].partition("?")[0]) == (302, "/admin/login/")
    assert ann.client.get("/admin/").status_code == 302, "nor is anybody logged in"
    assert everything(mongo) == before


@pytest.mark.slow
def test_showing_a_forged_form_saves_nothing(mongo, editor):
    """The shown text could be another site's. Saving it needs a second click on a button that says so."""
    ann, node_id, photo_id = editor(), node(title="Old", published=None), upload(gallery())
    for address in (f"/admin/nodes/node/{node_id}/change/", ADD, f"/admin/nodes/photo/{photo_id}/change/"):
        form = ann.open(address)
        before = everything(mongo), document(photo_id)
        for button in ("_save", "_continue", "_draft", "_publish", "_preview"):
            ann.client.handler.enforce_csrf_checks = True
            refused = ann.send(address, form | {"csrfmiddlewaretoken": ""}, button, title="Theirs", alt="x")
            again = fields(refused.content.decode(), "again-form")
            ann.client.handler.enforce_csrf_checks = False
            assert fields(ann.client.post(address, again).content.decode())["title"] == ["Theirs"]
            assert (everything(mongo), document(photo_id)) == before, (address, button)
