"""Drafts: saved beside the live version, and merged into it when published."""

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce, stored
from nodes import errors
from nodes.services import drafts, editing
from nodes.types import TagChange
from tests.support.interrupting import before_command


def test_unpublished_draft_changes_no_live_tags(mongo):
    """An editor saves the draft while another one publishes it. The save changes nothing live, including tags."""
    page = node(tags=("a", "b"))
    draft = drafts.save_draft(EDITOR, page, nonce(page), {}, TagChange(removed=frozenset("b"))).nonce

    def saved() -> None:
        drafts.save_draft(EDITOR, page, draft, {"title": "More"}, TagChange(added=frozenset("b")))

    with pytest.raises(errors.DraftGone), before_command("insert", "cms.revisions", saved):
        drafts.publish_draft(EDITOR, page, draft)
    assert stored(page)["tags"] == ["a", "b"]


def test_draft_with_unchanged_tags_restores_none(mongo):
    """Tags are merged from those at the start of the draft, which can be newer than its base version."""
    page = node(tags=("a",))
    editing.change_tags(page, TagChange(added=frozenset({"sprnig"})))
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": "new"}).nonce
    editing.change_tags(page, TagChange(frozenset({"spring"}), frozenset({"sprnig"})))
    draft = drafts.save_draft(EDITOR, page, draft, {"detail.text": "newer"}).nonce
    drafts.publish_draft(EDITOR, page, draft)
    assert sorted(stored(page)["tags"]) == ["a", "spring"]


def test_draft_with_unchanged_tags_removes_none(mongo):
    page = node(tags=("a", "b"))
    editing.change_tags(page, TagChange(removed=frozenset("b")))
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": "new"}).nonce
    editing.change_tags(page, TagChange(added=frozenset("b")))
    drafts.publish_draft(EDITOR, page, draft)
    assert sorted(stored(page)["tags"]) == ["a", "b"]


def test_draft_tags_and_concurrent_tags_are_published(mongo):
    page = node(tags=("a", "b"))
    draft = drafts.save_draft(EDITOR, page, nonce(page), {}, TagChange(frozenset("c"), frozenset("b"))).nonce
    editing.change_tags(page, TagChange(added=frozenset("d")))
    drafts.publish_draft(EDITOR, page, draft)
    assert sorted(stored(page)["tags"]) == ["a", "c", "d"]


def test_draft_of_an_earlier_release_is_published_with_its_tags(mongo):
    """It has no record of its first tags, so those of its base version are used."""
    page = node(tags=("a", "b"))
    draft = drafts.save_draft(EDITOR, page, nonce(page), {}, TagChange(frozenset("c"), frozenset("b"))).nonce
    mongo["cms.nodes"].update_one({"_id": page}, {"$unset": {"draft.base_tags": ""}})
    drafts.publish_draft(EDITOR, page, draft)
    assert sorted(stored(page)["tags"]) == ["a", "c"]


def test_form_saved_again_merges_with_its_own_tags(mongo):
    page, form = node(tags=("a",)), ObjectId()
    seen = nonce(page)
    for wanted in ("ax", "a", "y"):
        drafts.save_draft(EDITOR, page, seen, {}, TagChange.between("a", wanted), form=form)
        assert mongo["cms.nodes"].find_one()["draft"]["metadata"]["tags"] == list(wanted)


def test_form_of_a_published_draft_causes_no_conflict(mongo):
    """Saved as a draft and published. Then back, edited and saved again, as a draft or live."""
    page, form = node(text="one", tags=("a",)), ObjectId()
    seen = nonce(page)
    draft = drafts.save_draft(EDITOR, page, seen, {"detail.text": "two"}, TagChange.between("a", "ab"), form=form).nonce
    editing.save(EDITOR, page, seen, {"title": "Bob's"})
    drafts.publish_draft(EDITOR, page, draft)
    drafts.save_draft(EDITOR, page, seen, {"detail.text": "three"}, TagChange.between("a", "a"), form=form)
    said = mongo["cms.nodes"].find_one()["draft"]["metadata"]
    assert (said["title"], said["detail"]["text"], said["tags"]) == ("Bob's", "three", ["a"])
    editing.save(EDITOR, page, seen, {"detail.text": "four"}, TagChange.between("a", "ac"), form=form)
    live = stored(page)
    assert (live["title"], live["detail"]["text"], live["tags"]) == ("Bob's", "four", ["a", "c"])
