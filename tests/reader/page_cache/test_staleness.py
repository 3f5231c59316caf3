"""No reader ever sees a page older than a write that was acknowledged before the request started."""

import os

import pytest

from cms.testing.build import PAST, node
from cms.testing.settings import URI
from marginalia.mongo.clock import now
from tests.reader.page_cache import staleness

pytestmark = pytest.mark.slow


@pytest.fixture
def posts(mongo):
    blog = node("blog", "blog")
    return [
        str(
            node(
                "blog-entry", f"post-{n}", parent=blog, text="written-0-", published=PAST, **{"detail.comments": "open"}
            )
        )
        for n in range(staleness.WRITERS)
    ]


def run(posts, mode, seconds, database):
    counts = staleness.race(seconds, mode, os.environ[URI], database.name, posts)
    print(f"{mode}: {counts} at {now():%H:%M:%S}")  # noqa: T201 - what a slow test did is worth reading
    return counts


def test_readers_see_no_stale_page_with_eight_writers(mongo, posts):
    counts = run(posts, "sound", 20, mongo)
    assert counts["read"] > 200
    assert counts["written"] > 50
    assert counts["kept"] > 50
    assert counts["stale"] == 0


@pytest.mark.parametrize("mode", ["bump-first", "version-late"])
def test_race_detects_a_broken_rule(mongo, posts, mode):
    assert run(posts, mode, 20, mongo)["stale"] > 0
