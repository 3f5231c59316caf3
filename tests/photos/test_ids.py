"""Ids of photos, files and copies don't reveal when they were created. Lists of photos use `created`."""

from itertools import pairwise

import pytest
from bson import ObjectId

from cms.testing.build import node
from marginalia.mongo.clock import now
from nodes.models import tree
from nodes.selectors import search, stored_nodes
from photos.assets.writer import new_id
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, replace, upload
from tests.support.spreading import BOUND, fullest, moments


def test_ids_are_spread_evenly_over_ranges():
    assert fullest(str(ObjectId.from_datetime(moment))[:4] for moment in moments(20_000)) > BOUND
    assert fullest(str(new_id())[:4] for _ in range(20_000)) <= BOUND


def test_uploads_and_replacements_have_spread_ids(mongo):
    place = gallery()
    ids = [upload(place) for _ in range(3)]
    ids += [replace(ids[0], pictures.png()) for _ in range(3)]
    assert len({one.binary[:4] for one in ids}) == 6, "an id that begins with the time has these in common for a second"
    assert all(document(one) for one in ids)


@pytest.fixture
def together(mongo):
    """A gallery of five photos published at the same time, the newest first, and a post of that time."""
    place = gallery()
    made = [upload(place, name=f"lake{n}.jpg", tags=("water",)) for n in range(5)]
    mongo["cms.assets.files"].update_many({}, {"$set": {"metadata.title": "Lake"}})
    post = node("blog-entry", "post", parent=node("blog", "blog"), tags=("water",))
    assert all(a < b for a, b in pairwise(document(one)["metadata"]["created"] for one in made))
    assert {document(one)["metadata"]["published"] for one in made} == {
        mongo["cms.nodes"].find_one({"_id": post})["metadata"]["published"]
    }
    return place, made[::-1], post


def walked(page) -> tuple[list, list]:
    """Return the contents of pages of two, from the newest to the oldest and back."""
    there, back, found = [], [], page(None)
    there += found.nodes
    while found.older:
        found = page(found.older)
        there += found.nodes
    last = found
    while last.newer:
        last = page(last.newer)
        back = [*last.nodes, *back]
    return [one.pk for one in there], [one.pk for one in (*back, *found.nodes)]


def test_gallery_is_sorted_by_creation_time(together):
    place, newest, _post = together
    there, back = walked(lambda cursor: stored_nodes.photos_of(place, now(), size=2, cursor=cursor))
    assert there == back == newest
    middle = stored_nodes.photos_of(place, now(), size=5).nodes[2]
    assert [one.pk for one in stored_nodes.neighbours(middle, now())] == [newest[3], newest[1]]


def test_photos_and_posts_share_one_order_under_a_tag(together):
    _place, newest, post = together
    there, back = walked(lambda cursor: stored_nodes.tagged(tree.load(), "water", now(), size=2, cursor=cursor))
    assert there == back == [post, *newest]


def test_equally_relevant_photos_are_sorted_newest_first(together):
    _place, newest, _post = together
    found = search.search(tree.load(), "lake water", now(), page=1, size=9)
    assert [hit.node.pk for hit in found.hits] == newest


def test_cursor_without_a_complete_position_is_refused(together):
    place, newest, _post = together
    with pytest.raises(ValueError, match="<0"):
        stored_nodes.photos_of(place, now(), size=2, cursor=f"<0.{newest[0]}")
