"""Inserts in the editor: refused with their line when a text is saved, and reported beside it while typing."""

import pytest

from cms.testing.build import EDITOR, node, nonce, save, stored
from nodes.errors import WrongInsert
from nodes.services import drafts
from nodes.types import NO_TAGS

SHOW = "/admin/nodes/node/show-typed/"
WRONG = "Fine.\n\n::gallery{colour=red}\n\n:::note\nnot ended"
SAYS = ("Line 3: “gallery” has no attribute “colour”", "Line 5: “:::note” isn&#x27;t closed")


def test_invalid_insert_is_refused_with_its_line(editor):
    page, ann = node(text="Before."), editor()
    address = f"/admin/nodes/node/{page}/change/"
    form = ann.open(address)
    refused = ann.send(address, form, text=WRONG)
    html = refused.content.decode()
    assert refused.status_code == 200
    assert all(said in html for said in SAYS)
    assert "::gallery{colour=red}" in html
    assert stored(page)["detail"]["text"] == "Before."
    assert ann.send(address, form, text="::contents").status_code == 302
    assert stored(page)["detail"]["text"] == "::contents"


def test_invalid_insert_is_refused_in_new_pages_and_drafts(mongo):
    page = node(text="Before.")
    with pytest.raises(WrongInsert) as refused:
        node(slug="other", text=WRONG)
    assert len(refused.value.faults) == 2
    with pytest.raises(WrongInsert):
        drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": WRONG}, NO_TAGS)
    drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": "::contents"}, NO_TAGS)


def test_unchanged_text_is_not_checked_again(mongo):
    """Its insert may have lost an attribute since. This must not prevent a correction of the title."""
    page = node(text="::contents")
    mongo["cms.nodes"].update_one({"_id": page}, {"$set": {"metadata.detail.text": "::contents{old=1}"}})
    save(page, nonce(page), title="Corrected", detail__text="::contents{old=1}")
    assert stored(page)["title"] == "Corrected"
    with pytest.raises(WrongInsert):
        save(page, nonce(page), detail__text="::contents{old=2}")


def test_unknown_insert_is_stored(mongo):
    page = node(text="::map{x=1}")
    assert mongo["cms.nodes"].find_one({"_id": page})["derived"]["refs"] == ["map"]


def test_preview_shows_errors_of_inserts_in_place(editor):
    html = editor().client.post(SHOW, {"type": "basic-page", "title": "New", "text": WRONG}).json()["html"]
    assert all(said in html for said in SAYS)
    assert html.index("Fine.") < html.index("Line 3") < html.index("Line 5") < html.index("closed. Add a line")
