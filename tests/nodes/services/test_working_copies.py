"""Working copies: typed and unsaved text, private to its editor, the newest of each form, for a month."""

from datetime import timedelta

import pytest
from bson import ObjectId

from marginalia.mongo.clock import now
from nodes.collections import WORKING_COPIES, collections
from nodes.selectors import working_copies as selectors
from nodes.services import working_copies
from tests.support.commands import explain, stages
from tests.support.concurrency import run_concurrently

ANN, BOB = ObjectId(), ObjectId()
PAGE = "basic-page"


def keep(user, copy, seq, text, node_id=None):
    return working_copies.store(user, copy, seq, [("title", text), ("title", "$x")], type=PAGE, node_id=node_id)


def texts(user, node_id=None):
    return [copy.fields[0][1] for copy in selectors.newest(user, PAGE, node_id)]


def test_newest_copy_of_a_form_is_stored_as_sent(mongo):
    copy = ObjectId()
    assert keep(ANN, copy, 1, "one")
    assert keep(ANN, copy, 2, "two")
    assert mongo[WORKING_COPIES].find_one()["fields"] == [["title", "two"], ["title", "$x"]]
    assert mongo[WORKING_COPIES].count_documents({}) == 1


def test_late_copy_does_not_replace_a_newer_one(mongo):
    copy = ObjectId()
    keep(ANN, copy, 2, "newer")
    assert not keep(ANN, copy, 1, "older")
    assert not keep(ANN, copy, 2, "the same number")
    assert texts(ANN) == ["newer"]
    assert keep(ANN, copy, 3, "newest")
    assert texts(ANN) == ["newest"]


@pytest.mark.parametrize("rounds", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_concurrent_copies_keep_the_last_number(mongo, rounds):
    for _round in range(rounds):
        copy = ObjectId()
        run_concurrently(8, lambda i: keep(ANN, copy, i + 1, f"text {i + 1}"))  # noqa: B023
        assert selectors.get(ANN, copy).fields[0][1] == "text 8"


def test_two_tabs_have_separate_copies(mongo):
    node_id = ObjectId()
    keep(ANN, ObjectId(), 1, "one tab", node_id)
    keep(ANN, ObjectId(), 1, "another tab", node_id)
    keep(ANN, ObjectId(), 1, "another page", ObjectId())
    assert sorted(texts(ANN, node_id)) == ["another tab", "one tab"]


def test_copies_are_private_to_their_account(mongo):
    copy = ObjectId()
    keep(ANN, copy, 1, "Ann's")
    assert keep(BOB, copy, 9, "Bob's, under her number")
    working_copies.mark_saved(BOB, copy, 99)
    assert (texts(ANN), texts(BOB)) == (["Ann's"], [])
    assert selectors.get(ANN, copy).seq == 1
    assert selectors.get(BOB, copy) is None


def test_late_copy_of_a_saved_form_is_dropped(mongo):
    copy = ObjectId()
    keep(ANN, copy, 1, "typed")
    working_copies.mark_saved(ANN, copy, 3)
    assert not keep(ANN, copy, 2, "on its way while it was saved")
    assert texts(ANN) == []
    assert set(mongo[WORKING_COPIES].find_one()) == {"_id", "seq", "updated"}
    assert keep(ANN, copy, 4, "typed after Back")
    assert texts(ANN) == ["typed after Back"]


def test_late_copy_is_dropped_even_if_none_was_stored(mongo):
    copy = ObjectId()
    working_copies.mark_saved(ANN, copy, 2)
    assert not keep(ANN, copy, 1, "late")
    assert texts(ANN) == []


def test_copy_typed_after_the_save_is_kept(mongo):
    copy = ObjectId()
    keep(ANN, copy, 5, "went on in its tab")
    working_copies.mark_saved(ANN, copy, 4)
    assert texts(ANN) == ["went on in its tab"]


def test_copies_are_kept_for_a_month(mongo):
    """Also if the server has not deleted it yet."""
    copies, (young, old) = mongo[WORKING_COPIES], (ObjectId(), ObjectId())
    for copy, days in ((young, 29), (old, 31)):
        keep(ANN, copy, 1, f"{days} days")
        copies.update_one({"_id.copy": copy}, {"$set": {"updated": now() - timedelta(days=days)}})
    assert texts(ANN) == ["29 days"]
    assert selectors.get(ANN, old) is None
    (declared,) = [collection for collection in collections() if collection.name == WORKING_COPIES]
    assert [index.expire_after_seconds for index in declared.indexes if index.keys == (("updated", 1),)] == [2_592_000]


def test_account_has_a_limit_and_the_oldest_is_dropped(mongo, monkeypatch):
    monkeypatch.setattr(working_copies, "MOST", 3)
    keep(BOB, ObjectId(), 1, "Bob's")
    for number in range(5):
        keep(ANN, ObjectId(), 1, str(number))
    assert texts(ANN) == ["4", "3", "2"]
    assert texts(BOB) == ["Bob's"]


def test_copies_are_found_by_an_index(mongo, commands):
    node_id = ObjectId()
    for number in range(20):
        keep(ANN, ObjectId(), 1, str(number), node_id if number < 3 else ObjectId())
    with commands.recorded():
        assert len(selectors.newest(ANN, PAGE, node_id)) == 3
    plan = explain(mongo, commands.sent[0])
    assert "IXSCAN" in stages(plan)
    assert not stages(plan) & {"COLLSCAN", "SORT"}
    assert plan["executionStats"]["totalDocsExamined"] == 3
