"""References that a save stores for a text, and the queries that use them."""

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce, save
from marginalia.mongo.connection import database
from nodes.selectors import references
from nodes.services import drafts, trash
from tests.support.commands import explain, stages
from tests.support.nodes.content import Cookbook, Recipe, registered
from tests.support.nodes.photo_build import gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")

GONE = ObjectId()


def refs(node_id: ObjectId, part: str = "derived") -> list | None:
    return database()["cms.nodes"].find_one({"_id": node_id}).get(part, {}).get("refs")


def used_on(*ids) -> list[tuple[str, bool, bool]]:
    return [(use.node.metadata.slug, use.live, use.drafted) for use in references.find_uses(ids)]


def test_ids_used_in_a_text_are_stored_sorted_and_once():
    photo_id, other = upload(gallery("lakes"), name="one.jpg"), node(slug="other")
    text = f"[a](node:{other}#b) [c](node:{other}) ![d](photo:lakes/one) [e](photo:{photo_id}) [f](node:{GONE}) [g](node:no)"
    assert refs(node(slug="page", text=text)) == sorted([photo_id, other, GONE])
    assert refs(node(slug="none", text=f"`[a](node:{other})` [b](/other)")) is None


def test_save_updates_the_stored_references():
    one, two = node(slug="one"), node(slug="two")
    page = node(slug="page", text=f"[a](node:{one})")
    save(page, nonce(page), detail__text=f"[b](node:{two})")
    assert refs(page) == [two]
    save(page, nonce(page), detail__text="Nothing.")
    assert refs(page) is None


def test_draft_stores_its_own_references():
    one, two = node(slug="one"), node(slug="two")
    page = node(slug="page", text=f"[a](node:{one})")
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": f"[b](node:{two})"}).nonce
    assert (refs(page), refs(page, "draft")) == ([one], [two])
    assert used_on(one) == [("page", True, False)]
    assert used_on(two) == [("page", False, True)]
    assert used_on(one, two) == [("page", True, True)]
    drafts.publish_draft(EDITOR, page, draft)
    assert used_on(one) == []
    assert used_on(two) == [("page", True, False)]


def test_uses_are_listed_last_changed_first_with_exclusions():
    target = node(slug="target")
    pages = [node(slug=f"page-{n}", text=f"[a](node:{target})", published=None) for n in range(3)]
    save(target, nonce(target), detail__text=f"[myself](node:{target})")
    save(pages[0], nonce(pages[0]), title="Again")
    assert [slug for slug, *_ in used_on(target)] == ["page-0", "page-2", "page-1"]
    assert used_on(target, *pages) == []
    assert references.count_uses([target]) == 3
    assert references.count_uses([target, pages[0]]) == 2
    assert references.find_uses([]) == []
    assert references.count_uses([]) == 0


def test_trashed_page_uses_nothing_until_it_is_restored():
    target = node(slug="target")
    page = node(slug="page", text=f"[a](node:{target})")
    trash.trash(EDITOR, page, nonce(page))
    assert used_on(target) == []
    trash.restore(EDITOR, page)
    assert used_on(target) == [("page", True, False)]


def test_markdown_fields_are_indexed_like_the_text():
    one, two = node(slug="one"), node(slug="two")
    with registered(Recipe, Cookbook):
        made = {"detail.course": "main", "detail.method": f"[a](node:{one}) [b](node:{two})"}
        pie = node("recipe", "pie", parent=node("cookbook", "cooking"), text=f"[c](node:{two})", **made)
    assert refs(pie) == sorted([one, two])


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("among", [1, 3])
def test_uses_are_found_by_indexes_without_a_sort(mongo, commands, among):
    targets = [node(slug=f"target-{n}") for n in range(among)]
    for n in range(20):
        page = node(slug=f"page-{n}", text=f"[a](node:{targets[n % among]})")
        node(slug=f"other-{n}", text=f"[a](node:{GONE})")
        if n % 4 == 0:
            drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": f"[b](node:{targets[0]})"})
    with commands.recorded():
        assert len(references.find_uses(targets)) == 20
        assert references.count_uses(targets) == 20
    found, counted = (explain(mongo, event) for event in commands.sent)
    assert stages(found) >= {"IXSCAN", "SORT_MERGE" if among == 1 else "OR"}
    for plan in (found, counted):
        assert not stages(plan) & {"COLLSCAN", "SORT"}
    assert found["executionStats"]["totalDocsExamined"] <= 30


def test_names_of_inserts_are_found_by_the_same_index(mongo, commands):
    pages = [node(slug=f"page-{n}", text=f"[a](node:{GONE})") for n in range(30)]
    mongo["cms.nodes"].update_many({"_id": {"$in": pages[:3]}}, {"$push": {"derived.refs": "gallery"}})
    with commands.recorded():
        assert {use.node.pk for use in references.find_uses(["gallery"])} == set(pages[:3])
    (event,) = commands.sent
    assert explain(mongo, event)["executionStats"]["totalKeysExamined"] <= 5
