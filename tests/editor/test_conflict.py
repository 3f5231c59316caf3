"""Edits of one page by two editors, or by one in two tabs."""

import re

import pytest

from cms.testing.build import EDITOR, node, nonce, save, stored
from cms.testing.editors import fields
from nodes.services import editing
from nodes.types import TagChange


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def test_edits_of_different_paragraphs_both_survive(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text="one\n\ntwo\n\nthree")
    hers, his = ann.open(change(node_id)), bob.open(change(node_id))
    assert bob.send(change(node_id), his, text="one\n\ntwo\n\nthree of Bob").status_code == 302
    assert ann.send(change(node_id), hers, text="one of Ann\n\ntwo\n\nthree").status_code == 302
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo\n\nthree of Bob"


def test_second_conflict_is_shown_while_deciding_the_first(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base", text="one\n\ntwo")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob 1")
    deciding = fields(ann.send(change(node_id), hers, title="Ann", text="one of Ann\n\ntwo").content.decode())
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob 2", text="one\n\ntwo of Bob")
    answer = ann.send(change(node_id), deciding, **{"choice-title": "mine"})
    assert answer.status_code == 409
    assert "data-unstored" in answer.content.decode()
    deciding = fields(answer.content.decode())
    assert (deciding["mine-title"], deciding["theirs-title"]) == (["Ann"], ["Bob 2"])
    assert deciding["text"] == ["one of Ann\n\ntwo of Bob"]
    assert ann.send(change(node_id), deciding, title="Both", **{"choice-title": "edit"}).status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["detail"]["text"]) == ("Both", "one of Ann\n\ntwo of Bob")


def test_conflict_keeps_other_changes_of_both_editors(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text="one\n\ntwo\n\nthree")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), text="one\n\ntwo of Bob\n\nthree of Bob")
    answer = ann.send(change(node_id), hers, text="one of Ann\n\ntwo of Ann\n\nthree")
    deciding = fields(answer.content.decode())
    assert ann.send(change(node_id), deciding, **{"choice-text": "theirs"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo of Bob\n\nthree of Bob"


def test_undecided_conflict_still_names_the_other_editor(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob")
    deciding = fields(ann.send(change(node_id), hers, title="Ann").content.decode())
    again = ann.send(change(node_id), deciding).content.decode()
    assert "bob changed this page while you were editing it." in again
    assert "Use theirs (bob)" in again


def test_undecided_conflict_of_two_windows_still_names_the_other(mongo, editor):
    ann = editor("ann")
    node_id = node(title="Base")
    first, second = ann.open(change(node_id)), ann.open(change(node_id))
    ann.send(change(node_id), second, title="Second")
    deciding = fields(ann.send(change(node_id), first, title="First").content.decode())
    again = ann.send(change(node_id), deciding).content.decode()
    assert "Use the text from the other window" in again


def test_text_typed_in_the_conflict_box_is_kept(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob")
    deciding = fields(ann.send(change(node_id), hers, title="Ann").content.decode())
    answer = ann.send(change(node_id), deciding, title="Something new", **{"choice-title": "theirs"})
    assert answer.status_code == 200
    assert fields(answer.content.decode())["title"] == ["Something new"]
    assert stored(node_id)["title"] == "Bob"


def test_own_second_tab_with_equal_text_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(title="Old")
    first, second = ann.open(change(node_id)), ann.open(change(node_id))
    assert ann.send(change(node_id), first, title="New", tags="a").status_code == 302
    after = nonce(node_id)
    assert ann.send(change(node_id), second, title="New", tags="a").status_code == 302
    assert nonce(node_id) == after


def test_form_saved_again_after_back_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(text="one")
    form = ann.open(change(node_id))
    for text in ("one two", "one two three"):
        assert ann.send(change(node_id), form, text=text).status_code == 302
    assert stored(node_id)["detail"]["text"] == "one two three"


def test_tag_removed_again_after_back_is_removed(mongo, editor):
    ann, node_id = editor(), node(tags=("a",))
    form = ann.open(change(node_id))
    for tags in ("a, x", "a"):
        assert ann.send(change(node_id), form, tags=tags).status_code == 302
    assert stored(node_id)["tags"] == ["a"]


def test_restoring_a_version_keeps_tags_added_meanwhile(mongo, editor):
    """Tags are changed relative to those shown, so tags added before the button is pressed stay."""
    ann, node_id = editor(), node(text="old", tags=("a", "c"))
    first = nonce(node_id)
    editing.save(EDITOR, node_id, first, {"detail.text": "new"}, TagChange.between("ac", "a"))
    address = f"/admin/nodes/node/{node_id}/history/{first}/"
    form = fields(ann.client.get(address).content.decode(), "confirm_form")
    editing.change_tags(node_id, TagChange(added=frozenset("b")))
    ann.client.post(address, form)
    assert stored(node_id)["detail"]["text"] == "old"
    assert sorted(stored(node_id)["tags"]) == ["a", "b", "c"]


def test_conflict_without_a_known_base_shows_every_difference(mongo, editor):
    """Without the merge base, it is not known who changed what."""
    ann, node_id = editor(), node(title="Base", text="base")
    form = ann.open(change(node_id))
    mongo["cms.revisions"].delete_many({})
    mongo["cms.nodes"].update_one({}, {"$set": {"metadata.nonce": node_id, "metadata.title": "Theirs"}})
    answer = ann.send(change(node_id), form, text="mine")
    deciding = fields(answer.content.decode())
    assert deciding["conflict"] == ["title", "text"] or sorted(deciding["conflict"]) == ["text", "title"]
    assert stored(node_id)["title"] == "Theirs"


@pytest.mark.parametrize("page", ["publish", "history"])
def test_decided_conflict_is_saved_from_any_page(mongo, editor, page):
    """Publishing a draft and restoring a version have their own pages, which cannot process the form of the page."""
    ann, node_id = editor(), node(title="First", text="text")
    first = nonce(node_id)
    save(node_id, first, title="Second")
    if page == "publish":
        address = f"/admin/nodes/node/{node_id}/publish/"
        ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Drafted")
    else:
        address = f"/admin/nodes/node/{node_id}/history/{first}/"
    form = fields(ann.client.get(address).content.decode(), "confirm_form")
    save(node_id, nonce(node_id), title="Another's")
    met = ann.client.post(address, form)
    assert met.status_code == 409
    html = met.content.decode()
    to = re.search(r'id="node_form"[^>]* action="([^"]+)"', html, re.S)
    deciding = fields(html)
    sent = ann.send(to[1] if to else address, deciding, title="Decided", **{"choice-title": "edit"})
    assert sent.status_code == 302
    assert stored(node_id)["title"] == "Decided"


def test_draft_conflict_is_decided_on_publishing(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base", text="text")
    ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Drafted", tags="of-draft")
    assert stored(node_id)["title"] == "Base"
    bob.send(change(node_id), bob.open(f"{change(node_id)}?version=live"), title="Bob's", summary="Bob's")
    draft = mongo["cms.nodes"].find_one()["draft"]["nonce"]
    answer = ann.client.post(f"/admin/nodes/node/{node_id}/publish/", {"draft": str(draft)})
    assert answer.status_code == 409
    deciding = fields(answer.content.decode())
    assert deciding["tags"] == ["of-draft"]
    assert ann.send(change(node_id), deciding, "_publish", **{"choice-title": "mine"}).status_code == 302
    metadata = stored(node_id)
    assert (metadata["title"], metadata["summary"], metadata["tags"]) == ("Drafted", "Bob's", ["of-draft"])
    assert "draft" not in mongo["cms.nodes"].find_one()


def test_draft_form_saved_twice_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(title="Live")
    form = ann.open(change(node_id))
    for text in ("one", "one two", "one two"):
        assert ann.send(change(node_id), form, "_draft", text=text).status_code == 302
    assert mongo["cms.nodes"].find_one()["draft"]["metadata"]["detail"]["text"] == "one two"
