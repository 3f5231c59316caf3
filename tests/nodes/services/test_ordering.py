"""Ordering a section by hand: new pages, moved pages, and concurrent editors."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from bson import ObjectId
from django.db import connections

from cms.testing.build import EDITOR, node, nonce, save
from marginalia.mongo.clock import now
from nodes.errors import TooBusy
from nodes.models import Node, stored_site, tree
from nodes.selectors import by_hand
from nodes.services import duplicating, editing, ordering, trash


def standing(section: ObjectId) -> str:
    """Return the slugs of a section's pages, as readers see them."""
    return "".join(one.metadata.slug for one in by_hand.page(section, now(), size=100)[0])


def whole(mongo, node_id: ObjectId) -> dict:
    return mongo["cms.nodes"].find_one({"_id": node_id})


def arrange(section: ObjectId, seen: list[ObjectId], order: str) -> int:
    """Arrange pages that were seen as a to e."""
    return ordering.arrange(section, seen, [seen["abcde".index(letter)] for letter in order])


def test_new_pages_are_placed_last(book, chapters):
    assert standing(book) == "abcde"
    moved = node("chapter", "0", parent=None, published=None)
    save(moved, nonce(moved), parent_id=book, published=now())
    section = node("handbook", "1", parent=book)
    post = node("news", "2", parent=book)
    duplicating.duplicate(EDITOR, chapters[0], parent_id=book)
    assert standing(book) == "abcde012"
    assert [s.slug for s in tree.current().children[book]] == ["1"]
    trash.trash(EDITOR, post, nonce(post))
    trash.trash(EDITOR, section, nonce(section))
    assert standing(book) == "abcde0"


def test_removed_page_loses_its_position(mongo, book, chapters):
    arrange(book, chapters, "edcba")
    save(chapters[2], nonce(chapters[2]), parent_id=None)
    assert standing(book) == "edba"
    assert "position" not in whole(mongo, chapters[2])
    save(chapters[2], nonce(chapters[2]), parent_id=book)
    assert standing(book) == "edbac"


def test_restored_page_returns_to_its_position(mongo, book, chapters):
    trash.trash(EDITOR, chapters[1], nonce(chapters[1]))
    trash.restore(EDITOR, chapters[1])
    assert standing(book) == "abcde"
    other = node("handbook", "other")
    trash.trash(EDITOR, chapters[1], nonce(chapters[1]))
    node("chapter", "x", parent=other)
    trash.restore(EDITOR, chapters[1], parent_id=other)
    assert (standing(book), standing(other)) == ("acde", "xb")
    trash.trash(EDITOR, chapters[1], nonce(chapters[1]))
    trash.restore(EDITOR, chapters[1], parent_id=None)
    assert "position" not in whole(mongo, chapters[1])


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("order", ["bacde", "eabcd", "bcdea", "edcba", "abdce", "cabed"])
def test_any_order_is_stored(book, chapters, order):
    assert arrange(book, chapters, order) == 0
    assert standing(book) == order


def test_page_is_moved_to_the_start_and_the_end(book, chapters):
    assert ordering.move_to_start(book, chapters[3])
    assert ordering.move_to_end(book, chapters[0])
    assert standing(book) == "dbcea"
    assert ordering.move_to_end(book, chapters[0])
    assert ordering.move_to_start(book, chapters[3])
    assert standing(book) == "dbcea"


def test_only_positions_of_moved_pages_are_written(mongo, book, chapters):
    before = [whole(mongo, one) for one in chapters]
    revisions = mongo["cms.revisions"].count_documents({})
    arrange(book, chapters, "acdbe")
    after = [whole(mongo, one) for one in chapters]
    assert [a != b for a, b in zip(after, before, strict=True)] == [False, True, False, False, False]
    assert {**after[1], "position": 0} == {**before[1], "position": 0}
    assert mongo["cms.revisions"].count_documents({}) == revisions


def test_ordering_does_not_conflict_with_an_edit(book, chapters):
    seen = nonce(chapters[1])
    arrange(book, chapters, "bacde")
    assert save(chapters[1], seen, title="Typed meanwhile").merged == ()
    assert standing(book) == "bacde"


def test_moves_of_another_editor_are_kept(book, chapters):
    """Both editors saw abcde."""
    arrange(book, chapters, "eabcd")
    arrange(book, chapters, "acbde")
    assert standing(book) == "eacbd"


def test_missing_pages_are_reported_and_others_moved(book, chapters):
    trash.trash(EDITOR, chapters[3], nonce(chapters[3]))
    elsewhere = node("chapter", "elsewhere", parent=None)
    seen = [*chapters, elsewhere]
    assert ordering.arrange(book, seen, [chapters[4], elsewhere, chapters[3], *chapters[:3]]) == 2
    assert standing(book) == "eabc"
    assert not ordering.move_to_start(book, elsewhere)
    assert not ordering.move_to_end(book, chapters[3])


def test_partly_failed_ordering_still_updates_readers(book, chapters, monkeypatch):
    put, moved = ordering._put, []

    def put_one(*args, **kwargs):
        if moved:
            raise TooBusy
        moved.append(put(*args, **kwargs))
        return moved[0]

    version = stored_site.read().version
    monkeypatch.setattr(ordering, "_put", put_one)
    with pytest.raises(TooBusy):
        arrange(book, chapters, "edcba")
    assert standing(book) != "abcde"
    assert stored_site.read().version != version


def test_section_listed_by_name_is_arranged_from_that_order(mongo, book, chapters):
    mongo["cms.nodes"].update_many({}, {"$unset": {"position": ""}})
    node("chapter", "f", parent=book)
    assert standing(book) == "abcdef"
    arrange(book, chapters, "abecd")
    assert standing(book) == "abecdf"
    assert mongo["cms.nodes"].count_documents({"metadata.parent_id": book, "position": None}) == 0


def test_name_order_is_restored_unless_another_editor_moves_a_page_meanwhile(mongo, book, chapters, monkeypatch):
    mongo["cms.nodes"].update_one({"_id": book}, {"$set": {"arranged": True}})
    read = ordering.find_ordered

    def read_before_a_move(*args, **kwargs):
        documents = read(*args, **kwargs)
        monkeypatch.setattr(ordering, "find_ordered", read)
        ordering.move_to_end(book, chapters[0])
        return documents

    monkeypatch.setattr(ordering, "find_ordered", read_before_a_move)
    ordering.restore_name_order(book)
    assert (standing(book), mongo["cms.nodes"].find_one({"_id": book})["arranged"]) == ("bcdea", True)
    ordering.restore_name_order(book)
    assert standing(book) == "bcdea"
    ordering.move_to_start(book, chapters[0])
    ordering.restore_name_order(book)
    assert (standing(book), "arranged" in mongo["cms.nodes"].find_one({"_id": book})) == ("abcde", False)


@pytest.mark.slow
def test_pages_can_be_swapped_without_limit(mongo, book, chapters):
    seen = chapters[:3]
    for _turn in range(40):
        wanted = [seen[0], seen[2], seen[1]]
        ordering.arrange(book, seen, wanted)
        seen = wanted
    assert standing(book) == "abcde"
    assert max(len(one["position"]) for one in mongo["cms.nodes"].find({"metadata.parent_id": book})) < 60


def test_new_position_is_between_its_neighbours():
    chance = random.Random(5)
    known = [ordering.between("", "")]
    for _number in range(2_000):
        at = chance.choice((0, len(known) // 2, len(known) // 2, len(known)))
        low, high = known[at - 1] if at else "", known[at] if at < len(known) else ""
        made = ordering.between(low, high)
        assert low < made, (low, made)
        assert made < high or not high, (made, high)
        known.insert(at, made)
    assert max(map(len, known)) < 400


def test_concurrent_ordering_loses_nothing(mongo, book):
    """Eight editors move their own chapter behind the first repeatedly, while one renames the chapters."""
    ids = [node("chapter", f"c-{n}", parent=book) for n in range(9)]

    def work(number: int) -> None:
        try:
            for turn in range(6):
                if number == 0:
                    editing.save(EDITOR, ids[1], nonce(ids[1]), {"slug": f"renamed-{turn}"})
                else:
                    ordering.arrange(book, [*ids[1:number], ids[number]], [ids[number], *ids[1:number]])
                    ordering.arrange(book, [ids[0], ids[number]], [ids[0], ids[number]])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(work, range(9)))
    stored = list(mongo["cms.nodes"].find({"metadata.parent_id": book}))
    assert {one["_id"] for one in stored} == set(ids)
    positions = [one["position"] for one in stored]
    assert len(set(positions)) == len(ids)
    shown, _more = by_hand.page(book, now(), size=100)
    assert [one.pk for one in shown] == [one["_id"] for one in sorted(stored, key=lambda one: one["position"])]
    assert Node.objects.get(pk=ids[1]).metadata.slug == "renamed-5"
