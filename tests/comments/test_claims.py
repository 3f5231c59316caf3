"""Claims: what a writer announces is handed out once, however often the same form asks."""

from comments.backends.claims import Discussions, Intent
from mongo.connection import database
from tests.comments.test_conversion import FORMS, configure
from tests.comments.test_conversion import target as target  # noqa: PLC0414

FORM, OTHER = "a" * 16, "b" * 16


def intent(op):
    return Intent(op=op, slug=op, kind="post", number="next", delta=1)


def test_the_same_form_gets_the_same_place_while_it_is_in_flight(mongo, settings, target):
    configure(settings, *FORMS[0])
    discussions = Discussions(database())
    first, again, other = (discussions.claim(target, intent(op)) for op in (FORM, FORM, OTHER))
    assert (first.number, first.posted, first.change) == (again.number, again.posted, again.change)
    assert other.number == first.number + 1
    stored = mongo.discussions.find_one({"_id": target.id})
    assert [claim["op"] for claim in stored["claims"]] == [FORM, OTHER]
    assert stored["last_number"] == 2, "no number is lost"
    assert discussions.commit(first)
    assert not discussions.commit(again), "what was struck off is not counted twice"
    later = discussions.claim(target, intent(FORM))
    assert later.number == 3, "once it is struck off, the same form gets a place of its own, and must look first"
    assert not discussions.commit(again), "which is not the one that somebody else holds still"
    assert mongo.discussions.find_one({"_id": target.id})["count"] == 1
