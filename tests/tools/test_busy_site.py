"""benchmarks/busy_site.py: what is measured is a site as posting and saving would leave it."""

import random
from collections import Counter
from datetime import timedelta

import pytest

from benchmarks import busy_site
from cms.demo import volume
from comments.operations import maintenance
from comments.types import Target
from mongo.clock import now
from tests.support.nodes.build import nonce


@pytest.fixture
def posts(mongo, monkeypatch):
    monkeypatch.setattr(busy_site, "POSTS", 8)
    monkeypatch.setattr(busy_site, "COMMENTS", 120)
    list(volume.load(20, now() - timedelta(minutes=1)))
    busy_site.load()
    return busy_site.ranked()[0]


def key(post):
    return Target("nodes.node", str(post)).id


def test_what_is_loaded_is_sound_and_of_the_size_that_is_said(mongo, posts):
    found = [maintenance.examine(target) for target in maintenance.wanted()]
    assert [fault for one in found for fault in one.faults] == []
    counts = [mongo.discussions.find_one({"_id": key(post)})["count"] for post in posts]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == sum(one.comments for one in found) == mongo.comments.count_documents({})
    assert abs(sum(counts) - 120) <= len(posts)


def test_what_writers_do_is_sound(mongo, posts):
    dice, seen = random.Random(1), nonce(posts[0])
    for what in (busy_site.comment, busy_site.save, busy_site.tag):
        what(dice, posts[0])
    assert nonce(posts[0]) != seen
    assert [fault for target in maintenance.wanted() for fault in maintenance.faults(target)] == []
    assert (
        mongo.discussions.find_one({"_id": key(posts[0])})["count"]
        == Counter(one["discussion_id"] for one in mongo.comments.find())[key(posts[0])]
    )
