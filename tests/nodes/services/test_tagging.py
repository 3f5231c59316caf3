"""Tags: merged as sets in the compare-and-set of the fields, and changed without a nonce by tagging."""

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes import errors
from nodes.models import tree
from nodes.selectors import search
from nodes.services import drafts, editing, trash
from nodes.tags import MOST
from nodes.types import TagChange
from photos.services import photos
from tests.support.interrupting import before_command
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, send


def test_tags_merge_as_sets(mongo):
    node_id = node(tags=("a", "b"))
    seen = nonce(node_id)
    save(node_id, seen, tags=TagChange.between("ab", "ac"))
    save(node_id, seen, tags=TagChange.between("ab", "abd"))
    assert sorted(stored(node_id)["tags"]) == ["a", "c", "d"]


def test_refused_save_changes_no_tags(mongo):
    """Tags are saved with the rest. Otherwise readers would see a change that no version contains."""
    node(slug="taken")
    node_id = node(tags=("a", "b"))
    for tags in (TagChange.between("ab", "a"), TagChange.between("ab", "ac")):
        with pytest.raises(errors.SlugTaken):
            save(node_id, nonce(node_id), tags=tags, slug="taken")
    assert stored(node_id)["tags"] == ["a", "b"]


def test_save_of_tags_keeps_concurrent_tags(mongo):
    """Tagging uses no nonce, so a save that has already read the tags must notice it."""
    node_id = node(tags=("a", "b"))
    tagging = TagChange(frozenset("cd"), frozenset("a"))
    with before_command("insert", "cms.revisions", lambda: editing.change_tags(node_id, tagging)):
        save(node_id, nonce(node_id), tags=TagChange.between("ab", "ae"))
    assert sorted(stored(node_id)["tags"]) == ["c", "d", "e"]


def test_tagging_neither_needs_nor_changes_the_nonce(mongo):
    node_id = node(tags=("a",))
    seen = nonce(node_id)
    editing.change_tags(node_id, TagChange(frozenset("bc"), frozenset("a")))
    assert sorted(stored(node_id)["tags"]) == ["b", "c"]
    assert nonce(node_id) == seen


def test_tagging_respects_the_limit_of_forms(mongo):
    node_id = node(tags=tuple(f"tag{number}" for number in range(MOST - 1)))
    editing.change_tags(node_id, TagChange(added=frozenset({"last"})))
    before_that = stored(node_id)["tags"]
    with pytest.raises(errors.FieldRefused, match="200"):
        editing.change_tags(node_id, TagChange(added=frozenset({"more"})))
    assert stored(node_id)["tags"] == before_that
    editing.change_tags(node_id, TagChange(frozenset({"more"}), frozenset({"last"})))
    assert "more" in stored(node_id)["tags"]
    # A node with more tags can still exchange some.
    many = node(slug="many", tags=tuple(f"tag{number}" for number in range(MOST)))
    database()["cms.nodes"].update_one({"_id": many}, {"$push": {"metadata.tags": {"$each": ["x", "y"]}}})
    editing.change_tags(many, TagChange(frozenset({"z"}), frozenset({"x"})))
    assert len(stored(many)["tags"]) == MOST + 2


@pytest.mark.parametrize("tags", [TagChange(added=frozenset("b")), TagChange(frozenset("b"), frozenset("a"))])
def test_tagging_a_page_renamed_meanwhile_succeeds(mongo, tags):
    """An acknowledged tag is stored, wherever the node is meanwhile."""
    node_id = node(slug="old", tags=("a",))
    with before_command("update", "cms.nodes", lambda: save(node_id, nonce(node_id), slug="new")):
        editing.change_tags(node_id, tags)
    assert stored(node_id)["tags"] == sorted({"a", "b"} - tags.removed)


def test_tagging_a_page_trashed_meanwhile_is_refused(mongo):
    node_id = node()
    with (
        pytest.raises(errors.NodeGone),
        before_command("update", "cms.nodes", lambda: trash.trash(EDITOR, node_id, nonce(node_id))),
    ):
        editing.change_tags(node_id, TagChange(added=frozenset("a")))


def test_form_saved_again_merges_with_its_own_tags(mongo, ann):
    """Back, a tag removed or added, and saved again: the last state is stored, and no other editor's tag is undone."""
    node_id, form = node(tags=("a", "b")), ObjectId()
    seen = nonce(node_id)

    def says(*wanted):
        editing.save(ann, node_id, seen, {}, TagChange.between("ab", wanted), form=form)
        return sorted(stored(node_id)["tags"])

    assert says("a", "x") == ["a", "x"]
    editing.change_tags(node_id, TagChange(added=frozenset("c")))
    assert says("a") == ["a", "c"]
    save(node_id, nonce(node_id), title="Bob's")
    assert says("a", "b") == ["a", "b", "c"]


def test_repeated_create_merges_with_its_own_tags(mongo, ann):
    chosen = ObjectId()
    for tags in (("a",), ("a", "x"), ("a",), ("y",)):
        editing.create(ann, type="basic-page", parent_id=None, slug="", title="A", tags=tags, node_id=chosen)
        assert stored(chosen)["tags"] == list(tags)


def test_saving_the_same_tags_is_no_change(mongo):
    node_id = node(tags=("a",))
    seen = nonce(node_id)
    save(node_id, seen, tags=TagChange.between("a", "b"))
    after = nonce(node_id)
    save(node_id, seen, tags=TagChange.between("a", "b"))
    assert nonce(node_id) == after


def test_tag_in_another_case_is_the_same_tag(mongo):
    """As in forms. Otherwise the next save of a form would drop the duplicate without asking."""
    node_id = node(tags=("News",))
    editing.change_tags(node_id, TagChange(frozenset({"news", "Spring"})))
    assert stored(node_id)["tags"] == ["News", "Spring"]
    save(node_id, nonce(node_id), tags=TagChange.between((), ("NEWS", "spring", "x")))
    assert stored(node_id)["tags"] == ["News", "Spring", "x"]
    save(node_id, nonce(node_id), tags=TagChange.between(("News", "x"), ("news", "x")))
    assert stored(node_id)["tags"] == ["Spring", "news", "x"], "spelled anew"
    editing.change_tags(node_id, TagChange(removed=frozenset({"NEWS"})))
    assert stored(node_id)["tags"] == ["Spring", "x"]
    drafts.save_draft(EDITOR, node_id, nonce(node_id), {}, TagChange.between((), ("SPRING", "y")))
    assert mongo["cms.nodes"].find_one()["draft"]["metadata"]["tags"] == ["Spring", "x", "y"]


def test_photo_has_a_tag_once(mongo):
    coming = photos.Upload(EDITOR, gallery(), "a.jpg", tags=("News", "news"))
    send(coming, pictures.jpeg())
    assert document(coming.finish(tags=("NEWS", "x")).id)["metadata"]["tags"] == ["News", "x"]


def test_tags_in_scripts_without_spaces_are_searchable(mongo):
    node_id = node(text="红色 in the margin")
    for tags, said in (
        (TagChange(added=frozenset({"红楼梦"})), [node_id]),
        (TagChange(removed=frozenset({"红楼梦"})), []),
    ):
        editing.change_tags(node_id, tags)
        found = search.search(tree.current(), "楼梦", now(), page=1, size=9).hits
        assert [hit.node.pk for hit in found] == said
    assert search.search(tree.current(), "红色", now(), page=1, size=9).hits
