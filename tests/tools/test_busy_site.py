"""benchmarks/busy_site.py: the measured site is in a state that posting and saving would leave."""

import random
import threading
from collections import Counter
from datetime import timedelta

import pytest

from benchmarks import busy_site, volume
from cms.testing.build import nonce
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Target
from marginalia.mongo.clock import now


@pytest.fixture
def posts(mongo, monkeypatch):
    monkeypatch.setattr(busy_site, "POSTS", 8)
    monkeypatch.setattr(busy_site, "COMMENTS", 120)
    list(volume.load(20, now() - timedelta(minutes=1)))
    busy_site.add_comments()
    return busy_site.ranked_posts()[0]


def key(post):
    return Target("nodes.node", str(post)).id


@pytest.mark.slow
def test_loaded_discussions_are_sound_and_of_the_given_size(mongo, posts):
    found = [maintenance.examine(target) for target in maintenance.select_targets()]
    assert [fault for one in found for fault in one.faults] == []
    counts = [mongo.discussions.find_one({"_id": key(post)})["count"] for post in posts]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == sum(one.comments for one in found) == mongo.comments.count_documents({})
    assert abs(sum(counts) - 120) <= len(posts)


def test_writers_leave_sound_data(mongo, posts):
    dice, seen = random.Random(1), nonce(posts[0])
    for what in (busy_site.comment, busy_site.save, busy_site.tag):
        what(dice, posts[0])
    assert nonce(posts[0]) != seen
    assert [fault for target in maintenance.select_targets() for fault in maintenance.faults(target)] == []
    assert (
        mongo.discussions.find_one({"_id": key(posts[0])})["count"]
        == Counter(one["discussion_id"] for one in mongo.comments.find())[key(posts[0])]
    )


@pytest.mark.slow
def test_requested_numbers_of_comments_are_loaded(mongo, posts):
    mongo.discussions.delete_many({})
    mongo.comments.delete_many({})
    counts = [3] * (len(posts) - 1) + [5]
    busy_site.add_comments(counts)
    assert [mongo.discussions.find_one({"_id": key(post)})["count"] for post in posts] == counts


def test_writers_run_during_the_block_and_are_counted():
    written = threading.Event()

    def write(_dice, post):
        assert post in ("much read", "less read")
        written.set()

    with busy_site.repeat_on_posts(["much read", "less read"], {write: 3_600}) as done:
        assert written.wait(10)
    assert done == {"write": 1}


def test_errors_of_writers_are_raised_at_the_end():
    begun = threading.Event()

    def fail(_dice, post):
        begun.set()
        raise LookupError(post)

    with pytest.raises(LookupError, match="much read"), busy_site.repeat_on_posts(["much read"], {fail: 3_600}):
        assert begun.wait(10)
