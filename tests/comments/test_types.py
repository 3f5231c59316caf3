"""The types of back ends: here the ids of stored discussions."""

from bson import ObjectId

from marginalia.comments.types import Target
from tests.support.spreading import BOUND, fullest, moments


def test_id_contains_a_hash_and_converts_back_to_the_name():
    target = Target("shop.item", "a:b")
    assert str(target) == "shop.item:a:b"
    assert target.id[:5] == "543a:"
    assert target.id[5:] == str(target)
    assert Target.from_id(target.id) == Target.parse(str(target)) == target


def test_discussions_are_spread_evenly_over_ranges():
    """Node ids increase with time, so without the hash, all new discussions would be in the last range."""
    keys = [str(ObjectId.from_datetime(moment)) for moment in moments(20_000)]
    assert fullest(key[:4] for key in keys) > BOUND
    assert fullest(Target("nodes.node", key).id[:4] for key in keys) <= BOUND
