"""Likes in every layout: each reader counts once, also in races, after crashes and after conversions."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.operations import maintenance
from marginalia.comments.reading import selectors
from tests.support.comments.layouts import FORMS, THREADED_BUCKETS, configure
from tests.support.comments.making import new
from tests.support.concurrency import run_concurrently
from tests.support.interrupting import Stopped, before_command

EACH = pytest.mark.parametrize("form", FORMS, ids="-".join)
READERS = 12
# Likes a comment, and is killed before the number is changed.
KILLED = """
import os, signal, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from django.db import connections
connections.settings["default"]["NAME"] = sys.argv[1]
from marginalia.comments.backends.likes import Likes
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.types import Target
Likes._count = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
MongoBackend().likes.add(Target.parse(sys.argv[2]), sys.argv[3], "user:1")
"""


@pytest.fixture
def liked(target):
    return MongoBackend().post(target, new("liked")).comment


def shown(target):
    """Return the numbers of likes on the first page."""
    return [comment.likes for comment in selectors.page(target).comments]


@EACH
def test_each_reader_counts_once(settings, target, form):
    backend = configure(settings, *form)
    first, second = (backend.post(target, new(name)).comment for name in ("one", "two"))
    before = backend.discussion(target).version
    assert [backend.likes.add(target, first.slug, who) for who in ("user:1", "user:1", "guest:1")] == [
        True,
        False,
        True,
    ]
    assert backend.likes.add(target, second.slug, "user:1")
    assert shown(target) == [2, 1]
    assert backend.likes.liked(target, "user:1") == {first.slug, second.slug}
    assert backend.discussion(target).version != before
    assert [backend.likes.remove(target, first.slug, "user:1") for _again in range(2)] == [True, False]
    assert shown(target) == [1, 1]
    assert [comment.likes for comment in selectors.subdiscussion(target, first.slug).comments] == [1]
    backend.convert(target, "documents" if form[0] != "documents" else "buckets", form[1])
    assert shown(target) == [1, 1]
    assert maintenance.faults(target) == ()


@pytest.mark.slow_after(2)
@EACH
def test_readers_who_like_at_once_are_all_counted(settings, target, form):
    backend = configure(settings, *form)
    slug = backend.post(target, new("one")).comment.slug

    def like(n):
        for _again in range(3):
            MongoBackend().likes.add(target, slug, f"user:{n % READERS}")

    run_concurrently(2 * READERS, like)
    assert shown(target) == [READERS]
    run_concurrently(READERS, lambda n: MongoBackend().likes.remove(target, slug, f"user:{n // 2}"))
    assert shown(target) == [READERS // 2]
    assert maintenance.faults(target) == ()


@pytest.mark.parametrize("change", ["add", "remove"])
def test_number_is_repaired_after_a_crash(settings, target, change):
    backend = configure(settings, *THREADED_BUCKETS)
    slug = backend.post(target, new("one")).comment.slug
    for who in ("user:1", "user:2"):
        backend.likes.add(target, slug, who)

    def crash():
        raise Stopped

    with pytest.raises(Stopped), before_command("update", "comments.like_counts", crash):
        getattr(backend.likes, change)(target, slug, "user:3" if change == "add" else "user:1")
    right = 3 if change == "add" else 1
    assert shown(target) == [2]
    assert [fault.kind for fault in maintenance.faults(target)] == ["likes"]
    assert maintenance.examine(target, fix=True).repaired == 1
    assert shown(target) == [right]
    assert maintenance.faults(target) == ()


@pytest.mark.slow
def test_number_is_repaired_after_the_process_was_killed(mongo, target, liked):
    command = [sys.executable, "-c", KILLED, mongo.name, str(target), liked.slug]
    killed = subprocess.run(command, cwd=Path(__file__).parents[3], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (shown(target), maintenance.examine(target, fix=True).repaired) == ([0], 1)
    assert shown(target) == [1]


def test_imported_likes_are_the_start(target, liked):
    likes = MongoBackend().likes
    likes.add(target, liked.slug, "user:1")
    for _again in range(2):
        likes.raise_to({target: {liked.slug: 5}})
    assert shown(target) == [5]
    likes.add(target, liked.slug, "user:2")
    likes.raise_to({target: {liked.slug: 5}})
    assert shown(target) == [6]
    assert maintenance.faults(target) == ()


def test_likes_are_deleted_with_the_discussion(mongo, target, liked):
    backend = MongoBackend()
    backend.likes.add(target, liked.slug, "user:1")
    backend.delete_discussion(target)
    assert [mongo[name].count_documents({}) for name in ("comments.likes", "comments.like_counts")] == [0, 0]
